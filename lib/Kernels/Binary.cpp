// Binary.cpp - functions of two arrays, element by element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BinaryScalars.h"
#include "Chunks.h"
#include "Vector.h"
#include "shardtype/Kernels/Blocks.h"

using namespace shardtype;
using namespace shardtype::kernels;

namespace {
enum Group : unsigned { B = 1, I = 2, F = 4, C = 8 };
} // namespace

SmallVector<int64_t, 6>
kernels::commonShape(ArrayRef<const Tensor *> operands) {
  SmallVector<int64_t, 6> shape;
  for (const Tensor *operand : operands) {
    if (operand->rank() > shape.size())
      shape.assign(operand->shape().begin(), operand->shape().end());
    else if (operand->rank() == shape.size())
      for (unsigned d = 0; d < shape.size(); ++d)
        if (shape[d] == 1)
          shape[d] = operand->dim(d);
  }
  return shape;
}

Tensor kernels::expanded(const Tensor &x, ArrayRef<int64_t> shape) {
  if (x.shape() == shape)
    return x;
  Tensor to = Tensor::uninitialised(x.dtype(), shape);
  SmallVector<int64_t, 6> strides(shape.size());
  if (x.rank()) {
    strides = rowMajorStrides(x.shape());
    for (unsigned d = 0; d < shape.size(); ++d)
      if (x.dim(d) == 1)
        strides[d] = 0;
  }
  copyStrided(to.mutableData(), rowMajorStrides(shape), x.data(), strides,
              shape, itemSize(x.dtype()));
  return to;
}

/// Makes the operands arrays of `shape`, or leaves them single elements.
static void align(Tensor &x, ArrayRef<int64_t> shape) {
  if (x.size() != 1)
    x = expanded(x, shape);
}

template <typename T>
static std::array<Operand<T>, 2> operandsOf(const Tensor &lhs,
                                            const Tensor &rhs, int64_t size) {
  return {Operand<T>(lhs, size), Operand<T>(rhs, size)};
}

/// The loops that are compiled for several instruction sets; null: there is
/// none.
template <BinaryOp Op, typename C>
static typename VectorLoops<C>::Binary vectorLoop() {
#define OP(Name)                                                               \
  if constexpr (Op == BinaryOp::Name)                                          \
    return vectorLoops<C>().bin##Name;                                         \
  else
  SHARDTYPE_VECTOR_BINARY(OP)
#undef OP
  return nullptr;
}
template <CompareOp Op, typename C>
static typename VectorLoops<C>::Compare vectorCompare() {
#define OP(Name)                                                               \
  if constexpr (Op == CompareOp::Name)                                         \
    return vectorLoops<C>().cmp##Name;                                         \
  else
  SHARDTYPE_VECTOR_COMPARE(OP)
#undef OP
  return nullptr;
}

template <BinaryOp Op, typename T>
static void run(Tensor &to, const Tensor &lhs, const Tensor &rhs) {
  int64_t size = to.size();
  if constexpr (Op == BinaryOp::Nextafter) {
    ArrayRef<T> a = lhs.as<T>(), b = rhs.as<T>();
    for (auto [i, out] : llvm::enumerate(to.fill<T>()))
      out = neighbour(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
  } else if constexpr (isIntElement<T>) {
    // Wrapping is in T, so that there is nothing to convert by the chunk.
    T *out = to.fill<T>().data();
    const T *a = lhs.as<T>().data(), *b = rhs.as<T>().data();
    bool one = lhs.size() == 1 && size != 1, other = rhs.size() == 1;
    if (one)
      for (int64_t i = 0; i < size; ++i)
        out[i] = integerOf<Op>(*a, b[i]);
    else if (other)
      for (int64_t i = 0; i < size; ++i)
        out[i] = integerOf<Op>(a[i], *b);
    else
      for (int64_t i = 0; i < size; ++i)
        out[i] = integerOf<Op>(a[i], b[i]);
  } else {
    using C = ComputeType<T>;
    mapElements<T>(to, operandsOf<T>(lhs, rhs, size),
                   [](C *out, auto &in, int64_t n) {
                     const C *a = in[0], *b = in[1];
                     if constexpr (isFloatElement<T>)
                       if (auto vector = vectorLoop<Op, C>())
                         return vector(out, a, b, n);
                     for (int64_t i = 0; i < n; ++i)
                       out[i] = valueOf<Op>(a[i], b[i]);
                   });
  }
}

template <BinaryOp Op>
static void runBool(Tensor &to, const Tensor &lhs, const Tensor &rhs) {
  ArrayRef<bool> a = lhs.as<bool>(), b = rhs.as<bool>();
  for (auto [i, out] : llvm::enumerate(to.fill<bool>()))
    out = boolOf<Op>(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]);
}

template <BinaryOp Op, unsigned Groups>
static void runOp(Tensor &to, const Tensor &lhs, const Tensor &rhs) {
  auto typed = [&](auto tag) {
    run<Op, typename decltype(tag)::type>(to, lhs, rhs);
  };
  if constexpr ((Groups & F) != 0)
    if (isFloat(lhs.dtype()))
      return dispatchFloat(lhs.dtype(), typed);
  if constexpr ((Groups & C) != 0)
    if (isComplex(lhs.dtype()))
      return dispatchComplex(lhs.dtype(), typed);
  if constexpr ((Groups & I) != 0)
    if (isInteger(lhs.dtype()))
      return dispatchInt(lhs.dtype(), typed);
  if constexpr ((Groups & B) != 0)
    if (lhs.dtype() == DType::Bool)
      return runBool<Op>(to, lhs, rhs);
  llvm_unreachable("an operation on a dtype it is not defined for");
}

Tensor kernels::binary(BinaryOp op, Tensor lhs, Tensor rhs) {
  assert(lhs.dtype() == rhs.dtype());
  SmallVector<int64_t, 6> shape = commonShape({&lhs, &rhs});
  align(lhs, shape);
  align(rhs, shape);
  // Results go where an operand was that is used no more.
  auto fits = [&](const Tensor &x) {
    return x.unique() && x.shape() == ArrayRef<int64_t>(shape);
  };
  Tensor fresh;
  if (!fits(lhs) && !fits(rhs))
    fresh = Tensor::uninitialised(lhs.dtype(), shape);
  Tensor &to = fresh ? fresh : fits(lhs) ? lhs : rhs;
  switch (op) {
#define BINARY(Op, Groups)                                                     \
  case BinaryOp::Op:                                                           \
    runOp<BinaryOp::Op, Groups>(to, lhs, rhs);                                 \
    break;
    SHARDTYPE_BINARY_OPS(BINARY)
#undef BINARY
  }
  return std::move(to);
}

Tensor kernels::powInteger(const Tensor &base, const Tensor &exponent) {
  SmallVector<int64_t, 6> shape = commonShape({&base, &exponent});
  Tensor x = expanded(base, shape), y = expanded(exponent, shape);
  Tensor to = Tensor::uninitialised(base.dtype(), shape);
  Tensor wide = Tensor::uninitialised(DType::I64, shape);
  bool isUnsigned = info(y.dtype()).kind == DTypeKind::Unsigned;
  dispatchInt(y.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    llvm::transform(y.as<T>(), wide.fill<int64_t>().begin(), [](T value) {
      return static_cast<int64_t>(static_cast<ComputeType<T>>(value));
    });
  });
  // By repeated products, each rounded; x^0 is 1, of NaN as well.
  auto power = [isUnsigned](auto one, auto factor, int64_t times,
                            auto product) {
    auto result = one;
    bool inverse = times < 0 && !isUnsigned;
    uint64_t n = static_cast<uint64_t>(times);
    for (n = inverse ? 0 - n : n; n; n >>= 1) {
      if (n & 1)
        result = product(result, factor);
      factor = product(factor, factor);
    }
    return inverse ? one / result : result;
  };
  auto fill = [&](auto tag) {
    using T = typename decltype(tag)::type;
    using P = ComputeType<T>;
    for (auto [out, a, n] :
         llvm::zip_equal(to.fill<T>(), x.as<T>(), wide.as<int64_t>()))
      if constexpr (isComplexElement<T>)
        out = power(T(1), a, n, [](T p, T q) { return times(p, q); });
      else
        out = T(power(P(1), P(a), n, [](P p, P q) { return P(T(p * q)); }));
  };
  if (isComplex(base.dtype()))
    dispatchComplex(base.dtype(), fill);
  else
    dispatchFloat(base.dtype(), fill);
  return to;
}

//===--- Comparisons ------------------------------------------------------===//

template <CompareOp Op, typename T>
static void compareFloats(Tensor &to, const Tensor &lhs, const Tensor &rhs) {
  using C = ComputeType<T>;
  mapTo<T, bool>(to, operandsOf<T>(lhs, rhs, to.size()),
                 [](bool *out, auto &in, int64_t n) {
                   const C *a = in[0], *b = in[1];
                   if (auto vector = vectorCompare<Op, C>())
                     return vector(out, a, b, n);
                   for (int64_t i = 0; i < n; ++i)
                     if constexpr (isTotal(Op))
                       out[i] =
                           compares<Op>(totalOrder(a[i]), totalOrder(b[i]));
                     else
                       out[i] = compares<Op>(a[i], b[i]);
                 });
}

template <CompareOp Op, typename T>
static void compareComplexes(Tensor &to, const Tensor &lhs, const Tensor &rhs) {
  ArrayRef<T> a = lhs.as<T>(), b = rhs.as<T>();
  for (auto [i, out] : llvm::enumerate(to.fill<bool>())) {
    T x = a[a.size() == 1 ? 0 : i], y = b[b.size() == 1 ? 0 : i];
    if constexpr (Op == CompareOp::EqTo)
      out = totalOrder(x.real()) == totalOrder(y.real()) &&
            totalOrder(x.imag()) == totalOrder(y.imag());
    else
      out = (x == y) == (Op == CompareOp::Eq);
  }
}

template <CompareOp Op>
static void compareOp(Tensor &to, const Tensor &lhs, const Tensor &rhs) {
  if (isComplex(lhs.dtype())) {
    if constexpr (Op == CompareOp::Eq || Op == CompareOp::Ne ||
                  Op == CompareOp::EqTo)
      dispatchComplex(lhs.dtype(), [&](auto tag) {
        compareComplexes<Op, typename decltype(tag)::type>(to, lhs, rhs);
      });
    return;
  }
  dispatch(lhs.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (isFloatElement<T>)
      compareFloats<Op, T>(to, lhs, rhs);
    else if constexpr (!isComplexElement<T>)
      mapTo<T, bool>(to, operandsOf<T>(lhs, rhs, to.size()),
                     [](bool *out, auto &in, int64_t n) {
                       for (int64_t i = 0; i < n; ++i)
                         out[i] = compares<Op>(in[0][i], in[1][i]);
                     });
  });
}

/// Keys are equal if all their words are.
static Tensor compareKeys(bool equal, const Tensor &lhs, const Tensor &rhs,
                          ArrayRef<int64_t> shape) {
  Tensor a = expanded(lhs, shape), b = expanded(rhs, shape);
  Tensor to = Tensor::uninitialised(DType::Bool, shape);
  size_t words = itemSize(lhs.dtype()) / sizeof(uint32_t);
  ArrayRef<uint32_t> x = a.as<uint32_t>(), y = b.as<uint32_t>();
  for (auto [i, out] : llvm::enumerate(to.fill<bool>()))
    out = (x.slice(i * words, words) == y.slice(i * words, words)) == equal;
  return to;
}

Tensor kernels::compare(CompareOp op, const Tensor &lhs, const Tensor &rhs) {
  SmallVector<int64_t, 6> shape = commonShape({&lhs, &rhs});
  if (isKey(lhs.dtype()))
    return compareKeys(op == CompareOp::Eq, lhs, rhs, shape);
  Tensor a = lhs, b = rhs, to = Tensor::uninitialised(DType::Bool, shape);
  align(a, shape);
  align(b, shape);
  switch (op) {
  case CompareOp::Eq:
    compareOp<CompareOp::Eq>(to, a, b);
    break;
  case CompareOp::Ne:
    compareOp<CompareOp::Ne>(to, a, b);
    break;
  case CompareOp::Lt:
    compareOp<CompareOp::Lt>(to, a, b);
    break;
  case CompareOp::Le:
    compareOp<CompareOp::Le>(to, a, b);
    break;
  case CompareOp::Gt:
    compareOp<CompareOp::Gt>(to, a, b);
    break;
  case CompareOp::Ge:
    compareOp<CompareOp::Ge>(to, a, b);
    break;
  case CompareOp::EqTo:
    compareOp<CompareOp::EqTo>(to, a, b);
    break;
  case CompareOp::LtTo:
    compareOp<CompareOp::LtTo>(to, a, b);
    break;
  case CompareOp::LeTo:
    compareOp<CompareOp::LeTo>(to, a, b);
    break;
  }
  return to;
}
