// Movement.cpp - the plain evaluator's elementwise operations and moves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Operations.h"
#include <cmath>

using namespace shardtype;
using namespace shardtype::plain;

/// An element; a scalar stands for a whole array.
static Number element(const Tensor &x, int64_t at) {
  return load(x, x.rank() == 0 ? 0 : at);
}

//===--- Elementwise ------------------------------------------------------===//

static void unary(Operation &op) {
  DType dtype = op.in[0].dtype();
  for (int64_t i = 0; i < op.out[0].size(); ++i)
    store(op.out[0], i, unaryNamed(op.name)(dtype, load(op.in[0], i)));
}

static Number repeated(DType dtype, Number base, uint64_t exponent) {
  Number result = rounded(dtype, one(dtype));
  Binary times = binaryNamed("mul");
  for (; exponent; exponent >>= 1) {
    if (exponent & 1)
      result = rounded(dtype, times(dtype, result, base));
    base = rounded(dtype, times(dtype, base, base));
  }
  return result;
}
static Number integerPower(DType dtype, const Number &x, Wide y) {
  Number power = repeated(dtype, x, static_cast<uint64_t>(y < 0 ? -y : y));
  return y < 0 ? binaryNamed("div")(dtype, one(dtype), power) : power;
}

static void binary(Operation &op) {
  DType dtype = op.in[0].dtype();
  bool repeats = op.name == "pow" && isInteger(op.in[1].dtype());
  for (int64_t i = 0; i < op.out[0].size(); ++i) {
    Number a = element(op.in[0], i), b = element(op.in[1], i);
    store(op.out[0], i,
          repeats ? integerPower(dtype, a, b.i)
                  : binaryNamed(op.name)(dtype, a, b));
  }
}

static void integerPow(Operation &op) {
  for (int64_t i = 0; i < op.out[0].size(); ++i)
    store(op.out[0], i,
          integerPower(op.in[0].dtype(), load(op.in[0], i), op["y"].number()));
}

static void roundTo(Operation &op) {
  Setting method = op["rounding_method"];
  bool even = method.number() == 1 || StringRef(method.word()).contains("EVEN");
  for (int64_t i = 0; i < op.out[0].size(); ++i) {
    double x = load(op.in[0], i).re;
    store(op.out[0], i, {even ? std::nearbyint(x) : std::round(x), 0, 0});
  }
}

static void clamp(Operation &op) {
  DType dtype = op.in[1].dtype();
  for (int64_t i = 0; i < op.out[0].size(); ++i)
    store(op.out[0], i,
          smaller(dtype, larger(dtype, load(op.in[1], i), element(op.in[0], i)),
                  element(op.in[2], i)));
}

static void select(Operation &op) {
  int64_t last = op.in.size() - 2;
  for (int64_t i = 0; i < op.out[0].size(); ++i) {
    auto which = static_cast<int64_t>(element(op.in[0], i).i);
    which = std::clamp<int64_t>(which, 0, last);
    move(op.out[0], i, op.in[1 + which], i);
  }
}

static void convert(Operation &op) {
  for (int64_t i = 0; i < op.out[0].size(); ++i)
    store(op.out[0], i,
          converted(op.in[0].dtype(), op.out[0].dtype(), load(op.in[0], i)));
}

static void reducePrecision(Operation &op) {
  int64_t exponent = op["exponent_bits"].number(),
          mantissa = op["mantissa_bits"].number();
  int64_t own = info(op.in[0].dtype()).exponent;
  for (int64_t i = 0; i < op.out[0].size(); ++i) {
    double x = load(op.in[0], i).re;
    int power = 0;
    if (std::isfinite(x) && x != 0) {
      double part = std::frexp(x, &power);
      int digits = static_cast<int>(std::min<int64_t>(mantissa + 1, 60));
      double kept = std::nearbyint(std::ldexp(part, digits));
      // Without a mantissa the last bit is the exponent's.
      if (mantissa == 0 && std::fabs(part) == 0.75)
        kept = std::copysign(power % 2 == 0 ? 1 : 2, x);
      x = std::ldexp(kept, power - digits);
      int bias = (1 << (std::min<int64_t>(exponent, 11) - 1)) - 1;
      if (exponent < own && std::fabs(x) >= std::ldexp(1, bias + 1))
        x = std::copysign(HUGE_VAL, x);
      if (exponent < own && std::fabs(x) < std::ldexp(1, 1 - bias))
        x = std::copysign(0, x);
    }
    store(op.out[0], i, {x, 0, 0});
  }
}

static void bitcast(Operation &op) {
  DType from = op.in[0].dtype(), to = op.out[0].dtype();
  unsigned a = info(from).bits, b = info(to).bits;
  if (from == DType::Bool || to == DType::Bool || a > 64 || b > 64)
    return unsupported(op);
  auto bitsAt = [&](int64_t i) {
    uint64_t bits = bitsOf(from, load(op.in[0], i));
    return a == 64 ? bits : bits & ((1ull << a) - 1);
  };
  for (int64_t i = 0; i < op.out[0].size(); ++i) {
    uint64_t bits = 0;
    for (unsigned k = 0; a < b && k < b / a; ++k)
      bits |= bitsAt(i * (b / a) + k) << (k * a);
    if (a >= b)
      bits = bitsAt(i / (a / b)) >> (i % (a / b) * b);
    if (b < 64)
      bits &= (1ull << b) - 1;
    if (isInteger(to)) // Which may be kept wider than it is.
      store(op.out[0], i, {0, 0, static_cast<Wide>(bits)});
    else
      store(op.out[0], i, fromBits(to, bits));
  }
}

static void polynomial(Operation &op) {
  DType dtype = op.in[0].dtype();
  for (int64_t i = 0; i < op.out[0].size(); ++i) {
    Number x = load(op.in[0], i), sum = element(op.in.back(), i);
    for (size_t k = op.in.size() - 1; k-- > 1;)
      sum = rounded(
          dtype, binaryNamed("add")(
                     dtype, rounded(dtype, binaryNamed("mul")(dtype, sum, x)),
                     element(op.in[k], i)));
    store(op.out[0], i, sum);
  }
}

//===--- Moves ------------------------------------------------------------===//

/// Each element of the result is the operand's where `source` says.
template <typename F> static void fromOperand(Operation &op, F &&source) {
  const Tensor &x = op.in[0];
  forEachIndex(op.out[0].shape(), [&](const Index &index) {
    move(op.out[0], position(op.out[0].shape(), index), x,
         position(x.shape(), source(index)));
  });
}

static void inOrder(Operation &op) {
  if (op["dimensions"])
    return unsupported(op);
  for (int64_t i = 0; i < op.out[0].size(); ++i)
    move(op.out[0], i, op.in[0], i);
}
static void squeeze(Operation &op) {
  for (int64_t i = 0; i < op.out[0].size(); ++i)
    move(op.out[0], i, op.in[0], i);
}
static void transpose(Operation &op) {
  auto order = op["permutation"].list();
  fromOperand(op, [&](const Index &index) {
    Index from(index.size());
    for (size_t d = 0; d < index.size(); ++d)
      from[order[d]] = index[d];
    return from;
  });
}
static void broadcast(Operation &op) {
  auto dims = op["broadcast_dimensions"].list();
  fromOperand(op, [&](const Index &index) {
    Index from;
    for (size_t d = 0; d < dims.size(); ++d)
      from.push_back(op.in[0].dim(d) == 1 ? 0 : index[dims[d]]);
    return from;
  });
}
static void reverse(Operation &op) {
  auto dims = op["dimensions"].list();
  fromOperand(op, [&](Index index) {
    for (int64_t d : dims)
      index[d] = op.in[0].dim(d) - 1 - index[d];
    return index;
  });
}
static void slice(Operation &op) {
  auto starts = op["start_indices"].list(), strides = op["strides"].list();
  fromOperand(op, [&](Index index) {
    for (size_t d = 0; d < index.size(); ++d)
      index[d] = starts[d] + index[d] * (strides.empty() ? 1 : strides[d]);
    return index;
  });
}
static void tile(Operation &op) {
  fromOperand(op, [&](Index index) {
    for (size_t d = 0; d < index.size(); ++d)
      index[d] %= op.in[0].dim(d);
    return index;
  });
}
/// Where a slice begins: the operands from `first` on, clamped.
static Index starts(Operation &op, size_t first, ArrayRef<int64_t> sizes) {
  Index start;
  for (size_t d = 0; d < sizes.size(); ++d)
    start.push_back(static_cast<int64_t>(std::clamp<Wide>(
        load(op.in[first + d], 0).i, 0, op.in[0].dim(d) - sizes[d])));
  return start;
}
static void dynamicSlice(Operation &op) {
  Index start = starts(op, 1, op.out[0].shape());
  fromOperand(op, [&](Index index) {
    for (size_t d = 0; d < index.size(); ++d)
      index[d] += start[d];
    return index;
  });
}
static void dynamicUpdate(Operation &op) {
  squeeze(op);
  Index start = starts(op, 2, op.in[1].shape());
  forEachIndex(op.in[1].shape(), [&](const Index &index) {
    Index to = index;
    for (size_t d = 0; d < to.size(); ++d)
      to[d] += start[d];
    move(op.out[0], position(op.out[0].shape(), to), op.in[1],
         position(op.in[1].shape(), index));
  });
}
static void pad(Operation &op) {
  Setting config = op["padding_config"];
  for (int64_t i = 0; i < op.out[0].size(); ++i)
    move(op.out[0], i, op.in[1], 0);
  forEachIndex(op.in[0].shape(), [&](const Index &index) {
    Index to = index;
    for (size_t d = 0; d < to.size(); ++d) {
      to[d] = config[d][0].number() + index[d] * (config[d][2].number() + 1);
      if (to[d] < 0 || to[d] >= op.out[0].dim(d))
        return;
    }
    move(op.out[0], position(op.out[0].shape(), to), op.in[0],
         position(op.in[0].shape(), index));
  });
}
static void concatenate(Operation &op) {
  bool stacks = op.name == "stack";
  int64_t dim = op[stacks ? "axis" : "dimension"].number(), offset = 0;
  for (const Tensor &x : op.in) {
    forEachIndex(x.shape(), [&](const Index &index) {
      Index to = index;
      if (stacks)
        to.insert(to.begin() + dim, offset);
      else
        to[dim] += offset;
      move(op.out[0], position(op.out[0].shape(), to), x,
           position(x.shape(), index));
    });
    offset += stacks ? 1 : x.dim(dim);
  }
}
static void split(Operation &op) {
  int64_t dim = op["axis"].number(), offset = 0;
  bool drops = op.name == "unstack";
  for (Tensor &out : op.out) {
    forEachIndex(out.shape(), [&](const Index &index) {
      Index from = index;
      if (drops)
        from.insert(from.begin() + dim, offset);
      else
        from[dim] += offset;
      move(out, position(out.shape(), index), op.in[0],
           position(op.in[0].shape(), from));
    });
    offset += drops ? 1 : out.dim(dim);
  }
}
static void iota(Operation &op) {
  int64_t dim = op["dimension"].number();
  forEachIndex(op.out[0].shape(), [&](const Index &index) {
    store(op.out[0], position(op.out[0].shape(), index), integer(index[dim]));
  });
}

//===--- gather and scatter -----------------------------------------------===//

namespace {
/// Both map a place among the indices and one in a window to the operand.
struct Windows {
  SmallVector<int64_t, 6> windowDims, missing, map, batch, indexBatch;
  bool drops;
  Index sizes; // Of a window, by dim of the operand.

  bool isWindowDim(int64_t d) const {
    return !llvm::is_contained(missing, d) && !llvm::is_contained(batch, d);
  }
  /// Where the window of an entry of `indices` begins; false: it is dropped.
  bool start(const Tensor &operand, const Tensor &indices, const Index &entry,
             Index &into) const {
    SmallVector<Wide, 6> at(operand.rank());
    for (size_t k = 0; k < map.size(); ++k) {
      Index place = entry;
      place.push_back(k);
      at[map[k]] = load(indices, position(indices.shape(), place)).i;
    }
    for (size_t k = 0; k < batch.size(); ++k)
      at[batch[k]] = entry[indexBatch[k]];
    into.clear();
    for (unsigned d = 0; d < operand.rank(); ++d) {
      Wide most = operand.dim(d) - sizes[d];
      if (drops && (at[d] < 0 || at[d] > most))
        return false;
      into.push_back(static_cast<int64_t>(std::clamp<Wide>(at[d], 0, most)));
    }
    return true;
  }
  /// Splits an index of the result or the updates.
  void parts(const Index &index, unsigned rank, Index &entry,
             Index &offset) const {
    entry.clear();
    offset.assign(rank, 0);
    size_t next = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      if (!llvm::is_contained(windowDims, static_cast<int64_t>(d))) {
        entry.push_back(index[d]);
        continue;
      }
      while (!isWindowDim(next))
        ++next;
      offset[next++] = index[d];
    }
  }
};
} // namespace

static bool dropsOutside(Operation &op) {
  Setting mode = op["mode"];
  return mode.word() == "FILL_OR_DROP" || mode.number() == 2;
}

static Number fillOf(DType dtype) {
  if (isFloat(dtype) || isComplex(dtype))
    return {NAN, 0, 0};
  return info(dtype).kind == DTypeKind::Signed ? lowest(dtype) : highest(dtype);
}

static void gather(Operation &op) {
  Setting n = op["dimension_numbers"];
  Windows w{n.field("offset_dims").list(),
            n.field("collapsed_slice_dims").list(),
            n.field("start_index_map").list(),
            n.field("operand_batching_dims").list(),
            n.field("start_indices_batching_dims").list(),
            dropsOutside(op),
            op["slice_sizes"].list()};
  DType dtype = op.out[0].dtype();
  Number fill = fillOf(dtype);
  if (Setting given = op["fill_value"])
    fill = {given.real(), 0,
            given.value->kind == Value::BigInt
                ? static_cast<Wide>(
                      std::strtoull(given.word().c_str(), nullptr, 10))
                : given.number()};
  Index entry, offset, start;
  forEachIndex(op.out[0].shape(), [&](const Index &index) {
    int64_t to = position(op.out[0].shape(), index);
    w.parts(index, op.in[0].rank(), entry, offset);
    if (!w.start(op.in[0], op.in[1], entry, start))
      return store(op.out[0], to, fill);
    for (size_t d = 0; d < start.size(); ++d)
      start[d] += offset[d];
    move(op.out[0], to, op.in[0], position(op.in[0].shape(), start));
  });
}

static void scatter(Operation &op) {
  Setting n = op["dimension_numbers"];
  Windows w{n.field("update_window_dims").list(),
            n.field("inserted_window_dims").list(),
            n.field("scatter_dims_to_operand_dims").list(),
            n.field("operand_batching_dims").list(),
            n.field("scatter_indices_batching_dims").list(),
            dropsOutside(op),
            {}};
  const Tensor &updates = op.in[2];
  w.sizes.assign(op.in[0].rank(), 1);
  for (size_t d = 0, next = 0; d < w.sizes.size(); ++d)
    if (w.isWindowDim(d))
      w.sizes[d] = updates.dim(w.windowDims[next++]);
  squeeze(op);
  DType dtype = op.out[0].dtype();
  Binary join = op.name == "scatter-add"   ? binaryNamed("add")
                : op.name == "scatter-sub" ? binaryNamed("sub")
                : op.name == "scatter-mul" ? binaryNamed("mul")
                : op.name == "scatter-min" ? smaller
                : op.name == "scatter-max" ? larger
                                           : nullptr;
  bool calls = !join && op["update_jaxpr"].jaxpr().valid();
  Index entry, offset, start;
  forEachIndex(updates.shape(), [&](const Index &index) {
    w.parts(index, op.in[0].rank(), entry, offset);
    if (!w.start(op.in[0], op.in[1], entry, start))
      return;
    for (size_t d = 0; d < start.size(); ++d)
      start[d] += offset[d];
    int64_t to = position(op.out[0].shape(), start),
            from = position(updates.shape(), index);
    if (join)
      store(op.out[0], to,
            join(dtype, load(op.out[0], to), load(updates, from)));
    else if (calls)
      store(op.out[0], to,
            op.call("update_jaxpr", {dtype, dtype},
                    {load(op.out[0], to), load(updates, from)})[0]);
    else
      move(op.out[0], to, updates, from);
  });
}

Function plain::movementNamed(StringRef name) {
  static const llvm::StringMap<Function> table = {
      {"integer_pow", integerPow},
      {"round", roundTo},
      {"clamp", clamp},
      {"select_n", select},
      {"convert_element_type", convert},
      {"reduce_precision", reducePrecision},
      {"bitcast_convert_type", bitcast},
      {"polynomial", polynomial},
      {"reshape", inOrder},
      {"squeeze", squeeze},
      {"expand_dims", squeeze},
      {"transpose", transpose},
      {"broadcast_in_dim", broadcast},
      {"rev", reverse},
      {"slice", slice},
      {"tile", tile},
      {"dynamic_slice", dynamicSlice},
      {"dynamic_update_slice", dynamicUpdate},
      {"pad", pad},
      {"concatenate", concatenate},
      {"stack", concatenate},
      {"split", split},
      {"unstack", split},
      {"iota", iota},
      {"gather", gather},
      {"scatter", scatter},
      {"scatter-add", scatter},
      {"scatter-sub", scatter},
      {"scatter-mul", scatter},
      {"scatter-min", scatter},
      {"scatter-max", scatter}};
  if (unaryNamed(name))
    return unary;
  return binaryNamed(name) ? binary : table.lookup(name);
}
