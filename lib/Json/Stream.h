// Stream.h - cuts the events of a file into the elements that readers take.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A file in the exchange format is an object whose large fields are lists, and
// the list of jaxprs holds objects whose large field is the list of equations.
// Stream follows the file down to these lists and hands over one element at a
// time:
//
//   Start -> Root -> List             each element: Client::rootElement
//                 -> Jaxprs -> Jaxpr -> Eqns        each: Client::eqn
//                                   (a field)       whole: Client::jaxprValue
//                 (a field)                         whole: Client::rootValue
//
// Any other JSON text is one element: see `Whole`.
#ifndef SHARDTYPE_LIB_JSON_STREAM_H
#define SHARDTYPE_LIB_JSON_STREAM_H

#include "Tree.h"
#include "shardtype/Json/Json.h"

namespace shardtype::json {

/// How the value of a field comes.
enum class Want : uint8_t {
  Skip,  // Not at all.
  Whole, // As one element.
  Each,  // It is a list; each of its elements alone.
  Jaxprs // It is the list of jaxprs (of the root only).
};

/// Takes the parts of a file. May throw Bad.
class Client {
public:
  virtual ~Client() = default;
  /// `offset` is a position as in Node: it tells the field's JSON pointer.
  virtual Want rootField(StringRef name, uint32_t offset) = 0;
  virtual void rootValue(Ref value) = 0;
  virtual void rootElement(Ref value) = 0;
  virtual void rootListEnd() = 0;
  virtual void jaxprBegin(uint32_t offset) = 0;
  virtual Want jaxprField(StringRef name, uint32_t offset) = 0;
  virtual void jaxprValue(Ref value) = 0;
  virtual void eqn(Ref value) = 0;
  virtual void jaxprEnd() = 0;
};

/// The limit of nesting: parser and readers call themselves for each level, so
/// there is an end to what may be asked for.
inline unsigned mostLevels(const JsonLimits &limits) {
  return std::min(limits.depth, JsonLimits::MostDepth);
}

class Stream {
public:
  Stream(StringRef text, Client &client, const JsonLimits &limits)
      : tree_(text), client_(client), limits_(limits),
        maxDepth_(mostLevels(limits)) {}

  // The events of a JSON text, in order. May throw Bad.
  void scalar(Node::Kind kind, int64_t integer, uint32_t offset) {
    if (collects_) {
      checkSize();
      tree_.scalar(kind, integer, offset);
    } else if (begins(offset)) {
      tree_.scalar(kind, integer, offset);
      finish();
    }
  }
  void chars(Node::Kind kind, StringRef text, uint32_t offset) {
    if (collects_) {
      checkSize();
      tree_.chars(kind, text, offset);
    } else if (begins(offset)) {
      tree_.chars(kind, text, offset);
      finish();
    }
  }
  void key(StringRef name, uint32_t offset) {
    if (collects_) {
      checkSize();
      tree_.key(name, offset);
    } else if (!skips_)
      field(name, offset);
  }
  void open(Node::Kind kind, uint32_t offset) {
    if (++depth_ > maxDepth_)
      badLimit(offset, "the nesting of the file", maxDepth_);
    if (collects_) {
      checkSize();
      tree_.open(kind, offset);
    } else if (skips_) {
      ++skips_;
    } else {
      enter(kind, offset);
    }
  }
  void close(uint32_t offset) {
    --depth_;
    if (collects_) {
      tree_.close(offset);
      if (!tree_.isOpen())
        finish();
    } else if (skips_) {
      --skips_;
    } else {
      leave();
    }
  }

private:
  enum class At : uint8_t { Start, Root, List, Jaxprs, Jaxpr, Eqns };

  /// Whether a scalar here is an element of its own; if not, it is skipped.
  bool begins(uint32_t offset);
  void field(StringRef name, uint32_t offset);
  void enter(Node::Kind kind, uint32_t offset);
  void leave();
  void finish();
  void checkSize() {
    if (LLVM_UNLIKELY(tree_.size() >= limits_.parts))
      badLimit(tree_.root().offset(), "the number of parts of this value",
               limits_.parts);
  }

  Tree tree_;
  Client &client_;
  const JsonLimits &limits_;
  unsigned maxDepth_, depth_ = 0;
  bool collects_ = false; // Inside an element.
  unsigned skips_ = 0;    // Open brackets of a value that is skipped.
  At at_ = At::Start;
  Want want_ = Want::Skip; // Of the current field.
};

/// Reads a JSON text to its end. Syntax errors are thrown as Bad with the code
/// JsonSyntax.
void scan(StringRef text, Stream &stream);

/// Reads any JSON text as one element.
void scanWhole(StringRef text, const JsonLimits &limits,
               llvm::function_ref<void(Ref)> take);

/// The JSON pointer of the value or key whose event comes at `offset`.
std::string locate(StringRef text, uint32_t offset);

} // namespace shardtype::json

#endif
