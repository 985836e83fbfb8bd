// Linalg.cpp - ranks and batch dims that linear algebra shares.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Linalg.h"

using namespace shardtype;

static LogicalResult checkRanks(TypingContext &cx, ArrayRef<CoreInput> inputs) {
  for (unsigned i = 0; i < inputs.size(); ++i)
    if (cx.shape(i).size() < inputs[i].rank)
      return cx
          .error(diag::ShapeMismatch,
                 "operand " + std::to_string(i) + " of '" + cx.name().str() +
                     "' needs at least " + std::to_string(inputs[i].rank) +
                     " dims, but is " + cx.arg(cx.operandId(i)))
          .mark(i); // linalg/shape.1
  unsigned batch = cx.shape(0).size() - inputs[0].rank;
  for (unsigned i = 1; i < inputs.size(); ++i)
    if (cx.shape(i).size() - inputs[i].rank != batch)
      return cx
          .error(diag::ShapeMismatch,
                 "operands of '" + cx.name().str() +
                     "' have different numbers of batch dims: " +
                     cx.arg(cx.operandId(0)) + " and " +
                     cx.arg(cx.operandId(i)))
          .mark(0)
          .mark(i); // linalg/shape.2
  return success();
}

static LogicalResult checkDTypes(TypingContext &cx, ArrayRef<CoreInput> inputs,
                                 bool same) {
  for (unsigned i = 0; i < inputs.size(); ++i) {
    if (inputs[i].int32 && cx.operand(i).dtype != DType::I32)
      return cx
          .error(diag::DTypeRefused, cx.name(),
                 info(cx.operand(i).dtype).shortName, i, "i32")
          .mark(i);
    if (!inputs[i].int32 && failed(checkDType(cx, i, inputs[i].dtypes)))
      return failure();
  }
  return same ? checkSameDTypes(cx) : success();
}

FailureOr<SmallVector<ResultPart, 4>>
shardtype::linalgParts(TypingContext &cx, ArrayRef<CoreInput> inputs,
                       CoreRule *rule, bool sameDTypes) {
  if (failed(checkRanks(cx, inputs)))
    return failure();
  SmallVector<ArrayRef<int64_t>, 4> cores;
  bool weak = true;
  for (unsigned i = 0; i < inputs.size(); ++i) {
    cores.push_back(cx.shape(i).take_back(inputs[i].rank));
    weak &= cx.operand(i).weak;
  }
  ArrayRef<int64_t> batch = cx.shape(0).drop_back(inputs[0].rank);
  FailureOr<CoreParts> found = rule(cx, cores);
  if (failed(found) || failed(checkDTypes(cx, inputs, sameDTypes)))
    return failure(); // linalg/dtype.1
  SmallVector<ResultPart, 4> parts;
  for (const CorePart &part : *found) {
    ResultPart &result = parts.emplace_back();
    result.shape.assign(batch.begin(), batch.end());
    result.shape.append(part.core.begin(), part.core.end());
    result.dtype = part.dtype;
    result.weak = weak;
  }
  return parts;
}

/// The batch entries of operand 0 on every result.
static SmallVector<Sharding, 4> batchOnly(TypingContext &cx, unsigned batch,
                                          ArrayRef<ResultPart> parts) {
  SmallVector<Sharding, 4> shardings;
  for (const ResultPart &part : parts) {
    Sharding sharding = withoutSets(cx.sharding(0));
    sharding.dims.resize(batch);
    sharding.dims.resize(part.shape.size());
    shardings.push_back(std::move(sharding));
  }
  return shardings;
}

LogicalResult shardtype::refuseLinalgSets(TypingContext &cx,
                                          ArrayRef<CoreInput> inputs,
                                          unsigned i,
                                          ArrayRef<ResultPart> parts) {
  if (!cx.sharding(i).hasUR())
    return success();
  ErrorBuilder error = refuseSets(cx, diag::SpecIteration, i);
  unsigned batch = cx.shape(0).size() - inputs[0].rank;
  for (unsigned k = 0; k < inputs.size(); ++k) {
    ArrayRef<AxisList> dims = cx.sharding(k).dims;
    bool whole = llvm::all_of(dims.drop_front(batch),
                              [](const AxisList &d) { return d.empty(); });
    if (!whole || dims.take_front(batch) !=
                      ArrayRef(cx.sharding(0).dims).take_front(batch))
      return error;
  }
  return offerReduced(cx, error, parts, batchOnly(cx, batch, parts));
}

LogicalResult shardtype::linalgShardings(TypingContext &cx,
                                         ArrayRef<CoreInput> inputs,
                                         ArrayRef<ResultPart> parts,
                                         SmallVectorImpl<Sharding> &shardings) {
  unsigned batch = cx.shape(0).size() - inputs[0].rank;
  for (unsigned i = 0; i < inputs.size(); ++i) {
    if (failed(refuseLinalgSets(cx, inputs, i, parts)))
      return failure();
    const Sharding &s = cx.sharding(i);
    for (unsigned d = batch; d < s.dims.size(); ++d) {
      if (s.dims[d].empty())
        continue;
      Sharding whole = s;
      for (unsigned k = batch; k < s.dims.size(); ++k)
        whole.dims[k].clear();
      return cx.error(diag::LinalgSharded, cx.name(), d, i, s.dims[d])
          .mark(i, d)
          .fixOperand(i, whole); // linalg/sharding.1
    }
  }
  const Sharding &first = cx.sharding(0);
  for (unsigned i = 1; i < inputs.size(); ++i)
    for (unsigned d = 0; d < batch; ++d) {
      const Sharding &s = cx.sharding(i);
      if (s.dims[d] == first.dims[d])
        continue;
      Sharding here = placed(cx, i), there = placed(cx, 0);
      std::copy_n(first.dims.begin(), batch, here.dims.begin());
      std::copy_n(s.dims.begin(), batch, there.dims.begin());
      return cx.error(diag::LinalgBatch, cx.name(), d, first.dims[d], s.dims[d])
          .mark(0, d)
          .mark(i, d)
          .fixOperand(i, here)
          .fixOperand(0, there); // linalg/sharding.2
    }
  shardings.append(batchOnly(cx, batch, parts)); // linalg/sharding.3
  return success();
}

DimMap shardtype::linalgDims(TypingContext &cx, ArrayRef<CoreInput> inputs,
                             ArrayRef<unsigned> resultRanks) {
  DimMap map;
  unsigned batch = cx.shape(0).size() - inputs[0].rank;
  DimMap::Dims shared;
  for (int64_t size : cx.shape(0).take_front(batch))
    shared.push_back(addFactor(map, FactorRole::Pass, size));
  for (unsigned i = 0; i < inputs.size(); ++i) {
    DimMap::Dims &dims = map.operands.emplace_back(shared);
    for (int64_t size : cx.shape(i).drop_front(batch))
      dims.push_back(addFactor(map, FactorRole::Whole, size));
  }
  for (unsigned rank : resultRanks)
    map.results.emplace_back(shared).resize(batch + rank);
  return map;
}
