// LoopsEval.cpp - scan and while, as they are evaluated.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Loops.h"
#include "shardtype/Kernels/Blocks.h"
#include <cstring>

using namespace shardtype;

/// Leaves below a value of leaf counts; saturates far above any program's.
static uint64_t leaves(const Program &program, const Value &value) {
  if (value.kind == Value::Int)
    return value.integer < 0 ? 1u << 30 : value.integer;
  uint64_t sum = 0;
  for (ValueId element : value.elements)
    sum = std::min<uint64_t>(sum + leaves(program, program.value(element)),
                             1u << 30);
  return sum;
}

/// Leaves of each component of a FlatTree (spec 04, 4.7); none: unreadable.
static std::optional<SmallVector<uint64_t, 3>> components(const Program &p,
                                                          const Value *tree) {
  if (!tree || tree->kind != Value::FlatTree || tree->elements.empty())
    return std::nullopt;
  SmallVector<uint64_t, 3> counts;
  for (ValueId component : p.value(tree->elements[0]).elements)
    counts.push_back(leaves(p, p.value(component)));
  return counts;
}

std::optional<ScanCounts> shardtype::countsOf(const Program &program,
                                              const Scan &scan,
                                              unsigned operands) {
  if (scan.numConsts && scan.numCarry && *scan.numConsts >= 0 &&
      *scan.numCarry >= 0) {
    auto consts = static_cast<uint64_t>(*scan.numConsts),
         carries = static_cast<uint64_t>(*scan.numCarry);
    uint64_t all = std::max<uint64_t>(operands, consts + carries);
    return ScanCounts{consts, carries, all - consts - carries};
  }
  auto in = components(program, scan.in);
  if (!in || in->size() != 3)
    return std::nullopt;
  return ScanCounts{(*in)[0], (*in)[1], (*in)[2]};
}

/// Entry `at` of each scanned array, and of what devices hold of it.
static void addEntries(ArrayRef<Datum> xs, int64_t at,
                       std::vector<Datum> &inputs) {
  for (const Datum &x : xs) {
    inputs.emplace_back(x.tensor.entry(at), x.varying);
    if (!x.sums || !x.sums->known()) {
      inputs.back().sums = x.sums;
      continue;
    }
    std::vector<Tensor> parts;
    for (const Tensor &part : x.sums->parts)
      parts.push_back(part.entry(at));
    inputs.back().sums = makeSums(x.sums->axes, std::move(parts));
  }
}

static void putEntry(Tensor &into, int64_t at, const Tensor &entry) {
  SmallVector<int64_t, 6> starts(into.rank()), shape(starts.size(), 1);
  starts[0] = at;
  llvm::copy(entry.shape(), shape.begin() + 1);
  kernels::putBlock(into, starts, entry.reshaped(shape));
}

namespace {
/// What devices hold of a scan's stacked results.
struct StackedSums {
  AxisSet axes;
  std::vector<Tensor> parts;
  PartialSumsRef lost; // By some trip.

  void put(const Tensor &like, int64_t at, const PartialSumsRef &entry) {
    if (!entry)
      return;
    if (!entry->known()) {
      lost = entry;
      return;
    }
    axes = entry->axes;
    if (parts.empty())
      for (size_t i = 0; i < entry->parts.size(); ++i)
        parts.push_back(Tensor::zeros(like.dtype(), like.shape()));
    for (auto [part, own] : llvm::zip_equal(parts, entry->parts))
      putEntry(part, at, own);
  }
  PartialSumsRef take() {
    if (lost || parts.empty())
      return lost;
    return makeSums(axes, std::move(parts));
  }
};
} // namespace

Task shardtype::scanEval(EvalContext &cx) {
  const auto &p = cx.params<Scan>();
  std::optional<ScanCounts> counts =
      countsOf(cx.program(), p, cx.numOperands());
  if (!counts)
    co_return cx.fail("does not say what it scans");
  const Value *backwards = cx.param("reverse");
  bool reverse = backwards && backwards->integer != 0;
  std::vector<Datum> consts, carries, xs, ys;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    (i < counts->consts                     ? consts
     : i < counts->consts + counts->carries ? carries
                                            : xs)
        .push_back(cx.takeDatum(i));
  for (unsigned i = carries.size(); i < cx.numResults(); ++i)
    ys.emplace_back(cx.makeResult(i));
  std::vector<StackedSums> sums(ys.size());
  for (int64_t trip = 0; trip < p.length; ++trip) {
    int64_t at = reverse ? p.length - 1 - trip : trip;
    std::vector<Datum> inputs = consts;
    for (Datum &carry : carries)
      inputs.push_back(std::move(carry));
    addEntries(xs, at, inputs);
    std::vector<Datum> outs = co_await cx.run(p.jaxpr, std::move(inputs));
    for (size_t k = 0; k < outs.size(); ++k) {
      if (k < carries.size()) {
        carries[k] = std::move(outs[k]);
        continue;
      }
      Datum &y = ys[k - carries.size()];
      y.varying |= outs[k].varying;
      putEntry(y.tensor, at, outs[k].tensor);
      sums[k - carries.size()].put(y.tensor, at, outs[k].sums);
    }
  }
  for (auto [y, own] : llvm::zip_equal(ys, sums))
    y.sums = own.take();
  for (unsigned i = 0; i < cx.numResults(); ++i)
    cx.setDatum(
        i, std::move(i < carries.size() ? carries[i] : ys[i - carries.size()]));
  co_return success();
}

/// A loop that vmap made has a condition for each of the first dims of its
/// carries: those whose condition is false keep what they have.
static void keepWhereFalse(const Tensor &condition, const Tensor &before,
                           Tensor &after) {
  if (before.sameMemory(after) || after.size() == 0)
    return;
  after.makeUnique();
  auto rows = condition.as<bool>();
  uint64_t bytes = after.bytes() / rows.size();
  for (size_t i = 0; i < rows.size(); ++i)
    if (!rows[i])
      std::memcpy(after.mutableData() + i * bytes, before.data() + i * bytes,
                  bytes);
}

Task shardtype::whileEval(EvalContext &cx) {
  const auto &p = cx.params<While>();
  std::vector<Datum> condConsts, bodyConsts, carries;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    (i < p.condConsts                  ? condConsts
     : i < p.condConsts + p.bodyConsts ? bodyConsts
                                       : carries)
        .push_back(cx.takeDatum(i));
  // What the condition varies over decides how often the rest is run.
  AxisSet control;
  while (true) {
    std::vector<Datum> inputs = condConsts;
    inputs.insert(inputs.end(), carries.begin(), carries.end());
    std::vector<Datum> again =
        co_await cx.run(p.cond, std::move(inputs), control);
    const Tensor &condition = again[0].tensor;
    control |= again[0].varying;
    if (!llvm::is_contained(condition.as<bool>(), true))
      break;
    bool several = condition.rank() > 0;
    inputs = bodyConsts;
    std::vector<Datum> before;
    if (several)
      before = carries;
    for (Datum &carry : carries)
      inputs.push_back(std::move(carry));
    carries = co_await cx.run(p.body, std::move(inputs), control);
    if (several)
      for (size_t k = 0; k < carries.size(); ++k)
        if (!carries[k].cell) {
          carries[k].sums = nullptr; // Not followed here.
          keepWhereFalse(condition, before[k].tensor, carries[k].tensor);
        }
  }
  for (auto [i, carry] : llvm::enumerate(carries)) {
    carry.varying |= control;
    cx.setDatum(i, std::move(carry));
  }
  co_return success();
}
