// ManualEval.cpp - collectives: what the last device to arrive does for all.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Members are numbered along the axes in the order given (spec 02, 6.1).
// Results that are equal on all members are one array that all of them hold.
#include "ManualEval.h"
#include "Manual.h"
#include "shardtype/Kernels/Blocks.h"
#include "shardtype/Kernels/Combine.h"
#include "shardtype/Kernels/Index.h"
#include "shardtype/Kernels/Reduce.h"
#include <cstring>

using namespace shardtype;
using kernels::Combine;

namespace {
/// Which devices take part, as the parameters of an equation say.
struct Group {
  AxisList axes;
  Groups parts;
  SmallVector<int64_t, 2> dims; // `psum` and its like name dims as well.
};
} // namespace

static void addAxes(EvalContext &cx, const Value &value, Group &group) {
  const Mesh &mesh = cx.context().meshOrEmpty(cx.host().deviceMesh());
  if (value.kind == Value::Str) {
    if (std::optional<unsigned> at = mesh.find(value.text))
      group.axes.push_back(static_cast<uint8_t>(*at));
    return;
  }
  if (value.kind == Value::Int)
    group.dims.push_back(value.integer);
  for (ValueId element : value.elements)
    addAxes(cx, cx.program().value(element), group);
}

static Group groupOf(EvalContext &cx) {
  Group group;
  for (StringRef key : {"axes", "axis_name"})
    if (const Value *value = cx.param(key))
      addAxes(cx, *value, group);
  if (const Value *groups = cx.param("axis_index_groups"))
    (void)readParam(cx.program(), *groups, group.parts);
  return group;
}

/// What any member's operand varies over.
static AxisSet varyingOf(ArrayRef<Meet *> members) {
  AxisSet axes;
  for (const Meet *member : members)
    for (const Datum &input : member->inputs)
      axes |= input.varying;
  return axes;
}

/// Likewise, of a result that is equal on all members: not over their axes,
/// unless there are several groups along those.
static AxisSet varyingOfEqual(ArrayRef<Meet *> members) {
  AxisSet axes = varyingOf(members);
  AxisSet own = AxisSet::of(members.front()->axes);
  return members.front()->groups.size() > 1 ? axes | own : axes - own;
}

/// Of a result that each member has for itself.
static AxisSet varyingOfOwn(ArrayRef<Meet *> members) {
  return varyingOf(members) | AxisSet::of(members.front()->axes);
}

static void setAll(ArrayRef<Meet *> members, const Tensor &value) {
  AxisSet axes = varyingOfEqual(members);
  for (Meet *member : members) {
    member->inputs.clear();
    member->outputs.assign(1, Datum(value, axes));
  }
}

static std::vector<Tensor> operandsOf(ArrayRef<Meet *> members) {
  std::vector<Tensor> operands;
  for (Meet *member : members)
    operands.push_back(member->inputs[0].tensor);
  return operands;
}

static int64_t integerParam(EvalContext &cx, StringRef key) {
  const Value *value = cx.param(key);
  return value ? value->integer : 0;
}

/// The group's members meet with all of their operands; `complete` gives each
/// its result.
static Task meetIn(EvalContext &cx,
                   LogicalResult (*complete)(ArrayRef<Meet *>)) {
  Group group = groupOf(cx);
  std::vector<Datum> inputs = cx.takeOperands();
  std::vector<Datum> outs = co_await cx.meet(group.axes, group.parts.members,
                                             complete, std::move(inputs));
  cx.setDatum(0, std::move(outs[0]));
  co_return success();
}

//===--- Reductions -------------------------------------------------------===//

static Combine howOf(StringRef name) {
  return name.contains("pmax")   ? Combine::Max
         : name.contains("pmin") ? Combine::Min
                                 : Combine::Sum;
}

static LogicalResult reduceAll(ArrayRef<Meet *> members) {
  EvalContext &cx = members.front()->cx;
  Combine how = howOf(cx.name());
  std::vector<Tensor> operands = operandsOf(members);
  if (!kernels::canCombine(how, operands.front().dtype()))
    return cx.fail("cannot combine values of this dtype");
  setAll(members, kernels::combine(how, operands, cx.options().jaxNumbers));
  return success();
}

Task shardtype::reductionEval(EvalContext &cx) {
  Group group = groupOf(cx);
  std::vector<Datum> inputs(1, cx.takeDatum(0));
  if (!group.dims.empty()) { // Each device reduces those for itself.
    Tensor &value = inputs[0].tensor;
    Combine how = howOf(cx.name());
    if (!kernels::canCombine(how, value.dtype()))
      co_return cx.fail("cannot combine values of this dtype");
    for (int64_t &dim : group.dims)
      dim = dim < 0 ? dim + value.rank() : dim;
    // As of members: any of bools.
    bool any = value.dtype() == DType::Bool && how == Combine::Sum;
    value = kernels::reduce(any                   ? kernels::ReduceOp::Or
                            : how == Combine::Max ? kernels::ReduceOp::Max
                            : how == Combine::Min ? kernels::ReduceOp::Min
                                                  : kernels::ReduceOp::Sum,
                            value, group.dims);
  }
  if (group.axes.empty()) {
    cx.setDatum(0, std::move(inputs[0]));
    co_return success();
  }
  std::vector<Datum> outs = co_await cx.meet(group.axes, group.parts.members,
                                             reduceAll, std::move(inputs));
  cx.setDatum(0, std::move(outs[0]));
  co_return success();
}

//===--- all_gather -------------------------------------------------------===//

static LogicalResult gatherAll(ArrayRef<Meet *> members) {
  EvalContext &cx = members.front()->cx;
  auto dim = static_cast<size_t>(integerParam(cx, "all_gather_dimension"));
  bool tiled = integerParam(cx, "tiled") != 0;
  const Tensor like = members.front()->inputs[0].tensor;
  SmallVector<int64_t, 6> piece(like.shape().begin(), like.shape().end());
  if (!tiled)
    piece.insert(piece.begin() + static_cast<ptrdiff_t>(dim), 1);
  SmallVector<int64_t, 6> whole = piece, starts(piece.size());
  whole[dim] *= static_cast<int64_t>(members.size());
  // What was cut out of one array need not be copied to be one again.
  if (llvm::all_of(ArrayRef(whole).take_front(dim),
                   [](int64_t size) { return size == 1; }))
    if (Tensor joined = Tensor::joined(operandsOf(members), whole)) {
      setAll(members, joined);
      return success();
    }
  Tensor result = Tensor::uninitialised(like.dtype(), whole);
  for (Meet *member : members) {
    kernels::putBlock(result, starts, member->inputs[0].tensor.reshaped(piece));
    starts[dim] += piece[dim];
  }
  setAll(members, result);
  return success();
}

Task shardtype::gatherEval(EvalContext &cx) { return meetIn(cx, gatherAll); }

//===--- reduce_scatter ---------------------------------------------------===//

static LogicalResult scatterAll(ArrayRef<Meet *> members) {
  EvalContext &cx = members.front()->cx;
  auto dim = static_cast<size_t>(integerParam(cx, "scatter_dimension"));
  bool tiled = integerParam(cx, "tiled") != 0;
  std::vector<Tensor> operands = operandsOf(members);
  if (!kernels::canCombine(Combine::Sum, operands.front().dtype()))
    return cx.fail("cannot combine values of this dtype");
  SmallVector<int64_t, 6> part(operands.front().shape().begin(),
                               operands.front().shape().end());
  part[dim] /= static_cast<int64_t>(members.size());
  SmallVector<int64_t, 6> starts(part.size()), result = part;
  if (!tiled)
    result.erase(result.begin() + static_cast<ptrdiff_t>(dim));
  AxisSet axes = varyingOfOwn(members);
  Tensor sum = kernels::combine(Combine::Sum, operands);
  for (Meet *member : members) {
    Tensor block = kernels::viewOf(sum, starts, part);
    member->outputs.assign(1, Datum(block.reshaped(result), axes));
    starts[dim] += part[dim];
  }
  return success();
}

Task shardtype::reduceScatterEval(EvalContext &cx) {
  return meetIn(cx, scatterAll);
}

//===--- all_to_all -------------------------------------------------------===//

/// Always the tiled form (spec 02, 6.3).
static LogicalResult exchangeAll(ArrayRef<Meet *> members) {
  EvalContext &cx = members.front()->cx;
  auto split = static_cast<size_t>(integerParam(cx, "split_axis")),
       concat = static_cast<size_t>(integerParam(cx, "concat_axis"));
  std::vector<Tensor> operands = operandsOf(members);
  auto count = static_cast<int64_t>(members.size());
  SmallVector<int64_t, 6> chunk(operands.front().shape().begin(),
                                operands.front().shape().end());
  chunk[split] /= count;
  SmallVector<int64_t, 6> whole = chunk;
  whole[concat] *= count;
  AxisSet axes = varyingOfOwn(members);
  for (auto [k, member] : llvm::enumerate(members)) {
    Tensor result = Tensor::uninitialised(operands.front().dtype(), whole);
    SmallVector<int64_t, 6> from(chunk.size()), to(chunk.size());
    from[split] = static_cast<int64_t>(k) * chunk[split];
    for (const Tensor &operand : operands) {
      kernels::moveBlock(result, to, operand, from, chunk);
      to[concat] += chunk[concat];
    }
    member->outputs.assign(1, Datum(std::move(result), axes));
  }
  return success();
}

Task shardtype::allToAllEval(EvalContext &cx) {
  return meetIn(cx, exchangeAll);
}

//===--- ragged_all_to_all ------------------------------------------------===//

/// Operands: operand, output, input offsets, send sizes, output offsets,
/// receive sizes. What a sender gives to receiver k stands at entry k.
static LogicalResult raggedAll(ArrayRef<Meet *> members) {
  AxisSet axes = varyingOfOwn(members);
  std::vector<Tensor> results;
  for (Meet *member : members) {
    results.push_back(member->inputs[1].tensor);
    member->inputs[1] = Datum();
    results.back().makeUnique();
    for (unsigned i : {2u, 3u, 4u})
      if (member->inputs[i].tensor.size() <
          static_cast<int64_t>(members.size()))
        return member->cx.fail("has fewer offsets than there are devices");
  }
  for (Meet *sender : members) {
    const Tensor &operand = sender->inputs[0].tensor;
    for (size_t k = 0; k < members.size(); ++k) {
      int64_t from = kernels::integerAt(sender->inputs[2].tensor, k),
              count = kernels::integerAt(sender->inputs[3].tensor, k),
              to = kernels::integerAt(sender->inputs[4].tensor, k);
      if (from < 0 || count < 0 || to < 0 || operand.rank() == 0 ||
          from + count > operand.dim(0) || to + count > results[k].dim(0))
        return sender->cx.fail("sends rows that are outside of its arrays");
      if (operand.size() == 0)
        continue;
      uint64_t row = operand.bytes() / static_cast<uint64_t>(operand.dim(0));
      std::memcpy(results[k].mutableData() + static_cast<uint64_t>(to) * row,
                  operand.data() + static_cast<uint64_t>(from) * row,
                  static_cast<uint64_t>(count) * row);
    }
  }
  for (auto [member, result] : llvm::zip_equal(members, results))
    member->outputs.assign(1, Datum(std::move(result), axes));
  return success();
}

Task shardtype::raggedEval(EvalContext &cx) { return meetIn(cx, raggedAll); }

//===--- ppermute and pbroadcast ------------------------------------------===//

/// Arrays are passed on; members without a source get zeros.
static LogicalResult permuteAll(ArrayRef<Meet *> members) {
  EvalContext &cx = members.front()->cx;
  AxisSet axes = varyingOfOwn(members);
  const Value *pairs = cx.param("perm");
  if (!pairs)
    return cx.fail("has no pairs of devices");
  for (ValueId id : pairs->elements) {
    SmallVector<int64_t, 2> pair;
    if (!readParam(cx.program(), cx.program().value(id), pair) ||
        pair.size() != 2)
      return cx.fail("has pairs that cannot be read");
    for (int64_t device : pair)
      if (device < 0 || device >= static_cast<int64_t>(members.size()))
        return cx.fail("names device " + llvm::Twine(device) + " of " +
                       llvm::Twine(members.size()));
    Meet &target = *members[static_cast<size_t>(pair[1])];
    if (!target.outputs.empty())
      return cx.fail("sends twice to device " + llvm::Twine(pair[1]));
    target.outputs.assign(
        1,
        Datum(members[static_cast<size_t>(pair[0])]->inputs[0].tensor, axes));
  }
  Tensor zeros;
  for (Meet *member : members) {
    if (!member->outputs.empty())
      continue;
    if (!zeros)
      zeros = Tensor::zeros(member->inputs[0].tensor.dtype(),
                            member->inputs[0].tensor.shape());
    member->outputs.assign(1, Datum(zeros, axes));
  }
  for (Meet *member : members)
    member->inputs.clear();
  return success();
}

Task shardtype::permuteEval(EvalContext &cx) { return meetIn(cx, permuteAll); }

static LogicalResult broadcastAll(ArrayRef<Meet *> members) {
  Meet &first = *members.front();
  int64_t source = first.inputs.size() > 1
                       ? first.inputs[1].tensor.item<int32_t>()
                       : integerParam(first.cx, "source");
  if (source < 0 || source >= static_cast<int64_t>(members.size()))
    return first.cx.fail("names device " + llvm::Twine(source) + " of " +
                         llvm::Twine(members.size()));
  Tensor value = members[static_cast<size_t>(source)]->inputs[0].tensor;
  setAll(members, value);
  return success();
}

Task shardtype::broadcastEval(EvalContext &cx) {
  return meetIn(cx, broadcastAll);
}

//===--- axis_index -------------------------------------------------------===//

LogicalResult shardtype::axisIndexEval(EvalContext &cx) {
  Group group = groupOf(cx);
  const Mesh &mesh = cx.context().meshOrEmpty(cx.host().deviceMesh());
  int64_t index = 0;
  for (uint8_t axis : group.axes) {
    if (!cx.host().manualAxes().contains(axis))
      return cx.fail("names an axis that no region around it has");
    index = index * mesh.axes[axis].size + cx.coordinate(axis);
  }
  cx.setDatum(
      0, Datum(Tensor::scalar<int32_t>(DType::I32, static_cast<int32_t>(index)),
               AxisSet::of(group.axes)));
  return success();
}
