// NpyHeader.cpp - the text at the head of a .npy file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NpyHeader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;

static constexpr StringRef Magic("\x93NUMPY", 6);
static constexpr unsigned MaxRank = 64; // NumPy's own bound.

llvm::Error shardtype::npyError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

int64_t NpyHeader::count() const {
  if (llvm::is_contained(shape, 0))
    return 0;
  int64_t n = 1;
  for (int64_t size : shape)
    n *= size;
  return n;
}

//===--- Reading ----------------------------------------------------------===//

namespace {
/// Reads the Python dict of a head. Every reader gives false where the text is
/// another one.
class HeadParser {
public:
  HeadParser(StringRef text, NpyHeader &head) : text_(text), head_(head) {}

  bool dict() {
    if (!eat('{'))
      return false;
    while (!eat('}')) {
      std::string key;
      if (!string(key) || !eat(':') || !value(key))
        return false;
      if (!eat(',') && !peek('}'))
        return false;
    }
    space();
    return text_.empty() && seen_ == 7;
  }
  /// What cannot be an array of ours, in a well-formed head.
  const std::string &refusal() const { return refusal_; }

private:
  void space() { text_ = text_.ltrim(" \n\t"); }
  bool peek(char c) {
    space();
    return text_.starts_with(StringRef(&c, 1));
  }
  bool eat(char c) {
    if (!peek(c))
      return false;
    text_ = text_.drop_front();
    return true;
  }
  bool string(std::string &out) {
    space();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"'))
      return false;
    size_t end = text_.find(text_[0], 1);
    if (end == StringRef::npos)
      return false;
    out = text_.substr(1, end - 1).str();
    text_ = text_.substr(end + 1);
    return true;
  }
  bool flag(bool &out) {
    space();
    out = text_.consume_front("True");
    return out || text_.consume_front("False");
  }
  bool shape() {
    if (!eat('('))
      return false;
    while (!eat(')')) {
      int64_t size;
      space();
      if (text_.consumeInteger(10, size) || size < 0 ||
          head_.shape.size() >= MaxRank)
        return false;
      text_.consume_front("L"); // Python 2.
      head_.shape.push_back(size);
      if (!eat(',') && !peek(')'))
        return false;
    }
    return true;
  }
  /// Skips a list of fields; true for the one that float0 is.
  bool record() {
    size_t end = text_.find(']');
    if (end == StringRef::npos)
      return false;
    StringRef fields = text_.take_front(end + 1);
    if (!fields.contains("'float0'") || !fields.contains("V0'"))
      refusal_ = "it holds records with fields";
    text_ = text_.substr(end + 1);
    return true;
  }
  bool descr() {
    space();
    if (text_.starts_with("["))
      return record();
    std::string name;
    return string(name) && element(name);
  }
  bool element(StringRef name) {
    if (name.size() < 2)
      return false;
    char order = name[0];
    if (StringRef("<>|=").contains(order))
      name = name.drop_front();
    head_.bigEndian = order == '>';
    head_.kind = name.empty() ? 0 : name[0];
    if (head_.kind == 'O') {
      refusal_ = "it holds Python objects";
      return true;
    }
    if (!StringRef("biufcV").contains(head_.kind)) {
      refusal_ = "its elements are of the kind '" + name.str() + "'";
      return true;
    }
    return !name.drop_front().getAsInteger(10, head_.itemSize) &&
           head_.itemSize > 0;
  }
  bool value(StringRef key) {
    unsigned bit = key == "descr" ? 1 : key == "fortran_order" ? 2 : 4;
    if ((bit == 4 && key != "shape") || (seen_ & bit))
      return false;
    seen_ |= bit;
    return bit == 1 ? descr() : bit == 2 ? flag(head_.fortranOrder) : shape();
  }

  StringRef text_;
  NpyHeader &head_;
  unsigned seen_ = 0;
  std::string refusal_;
};
} // namespace

static llvm::Error checkCount(const NpyHeader &head) {
  if (llvm::is_contained(head.shape, 0))
    return llvm::Error::success();
  int64_t bytes = std::max(head.itemSize, 1u);
  for (int64_t size : head.shape)
    if (llvm::MulOverflow(bytes, size, bytes))
      return npyError("its shape is beyond any memory");
  return llvm::Error::success();
}

llvm::Expected<NpyHeader> shardtype::parseNpyHeader(StringRef bytes) {
  if (!bytes.starts_with(Magic) || bytes.size() < 10)
    return npyError("it is no .npy file");
  unsigned version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3)
    return npyError("its .npy format has the unknown version " +
                    llvm::Twine(version));
  size_t start = version == 1 ? 10 : 12;
  if (bytes.size() < start)
    return npyError("it ends within its head");
  const char *at = bytes.data() + 8;
  size_t length = version == 1 ? llvm::support::endian::read16le(at)
                               : llvm::support::endian::read32le(at);
  if (length > MaxNpyHeader)
    return npyError("its head is longer than any real one");
  if (bytes.size() - start < length)
    return npyError("it ends within its head");
  NpyHeader head;
  HeadParser parser(bytes.substr(start, length), head);
  if (!parser.dict())
    return npyError("its head is not what NumPy writes");
  if (!parser.refusal().empty())
    return npyError(parser.refusal());
  if (llvm::Error error = checkCount(head))
    return error;
  head.dataOffset = start + length;
  return head;
}

//===--- Writing ----------------------------------------------------------===//

/// As ml_dtypes has NumPy write them: bytes without a meaning. It writes `<f1`
/// for float8_e5m2, which NumPy itself cannot read.
static std::string descrOf(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return "'|b1'";
  case DType::Float0:
    return "[('float0', '|V0')]";
  case DType::BF16:
    return "'<V2'";
  default:
    break;
  }
  const DTypeInfo &known = info(dtype);
  unsigned bytes = isKey(dtype) ? 4 : known.bits / 8;
  if ((known.kind == DTypeKind::Float && bytes < 2) || known.bits < 8)
    return "'<V1'";
  char kind = isKey(dtype) || known.kind == DTypeKind::Unsigned ? 'u'
              : known.kind == DTypeKind::Signed                 ? 'i'
              : known.kind == DTypeKind::Complex                ? 'c'
                                                                : 'f';
  return std::string(bytes == 1 ? "'|" : "'<") + kind + std::to_string(bytes) +
         "'";
}

std::string shardtype::npyHeaderText(DType dtype, ArrayRef<int64_t> shape) {
  std::string sizes;
  for (auto [i, size] : llvm::enumerate(shape))
    sizes += (i ? ", " : "") + std::to_string(size);
  std::string text = "{'descr': " + descrOf(dtype) +
                     ", 'fortran_order': False, 'shape': (" + sizes +
                     (shape.size() == 1 ? ",)" : ")") + ", }";
  // Padded so that data begins at a multiple of 64.
  size_t length = llvm::alignTo(10 + text.size() + 1, 64) - 10;
  text.append(length - text.size() - 1, ' ');
  text += '\n';
  std::string head = Magic.str() + std::string("\1\0", 2);
  head += static_cast<char>(length & 0xff);
  head += static_cast<char>(length >> 8);
  return head + text;
}
