// Sums.cpp - the partial sums of an equation's results.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Sums.h"
#include "llvm/ADT/Sequence.h"

using namespace shardtype;
using namespace shardtype::interp;

static std::string nameOf(const Step &step) {
  return step.equation.primitive->info.name.str();
}

namespace {
/// Runs one equation on blocks.
class BlockRun {
public:
  BlockRun(const Step &step, EvalHost &host, const EvalOptions &options,
           ArrayRef<Datum *> operands, const Mesh &mesh, AxisSet axes)
      : step_(step), host_(host), options_(options), operands_(operands),
        cx_(*step.equation.types), mesh_(mesh), axes_(axes) {}

  /// Null: it can be run so. Otherwise what the results' sums are.
  PartialSumsRef refusal() const;
  /// Does some operand differ between places? Otherwise each device has the
  /// whole result.
  bool differs() const {
    return llvm::any_of(llvm::seq<unsigned>(0, operands_.size()),
                        [&](unsigned i) { return differs(i); });
  }
  /// Its results for a place; none: the kernel does not take such blocks.
  std::optional<SmallVector<Datum, 1>> at(ArrayRef<int64_t> coordinates) const;

private:
  const Type &type(unsigned i) const {
    return cx_.type(step_.equation.operandTypes[i]);
  }
  bool differs(unsigned i) const;

  const Step &step_;
  EvalHost &host_;
  const EvalOptions &options_;
  ArrayRef<Datum *> operands_;
  const Context &cx_;
  const Mesh &mesh_;
  AxisSet axes_;
};
} // namespace

/// Do devices at different places hold different blocks of an operand?
bool BlockRun::differs(unsigned i) const {
  const Type &t = type(i);
  return t.isArray() && t.sharding.mesh.valid() &&
         (t.sharding.unreduced | t.sharding.axes()).intersects(axes_);
}

PartialSumsRef BlockRun::refusal() const {
  for (unsigned i = 0; i < operands_.size(); ++i) {
    if (!step_.equation.operandTypes[i].valid() || operands_[i]->cell)
      return lostSums(nameOf(step_));
    const PartialSumsRef &sums = operands_[i]->sums;
    bool partial = isUnreduced(cx_, step_.equation.operandTypes[i]);
    if (partial && (!sums || !sums->known()))
      return sums ? sums : lostSums(nameOf(step_));
    if (partial && !axes_.contains(sums->axes))
      return lostSums(nameOf(step_));
  }
  return nullptr;
}

std::optional<SmallVector<Datum, 1>>
BlockRun::at(ArrayRef<int64_t> coordinates) const {
  SmallVector<Datum, 4> blocks;
  SmallVector<Datum *, 4> pointers;
  for (unsigned i = 0; i < operands_.size(); ++i) {
    Tensor block = operands_[i]->tensor;
    if (operands_[i]->sums && isUnreduced(cx_, step_.equation.operandTypes[i]))
      block = partAt(*operands_[i]->sums, mesh_, coordinates);
    if (differs(i) && block)
      block =
          blockAlong(mesh_, type(i).sharding.dims, axes_, coordinates, block);
    blocks.emplace_back(std::move(block), operands_[i]->varying);
  }
  for (Datum &block : blocks)
    pointers.push_back(&block);
  SmallVector<Datum, 1> values(step_.results.size());
  EvalContext cx(step_.equation, host_, options_, pointers, /*lastUses=*/0,
                 values, {}, {});
  if (failed(step_.equation.primitive->eval.kernel()(cx)))
    return std::nullopt;
  for (auto [value, id] : llvm::zip_equal(values, step_.equation.resultTypes))
    if (value.tensor.shape() != ArrayRef<int64_t>(cx_.type(id).shape))
      return std::nullopt;
  return values;
}

/// A result that is the operand, placed in another way; null: it is not.
static PartialSumsRef placed(const Step &step, const Context &cx,
                             const EvalOptions &options,
                             ArrayRef<Datum *> operands) {
  if (step.equation.primitive->eval.kernel() != eval::pass ||
      operands.size() != 1 || step.results.size() != 1 ||
      !step.equation.operandTypes[0].valid())
    return nullptr;
  const Type &from = cx.type(step.equation.operandTypes[0]),
             &to = cx.type(step.equation.resultTypes[0]);
  if (!from.isArray() || operands[0]->cell)
    return nullptr;
  // Bools are no sums: a mask that is false on all devices but one would be
  // taken for one that is.
  if (from.dtype == DType::Bool && from.sharding.unreduced.empty() &&
      !options.jaxNumbers)
    return lostSums(nameOf(step));
  return placedSums(cx, from.sharding, to.sharding, operands[0]->tensor,
                    operands[0]->sums);
}

/// Without a block that differs, the parts are a sum of it only if it is zero.
/// JAX has the whole value on every device, as of `jnp.ones_like(unreduced)`.
static bool isZero(const Tensor &value) {
  return llvm::all_of(
      ArrayRef(reinterpret_cast<const char *>(value.data()), value.bytes()),
      [](char byte) { return byte == 0; });
}

SmallVector<PartialSumsRef, 1> interp::sumsOf(const Step &step, EvalHost &host,
                                              const EvalOptions &options,
                                              ArrayRef<Datum *> operands) {
  const Context &cx = *step.equation.types;
  SmallVector<PartialSumsRef, 1> sums(step.results.size());
  AxisSet axes;
  MeshId meshId;
  bool alike = true;
  for (TypeId id : step.equation.resultTypes)
    if (isUnreduced(cx, id)) {
      const Sharding &to = cx.type(id).sharding;
      alike &= axes.empty() || axes == to.unreduced;
      axes = to.unreduced;
      meshId = to.mesh;
    }
  if (axes.empty())
    return sums;
  if (PartialSumsRef moved = placed(step, cx, options, operands)) {
    sums[0] = moved;
    return sums;
  }
  const Mesh &mesh = cx.mesh(meshId);
  BlockRun blocks(step, host, options, operands, mesh, axes);
  PartialSumsRef refused = alike ? blocks.refusal() : lostSums(nameOf(step));
  std::vector<std::vector<Tensor>> parts(step.results.size());
  for (int64_t place = 0; !refused && place < mesh.size(axes); ++place) {
    auto values = blocks.at(coordinatesOf(mesh, axes, place));
    bool isSum = options.jaxNumbers || blocks.differs() ||
                 (values && llvm::all_of(*values, [](const Datum &value) {
                    return isZero(value.tensor);
                  }));
    if (!values || !isSum)
      refused = lostSums(nameOf(step));
    else
      for (auto [of, value] : llvm::zip_equal(parts, *values))
        of.push_back(std::move(value.tensor));
  }
  for (auto [i, id] : llvm::enumerate(step.equation.resultTypes))
    if (isUnreduced(cx, id))
      sums[i] = refused ? refused : makeSums(axes, std::move(parts[i]));
  return sums;
}

void interp::settleSums(const Step &step, MutableArrayRef<Datum> results) {
  const Context &cx = *step.equation.types;
  for (auto [i, value] : llvm::enumerate(results)) {
    if (!isUnreduced(cx, step.equation.resultTypes[i])) {
      value.sums = nullptr;
      continue;
    }
    if (!value.sums)
      value.sums = lostSums(nameOf(step));
  }
}
