// TextFlatTree.cpp - how many leaves the trees of scan's arguments have.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TextValue.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

namespace {

/// Walks the print of a FlatTree (spec 04, 4.7) once and notes its leaves in
/// order. `RightsOnly` drops those that print as `Left`.
class FlatTreeReader {
public:
  explicit FlatTreeReader(StringRef text) : text_(text) {}

  /// Leaves of each component; one component if the tree is no tuple.
  std::optional<SmallVector<int64_t, 4>> counts();

private:
  bool node(unsigned depth, bool outermost);
  bool tuple(unsigned depth, bool outermost);
  bool dict(unsigned depth);
  bool pytree(unsigned depth, bool outermost);
  bool treeComponents(StringRef tree, size_t firstLeaf);
  bool wrapped(unsigned depth, bool outermost);
  bool accept(StringRef token) {
    text_ = text_.ltrim();
    return text_.consume_front(token);
  }

  StringRef text_;
  std::vector<bool> leaves_;          // Does it count?
  bool components_ = false;           // Are there any?
  SmallVector<size_t, 4> boundaries_; // Leaves before each component's end.
};

} // namespace

static constexpr unsigned MaxDepth = 256;

bool FlatTreeReader::tuple(unsigned depth, bool outermost) {
  components_ |= outermost;
  while (!accept(")")) {
    if (!node(depth + 1, false))
      return false;
    if (outermost)
      boundaries_.push_back(leaves_.size());
    text_ = text_.ltrim();
    if (!accept(",") && !text_.starts_with(")"))
      return false;
  }
  return true;
}

bool FlatTreeReader::dict(unsigned depth) {
  while (!accept("}")) {
    std::optional<size_t> end = endOfValue(text_, 0);
    size_t colon = text_.find(": ");
    if (!end || colon == StringRef::npos)
      return false;
    text_ = text_.drop_front(colon + 1);
    if (!node(depth + 1, false))
      return false;
    text_ = text_.ltrim();
    if (!accept(",") && !text_.starts_with("}"))
      return false;
  }
  return true;
}

/// Splits the leaves from `firstLeaf` on by the components of `((*, *), [*])`.
bool FlatTreeReader::treeComponents(StringRef tree, size_t firstLeaf) {
  if (!tree.consume_front("(") || !tree.consume_back(")"))
    return true; // No tuple: one component.
  components_ = true;
  size_t leaf = firstLeaf;
  int depth = 0;
  bool pending = false;
  for (char c : tree) {
    if (c == ',' && depth == 0) {
      boundaries_.push_back(leaf);
      pending = false;
      continue;
    }
    leaf += c == '*';
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    pending |= !llvm::isSpace(c);
  }
  if (pending)
    boundaries_.push_back(leaf);
  return depth == 0 && leaf == leaves_.size();
}

bool FlatTreeReader::pytree(unsigned depth, bool outermost) {
  size_t firstLeaf = leaves_.size();
  if (!accept("vals=["))
    return false;
  while (!accept("]")) {
    if (!node(depth + 1, false))
      return false;
    text_ = text_.ltrim();
    if (!accept(",") && !text_.starts_with("]"))
      return false;
  }
  if (!accept(",") || !accept("tree=PyTreeDef"))
    return false;
  std::optional<size_t> end = endOfValue(text_, 0);
  if (!end || *end < 2 || !text_.starts_with("("))
    return false;
  // endOfValue stops at the bracket that closes the Pytree.
  StringRef tree = text_.slice(1, *end - 1);
  text_ = text_.drop_front(*end);
  if (outermost && !treeComponents(tree, firstLeaf))
    return false;
  return accept(")");
}

/// `RightsOnly(X)`, `Right(X)`, `Left(X)`, `Static(...)`, behind the bracket.
bool FlatTreeReader::wrapped(unsigned depth, bool outermost) {
  return node(depth + 1, outermost) && accept(")");
}

bool FlatTreeReader::node(unsigned depth, bool outermost) {
  if (depth > MaxDepth)
    return false;
  if (accept("("))
    return tuple(depth, outermost);
  if (accept("{"))
    return dict(depth);
  if (accept("None")) {
    leaves_.push_back(true);
    return true;
  }
  if (accept("Pytree("))
    return pytree(depth, outermost);
  if (accept("RightsOnly("))
    return wrapped(depth, outermost);
  if (accept("Right("))
    return wrapped(depth, false);
  if (accept("Left(")) {
    size_t firstLeaf = leaves_.size();
    if (!wrapped(depth, false))
      return false;
    std::fill(leaves_.begin() + firstLeaf, leaves_.end(), false);
    return true;
  }
  if (!accept("Static("))
    return false;
  StringRef brackets(text_.data() - 1, text_.size() + 1);
  std::optional<size_t> end = endOfValue(brackets, 0);
  if (!end || brackets[*end - 1] != ')')
    return false;
  text_ = brackets.drop_front(*end);
  return true;
}

std::optional<SmallVector<int64_t, 4>> FlatTreeReader::counts() {
  if (!node(0, true) || !text_.trim().empty())
    return std::nullopt;
  if (!components_)
    boundaries_.push_back(leaves_.size());
  SmallVector<int64_t, 4> counts;
  size_t begin = 0;
  for (size_t end : boundaries_) {
    counts.push_back(
        std::count(leaves_.begin() + begin, leaves_.begin() + end, true));
    begin = end;
  }
  return counts;
}

ValueId shardtype::readFlatTree(Program &program, StringRef text) {
  Value tree;
  tree.kind = Value::FlatTree;
  tree.text = program.context().intern(text);
  Value list;
  if (auto counts = FlatTreeReader(text).counts()) {
    list.kind = Value::Tuple;
    for (int64_t count : *counts) {
      Value number;
      number.kind = Value::Int;
      number.integer = count;
      list.elements.push_back(program.intern(number));
    }
  }
  tree.elements = {program.intern(list)};
  return program.intern(tree);
}
