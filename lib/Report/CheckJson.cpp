// CheckJson.cpp - the report for scripts, schema shardtype-check/1.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Common.h"
#include "shardtype/IR/Paths.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/JSON.h"

using namespace shardtype;
using llvm::json::OStream;

namespace {
class JsonReport {
public:
  JsonReport(OStream &json, const CheckedProgram &checked, Sources *sources)
      : json_(json), checked_(checked), program_(*checked.program),
        cx_(program_.context()), names_(program_), edits_(checked, sources) {}

  void signature();
  void inSpecs();
  void diagnostics();
  void equations();

private:
  void values(StringRef key, ArrayRef<std::string> paths,
              ArrayRef<TypeId> types, const std::vector<bool> &open);
  void diagnostic(const Diagnostic &d);
  void fix(const Diagnostic &d, const Fix &fix);
  void edit(const Diagnostic &d, const Fix &fix);
  void instance(InstanceId id, const std::string &prefix);

  OStream &json_;
  const CheckedProgram &checked_;
  const Program &program_;
  const Context &cx_;
  VarNames names_;
  Edits edits_;
  llvm::DenseSet<InstanceId> written_;
};
} // namespace

void JsonReport::values(StringRef key, ArrayRef<std::string> paths,
                        ArrayRef<TypeId> types, const std::vector<bool> &open) {
  json_.attributeArray(key, [&] {
    for (size_t i = 0; i < types.size(); ++i)
      json_.object([&] {
        json_.attribute("path", utf8(paths[i]));
        if (!types[i].valid()) {
          json_.attribute("type", nullptr);
          return;
        }
        json_.attribute("type", utf8(str(cx_, types[i])));
        writeAmount(json_, "bytes_per_device", bytesPerDevice(cx_, types[i]));
        if (i < open.size() && open[i])
          json_.attribute("open", true);
      });
  });
}

void JsonReport::signature() {
  auto name = [&](VarId var) { return names_.name(var); };
  values("arguments", argumentPaths(program_, name), checked_.argumentTypes,
         {});
  values("results", resultPaths(program_), checked_.resultTypes,
         checked_.openResults);
}

void shardtype::writeSource(OStream &json, const Program &program,
                            StackId stack, bool whole) {
  const Frame *frame = innermost(program, stack);
  if (!frame)
    return;
  const Context &cx = program.context();
  json.attributeObject("source", [&] {
    json.attribute("file", utf8(cx.str(frame->file)));
    json.attribute("line", frame->line);
    if (!whole)
      return;
    json.attribute("column", frame->column + 1);
    if (frame->function.valid())
      json.attribute("function", utf8(cx.str(frame->function)));
  });
}

void JsonReport::fix(const Diagnostic &d, const Fix &fix) {
  json_.object([&] {
    if (fix.operand >= 0)
      json_.attribute("operand", fix.operand);
    if (fix.type.valid())
      json_.attribute(fix.operand >= 0 ? "type" : "result",
                      utf8(str(cx_, fix.type)));
    json_.attribute("spec", utf8(fix.spec));
    json_.attribute("assumed", fix.assumed);
    if (fix.chosen)
      json_.attribute("chosen", true);
    if (fix.group)
      json_.attribute("together", fix.group);
    if (fix.perTrip)
      json_.attribute("per_trip", true);
    edit(d, fix);
    json_.attributeArray("communication", [&] {
      for (const CommStep &step : fix.communication)
        json_.object([&] {
          json_.attribute("kind", str(step.kind));
          json_.attributeArray("axes", [&] {
            for (const std::string &axis : step.axes)
              json_.value(utf8(axis));
          });
          writeAmount(json_, "payload_bytes", step.payloadBytes);
          writeAmount(json_, "sent_bytes", step.sentBytes);
        });
    });
  });
}

/// With `file` and `span`, `text` is what takes the span's place.
void JsonReport::edit(const Diagnostic &d, const Fix &fix) {
  std::optional<SourceEdit> edit = edits_.edit(d, fix);
  json_.attributeObject("edit", [&] {
    json_.attribute(
        "text", utf8(edit ? edit->text : fixCode(program_, names_, d, fix)));
    if (!edit || edit->file.empty())
      return;
    json_.attribute("file", utf8(edit->file));
    json_.attributeArray("span", [&] {
      for (unsigned part : {edit->span.line, edit->span.column,
                            edit->span.endLine, edit->span.endColumn})
        json_.value(part);
    });
    if (!edit->imports.empty())
      json_.attributeArray("imports", [&] {
        for (const std::string &line : edit->imports)
          json_.value(utf8(line));
      });
    if (edit->alsoAt)
      json_.attribute("also_at", edit->alsoAt);
  });
}

void JsonReport::diagnostic(const Diagnostic &d) {
  json_.object([&] {
    json_.attribute("code", info(d.code).code);
    json_.attribute("severity", levelWord(d.level));
    json_.attribute("message", utf8(d.message));
    if (d.eqn.valid()) {
      json_.attributeObject("equation", [&] {
        json_.attribute("path", utf8(d.path));
        json_.attribute("primitive", utf8(program_.name(program_.eqn(d.eqn))));
        json_.attribute(
            "text",
            utf8(printEqn(program_, names_, d.eqn, d.operandTypes).text));
      });
    } else if (!d.path.empty()) {
      json_.attribute("path", utf8(d.path));
    }
    writeSource(json_, program_, d.stack, true);
    if (const Frame *inside = libraryFrame(program_, d.stack))
      json_.attributeObject("library", [&] {
        json_.attribute("file", utf8(cx_.str(inside->file)));
        json_.attribute("line", inside->line);
        if (inside->function.valid())
          json_.attribute("function", utf8(cx_.str(inside->function)));
      });
    json_.attributeArray("notes", [&] {
      for (const DiagNote &note : d.notes)
        json_.object([&] {
          json_.attribute("message", utf8(note.message));
          writeSource(json_, program_, note.stack, false);
        });
    });
    json_.attributeArray("fixes", [&] {
      for (const Fix &f : d.fixes)
        fix(d, f);
    });
  });
}

/// What a second export needs of regions that were recorded without in_specs.
void JsonReport::inSpecs() {
  if (checked_.inSpecs.empty())
    return;
  json_.attributeObject("in_specs", [&] {
    for (const auto &[number, specs] : checked_.inSpecs) {
      if (specs.empty()) {
        json_.attribute(std::to_string(number), nullptr);
        continue;
      }
      json_.attributeArray(std::to_string(number), [&] {
        for (const std::string &spec : specs)
          json_.value(utf8(spec));
      });
    }
  });
}

void JsonReport::diagnostics() {
  json_.attributeArray("diagnostics", [&] {
    for (const Diagnostic &d : checked_.diagnostics.all())
      diagnostic(d);
  });
}

void JsonReport::equations() {
  json_.attributeArray("equations_typed", [&] {
    if (checked_.entryInstance.valid())
      instance(checked_.entryInstance, "");
  });
}

/// Depth is bounded by the program's own limit on nesting.
void JsonReport::instance(InstanceId id, const std::string &prefix) {
  if (!written_.insert(id).second)
    return; // Held by several equations: written after the first.
  const Instance &instance = checked_.instances[id.index()];
  const Jaxpr &jaxpr = program_.jaxpr(instance.jaxpr);
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    EqnId eqnId = jaxpr.eqn(i);
    const Eqn &eqn = program_.eqn(eqnId);
    std::string path = prefix + "eqns/" + std::to_string(i);
    json_.object([&] {
      json_.attribute("path", path);
      json_.attribute("primitive", utf8(program_.name(eqn)));
      json_.attributeArray("results", [&] {
        for (unsigned r = 0; r < eqn.numResults; ++r) {
          TypeId type = checked_.type(id, program_.result(eqn, r));
          if (type.valid())
            json_.value(utf8(str(cx_, type)));
          else
            json_.value(nullptr);
        }
      });
    });
    forEachBody(program_, eqn, [&](const std::string &where, JaxprId body) {
      InstanceId held = checked_.body(id, eqnId, body);
      if (held.valid())
        this->instance(held, path + "/" + where + "/");
    });
  }
}

void shardtype::writeDiagnostics(OStream &json, const CheckedProgram &checked,
                                 Sources *sources) {
  JsonReport(json, checked, sources).diagnostics();
}

void shardtype::writeCheckJson(OStream &json, const CheckedProgram &checked,
                               const ReportOptions &options,
                               bool withEquations) {
  JsonReport report(json, checked, options.sources);
  json.object([&] {
    writeHead(json, "shardtype-check/1", checked, options);
    report.signature();
    report.inSpecs();
    report.diagnostics();
    if (withEquations)
      report.equations();
  });
}

void shardtype::writeInputErrorsJson(OStream &json,
                                     const DiagnosticList &diagnostics,
                                     const ReportOptions &options) {
  json.object([&] {
    json.attribute("schema", "shardtype-check/1");
    json.attribute("program", utf8(options.program));
    json.attribute("ok", false);
    json.attributeArray("diagnostics", [&] {
      for (const Diagnostic &d : diagnostics.all())
        json.object([&] {
          json.attribute("code", info(d.code).code);
          json.attribute("severity", levelWord(d.level));
          json.attribute("message", utf8(d.message));
          if (!d.path.empty())
            json.attribute("path", utf8(d.path));
          if (d.line) {
            json.attribute("line", d.line);
            json.attribute("column", d.column);
          }
        });
    });
  });
}
