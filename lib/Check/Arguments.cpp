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
    std::string origin = spec.origin.empty() ? option.str() : spec.origin;
    if (spec.pattern.empty()) {
      if (spec.position >= 0 &&
          static_cast<size_t>(spec.position) < paths.size()) {
        chosen[spec.position] = &spec;
        continue;
      }
      diagnostics.add(
          diag::OptionInvalid,
          {origin + " number " + std::to_string(spec.position + 1) +
           ": the program has " +
           (paths.empty() ? "none" : "only " + std::to_string(paths.size()))});
      continue;
    }
    bool any = false;
    for (size_t i = 0; i < paths.size(); ++i)
      if (matchesPath(spec.pattern, paths[i])) {
        chosen[i] = &spec;
        any = true;
      }
    if (!any)
      diagnostics.add(
          diag::OptionInvalid,
          {origin + " '" + spec.pattern + "' fits nothing; there " +
           (paths.empty() ? "is nothing"
                          : "are " + nearPaths(spec.pattern, paths))});
  }
  return chosen;
}

namespace {
/// What a spec is for, and who gave it (null: the trace).
struct Asked {
  StringRef what;
  const ArgumentSpec *by = nullptr;
};
} // namespace

/// Adds what is wrong with a spec for the value at `path`.
static void reportSpec(Findings &findings, Context &cx, const SpecError &error,
                       const PartitionSpec &spec, MeshId mesh, unsigned rank,
                       ArrayRef<int64_t> shape, Asked asked, StringRef name,
                       std::string path) {
  auto [code, args] = describeSpecError(cx, error, spec, mesh, rank, shape);
  Diagnostic d;
  d.code = code;
  d.level = info(code).level;
  d.message =
      asked.what.str() + " '" + name.str() + "': " + formatDiag(code, args);
  d.path = std::move(path);
  std::string from = "the spec recorded in the trace";
  if (asked.by)
    from = asked.by->origin.empty() ? "an option" : asked.by->origin;
  d.notes.push_back({str(cx, spec) + " is from " + from, StackId()});
  findings.add(std::move(d));
}

/// A spec on a mesh for a value of some type; nothing if it is reported.
static std::optional<Sharding> place(Findings &findings, Context &cx,
                                     const PartitionSpec &spec, MeshId mesh,
                                     const Type &type, Asked asked,
                                     StringRef name, std::string path) {
  SpecResult<Sharding> sharding = resolve(cx, spec, mesh, type.rank());
  std::optional<SpecError> error;
  if (!sharding)
    error = sharding.error;
  else
    error = checkDivisible(cx, *sharding, type.shape);
  if (!error)
    return std::move(*sharding);
  reportSpec(findings, cx, *error, spec, mesh, type.rank(), type.shape, asked,
             name, std::move(path));
  return std::nullopt;
}

/// Logical names that got no axes, of a spec that counts.
static void reportConflicts(Findings &findings, Context &cx, Asked asked,
                            StringRef name, StringRef path) {
  for (const std::string &conflict : asked.by->conflicts) {
    Diagnostic d;
    d.code = diag::LogicalConflict;
    d.level = info(d.code).level;
    d.message = formatDiag(d.code, {asked.what.str(), name.str(), conflict});
    d.path = path.str();
    d.notes.push_back({asked.by->written + " of " + asked.by->origin +
                           " is taken as " + str(cx, asked.by->spec),
                       StackId()});
    findings.add(std::move(d));
  }
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
    if (specs[i]) {
      spec = specs[i]->spec;
      reportConflicts(findings, cx, {"argument", specs[i]}, paths[i], path);
    } else if (type.sharding.hasMesh()) {
      spec = toSpec(cx, type.sharding); // structure/retype.1
    }
    std::optional<Sharding> sharding =
        place(findings, cx, spec, meshes.now(), type, {"argument", specs[i]},
              paths[i], path);
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
static Val checkOut(ResultCheck &check, Val result,
                    const ArgumentSpec &option) {
  Context &cx = check.engine.context();
  const Type type = cx.type(result.type());
  if (!type.isArray())
    return result;
  std::string path = "results/" + std::to_string(check.index);
  reportConflicts(check.findings, cx, {"result", &option}, check.name, path);
  MeshId mesh =
      type.sharding.hasMesh() ? type.sharding.mesh : check.engine.out().mesh;
  std::optional<Sharding> wanted =
      place(check.findings, cx, option.spec, mesh, type, {"result", &option},
            check.name, path);
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
      value = checkOut(check, value, *specs[i]);
    }
    out.resultTypes.push_back(value.type());
    out.openResults.push_back(value.is(Val::Open));
    // An error elsewhere left it open: that has been said.
    if (value.is(Val::Open) && !value.is(Val::Tainted) && !value.is(Val::Guess))
      findings.openResult(i, paths[i]);
  }
}
