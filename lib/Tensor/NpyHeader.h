// NpyHeader.h - the text at the head of a .npy file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_TENSOR_NPYHEADER_H
#define SHARDTYPE_LIB_TENSOR_NPYHEADER_H

#include "shardtype/Types/Type.h"
#include "llvm/Support/Error.h"

namespace shardtype {

/// What a .npy file says before its data.
struct NpyHeader {
  char kind = 0;         // b i u f c V, or 0 for float0's record.
  unsigned itemSize = 0; // Bytes of one element.
  bool bigEndian = false;
  bool fortranOrder = false;
  Shape shape;
  size_t dataOffset = 0; // Where the data begins.
  /// Elements; known not to overflow.
  int64_t count() const;
  uint64_t byteCount() const { return uint64_t(count()) * itemSize; }
};

/// Reads the head of `bytes`, which may hold more. One sentence on error.
llvm::Expected<NpyHeader> parseNpyHeader(StringRef bytes);
/// The head of a file with such elements, as NumPy writes it.
std::string npyHeaderText(DType dtype, ArrayRef<int64_t> shape);
/// An error of one sentence.
llvm::Error npyError(const llvm::Twine &message);
/// Heads longer than this are no heads.
inline constexpr size_t MaxNpyHeader = 1 << 20;

} // namespace shardtype

#endif
