// Sums.cpp - the plain evaluator's reductions, products, windows and sorts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Operations.h"
#include <cmath>

using namespace shardtype;
using namespace shardtype::plain;

namespace {
/// A binary operation, and what is neutral for it.
struct Monoid {
  Binary join = nullptr;
  Number (*neutral)(DType) = nullptr;
  bool ordered = false; // Its order shows in floats, and is JAX's.
};
} // namespace

static Number zero(DType) { return {}; }
static Number ones(DType) { return integer(-1); }

static Monoid monoidOf(StringRef name) {
  static const std::pair<StringRef, Monoid> table[] = {
      {"sum", {binaryNamed("add"), zero, true}},
      {"prod", {binaryNamed("mul"), one, true}},
      {"max", {larger, lowest, false}},
      {"min", {smaller, highest, false}},
      {"_and", {binaryNamed("and"), ones, false}},
      {"xor", {binaryNamed("xor"), zero, false}},
      {"_or", {binaryNamed("or"), zero, false}}};
  for (const auto &[part, monoid] : table)
    if (name.contains(part))
      return monoid;
  return {};
}

//===--- Reductions -------------------------------------------------------===//

/// An array of numbers, rounded as elements of a dtype.
struct Numbers {
  Index shape;
  std::vector<Number> values;
};

/// One element for each window of these sizes, the first of each dim short by
/// half of what is missing at the ends (spec 09, 5).
static Numbers windowSums(const Numbers &x, DType dtype, const Monoid &m,
                          ArrayRef<int64_t> window) {
  Numbers out;
  Index front;
  int64_t size = 1;
  for (size_t d = 0; d < window.size(); ++d) {
    int64_t count =
        x.shape[d] == 0 && window[d] == 0
            ? 1
            : (x.shape[d] + window[d] - 1) / std::max<int64_t>(window[d], 1);
    out.shape.push_back(count);
    front.push_back((count * window[d] - x.shape[d]) / 2);
    size *= count;
  }
  out.values.assign(size, rounded(dtype, m.neutral(dtype)));
  forEachIndex(x.shape, [&](Index index) {
    const Number &value = x.values[position(x.shape, index)];
    for (size_t d = 0; d < index.size(); ++d)
      index[d] = (index[d] + front[d]) / window[d];
    Number &sum = out.values[position(out.shape, index)];
    sum = rounded(dtype, m.join(dtype, sum, value));
  });
  return out;
}

static void reduction(Operation &op) {
  const Tensor &x = op.in[0];
  Monoid m = monoidOf(op.name);
  auto axes = op["axes"].list();
  Numbers numbers{Index(x.shape().begin(), x.shape().end()), {}};
  for (int64_t i = 0; i < x.size(); ++i)
    numbers.values.push_back(load(x, i));
  bool again = !axes.empty(); // Over no dims it changes nothing.
  while (again) {
    again = false;
    for (int64_t d : axes)
      again |= m.ordered && !isInteger(x.dtype()) && numbers.shape[d] > 32;
    Index window;
    for (size_t d = 0; d < numbers.shape.size(); ++d)
      window.push_back(!llvm::is_contained(axes, static_cast<int64_t>(d)) ? 1
                       : again && numbers.shape[d] > 32                   ? 32
                                                        : numbers.shape[d]);
    numbers = windowSums(numbers, x.dtype(), m, window);
  }
  for (int64_t i = 0; i < op.out[0].size(); ++i)
    store(op.out[0], i, numbers.values[i]);
}

/// `reduce`: a body over all elements, from the initial values.
static void reduceBody(Operation &op) {
  size_t count = op.in.size() / 2;
  auto dims = op["dimensions"].list();
  SmallVector<DType, 4> dtypes;
  for (size_t twice = 0; twice < 2 * count; ++twice)
    dtypes.push_back(op.in[twice % count].dtype());
  for (size_t k = 0; k < count; ++k)
    for (int64_t i = 0; i < op.out[k].size(); ++i)
      move(op.out[k], i, op.in[dims.empty() ? k : count + k],
           dims.empty() ? i : 0);
  if (dims.empty()) // The initial values take no part.
    return;
  forEachIndex(op.in[0].shape(), [&](const Index &index) {
    Index kept;
    for (size_t d = 0; d < index.size(); ++d)
      if (!llvm::is_contained(dims, static_cast<int64_t>(d)))
        kept.push_back(index[d]);
    int64_t to = position(op.out[0].shape(), kept),
            from = position(op.in[0].shape(), index);
    std::vector<Number> values;
    for (size_t k = 0; k < count; ++k)
      values.push_back(load(op.out[k], to));
    for (size_t k = 0; k < count; ++k)
      values.push_back(load(op.in[k], from));
    values = op.call("jaxpr", dtypes, values);
    for (size_t k = 0; k < count; ++k)
      store(op.out[k], to, values[k]);
  });
}

/// The lines of an array along one dim: calls `f` with their positions.
template <typename F>
static void forEachLine(ArrayRef<int64_t> shape, int64_t dim, F &&f) {
  Index others(shape.begin(), shape.end());
  others[dim] = 1;
  forEachIndex(others, [&](Index index) {
    std::vector<int64_t> line;
    for (index[dim] = 0; index[dim] < shape[dim]; ++index[dim])
      line.push_back(position(shape, index));
    f(line);
  });
}

static void argExtreme(Operation &op) {
  const Tensor &x = op.in[0];
  bool max = op.name == "argmax";
  int64_t next = 0;
  forEachLine(
      x.shape(), op["axes"][0].number(), [&](const std::vector<int64_t> &line) {
        size_t best = 0;
        for (size_t k = 1; k < line.size(); ++k) {
          Number a = load(x, line[best]), b = load(x, line[k]);
          bool better = max ? less(x.dtype(), a, b) : less(x.dtype(), b, a);
          if (!isNaN(x.dtype(), a) && (isNaN(x.dtype(), b) || better))
            best = k;
        }
        store(op.out[0], next++, integer(best));
      });
}

static Number logAddExp(DType, const Number &a, const Number &b) {
  double most = std::fmax(a.re, b.re), least = std::fmin(a.re, b.re);
  if (std::isnan(a.re) || std::isnan(b.re))
    return {NAN, 0, 0};
  return {std::isinf(most) ? most : most + std::log1p(std::exp(least - most)),
          0, 0};
}

/// Tiles of 16, whose totals are cumulated by the same rule (spec 09, 6).
static std::vector<Number> cumulated(DType dtype, const Monoid &m, size_t tile,
                                     bool reverse, std::vector<Number> x) {
  std::vector<Number> out = x, totals;
  for (size_t begin = 0; begin < x.size(); begin += tile) {
    size_t end = std::min(begin + tile, x.size());
    for (size_t i = begin; i < end; ++i) {
      size_t first = reverse ? i : begin;
      Number sum = x[first];
      if (m.neutral)
        sum = rounded(dtype,
                      m.join(dtype, rounded(dtype, m.neutral(dtype)), sum));
      for (size_t k = first + 1; k < (reverse ? end : i + 1); ++k)
        sum = rounded(dtype, m.join(dtype, sum, x[k]));
      out[i] = sum;
    }
    totals.push_back(out[reverse ? begin : end - 1]);
  }
  if (totals.size() < 2)
    return out;
  totals = cumulated(dtype, m, tile, reverse, totals);
  for (size_t i = 0; i < x.size(); ++i) {
    size_t t = i / tile, other = reverse ? t + 1 : t - 1;
    if (other < totals.size()) // For the first, t - 1 wraps.
      out[i] = rounded(dtype, m.join(dtype, out[i], totals[other]));
  }
  return out;
}

static void cumulative(Operation &op) {
  const Tensor &x = op.in[0];
  bool reverse = op["reverse"].number(), logs = op.name == "cumlogsumexp";
  Monoid m = logs ? Monoid{logAddExp, nullptr, true} : monoidOf(op.name);
  forEachLine(x.shape(), op["axis"].number(), [&](std::vector<int64_t> line) {
    std::vector<Number> values;
    if (logs && reverse)
      std::reverse(line.begin(), line.end());
    for (int64_t at : line)
      values.push_back(load(x, at));
    values = cumulated(x.dtype(), m, logs ? line.size() + 1 : 16,
                       reverse && !logs, values);
    for (size_t k = 0; k < line.size(); ++k)
      store(op.out[0], line[k], values[k]);
  });
}

//===--- Sorts ------------------------------------------------------------===//

static int compareParts(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return int(std::isnan(a)) - int(std::isnan(b));
  return int(a > b) - int(a < b);
}
static int compareKeys(DType dtype, const Number &a, const Number &b) {
  if (!isFloat(dtype) && !isComplex(dtype))
    return int(a.i > b.i) - int(a.i < b.i);
  int real = compareParts(a.re, b.re);
  return real ? real : compareParts(a.im, b.im);
}

static void sort(Operation &op) {
  size_t keys = op["num_keys"].number(1);
  forEachLine(op.in[0].shape(), op["dimension"].number(),
              [&](const std::vector<int64_t> &line) {
                std::vector<int64_t> order = line;
                auto before = [&](int64_t a, int64_t b) {
                  for (size_t k = 0; k < keys; ++k) {
                    int which = compareKeys(op.in[k].dtype(), load(op.in[k], a),
                                            load(op.in[k], b));
                    if (which)
                      return which < 0;
                  }
                  return false;
                };
                std::stable_sort(order.begin(), order.end(), before);
                for (size_t k = 0; k < op.in.size(); ++k)
                  for (size_t i = 0; i < line.size(); ++i)
                    move(op.out[k], line[i], op.in[k], order[i]);
              });
}

static void topK(Operation &op) {
  const Tensor &x = op.in[0];
  int64_t dim = op["axis"].number();
  size_t k = op["k"].number();
  std::vector<std::vector<int64_t>> targets;
  forEachLine(op.out[0].shape(), dim, [&](const std::vector<int64_t> &line) {
    targets.push_back(line);
  });
  size_t which = 0;
  if (k == 0)
    return;
  forEachLine(x.shape(), dim, [&](const std::vector<int64_t> &line) {
    std::vector<int64_t> order(line.size());
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = i;
    llvm::stable_sort(order, [&](int64_t a, int64_t b) {
      return totalKey(x.dtype(), load(x, line[a])) >
             totalKey(x.dtype(), load(x, line[b]));
    });
    for (size_t i = 0; i < k; ++i) {
      move(op.out[0], targets[which][i], x, line[order[i]]);
      store(op.out[1], targets[which][i], integer(order[i]));
    }
    ++which;
  });
}

//===--- Products ---------------------------------------------------------===//

/// `sum + a * b`, floats of at most 32 bits in f32.
static Number multiplyAdd(DType dtype, const Number &sum, const Number &a,
                          const Number &b) {
  DType kept = isFloat(dtype) && dtype != DType::F64 ? DType::F32 : dtype;
  Binary times = binaryNamed(dtype == DType::Bool ? "and" : "mul");
  return rounded(
      kept, binaryNamed("add")(dtype, sum, rounded(kept, times(dtype, a, b))));
}

/// As the dtype of the products: integers beside floats become floats.
static Number factor(const Tensor &x, int64_t at, DType of) {
  Number value = load(x, at);
  if (isInteger(x.dtype()) && !isInteger(of))
    value.re = static_cast<double>(value.i);
  return value;
}

static void dot(Operation &op) {
  Setting n = op["dimension_numbers"];
  const Tensor &a = op.in[0], &b = op.in[1];
  DType dtype = op.out[0].dtype();
  auto contractA = n[0][0].list(), contractB = n[0][1].list(),
       batchA = n[1][0].list(), batchB = n[1][1].list();
  Index sizes;
  for (int64_t d : contractA)
    sizes.push_back(a.dim(d));
  forEachIndex(op.out[0].shape(), [&](const Index &index) {
    Index atA(a.rank(), -1), atB(b.rank(), -1);
    size_t next = 0;
    for (size_t k = 0; k < batchA.size(); ++k)
      atA[batchA[k]] = atB[batchB[k]] = index[next++];
    auto free = [&](Index &at, const SmallVector<int64_t, 6> &contracted) {
      for (size_t d = 0; d < at.size(); ++d)
        if (at[d] < 0 && !llvm::is_contained(contracted, int64_t(d)))
          at[d] = index[next++];
    };
    free(atA, contractA);
    free(atB, contractB);
    Number sum;
    forEachIndex(sizes, [&](const Index &inner) {
      for (size_t k = 0; k < inner.size(); ++k) {
        atA[contractA[k]] = inner[k];
        atB[contractB[k]] = inner[k];
      }
      sum = multiplyAdd(dtype, sum, factor(a, position(a.shape(), atA), dtype),
                        factor(b, position(b.shape(), atB), dtype));
    });
    store(op.out[0], position(op.out[0].shape(), index), sum);
  });
}

static void convolution(Operation &op) {
  Setting n = op["dimension_numbers"];
  auto lhsSpec = n.field("lhs_spec").list(),
       rhsSpec = n.field("rhs_spec").list(),
       outSpec = n.field("out_spec").list();
  auto strides = op["window_strides"].list(),
       lhsDilation = op["lhs_dilation"].list(),
       rhsDilation = op["rhs_dilation"].list();
  Setting padding = op["padding"];
  int64_t featureGroups = op["feature_group_count"].number(1),
          batchGroups = op["batch_group_count"].number(1);
  const Tensor &x = op.in[0], &kernel = op.in[1];
  DType dtype = op.out[0].dtype();
  size_t spatial = x.rank() - 2;
  Index taps{kernel.dim(rhsSpec[1])}; // In features, then the window.
  for (size_t d = 0; d < spatial; ++d)
    taps.push_back(kernel.dim(rhsSpec[2 + d]));
  int64_t batch = x.dim(lhsSpec[0]) / batchGroups,
          features = kernel.dim(rhsSpec[0]);
  forEachIndex(op.out[0].shape(), [&](const Index &index) {
    int64_t feature = index[outSpec[1]];
    Number sum;
    forEachIndex(taps, [&](const Index &tap) {
      Index at(x.rank()), of(x.rank());
      at[lhsSpec[0]] =
          index[outSpec[0]] + feature / (features / batchGroups) * batch;
      at[lhsSpec[1]] = tap[0] + feature / (features / featureGroups) * taps[0];
      of[rhsSpec[0]] = feature;
      of[rhsSpec[1]] = tap[0];
      bool inside = true;
      for (size_t d = 0; d < spatial; ++d) {
        int64_t place = index[outSpec[2 + d]] * strides[d] +
                        tap[1 + d] * rhsDilation[d] - padding[d][0].number();
        of[rhsSpec[2 + d]] = tap[1 + d];
        inside &= place >= 0 && place % lhsDilation[d] == 0;
        at[lhsSpec[2 + d]] = place / lhsDilation[d];
        inside &= at[lhsSpec[2 + d]] < x.dim(lhsSpec[2 + d]);
      }
      Number a = inside ? factor(x, position(x.shape(), at), dtype) : Number();
      Number b = factor(kernel, position(kernel.shape(), of), dtype);
      sum = multiplyAdd(dtype, sum, a, b);
    });
    store(op.out[0], position(op.out[0].shape(), index), sum);
  });
}

//===--- Windows ----------------------------------------------------------===//

/// The positions in the operand that the window at `index` holds, row-major.
static std::vector<int64_t> inWindow(Operation &op, const Tensor &operand,
                                     const Index &index) {
  auto sizes = op["window_dimensions"].list(),
       strides = op["window_strides"].list(), base = op["base_dilation"].list(),
       dilation = op["window_dilation"].list();
  Setting padding = op["padding"];
  std::vector<int64_t> positions;
  forEachIndex(sizes, [&](const Index &tap) {
    Index at;
    for (size_t d = 0; d < tap.size(); ++d) {
      int64_t place = index[d] * strides[d] +
                      tap[d] * (dilation.empty() ? 1 : dilation[d]) -
                      padding[d][0].number();
      int64_t step = base.empty() ? 1 : base[d];
      if (place < 0 || place % step || place / step >= operand.dim(d))
        return;
      at.push_back(place / step);
    }
    positions.push_back(position(operand.shape(), at));
  });
  return positions;
}

static void reduceWindow(Operation &op) {
  const Tensor &x = op.in[0];
  Monoid m = monoidOf(op.name);
  if (!m.join && op.in.size() != 2)
    return unsupported(op);
  DType dtype = x.dtype();
  forEachIndex(op.out[0].shape(), [&](const Index &index) {
    Number sum = m.join ? rounded(dtype, m.neutral(dtype)) : load(op.in[1], 0);
    for (int64_t at : inWindow(op, x, index))
      sum = m.join ? rounded(dtype, m.join(dtype, sum, load(x, at)))
                   : op.call("jaxpr", {dtype, dtype}, {sum, load(x, at)})[0];
    store(op.out[0], position(op.out[0].shape(), index), sum);
  });
}

/// The position that the window at `index` chooses; -1: it holds nothing.
static int64_t chosen(Operation &op, const Tensor &operand,
                      const Index &index) {
  std::string prim = op["select_prim"].word();
  DType dtype = operand.dtype();
  int64_t best = -1;
  for (int64_t at : inWindow(op, operand, index)) {
    if (best < 0) {
      best = at;
      continue;
    }
    Number a = load(operand, best), b = load(operand, at);
    Number keeps = prim.empty()
                       ? op.call("select_jaxpr", {dtype, dtype}, {a, b})[0]
                       : binaryNamed(prim)(dtype, a, b);
    if (!keeps.i)
      best = at;
  }
  return best;
}

static void selectScatter(Operation &op) {
  bool adds = op.name == "select_and_scatter_add";
  const Tensor &source = op.in[adds ? 0 : 1], &operand = op.in[adds ? 1 : 0];
  DType dtype = op.out[0].dtype();
  for (int64_t i = 0; !adds && i < op.out[0].size(); ++i)
    move(op.out[0], i, op.in[2], 0);
  forEachIndex(source.shape(), [&](const Index &index) {
    int64_t at = chosen(op, operand, index);
    if (at < 0)
      return;
    Number old = load(op.out[0], at),
           x = load(source, position(source.shape(), index));
    store(op.out[0], at,
          adds ? binaryNamed("add")(dtype, old, x)
               : op.call("scatter_jaxpr", {dtype, dtype}, {old, x})[0]);
  });
}
static void selectGather(Operation &op) {
  forEachIndex(op.out[0].shape(), [&](const Index &index) {
    int64_t at = chosen(op, op.in[1], index);
    if (at >= 0)
      move(op.out[0], position(op.out[0].shape(), index), op.in[0], at);
  });
}

Function plain::sumNamed(StringRef name) {
  static const llvm::StringMap<Function> table = {
      {"reduce_sum", reduction},
      {"reduce_prod", reduction},
      {"reduce_max", reduction},
      {"reduce_min", reduction},
      {"reduce_and", reduction},
      {"reduce_or", reduction},
      {"reduce_xor", reduction},
      {"reduce", reduceBody},
      {"argmax", argExtreme},
      {"argmin", argExtreme},
      {"cumsum", cumulative},
      {"cumprod", cumulative},
      {"cummax", cumulative},
      {"cummin", cumulative},
      {"cumlogsumexp", cumulative},
      {"sort", sort},
      {"top_k", topK},
      {"dot_general", dot},
      {"conv_general_dilated", convolution},
      {"reduce_window", reduceWindow},
      {"reduce_window_sum", reduceWindow},
      {"reduce_window_max", reduceWindow},
      {"reduce_window_min", reduceWindow},
      {"select_and_scatter", selectScatter},
      {"select_and_scatter_add", selectScatter},
      {"select_and_gather_add", selectGather}};
  return table.lookup(name);
}
