// ContextMeshes.cpp - changes of the context mesh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A region may run under another mesh than what is around it, of other axes,
// but of as many devices (structure/context.2). Each equation records its mesh;
// in the entry that is compared with the context of the trace, in a body with
// the mesh of the equation that holds it.
#include "ContextMeshes.h"
#include "shardtype/IR/Paths.h"

using namespace shardtype;

namespace {
class ContextWalk {
public:
  ContextWalk(const Program &program, Findings &findings)
      : program_(program), cx_(program.context()), findings_(findings) {}
  void walk(JaxprId id, MeshId around, const std::string &prefix,
            StackId stack);

private:
  MeshId meshOf(const Jaxpr &jaxpr, const Eqn &eqn, MeshId around) const;
  void report(MeshId from, MeshId to, EqnId eqn, std::string path,
              StackId stack);

  const Program &program_;
  Context &cx_;
  Findings &findings_;
  llvm::DenseSet<JaxprId> walked_;
};
} // namespace

MeshId ContextWalk::meshOf(const Jaxpr &jaxpr, const Eqn &eqn,
                           MeshId around) const {
  if (eqn.info.valid() && program_.info(eqn.info).hasContextMesh)
    return program_.info(eqn.info).contextMesh;
  return program_.fromText && !jaxpr.mesh.valid() ? around : jaxpr.mesh;
}

void ContextWalk::report(MeshId from, MeshId to, EqnId eqn, std::string path,
                         StackId stack) {
  const Mesh &was = cx_.mesh(from), &is = cx_.mesh(to);
  Diagnostic d;
  d.code = diag::MeshSize;
  d.level = info(d.code).level;
  d.message =
      formatDiag(d.code, {shortMesh(cx_, was), std::to_string(was.numDevices()),
                          shortMesh(cx_, is), std::to_string(is.numDevices())});
  d.eqn = eqn;
  d.path = std::move(path);
  d.stack = stack;
  for (Atom atom : program_.operandsOf(eqn))
    d.operandTypes.push_back(atom.isLiteral()
                                 ? program_.literal(atom.literal()).type
                                 : program_.var(atom.var()).type);
  findings_.add(std::move(d));
}

void ContextWalk::walk(JaxprId id, MeshId around, const std::string &prefix,
                       StackId stack) {
  if (!walked_.insert(id).second)
    return;
  const Jaxpr &jaxpr = program_.jaxpr(id);
  MeshId reported;
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    EqnId eqnId = jaxpr.eqn(i);
    const Eqn &eqn = program_.eqn(eqnId);
    MeshId mesh = meshOf(jaxpr, eqn, around);
    std::string path = prefix + "eqns/" + std::to_string(i);
    StackId own = stack;
    if (eqn.info.valid() &&
        !program_.stack(program_.info(eqn.info).stack).empty())
      own = program_.info(eqn.info).stack;
    const Mesh &was = cx_.meshOrEmpty(around), &is = cx_.meshOrEmpty(mesh);
    if (!was.empty() && !is.empty() && was.numDevices() != is.numDevices() &&
        mesh != reported) {
      reported = mesh; // Once a region.
      report(around, mesh, eqnId, path, own);
    }
    forEachBody(program_, eqn, [&](const std::string &where, JaxprId body) {
      walk(body, mesh, path + "/" + where + "/", own);
    });
  }
}

/// Are there meshes of two sizes at all? Most programs have one mesh.
static bool sizesDiffer(const Program &program) {
  Context &cx = program.context();
  int64_t size = 0;
  bool differ = false;
  auto look = [&](MeshId id) {
    const Mesh &mesh = cx.meshOrEmpty(id);
    if (mesh.empty())
      return;
    differ |= size && size != mesh.numDevices();
    size = mesh.numDevices();
  };
  look(program.contextMeshAtTop);
  for (MeshId mesh : program.file.meshes)
    look(mesh);
  for (const Jaxpr &jaxpr : program.jaxprs)
    look(jaxpr.mesh);
  return differ;
}

void shardtype::checkContextMeshes(const Program &program, Findings &findings) {
  if (sizesDiffer(program))
    ContextWalk(program, findings)
        .walk(program.entry.jaxpr, program.contextMeshAtTop, "", StackId());
}
