// Arguments.cpp - specs that the user gave for arguments and results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Arguments.h"
#include "shardtype/IR/Paths.h"
#include "shardtype/Rules/SpecDiagnostics.h"

using namespace shardtype;

/// The paths nearest to a pattern, best first, at most three.
static std::string nearPaths(StringRef pattern, ArrayRef<std::string> paths) {
  std::vector<std::pair<unsigned, StringRef>> near;
  for (StringRef path : paths) {
    // Of two long paths only the last parts tell them apart.
    StringRef part = pattern.rsplit('/').second;
    StringRef own = path.rsplit('/').second;
    unsigned distance = pattern.edit_distance(path);
    if (!part.empty() && !own.empty())
      distance = std::min(distance, part.edit_distance(own) + 1);
    near.push_back({distance, path});
  }
  llvm::stable_sort(
      near, [](const auto &a, const auto &b) { return a.first < b.first; });
  std::string text;
  for (size_t i = 0; i < near.size() && i < 3; ++i)
    text += (i ? ", " : "") + near[i].second.str();
  return text;
}

std::vector<const ArgumentSpec *>
shardtype::matchSpecs(ArrayRef<ArgumentSpec> specs, ArrayRef<std::string> paths,
                      StringRef option, DiagnosticList &diagnostics) {
  std::vector<const ArgumentSpec *> chosen(paths.size());
  for (const ArgumentSpec &spec : specs) {
    if (spec.pattern.empty()) {
      if (spec.position >= 0 &&
          static_cast<size_t>(spec.position) < paths.size()) {
        chosen[spec.position] = &spec;
        continue;
      }
      diagnostics.add(
          diag::OptionInvalid,
          {option.str() + " number " + std::to_string(spec.position + 1) +
           ": the program has only " + std::to_string(paths.size())});
      continue;
    }
    bool any = false;
    for (size_t i = 0; i < paths.size(); ++i)
      if (matchesPath(spec.pattern, paths[i])) {
        chosen[i] = &spec;
        any = true;
      }
    if (!any)
      diagnostics.add(diag::OptionInvalid, {option.str() + " '" + spec.pattern +
                                            "' fits nothing; there are " +
                                            nearPaths(spec.pattern, paths)});
  }
  return chosen;
}

/// Adds what is wrong with a spec for the value at `path`.
static void reportSpec(Findings &findings, Context &cx, const SpecError &error,
                       const PartitionSpec &spec, MeshId mesh, unsigned rank,
                       ArrayRef<int64_t> shape, StringRef what, StringRef name,
                       std::string path) {
  auto [code, args] = describeSpecError(cx, error, spec, mesh, rank, shape);
  Diagnostic d;
  d.code = code;
  d.level = info(code).level;
  d.message = what.str() + " '" + name.str() + "': " + formatDiag(code, args);
  d.path = std::move(path);
  findings.add(std::move(d));
}

/// A spec on a mesh for a value of some type; nothing if it is reported.
static std::optional<Sharding> place(Findings &findings, Context &cx,
                                     const PartitionSpec &spec, MeshId mesh,
                                     const Type &type, StringRef what,
                                     StringRef name, std::string path) {
  SpecResult<Sharding> sharding = resolve(cx, spec, mesh, type.rank());
  std::optional<SpecError> error;
  if (!sharding)
    error = sharding.error;
  else
    error = checkDivisible(cx, *sharding, type.shape);
  if (!error)
    return std::move(*sharding);
  reportSpec(findings, cx, *error, spec, mesh, type.rank(), type.shape, what,
             name, std::move(path));
  return std::nullopt;
}

std::vector<Val> shardtype::argumentValues(const Program &program,
                                           Meshes &meshes, CheckedProgram &out,
                                           Findings &findings) {
  Context &cx = program.context();
  const Jaxpr &jaxpr = program.jaxpr(program.entry.jaxpr);
  std::vector<std::string> paths = argumentPaths(
      program, [&](VarId var) { return findings.names().name(var); });
  std::vector<const ArgumentSpec *> specs =
      matchSpecs(out.options.in, paths, "--in", out.diagnostics);
  std::vector<Val> values;
  for (uint32_t i = 0; i < jaxpr.numInputs; ++i) {
    findings.fromOption.push_back(specs[i] != nullptr);
    TypeId recorded = program.var(jaxpr.input(i)).type;
    std::string path = "arguments/" + std::to_string(i);
    if (!recorded.valid()) {
      Diagnostic d;
      d.code = diag::ArgumentUntyped;
      d.level = info(d.code).level;
      d.message = formatDiag(d.code, {paths[i]});
      d.path = path;
      findings.add(std::move(d));
      values.push_back(Val());
      continue;
    }
    const Type type = cx.type(recorded);
    if (!meshes.retyped() || !type.isArray()) {
      values.push_back(Val(recorded, 0));
      continue;
    }
    PartitionSpec spec;
    if (specs[i])
      spec = specs[i]->spec;
    else if (type.sharding.hasMesh())
      spec = toSpec(cx, type.sharding); // structure/retype.1
    std::optional<Sharding> sharding = place(findings, cx, spec, meshes.now(),
                                             type, "argument", paths[i], path);
    // A spec that cannot be leaves the argument open.
    values.push_back(
        sharding ? Val(cx.withSharding(recorded, *sharding), 0)
                 : Val(cx.withSharding(recorded,
                                       replicated(meshes.now(), type.rank())),
                       Val::Open | Val::Tainted));
  }
  return values;
}

namespace {
/// One result against the spec it must have.
struct ResultCheck {
  Engine &engine;
  Findings &findings;
  unsigned index;
  std::string name;
};
} // namespace

static void reportOut(ResultCheck &check, TypeId is, TypeId wanted) {
  Context &cx = check.engine.context();
  Diagnostic d;
  d.code = diag::OutMismatch;
  d.level = info(d.code).level;
  d.message = formatDiag(d.code, {check.name, str(cx, is), str(cx, wanted)});
  d.path = "results/" + std::to_string(check.index);
  Fix fix;
  fix.type = wanted;
  fix.spec = str(cx, toSpec(cx, cx.type(wanted).sharding));
  fix.code = "reshard(" + check.name + ", " + fix.spec + ")";
  fix.result = check.index;
  fix.assumed = true;
  fix.communication = reshardCost(cx, is, wanted);
  d.fixes.push_back(std::move(fix));
  check.findings.noteResult(check.engine, check.index, d);
  check.findings.add(std::move(d));
}

/// The result's value once `--out` has been looked at (structure/out.1).
static Val checkOut(ResultCheck &check, Val result, const PartitionSpec &spec) {
  Context &cx = check.engine.context();
  const Type type = cx.type(result.type());
  if (!type.isArray())
    return result;
  MeshId mesh =
      type.sharding.hasMesh() ? type.sharding.mesh : check.engine.out().mesh;
  std::optional<Sharding> wanted =
      place(check.findings, cx, spec, mesh, type, "result", check.name,
            "results/" + std::to_string(check.index));
  if (!wanted)
    return result;
  TypeId asked = cx.withSharding(result.type(), *wanted);
  if (result.is(Val::Open))
    return Val(asked, 0);
  bool same = *wanted == type.sharding ||
              (!type.sharding.hasMesh() && wanted->replicated());
  if (!same && !result.is(Val::Guess))
    reportOut(check, result.type(), asked);
  return same ? result : Val(asked, result.flags());
}

void shardtype::takeResults(Engine &engine, ArrayRef<Val> results,
                            Findings &findings) {
  CheckedProgram &out = engine.out();
  std::vector<std::string> paths = resultPaths(engine.program());
  std::vector<const ArgumentSpec *> specs =
      matchSpecs(out.options.out, paths, "--out", out.diagnostics);
  for (unsigned i = 0; i < results.size(); ++i) {
    Val value = results[i];
    if (specs[i] && !value.poison()) {
      ResultCheck check = {engine, findings, i, paths[i]};
      value = checkOut(check, value, specs[i]->spec);
    }
    out.resultTypes.push_back(value.type());
    out.openResults.push_back(value.is(Val::Open));
  }
}
