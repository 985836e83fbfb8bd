// Unary.cpp - functions of one array, element by element.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Unary.h"
#include "Chunks.h"
#include "UnaryScalars.h"
#include "Vector.h"

using namespace shardtype;
using namespace shardtype::kernels;

namespace {
enum Group : unsigned { I = 1, F = 2, C = 4 };
} // namespace

/// The tensor to write the result to: `x` itself if it may be written.
static Tensor resultFor(const Tensor &x) {
  return x.unique() ? Tensor() : Tensor::uninitialised(x.dtype(), x.shape());
}

template <typename T, typename Loop> static Tensor map(Tensor x, Loop loop) {
  Tensor fresh = resultFor(x);
  Tensor &to = fresh ? fresh : x;
  std::array<Operand<T>, 1> from = {Operand<T>(x, x.size())};
  mapElements<T>(to, from, loop);
  return std::move(to);
}

/// The loop that is compiled for several instruction sets; null: there is none.
template <UnaryOp Op, typename C>
static typename VectorLoops<C>::Unary vectorLoop() {
#define OP(Name)                                                               \
  if constexpr (Op == UnaryOp::Name)                                           \
    return vectorLoops<C>().un##Name;                                          \
  else
  SHARDTYPE_VECTOR_UNARY(OP)
#undef OP
  return nullptr;
}

template <UnaryOp Op> static Tensor onFloats(Tensor x) {
  auto loop = []<typename C>(C *to, auto &from, int64_t n) {
    const C *a = from[0];
    if (auto vector = vectorLoop<Op, C>())
      return vector(to, a, n);
    for (int64_t i = 0; i < n; ++i)
      to[i] = valueOf<Op>(a[i]);
  };
  return dispatchFloat(x.dtype(), [&](auto tag) {
    return map<typename decltype(tag)::type>(std::move(x), loop);
  });
}

template <UnaryOp Op> static Tensor onComplexes(Tensor x) {
  return dispatchComplex(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return map<T>(std::move(x), [](T *to, auto &from, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        to[i] = valueOf<Op>(from[0][i]);
    });
  });
}

template <UnaryOp Op> static Tensor onIntegers(Tensor x) {
  return dispatchInt(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    Tensor fresh = resultFor(x);
    Tensor &to = fresh ? fresh : x;
    const T *a = x.as<T>().data();
    T *out = to.fill<T>().data();
    for (int64_t i = 0, n = x.size(); i < n; ++i)
      out[i] = integerOf<Op>(a[i]);
    return std::move(to);
  });
}

static Tensor notBool(const Tensor &x) {
  Tensor to = Tensor::uninitialised(DType::Bool, x.shape());
  llvm::transform(x.as<bool>(), to.fill<bool>().begin(),
                  [](bool b) { return !b; });
  return to;
}

template <UnaryOp Op, unsigned Groups> static Tensor run(Tensor x) {
  if constexpr ((Groups & F) != 0)
    if (isFloat(x.dtype()))
      return onFloats<Op>(std::move(x));
  if constexpr ((Groups & C) != 0)
    if (isComplex(x.dtype()))
      return onComplexes<Op>(std::move(x));
  if constexpr ((Groups & I) != 0)
    if (isInteger(x.dtype()))
      return onIntegers<Op>(std::move(x));
  if constexpr (Op == UnaryOp::Not)
    if (x.dtype() == DType::Bool)
      return notBool(x);
  llvm_unreachable("an operation on a dtype it is not defined for");
}

Tensor kernels::unary(UnaryOp op, Tensor x) {
  switch (op) {
#define UNARY(Op, Groups)                                                      \
  case UnaryOp::Op:                                                            \
    return run<UnaryOp::Op, Groups>(std::move(x));
    SHARDTYPE_UNARY_OPS(UNARY)
#undef UNARY
  }
  llvm_unreachable("all operations are listed");
}

//===--- integer_pow ------------------------------------------------------===//

/// Square and multiply; `times` rounds or wraps to T.
template <typename T, typename Times>
static T power(T base, uint64_t exponent, T one, Times times) {
  T result = one;
  bool first = true;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1) {
      result = first ? base : times(result, base);
      first = false;
    }
    if (exponent > 1)
      base = times(base, base);
  }
  return result;
}

/// Each product is rounded to T.
template <typename T> static T floatPower(T x, int64_t y) {
  using P = ComputeType<T>;
  if (y == -1)
    return T(P(1) / P(x));
  uint64_t n = y < 0 ? 0 - static_cast<uint64_t>(y) : static_cast<uint64_t>(y);
  T value = power(x, n, T(P(1)), [](T a, T b) { return T(P(a) * P(b)); });
  return y < 0 ? T(P(1) / P(value)) : value;
}
template <typename T> static T complexPower(T x, int64_t y) {
  uint64_t n = y < 0 ? 0 - static_cast<uint64_t>(y) : static_cast<uint64_t>(y);
  T value = power(x, n, T(1), [](T a, T b) { return times(a, b); });
  return y < 0 ? T(1) / value : value;
}
template <typename T> static T integerPower(T x, int64_t y) {
  using U = Wrapping<ComputeType<T>>;
  auto product = [](T a, T b) {
    return T(static_cast<U>(static_cast<U>(ComputeType<T>(a)) *
                            static_cast<U>(ComputeType<T>(b))));
  };
  return power(x, static_cast<uint64_t>(y), T(U(1)), product);
}

Tensor kernels::integerPow(Tensor x, int64_t y) {
  return dispatchNumber(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    Tensor fresh = resultFor(x);
    Tensor &to = fresh ? fresh : x;
    const T *a = x.as<T>().data();
    T *out = to.fill<T>().data();
    for (int64_t i = 0, n = x.size(); i < n; ++i)
      if constexpr (isFloatElement<T>)
        out[i] = floatPower(a[i], y);
      else if constexpr (isComplexElement<T>)
        out[i] = complexPower(a[i], y);
      else
        out[i] = integerPower(a[i], y);
    return std::move(to);
  });
}

//===--- Other result types -----------------------------------------------===//

Tensor kernels::isFinite(const Tensor &x) {
  Tensor to = Tensor::uninitialised(DType::Bool, x.shape());
  dispatchFloat(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::array<Operand<T>, 1> from = {Operand<T>(x, x.size())};
    mapTo<T, bool>(to, from, [](bool *out, auto &in, int64_t n) {
      for (int64_t i = 0; i < n; ++i)
        out[i] = std::isfinite(in[0][i]);
    });
  });
  return to;
}

/// A real array from a complex one.
template <typename F> static Tensor toReal(const Tensor &x, F &&part) {
  DType dtype = x.dtype() == DType::C64 ? DType::F32 : DType::F64;
  Tensor to = Tensor::uninitialised(dtype, x.shape());
  dispatchComplex(x.dtype(), [&](auto tag) {
    using Z = typename decltype(tag)::type;
    llvm::transform(x.as<Z>(), to.fill<typename Z::value_type>().begin(), part);
  });
  return to;
}
Tensor kernels::modulus(const Tensor &x) {
  return toReal(x, [](auto z) { return std::hypot(z.real(), z.imag()); });
}
Tensor kernels::realPart(const Tensor &x) {
  return toReal(x, [](auto z) { return z.real(); });
}
Tensor kernels::imagPart(const Tensor &x) {
  return toReal(x, [](auto z) { return z.imag(); });
}

Tensor kernels::makeComplex(const Tensor &re, const Tensor &im) {
  bool wide = re.dtype() == DType::F64;
  bool first = re.rank() >= im.rank();
  Tensor to = Tensor::uninitialised(wide ? DType::C128 : DType::C64,
                                    first ? re.shape() : im.shape());
  dispatchComplex(to.dtype(), [&](auto tag) {
    using Z = typename decltype(tag)::type;
    using P = typename Z::value_type;
    ArrayRef<P> real = re.as<P>(), imag = im.as<P>();
    for (auto [i, z] : llvm::enumerate(to.fill<Z>()))
      z = Z(real[real.size() == 1 ? 0 : i], imag[imag.size() == 1 ? 0 : i]);
  });
  return to;
}
Tensor kernels::asComplex(const Tensor &x) {
  return makeComplex(x, Tensor::zeros(x.dtype(), {}));
}
