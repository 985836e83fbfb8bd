// Retyped.cpp - small programs around a primitive, typed for other operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Retyped.h"
#include "shardtype/Check/Check.h"
#include "shardtype/Json/Json.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace shardtype;
using namespace shardtype::oracle;

std::string Retyped::text(const Group &group, const Case &c) {
  return group.primitive + "[program=" + group.params.at("program") + "] " +
         llvm::join(c.operands, ", ") + " on " +
         (group.mesh.empty() ? "no mesh" : group.mesh);
}

const Program *Retyped::program(const std::string &name) {
  auto [at, isNew] = programs_.try_emplace(name);
  if (!isNew)
    return at->second ? &*at->second : nullptr;
  std::string path = folder_ + "/" + name + ".json";
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    trouble_ = "cannot read " + path;
    return nullptr;
  }
  DiagnosticList errors;
  at->second = readJson(
      context_, (*buffer)->getBuffer(),
      [&](StringRef primitive) { return rows_.info(primitive); }, errors);
  for (const Diagnostic &d : errors.all())
    trouble_ = path + ": " + d.message;
  return at->second ? &*at->second : nullptr;
}

/// A type without what tells how the program was traced: `np:`, `~`.
static StringRef plain(StringRef type) {
  type.consume_front("np:");
  type.consume_front("~");
  return type;
}

std::optional<CheckedProgram> Retyped::check(const Group &group, StringRef mesh,
                                             ArrayRef<std::string> operands) {
  const Program *program = this->program(group.params.at("program"));
  if (!program)
    return std::nullopt;
  CheckOptions options;
  if (mesh.empty())
    return shardtype::check(*program, rows_, options);
  TextResult<MeshId> parsed = parseMesh(context_, mesh);
  if (!parsed) {
    trouble_ = "mesh: " + parsed.error.message;
    return std::nullopt;
  }
  options.mesh = *parsed;
  for (unsigned i = 0; i < operands.size(); ++i) {
    TextResult<TypeId> type = parseType(context_, operands[i], *parsed);
    if (!type) {
      trouble_ = "type " + operands[i] + ": " + type.error.message;
      return std::nullopt;
    }
    PartitionSpec spec = toSpec(context_, context_.type(*type).sharding);
    options.in.push_back({"", static_cast<int>(i), spec, "--in", {}, {}});
  }
  return shardtype::check(*program, rows_, options);
}

std::optional<Retyped::Results> Retyped::run(const Group &group, StringRef mesh,
                                             ArrayRef<std::string> operands) {
  std::optional<CheckedProgram> checked = check(group, mesh, operands);
  if (!checked)
    return std::nullopt;
  Results results{checked->ok(), {}};
  for (TypeId type : checked->resultTypes)
    results.types.push_back(type.valid() ? str(context_, type) : "(none)");
  return results;
}

/// JAX looks at scanned arrays before it traces the body, and does not go on;
/// ours report what is in the body, too, and before.
static bool isBehindScan(const Diagnostic &d, ArrayRef<Diagnostic> all) {
  return llvm::any_of(all, [&](const Diagnostic &scan) {
    return scan.code == diag::ScanXs &&
           StringRef(d.path).starts_with(scan.path + "/");
  });
}

Outcome Retyped::judge(const Group &group, const Case &c) {
  std::optional<CheckedProgram> checked = check(group, group.mesh, c.operands);
  if (!checked)
    return {false, trouble_};
  ArrayRef<Diagnostic> all = checked->diagnostics.all();
  for (const Diagnostic &d : all) {
    if (d.level != Level::Error || isBehindScan(d, all))
      continue;
    const DiagInfo &kind = info(d.code);
    std::string id = kind.jaxClass.str() + " " + kind.jaxId.str();
    return {id == c.error,
            "!" + id + " (" + kind.code.str() + ": " + d.message + ")"};
  }
  ArrayRef<TypeId> types = checked->resultTypes;
  bool agrees = c.error.empty() && types.size() == c.results.size();
  std::string ours;
  for (unsigned i = 0; i < types.size(); ++i) {
    std::string text =
        types[i].valid() ? str(context_, types[i]) : std::string("(open)");
    agrees = agrees && plain(c.results[i]) == text;
    ours += (i ? ", " : "") + text;
  }
  return {agrees, ours};
}
