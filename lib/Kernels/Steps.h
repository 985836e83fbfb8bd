// Steps.h - the operations that reductions and cumulative operations repeat.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_KERNELS_STEPS_H
#define SHARDTYPE_LIB_KERNELS_STEPS_H

#include "BinaryScalars.h"
#include "Extremes.h"
#include "shardtype/Kernels/Reduce.h"

namespace shardtype::kernels {

template <ReduceOp Op, typename T> T identityOf() {
  using C = ComputeType<T>;
  if constexpr (Op == ReduceOp::Prod)
    return T(C(1));
  else if constexpr (Op == ReduceOp::Max || Op == ReduceOp::Min)
    return extreme<T>(Op == ReduceOp::Min);
  else if constexpr (Op == ReduceOp::And && std::is_same_v<T, bool>)
    return true;
  else if constexpr (Op == ReduceOp::And)
    return T(static_cast<Wrapping<C>>(~uint64_t(0)));
  else
    return T(C(0));
}

/// One step, rounded or wrapped to T.
template <ReduceOp Op, typename T> T combine(T a, T b) {
  constexpr BinaryOp binary = Op == ReduceOp::Sum    ? BinaryOp::Add
                              : Op == ReduceOp::Prod ? BinaryOp::Mul
                              : Op == ReduceOp::Max  ? BinaryOp::Max
                              : Op == ReduceOp::Min  ? BinaryOp::Min
                              : Op == ReduceOp::And  ? BinaryOp::And
                              : Op == ReduceOp::Or   ? BinaryOp::Or
                                                     : BinaryOp::Xor;
  if constexpr (std::is_same_v<T, bool>)
    return boolOf<binary>(a, b);
  else if constexpr (isIntElement<T>)
    return integerOf<binary>(a, b);
  else
    return T(valueOf<binary>(static_cast<ComputeType<T>>(a),
                             static_cast<ComputeType<T>>(b)));
}

/// Is the operation one of this element type?
template <ReduceOp Op, typename T>
inline constexpr bool combines = [] {
  if (Op == ReduceOp::Sum || Op == ReduceOp::Prod)
    return !std::is_same_v<T, bool>;
  if (Op == ReduceOp::Max || Op == ReduceOp::Min)
    return true;
  return std::is_same_v<T, bool> || isIntElement<T>;
}();

} // namespace shardtype::kernels

#endif
