// NumPyText.cpp - arrays as NumPy prints them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An array is printed in two steps: a formatter is made from the elements that
// will show, so that all get one width, then the brackets are laid out around
// its words. Of a large array only the corners show.
#include "shardtype/Tensor/NumPyText.h"
#include "ElementFormat.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

namespace {
/// Lays out words in brackets and lines.
class Layout {
public:
  Layout(ArrayRef<int64_t> shape, const NumPyOptions &options,
         StringRef separator, bool summary)
      : shape_(shape), options_(options), separator_(separator),
        summary_(summary) {}

  using Words = llvm::function_ref<std::string(int64_t)>;
  /// The text of dims from `dim` on at element `offset`; lines after the first
  /// begin with `indent`.
  std::string text(unsigned dim, int64_t offset, const std::string &indent,
                   int64_t width, Words word) const {
    if (dim == shape_.size())
      return word(offset);
    std::string body = dim + 1 == shape_.size()
                           ? row(offset, indent, width, word)
                           : rows(dim, offset, indent, width, word);
    return "[" + body.substr(indent.size()) + "]";
  }
  /// Positions of the elements that show.
  void shown(unsigned dim, int64_t offset,
             SmallVectorImpl<int64_t> &positions) const {
    if (dim == shape_.size()) {
      positions.push_back(offset);
      return;
    }
    for (int64_t i : items(dim))
      if (i >= 0)
        shown(dim + 1, offset * shape_[dim] + i, positions);
  }

private:
  /// Indices of a dim that show, -1 where some are left out.
  SmallVector<int64_t, 8> items(unsigned dim) const {
    SmallVector<int64_t, 8> result;
    int64_t size = shape_[dim], edge = options_.edgeItems;
    bool cut = summary_ && 2 * edge < size;
    for (int64_t i = 0; i < (cut ? edge : size); ++i)
      result.push_back(i);
    if (!cut)
      return result;
    result.push_back(-1);
    for (int64_t i = size - edge; i < size; ++i)
      result.push_back(i);
    return result;
  }

  std::string row(int64_t offset, const std::string &indent, int64_t width,
                  Words word) const {
    unsigned dim = shape_.size() - 1;
    int64_t room =
        width - std::max<int64_t>(separator_.rtrim().size(), 1); // "]"
    std::string done, line = indent;
    auto all = items(dim);
    for (auto [n, i] : llvm::enumerate(all)) {
      std::string next = i < 0 ? "..." : word(offset * shape_[dim] + i);
      bool full = static_cast<int64_t>(line.size() + next.size()) > room;
      if (full && line.size() > indent.size()) {
        done += StringRef(line).rtrim().str() + "\n";
        line = indent;
      }
      line += next;
      if (n + 1 < all.size())
        line += separator_;
    }
    return done + line;
  }

  std::string rows(unsigned dim, int64_t offset, const std::string &indent,
                   int64_t width, Words word) const {
    std::string end =
        separator_.rtrim().str() + std::string(shape_.size() - dim - 1, '\n');
    std::string result;
    auto all = items(dim);
    for (auto [n, i] : llvm::enumerate(all)) {
      result += indent;
      result += i < 0 ? "..."
                      : text(dim + 1, offset * shape_[dim] + i, indent + " ",
                             width - 1, word);
      if (n + 1 < all.size())
        result += end;
    }
    return result;
  }

  ArrayRef<int64_t> shape_;
  const NumPyOptions &options_;
  StringRef separator_;
  bool summary_;
};
} // namespace

/// Keys are their words.
static Shape shownShape(const Tensor &tensor) {
  Shape shape(tensor.shape().begin(), tensor.shape().end());
  ArrayRef<int64_t> words = keyDataShape(tensor.dtype());
  shape.append(words.begin(), words.end());
  return shape;
}

static int64_t count(ArrayRef<int64_t> shape) {
  if (llvm::is_contained(shape, 0))
    return 0; // The others may be beyond all bounds.
  int64_t n = 1;
  for (int64_t size : shape)
    n *= size;
  return n;
}

static std::string arrayText(const Tensor &tensor, const NumPyOptions &options,
                             StringRef separator, size_t prefix,
                             size_t suffix) {
  Shape shape = shownShape(tensor);
  int64_t size = count(shape);
  if (size == 0)
    return "[]";
  Layout layout(shape, options, separator, size > options.threshold);
  SmallVector<int64_t, 0> positions;
  layout.shown(0, 0, positions);
  ElementFormat format(tensor, positions, options.precision, shape.empty());
  return layout.text(0, 0, std::string(1 + prefix, ' '),
                     options.lineWidth - static_cast<int64_t>(suffix),
                     [&](int64_t i) { return format.word(i); });
}

std::string shardtype::elementText(const Tensor &tensor, int64_t position) {
  return ElementFormat::scalar(tensor, position);
}

std::string shardtype::numPyStr(const Tensor &tensor,
                                const NumPyOptions &options) {
  if (shownShape(tensor).empty())
    return elementText(tensor, 0);
  return arrayText(tensor, options, " ", 0, 0);
}

/// As an argument `dtype=`; nothing for what NumPy assumes.
static std::string dtypeText(DType dtype, bool always) {
  bool plain = dtype == DType::Bool || dtype == DType::I64 ||
               dtype == DType::F64 || dtype == DType::C128;
  if (plain && !always)
    return "";
  if (dtype == DType::Float0)
    return "dtype=[('float0', 'V')]";
  std::string name = isKey(dtype) ? "uint32" : info(dtype).longName.str();
  bool quoted = !llvm::all_of(name, [](char c) { return llvm::isAlnum(c); });
  return "dtype=" + (quoted ? "'" + name + "'" : name);
}

static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text = "shape=(";
  for (auto [i, size] : llvm::enumerate(shape))
    text += (i ? ", " : "") + std::to_string(size);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string shardtype::numPyRepr(const Tensor &tensor,
                                 const NumPyOptions &options) {
  constexpr StringRef Prefix = "array(";
  std::string text =
      Prefix.str() + arrayText(tensor, options, ", ", Prefix.size(), 1);
  Shape shape = shownShape(tensor);
  int64_t size = count(shape);
  SmallVector<std::string, 2> extras;
  if ((size == 0 && shape != Shape{0}) || size > options.threshold)
    extras.push_back(shapeText(shape));
  if (std::string dtype = dtypeText(tensor.dtype(), size == 0); !dtype.empty())
    extras.push_back(dtype);
  if (extras.empty())
    return text + ")";
  text += ",";
  std::string extra = llvm::join(extras, ", ") + ")";
  size_t lastLine = text.size() - (text.rfind('\n') + 1);
  bool wraps =
      static_cast<int64_t>(lastLine + extra.size() + 1) > options.lineWidth;
  return text + (wraps ? "\n" + std::string(Prefix.size(), ' ') : " ") + extra;
}
