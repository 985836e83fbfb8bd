// Npz.h - arrays in NumPy's files, .npy and .npz.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TENSOR_NPZ_H
#define SHARDTYPE_TENSOR_NPZ_H

#include "shardtype/Tensor/Tensor.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <vector>

namespace shardtype {

struct NpyLimits {
  /// Bytes one array may have; more is refused before anything is allocated.
  uint64_t maxBytes = uint64_t(1) << 40;
};

/// NumPy's files do not say which dtype 1- and 2-byte elements of other
/// packages are (bfloat16 is `V2`, int4 and most float8 are `V1`), and keys are
/// arrays of uint32. `expected` says it; without it such an array is an error.
/// An array of another dtype than the expected one is returned as it is: whom
/// it is for can say more about that. All errors are one sentence.
llvm::Expected<Tensor> readNpyBytes(StringRef bytes,
                                    std::optional<DType> expected,
                                    const NpyLimits &limits = {});
llvm::Expected<Tensor> readNpy(StringRef path, std::optional<DType> expected,
                               const NpyLimits &limits = {});
/// Replaces the file whole, or leaves it as it was.
llvm::Error writeNpy(StringRef path, const Tensor &tensor);

/// An open .npz: entries are read when asked for, one at a time. A .npy is
/// taken as an archive of one array, `arr_0`.
class NpzReader {
public:
  static llvm::Expected<NpzReader> open(StringRef path,
                                        const NpyLimits &limits = {});
  NpzReader(NpzReader &&);
  NpzReader &operator=(NpzReader &&);
  ~NpzReader();

  /// In the archive's order, without `.npy`.
  ArrayRef<std::string> names() const;
  bool contains(StringRef name) const;
  llvm::Expected<Tensor> read(StringRef name,
                              std::optional<DType> expected) const;

private:
  struct State;
  explicit NpzReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

struct NamedTensor {
  std::string name; // Without `.npy`.
  Tensor tensor;
};
/// As `numpy.savez`: not compressed. The same arrays give the same bytes. The
/// file is replaced whole, or left as it was.
llvm::Error writeNpz(StringRef path, ArrayRef<NamedTensor> tensors);

} // namespace shardtype

#endif
