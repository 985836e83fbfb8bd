// NpyData.h - from the bytes of a .npy file to a tensor, in steps.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_TENSOR_NPYDATA_H
#define SHARDTYPE_LIB_TENSOR_NPYDATA_H

#include "NpyHeader.h"
#include "shardtype/Tensor/Npz.h"

namespace shardtype {

/// The dtype of such elements; see readNpyBytes.
llvm::Expected<DType> npyDType(const NpyHeader &head,
                               std::optional<DType> expected);
/// Are there as many bytes as the head says?
llvm::Error checkNpySize(const NpyHeader &head, uint64_t bytes);
/// A tensor whose memory takes the file's data as it is.
llvm::Expected<Tensor> allocateNpy(const NpyHeader &head, DType dtype,
                                   const NpyLimits &limits);
/// Puts the file's data, now in the tensor, into order.
void finishNpy(const NpyHeader &head, Tensor &tensor);
/// The shape and data that a file of it has.
Shape npyShape(const Tensor &tensor);
StringRef npyData(const Tensor &tensor);
/// With its bytes as ml_dtypes has them: integers below 8 bits without their
/// signs. Shares the memory of all others.
Tensor asStored(const Tensor &tensor);

} // namespace shardtype

#endif
