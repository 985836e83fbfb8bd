// Check.cpp - types every equation of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Arguments.h"
#include "ContextMeshes.h"
#include "Recorded.h"
#include "shardtype/IR/Verifier.h"

using namespace shardtype;

/// Bodies nest on the machine's stack, so there is an end whatever is asked.
static constexpr unsigned DeepestNesting = 1024;

/// Equations of every jaxpr that the entry reaches, each once.
static uint64_t countEquations(const Program &program) {
  std::vector<bool> seen(program.jaxprs.size());
  std::vector<JaxprId> todo = {program.entry.jaxpr};
  llvm::DenseSet<ParamsId> params;
  uint64_t count = 0;
  while (!todo.empty()) {
    JaxprId id = todo.back();
    todo.pop_back();
    if (seen[id.index()])
      continue;
    seen[id.index()] = true;
    const Jaxpr &jaxpr = program.jaxpr(id);
    count += jaxpr.numEqns;
    for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
      ParamsId list = program.eqn(jaxpr.eqn(i)).params;
      if (!params.insert(list).second)
        continue;
      for (const Param &param : program.params(list))
        forEachJaxpr(program, param.value,
                     [&](JaxprId body) { todo.push_back(body); });
    }
  }
  return count;
}

/// Are mesh and arguments those of the trace, sizes of axes aside?
static bool hasTracedShardings(const Program &program, const Meshes &meshes,
                               ArrayRef<Val> arguments) {
  const Context &cx = program.context();
  const Mesh &from = cx.meshOrEmpty(meshes.recorded());
  const Mesh &to = cx.meshOrEmpty(meshes.now());
  if (from.empty() || from.rank() != to.rank())
    return false;
  for (unsigned axis = 0; axis < to.rank(); ++axis)
    if (from.axes[axis].name != to.axes[axis].name ||
        from.axes[axis].type != to.axes[axis].type)
      return false;
  const Jaxpr &entry = program.jaxpr(program.entry.jaxpr);
  for (uint32_t i = 0; i < entry.numInputs; ++i) {
    TypeId was = program.var(entry.input(i)).type;
    if (arguments[i].poison() || !cx.type(was).isArray())
      continue;
    Sharding is = cx.type(arguments[i].type()).sharding;
    is.mesh = cx.type(was).sharding.mesh;
    if (is != cx.type(was).sharding)
      return false;
  }
  return true;
}

/// structure/retype.6: a program that stands inside a manual region has types
/// on a mesh with the same Manual axes only. Reports the first argument that
/// the new mesh cannot have.
static bool keepsManualAxes(const Program &program, const Meshes &meshes,
                            Findings &findings, DiagnosticList &diagnostics) {
  Context &cx = program.context();
  const Jaxpr &entry = program.jaxpr(program.entry.jaxpr);
  for (uint32_t i = 0; i < entry.numInputs; ++i) {
    TypeId id = program.var(entry.input(i)).type;
    if (!id.valid() || !cx.type(id).isArray())
      continue;
    const Type &type = cx.type(id);
    if (onMesh(cx, type.manual, type.sharding.mesh, meshes.now()) ==
        type.manual)
      continue;
    diagnostics.add(
        diag::OptionInvalid,
        {"--mesh: argument '" + findings.names().name(entry.input(i)) +
         "' is " + str(cx, id) +
         ", inside a manual region; give --mesh to the program around it"});
    return false;
  }
  return true;
}

CheckedProgram shardtype::check(const Program &program,
                                const PrimitiveSet &primitives,
                                const CheckOptions &options) {
  CheckedProgram out(program);
  out.options = options;
  if (failed(verify(program, out.diagnostics,
                    std::min(options.maxDepth, DeepestNesting))))
    return out;
  out.equations = countEquations(program);
  Findings findings(program, out);
  Engine engine(program, primitives, out, &findings);
  Meshes &meshes = engine.meshes();
  out.retyped = meshes.retyped();
  out.recordedMesh = meshes.recorded();
  if (meshes.retyped() && !meshes.now().valid() && !options.mesh.valid()) {
    out.diagnostics.add(diag::OptionInvalid,
                        {"--in needs a mesh: the program was traced without "
                         "one, so give --mesh"});
    return out;
  }
  if (meshes.retyped() &&
      !keepsManualAxes(program, meshes, findings, out.diagnostics))
    return out;
  std::vector<Val> arguments = argumentValues(program, meshes, out, findings);
  for (Val argument : arguments)
    out.argumentTypes.push_back(argument.type());
  if (meshes.retyped() && (meshes.fromRecording() ||
                           !hasTracedShardings(program, meshes, arguments)))
    engine.doubtBackward();
  else if (!meshes.retyped())
    checkContextMeshes(program, findings);
  if (meshes.fromRecording())
    reportDropped(program, meshes, findings);
  std::vector<Val> results = engine.runEntry(arguments);
  if (meshes.fromRecording()) {
    reportRefusedRegions(program, out.diagnostics, findings);
    reportUnbound(program, out.diagnostics, findings);
    reportPassedChecks(program, out.diagnostics, findings);
  }
  if (meshes.fromRecording())
    collectInSpecs(out);
  out.typed = engine.typedEquations();
  takeResults(engine, results, findings);
  findings.finish();
  return out;
}
