// ShardMap.h - what the parts of shard_map's rule share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_SHARDMAP_H
#define SHARDTYPE_LIB_PRIMITIVES_SHARDMAP_H
#include "Bodies.h"
#include "Families.h"
#include "shardtype/Rules/Eval.h"
#include "llvm/Support/JSON.h"

namespace shardtype {

/// The specs of all operands, or of all results.
struct Specs {
  SmallVector<PartitionSpec, 4> list;
};

struct ShardMap {
  bool checkVma = true;
  Specs in, out;
  JaxprId jaxpr;
  const Value *mesh = nullptr, *axes = nullptr;
  static constexpr auto fields = std::tuple(
      field("check_vma", &ShardMap::checkVma), field("in_specs", &ShardMap::in),
      field("jaxpr", &ShardMap::jaxpr, Hide::Never, ParamField::Jaxpr),
      valueField("mesh", &ShardMap::mesh, form::mesh),
      valueField("newly_manual_axes", &ShardMap::axes, form::axes),
      field("out_specs", &ShardMap::out));
};

/// The meshes around and in a region, and how its body is checked.
struct Region {
  MeshId outer, inner;
  AxisSet axes;             // That become Manual.
  AxisSet wasManual;        // Outside already.
  bool allExplicit = false; // They were Explicit: specs must be met.
  // Recorded without JAX's check of varying axes, because the body does not
  // pass that (export E18).
  bool unchecked = false;
  Vma vma = Vma::On;
  // Of a recording under vmap (shard_map/vmap.1): axes that vmap maps over,
  // which stay as they are; the dims of each operand that vmap added.
  AxisSet mapped;
  SmallVector<SmallVector<int, 2>, 4> addedDims;
  bool isAdded(unsigned operand, unsigned dim) const {
    return operand < addedDims.size() &&
           llvm::is_contained(addedDims[operand], static_cast<int>(dim));
  }
  // Recorded with in_specs that were found in an earlier pass.
  bool inferred = false;
};

/// What a recording says of the vmaps around a region (export E40), outermost
/// first: takes the axes that they map over out of the region.
LogicalResult leaveToVmaps(TypingContext &cx, Region &region,
                           const llvm::json::Object &derived);

/// A spec of the region on its mesh.
struct RegionSpec {
  SmallVector<AxisList, 4> dims; // As many as the value has.
  AxisSet split, unreduced, reduced;
  ReductionKind kind = ReductionKind::None;
  AxisSet named() const { return split | unreduced | reduced; }
};

/// How a message names one spec: `in_specs[1]`.
std::string specName(StringRef list, unsigned i);

/// shard_map/spec.1 and .2: a spec names axes of the region, and fits a value
/// of that rank, if it is known.
FailureOr<RegionSpec> resolveSpec(TypingContext &cx, const Region &region,
                                  const PartitionSpec &spec,
                                  std::optional<unsigned> rank, StringRef key,
                                  unsigned index);

/// The block of an operand as it enters the body, invalid if there can be none;
/// failure: it is not what the body was traced for. Both are reported.
TypeId enterRegion(TypingContext &cx, const Region &region, unsigned operand);
LogicalResult checkBlock(TypingContext &cx, const Region &region, TypeId block,
                         unsigned operand);

/// Sets one result from the blocks of the body; failure: reported.
LogicalResult leaveRegion(TypingContext &cx, const Region &region,
                          const TypingHost::Body &body, unsigned result);

Task shardMapEval(EvalContext &cx);

} // namespace shardtype
#endif
