// CommunicationJson.cpp - what a program communicates, schema shardtype-cost/1.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Common.h"
#include "shardtype/Report/Communication.h"
#include "llvm/Support/JSON.h"

using namespace shardtype;
using llvm::json::OStream;

/// Three amounts; `KEY_in_branches` and `KEY_per_unknown_trip` where there is
/// something to say.
static void writeExecutions(OStream &json, const std::string &key,
                            const Executions &runs) {
  writeAmount(json, key, runs.times);
  if (runs.inBranches)
    writeAmount(json, key + "_in_branches", runs.inBranches);
  if (runs.perUnknownTrip)
    writeAmount(json, key + "_per_unknown_trip", runs.perUnknownTrip);
}

static void writeAxes(OStream &json, ArrayRef<std::string> axes) {
  json.attributeArray("axes", [&] {
    for (const std::string &axis : axes)
      json.value(utf8(axis));
  });
}

static void writePlace(OStream &json, const Program &program, EqnId id,
                       StringRef path) {
  const Eqn &eqn = program.eqn(id);
  json.attribute("path", utf8(path));
  json.attribute("primitive", utf8(program.name(eqn)));
}

static StackId stackOf(const Program &program, EqnId id) {
  const Eqn &eqn = program.eqn(id);
  return eqn.info.valid() ? program.info(eqn.info).stack : StackId();
}

static void writeAround(OStream &json, const Program &program,
                        const Around &around) {
  json.object([&] {
    writePlace(json, program, around.eqn, around.path);
    if (around.kind == Around::Loop)
      writeAmount(json, "trips", around.trips);
    if (around.kind == Around::UnknownLoop)
      json.attribute("trips", nullptr);
    writeSource(json, program, stackOf(program, around.eqn), false);
  });
}

static void writeCollective(OStream &json, const Program &program,
                            const NamedCollective &found) {
  json.object([&] {
    json.attribute("kind", str(found.step.kind));
    writeAxes(json, found.step.axes);
    json.attribute("group_size", found.step.devices);
    writeAmount(json, "payload_bytes", found.step.payloadBytes);
    writeAmount(json, "sent_bytes", found.step.sentBytes);
    writeExecutions(json, "executions", found.executions);
    json.attributeObject(
        "equation", [&] { writePlace(json, program, found.eqn, found.path); });
    writeSource(json, program, found.stack, true);
    json.attributeArray("around", [&] {
      for (const Around &around : found.around)
        writeAround(json, program, around);
    });
  });
}

void shardtype::writeCommunicationJson(OStream &json,
                                       const CheckedProgram &checked,
                                       const CommunicationAccount &account,
                                       const ReportOptions &options) {
  auto total = [&](const AxesTotal &axes) {
    json.attribute("collectives", axes.collectives);
    writeExecutions(json, "sent_bytes", axes.sent);
  };
  json.object([&] {
    writeHead(json, "shardtype-cost/1", checked, options);
    json.attributeArray("collectives", [&] {
      for (const NamedCollective &found : account.collectives)
        writeCollective(json, *checked.program, found);
    });
    json.attributeArray("totals", [&] {
      for (const AxesTotal &axes : account.totals)
        json.object([&] {
          writeAxes(json, axes.axes);
          total(axes);
        });
    });
    json.attributeObject("total", [&] { total(account.all); });
    json.attributeObject("not_listed", [&] {
      json.attribute("reshards_from_auto_axes", account.undecided);
      json.attribute("without_types", account.untyped);
      json.attribute("derivatives", account.derives);
      json.attribute("implied_by_shardings", account.implying > 0);
      json.attribute("equations_that_may_imply", account.implying);
    });
    writeDiagnostics(json, checked, options.sources);
  });
}
