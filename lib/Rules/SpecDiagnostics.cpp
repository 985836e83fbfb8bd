// SpecDiagnostics.cpp - errors of specs and types as diagnostics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/SpecDiagnostics.h"
#include "shardtype/Types/SizeText.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace shardtype;

/// "4, 8": the nearest sizes that divide over `parts`.
static std::string nearestSizes(int64_t size, int64_t parts) {
  int64_t below = size / parts * parts;
  std::string text = below > 0 ? std::to_string(below) + " or " : "";
  int64_t above;
  if (llvm::AddOverflow(below, parts, above))
    return below > 0 ? std::to_string(below) : "no size";
  return text + std::to_string(above);
}

std::pair<diag::Code, std::vector<std::string>>
shardtype::describeSpecError(Context &cx, const SpecError &error,
                             const PartitionSpec &spec, MeshId mesh,
                             unsigned rank, ArrayRef<int64_t> shape) {
  std::string axis = error.axis.valid() ? cx.str(error.axis).str() : "";
  std::string text = str(cx, spec);
  const Mesh &m = cx.meshOrEmpty(mesh);
  switch (error.kind) {
  case SpecError::Overlap:
    return {diag::SpecOverlap, {axis, text}};
  case SpecError::KindWithoutU:
    return {diag::SpecKindWithoutUnreduced, {text}};
  case SpecError::Duplicate:
    if (error.dim == error.dim2)
      return {diag::SpecDuplicateInDim,
              {axis, std::to_string(error.dim), text}};
    return {
        diag::SpecDuplicate,
        {axis, std::to_string(error.dim), std::to_string(error.dim2), text}};
  case SpecError::UnknownAxis:
    if (m.empty())
      return {diag::SpecNoMesh, {text}};
    return {diag::SpecUnknownAxis, {axis, text, shortMesh(cx, m)}};
  case SpecError::Unconstrained:
    return {diag::SpecUnconstrained,
            {text, std::to_string(error.dim), shortMesh(cx, m)}};
  case SpecError::AxisType: {
    std::optional<unsigned> at = m.find(error.axis);
    return {diag::SpecUrAxisType,
            {axis, text, at ? str(m.axes[*at].type).str() : "unknown"}};
  }
  case SpecError::Rank:
    return {
        diag::TypeRank,
        {text, std::to_string(spec.partitions.size()), std::to_string(rank)}};
  case SpecError::Indivisible: {
    const auto &axes = spec.partitions[error.dim].axes;
    std::string names;
    int64_t parts = 1;
    for (StringId name : axes) {
      names += (names.empty() ? "'" : ", '") + cx.str(name).str() + "'";
      if (std::optional<unsigned> at = m.find(name))
        parts = llvm::MulOverflow(parts, m.axes[*at].size, parts)
                    ? std::numeric_limits<int64_t>::max()
                    : parts;
    }
    int64_t size = shape[error.dim];
    return {diag::TypeIndivisible,
            {std::to_string(error.dim), sizeText(cx, size), names,
             std::to_string(parts),
             Dim::isSymbolic(size)
                 ? "a multiple such as " + std::to_string(parts) + "*b"
                 : nearestSizes(size, parts)}};
  }
  }
  llvm_unreachable("every kind is described");
}

ErrorBuilder shardtype::reportSpecError(TypingContext &cx,
                                        const SpecError &error,
                                        const PartitionSpec &spec, MeshId mesh,
                                        unsigned rank) {
  auto [code, args] =
      describeSpecError(cx.context(), error, spec, mesh, rank, {});
  return cx.report(code, std::move(args));
}

ErrorBuilder shardtype::reportSpecError(TypingContext &cx,
                                        const SpecError &error,
                                        const Sharding &sharding,
                                        ArrayRef<int64_t> shape) {
  auto [code, args] =
      describeSpecError(cx.context(), error, toSpec(cx.context(), sharding),
                        sharding.mesh, shape.size(), shape);
  return cx.report(code, std::move(args));
}
