// Conv.h - convolutions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_KERNELS_CONV_H
#define SHARDTYPE_KERNELS_CONV_H

#include "shardtype/Tensor/Tensor.h"

namespace shardtype::kernels {

/// conv_general_dilated's parameters. The specs name dims: batch, feature,
/// spatial ones of lhs and result; out feature, in feature, spatial ones of
/// rhs.
struct ConvNumbers {
  ArrayRef<int64_t> lhsSpec, rhsSpec, outSpec;
  ArrayRef<int64_t> strides, lhsDilation, rhsDilation, padLow;
  int64_t featureGroups = 1, batchGroups = 1;
};

/// The correlation of spec 09, 11. Products as dot_general makes them: floats
/// below f32 in f32, rounded once; integers wrap. Padding and holes are zeros
/// that are multiplied like any element.
Tensor convolution(const Tensor &lhs, const Tensor &rhs,
                   const ConvNumbers &numbers, DType result,
                   ArrayRef<int64_t> resultShape);

} // namespace shardtype::kernels

#endif
