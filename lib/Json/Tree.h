// Tree.h - one JSON value in a flat array, as the readers walk it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file is read element by element: each entry of a table, each equation. The
// events of one element are laid down here in order, the element is turned into
// the program's arrays, and the next one takes its place. So keys may come in
// any order inside an element, and memory does not grow with the file.
#ifndef SHARDTYPE_LIB_JSON_TREE_H
#define SHARDTYPE_LIB_JSON_TREE_H

#include "shardtype/Support/Diagnostic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/iterator.h"
#include "llvm/Support/Allocator.h"

namespace shardtype::json {

/// What ends a reading: thrown inside this library, never out of it. `offset`
/// is a position in the text that tells the JSON pointer (see `locate`).
struct Bad {
  diag::Code code;
  uint32_t offset;
  SmallVector<std::string, 2> args;
};

/// A value, or the key of a field, which is followed by the field's value.
struct Node {
  enum Kind : uint8_t {
    Null,
    False,
    True,
    Int,
    Big,   // An integer beyond 64 bits; chars.
    Float, // chars: as written.
    String,
    Array,
    Object
  };
  union {
    int64_t integer;
    const char *chars;
    uint64_t end; // Array, Object: position after the closing bracket.
  };
  uint32_t size; // String, Big, Float: bytes. Array: elements. Object: fields.
  uint32_t next; // Index after this value and all that it holds.
  uint32_t offset; // Position in the text after the token.
  Kind kind;
};
static_assert(sizeof(Node) == 32 || sizeof(Node) == 24);

class Tree;

/// A value in a tree. Invalid (false) by default: a field that is not there.
class Ref {
public:
  Ref() = default;
  Ref(const Tree &tree, uint32_t index) : tree_(&tree), index_(index) {}
  explicit operator bool() const { return tree_; }

  inline const Node &node() const;
  Node::Kind kind() const { return node().kind; }
  uint32_t offset() const { return node().offset; }
  bool isNull() const { return kind() == Node::Null; }
  bool isString() const { return kind() == Node::String; }
  bool isArray() const { return kind() == Node::Array; }
  bool isObject() const { return kind() == Node::Object; }
  bool isInt() const { return kind() == Node::Int; }
  /// Of a string or a number: its characters.
  StringRef chars() const { return StringRef(node().chars, node().size); }
  uint32_t size() const { return node().size; }
  const Tree &tree() const { return *tree_; }

  // The value as a kind that the format demands here; Bad otherwise.
  StringRef string() const;
  bool boolean() const;
  int64_t integer(int64_t low = INT64_MIN, int64_t high = INT64_MAX) const;
  const Ref &array() const;
  const Ref &object() const;

  /// The first element or key; the value after this one.
  Ref first() const { return Ref(*tree_, index_ + 1); }
  Ref next() const { return Ref(*tree_, node().next); }

  /// The text of an array or object, as the file has it.
  StringRef slice() const;
  /// Appends the value as JSON without blanks.
  void append(std::string &out) const;

private:
  const Tree *tree_ = nullptr;
  uint32_t index_ = 0;
};

/// Throws Bad: the structure is wrong at a value.
[[noreturn]] void bad(Ref at, const llvm::Twine &message);
[[noreturn]] void badLimit(uint32_t offset, const llvm::Twine &what,
                           uint64_t limit);

class Tree {
public:
  explicit Tree(StringRef text) : text_(text) {
    grow();
    clear();
  }

  // The events of a value, in order. `offset` as in Node.
  void scalar(Node::Kind kind, int64_t integer, uint32_t offset) {
    Node &node = push(kind, offset);
    node.integer = integer;
    node.size = 0;
    ++nodes_[open_].size;
  }
  /// Text that may live in a buffer of the lexer; kept for this element.
  void chars(Node::Kind kind, StringRef text, uint32_t offset) {
    key(text, offset, kind);
    ++nodes_[open_].size;
  }
  void key(StringRef text, uint32_t offset, Node::Kind kind = Node::String) {
    Node &node = push(kind, offset);
    node.chars = keep(text);
    node.size = text.size();
  }
  void open(Node::Kind kind, uint32_t offset) {
    ++nodes_[open_].size;
    Node &node = push(kind, offset);
    node.size = 0;
    node.next = open_; // Until it is closed.
    open_ = size_ - 1;
  }
  /// Closes the innermost array or object; an object's keys must differ.
  void close(uint32_t offset) {
    uint32_t closed = open_;
    Node &node = nodes_[closed];
    open_ = node.next;
    node.end = offset;
    node.next = size_;
    if (node.kind == Node::Object && node.size > 1)
      checkKeys(closed);
  }
  bool isOpen() const { return open_ != 0; }
  Ref root() const { return Ref(*this, 1); }
  void clear() {
    size_ = 1; // The first node is the parent of the root.
    open_ = 0;
    if (ownsChars_)
      chars_.Reset();
    ownsChars_ = false;
  }

  const Node &operator[](uint32_t index) const { return nodes_[index]; }
  StringRef text() const { return text_; }
  size_t size() const { return size_ - 1; }

private:
  Node &push(Node::Kind kind, uint32_t offset) {
    if (LLVM_UNLIKELY(size_ == nodes_.size()))
      grow();
    Node &node = nodes_[size_++];
    node.kind = kind;
    node.offset = offset;
    node.next = size_;
    return node;
  }
  void grow() { nodes_.resize(std::max<size_t>(256, nodes_.size() * 2)); }
  /// The text itself if it stands in the file, else a copy.
  const char *keep(StringRef text) {
    bool inFile = text.data() >= text_.begin() && text.data() < text_.end();
    return LLVM_LIKELY(inFile) ? text.data() : copy(text);
  }
  const char *copy(StringRef text);
  void checkKeys(uint32_t object) const;

  StringRef text_;
  std::vector<Node> nodes_;
  uint32_t size_ = 0; // Nodes in use.
  uint32_t open_ = 0; // The innermost open array or object.
  llvm::BumpPtrAllocator chars_;
  bool ownsChars_ = false;
};

inline const Node &Ref::node() const { return (*tree_)[index_]; }

/// The elements of an array, in order.
class Items {
public:
  explicit Items(Ref array) : array_(array) {}
  struct Iterator
      : llvm::iterator_facade_base<Iterator, std::forward_iterator_tag, Ref,
                                   std::ptrdiff_t, Ref *, Ref> {
    Ref at;
    uint32_t left = 0;
    Iterator() = default;
    Iterator(Ref value, uint32_t count) : at(value), left(count) {}
    Ref operator*() const { return at; }
    Iterator &operator++() {
      if (--left)
        at = at.next();
      return *this;
    }
    bool operator==(const Iterator &other) const { return left == other.left; }
  };
  Iterator begin() const { return {array_.first(), array_.size()}; }
  Iterator end() const { return {Ref(), 0}; }

private:
  Ref array_;
};

struct Field {
  Ref key, value;
};

/// The fields of an object, in order.
class Members {
public:
  explicit Members(Ref object) : object_(object) {}
  struct Iterator {
    Ref key;
    uint32_t left;
    Field operator*() const { return {key, key.next()}; }
    void operator++() {
      if (--left)
        key = key.next().next();
    }
    bool operator!=(const Iterator &other) const { return left != other.left; }
  };
  Iterator begin() const { return {object_.first(), object_.size()}; }
  Iterator end() const { return {Ref(), 0}; }

private:
  Ref object_;
};

/// Collects fields that the program keeps verbatim, as one JSON object.
class Extra {
public:
  void add(StringRef key, Ref value);
  bool empty() const { return text_.empty(); }
  /// `{...}`, or an empty text if there are no fields.
  std::string str() const { return text_.empty() ? text_ : text_ + "}"; }

private:
  std::string text_; // Without the closing brace.
};

/// The fields of an object by name: those the format knows and the others.
class Fields {
public:
  Fields(Ref object, ArrayRef<StringRef> known);
  /// A known field; Bad if it is missing.
  Ref need(StringRef name) const;
  /// A known field, or an invalid Ref if it is missing.
  Ref get(StringRef name) const;
  /// Likewise, but null counts as missing too.
  Ref getIfNotNull(StringRef name) const;
  /// Has the field kept verbatim, for it holds more than we can say.
  void keep(StringRef name) { extra_.add(name, get(name)); }
  Extra &extra() { return extra_; }
  Ref object() const { return object_; }

private:
  Ref object_;
  SmallVector<std::pair<StringRef, Ref>, 12> known_;
  Extra extra_;
};

/// Appends a JSON string with its quotes. Bytes that are no UTF-8 become the
/// replacement character.
void appendQuoted(std::string &out, StringRef text);

} // namespace shardtype::json

#endif
