// Npy.cpp - one array in a .npy file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NpyData.h"
#include "shardtype/Tensor/Npz.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace shardtype;

//===--- Dtypes -----------------------------------------------------------===//

static std::optional<DType> plainDType(const NpyHeader &head) {
  struct Row {
    char kind;
    unsigned size;
    DType dtype;
  };
  static constexpr Row Rows[] = {
      {'b', 1, DType::Bool},   {'i', 1, DType::I8},  {'i', 2, DType::I16},
      {'i', 4, DType::I32},    {'i', 8, DType::I64}, {'u', 1, DType::U8},
      {'u', 2, DType::U16},    {'u', 4, DType::U32}, {'u', 8, DType::U64},
      {'f', 1, DType::F8E5M2}, {'f', 2, DType::F16}, {'f', 4, DType::F32},
      {'f', 8, DType::F64},    {'c', 8, DType::C64}, {'c', 16, DType::C128}};
  for (const Row &row : Rows)
    if (row.kind == head.kind && row.size == head.itemSize)
      return row.dtype;
  return std::nullopt;
}

/// May `V1` or `V2` stand for it?
static bool hidesBehindVoid(DType dtype, unsigned itemBytes) {
  bool other = dtype == DType::BF16 || info(dtype).bits < 8 ||
               (isFloat(dtype) && info(dtype).bits == 8);
  return other && dtype != DType::Float0 && itemSize(dtype) == itemBytes;
}

/// A key's words are the array's last dim.
static bool fitsKey(const NpyHeader &head, DType dtype) {
  ArrayRef<int64_t> words = keyDataShape(dtype);
  return head.kind == 'u' && head.itemSize == 4 &&
         ArrayRef<int64_t>(head.shape).take_back(words.size()) == words;
}

llvm::Expected<DType> shardtype::npyDType(const NpyHeader &head,
                                          std::optional<DType> expected) {
  if (head.kind == 0)
    return DType::Float0;
  if (expected && isKey(*expected) && fitsKey(head, *expected))
    return *expected;
  if (head.kind == 'V' && expected && hidesBehindVoid(*expected, head.itemSize))
    return *expected;
  if (head.kind == 'V')
    return npyError("it holds " + llvm::Twine(head.itemSize) +
                    "-byte elements without saying of which dtype" +
                    (expected
                         ? ", and these cannot be " + info(*expected).longName
                         : llvm::Twine()));
  if (auto dtype = plainDType(head))
    return *dtype;
  return npyError("it holds elements of the kind '" +
                  llvm::Twine(StringRef(&head.kind, 1)) + "' with " +
                  llvm::Twine(head.itemSize) +
                  " bytes each, which no dtype here has");
}

//===--- Data -------------------------------------------------------------===//

/// Bytes of what is swapped: the parts of complex numbers.
static unsigned swapSize(const NpyHeader &head) {
  return head.kind == 'c' ? head.itemSize / 2 : head.itemSize;
}

static void swapBytes(MutableArrayRef<char> bytes, unsigned size) {
  for (size_t at = 0; at + size <= bytes.size(); at += size)
    std::reverse(bytes.begin() + at, bytes.begin() + at + size);
}

/// From column-major to row-major.
static void fromFortran(ArrayRef<int64_t> shape, size_t itemBytes,
                        const char *from, char *to) {
  SmallVector<int64_t, 6> index(shape.size()), strides(shape.size());
  int64_t stride = 1, count = 1;
  for (auto [d, size] : llvm::enumerate(shape)) {
    strides[d] = stride;
    stride *= size;
    count *= size;
  }
  int64_t at = 0;
  for (int64_t i = 0; i < count; ++i, to += itemBytes) {
    std::memcpy(to, from + at * itemBytes, itemBytes);
    for (unsigned d = shape.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < shape[d])
        break;
      at -= strides[d] * shape[d];
      index[d] = 0;
    }
  }
}

/// Elements below 8 bits may have any rest of a byte; truth is 0 or 1.
static void canonicalise(DType dtype, MutableArrayRef<char> bytes) {
  const DTypeInfo &known = info(dtype);
  if (dtype == DType::Bool) {
    for (char &byte : bytes)
      byte = byte != 0;
    return;
  }
  if (known.bits >= 8)
    return;
  unsigned rest = 8 - known.bits;
  for (char &byte : bytes) {
    auto bits =
        static_cast<unsigned char>(static_cast<unsigned char>(byte) << rest);
    byte = known.kind == DTypeKind::Signed
               ? static_cast<char>(static_cast<signed char>(bits) >> rest)
               : static_cast<char>(bits >> rest);
  }
}

/// Without the words of keys.
static Shape tensorShape(const NpyHeader &head, DType dtype) {
  Shape shape = head.shape;
  shape.truncate(shape.size() - keyDataShape(dtype).size());
  return shape;
}

llvm::Expected<Tensor> shardtype::allocateNpy(const NpyHeader &head,
                                              DType dtype,
                                              const NpyLimits &limits) {
  uint64_t bytes = head.byteCount();
  if (bytes > limits.maxBytes)
    return npyError("it holds " + llvm::Twine(bytes) +
                    " bytes, more than the " + llvm::Twine(limits.maxBytes) +
                    " that are allowed");
  return Tensor::uninitialised(dtype, tensorShape(head, dtype));
}

void shardtype::finishNpy(const NpyHeader &head, Tensor &tensor) {
  if (head.kind == 0) {
    std::memset(tensor.mutableData(), 0, tensor.bytes());
    return;
  }
  MutableArrayRef<char> bytes = tensor.fill<char>();
  if (head.bigEndian)
    swapBytes(bytes, swapSize(head));
  if (head.fortranOrder && head.shape.size() > 1) {
    SmallVector<char, 0> columns(bytes.begin(), bytes.end());
    if (!columns.empty())
      fromFortran(head.shape, head.itemSize, columns.data(), bytes.data());
  }
  canonicalise(tensor.dtype(), bytes);
}

//===--- Files ------------------------------------------------------------===//

llvm::Expected<Tensor> shardtype::readNpyBytes(StringRef bytes,
                                               std::optional<DType> expected,
                                               const NpyLimits &limits) {
  llvm::Expected<NpyHeader> head = parseNpyHeader(bytes);
  if (!head)
    return head.takeError();
  llvm::Expected<DType> dtype = npyDType(*head, expected);
  if (!dtype)
    return dtype.takeError();
  StringRef data = bytes.drop_front(head->dataOffset);
  if (llvm::Error error = checkNpySize(*head, data.size()))
    return error;
  llvm::Expected<Tensor> tensor = allocateNpy(*head, *dtype, limits);
  if (!tensor)
    return tensor.takeError();
  if (!data.empty())
    std::memcpy(tensor->mutableData(), data.data(), data.size());
  finishNpy(*head, *tensor);
  return tensor;
}

llvm::Error shardtype::checkNpySize(const NpyHeader &head, uint64_t bytes) {
  uint64_t wanted = head.byteCount();
  if (bytes == wanted)
    return llvm::Error::success();
  return npyError("its head asks for " + llvm::Twine(wanted) +
                  " bytes of data, but it has " + llvm::Twine(bytes));
}

llvm::Expected<Tensor> shardtype::readNpy(StringRef path,
                                          std::optional<DType> expected,
                                          const NpyLimits &limits) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return npyError(file.getError().message());
  return readNpyBytes((*file)->getBuffer(), expected, limits);
}

Shape shardtype::npyShape(const Tensor &tensor) {
  Shape shape(tensor.shape().begin(), tensor.shape().end());
  llvm::append_range(shape, keyDataShape(tensor.dtype()));
  return shape;
}

StringRef shardtype::npyData(const Tensor &tensor) {
  if (tensor.dtype() == DType::Float0)
    return {};
  return StringRef(reinterpret_cast<const char *>(tensor.data()),
                   tensor.bytes());
}

Tensor shardtype::asStored(const Tensor &tensor) {
  const DTypeInfo &known = info(tensor.dtype());
  if (known.kind != DTypeKind::Signed || known.bits >= 8)
    return tensor;
  Tensor stored = tensor;
  stored.makeUnique();
  for (uint8_t &byte : stored.fill<uint8_t>())
    byte &= static_cast<uint8_t>((1u << known.bits) - 1);
  return stored;
}

llvm::Error shardtype::writeNpy(StringRef path, const Tensor &tensor) {
  return llvm::writeToOutput(path, [&](raw_ostream &os) {
    os << npyHeaderText(tensor.dtype(), npyShape(tensor))
       << npyData(asStored(tensor));
    return llvm::Error::success();
  });
}
