// Sax.cpp - the events of a JSON text, from nlohmann's parser.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nlohmann's lexer takes three quarters of the time of reading a program, so
// this file is built for speed: with a string of our own for its tokens,
// without its assertions, at -O3 (see CMakeLists.txt). Together that is worth
// 40 %.
#include "Stream.h"
#include "llvm/Support/JSON.h"
// The assertions guard the library against itself, not against input.
#define JSON_ASSERT(condition) static_cast<void>(0)
#include <nlohmann/json.hpp>

using namespace shardtype;
using namespace shardtype::json;

namespace {
/// The text of a token. The lexer appends single characters, which std::string
/// does out of line. What stands after `view` is for nlohmann's templates,
/// which name it without ever calling it.
class Token {
public:
  using value_type = char;
  using size_type = size_t;

  Token() : chars_(256), end_(chars_.data()), limit_(end_ + chars_.size()) {}
  void clear() { end_ = chars_.data(); }
  void push_back(char c) {
    if (LLVM_UNLIKELY(end_ + 1 == limit_)) // Keeps a place for the final 0.
      grow();
    *end_++ = c;
  }
  size_t size() const { return end_ - chars_.data(); }
  char *data() { return *end_ = 0, chars_.data(); }
  StringRef view() const { return StringRef(chars_.data(), size()); }

  Token(const char *text) : Token(std::string(text)) {}
  Token(const std::string &text) : Token() { append(text); }
  Token(size_t size, char c) : Token(std::string(size, c)) {}
  Token(const Token &other) : Token(other.view().str()) {}
  Token &operator=(const Token &other) {
    clear();
    append(other);
    return *this;
  }
  void append(const Token &other) { append(other.view().str()); }
  const char *data() const { return *end_ = 0, chars_.data(); }
  bool operator==(const Token &other) const { return view() == other.view(); }
  bool operator<(const Token &other) const { return view() < other.view(); }

private:
  void append(const std::string &text) {
    for (char c : text)
      push_back(c);
  }
  void grow() {
    size_t used = size();
    chars_.resize(chars_.size() * 2);
    end_ = chars_.data() + used;
    limit_ = chars_.data() + chars_.size();
  }
  std::vector<char> chars_;
  char *end_, *limit_;
};

using Json = nlohmann::basic_json<std::map, std::vector, Token>;

/// Where the lexer stands. It holds an iterator by value, so the position is
/// kept outside for the handler to see.
struct Position {
  const char *at, *end;
};

class PositionIterator {
public:
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;
  using iterator_category = std::input_iterator_tag;

  explicit PositionIterator(Position *position) : position_(position) {}
  const char &operator*() const { return *position_->at; }
  PositionIterator &operator++() {
    ++position_->at;
    return *this;
  }
  PositionIterator operator++(int) {
    ++position_->at;
    return *this;
  }
  /// Only ever compared with the end.
  bool operator!=(const PositionIterator &) const {
    return position_->at != position_->end;
  }
  bool operator==(const PositionIterator &other) const {
    return !(*this != other);
  }

private:
  Position *position_;
};

/// Takes the parser's events and passes them on with their positions.
template <typename Events> class Handler {
public:
  Handler(StringRef text, Events &events)
      : begin_(text.begin()), position_{text.begin(), text.end()},
        events_(events) {}

  /// Parses all of the text. False: an event asked to stop.
  bool run() {
    return Json::sax_parse(PositionIterator(&position_),
                           PositionIterator(&position_), this);
  }

  bool null() { return events_.scalar(Node::Null, 0, offset()); }
  bool boolean(bool value) {
    return events_.scalar(value ? Node::True : Node::False, 0, offset());
  }
  bool number_integer(int64_t value) {
    return events_.scalar(Node::Int, value, offset());
  }
  bool number_unsigned(uint64_t value) {
    if (value <= static_cast<uint64_t>(INT64_MAX))
      return events_.scalar(Node::Int, static_cast<int64_t>(value), offset());
    return events_.chars(Node::Big, std::to_string(value), offset());
  }
  bool number_float(double, const Token &token) {
    StringRef text = token.view();
    bool whole = text.find_first_not_of("-0123456789") == StringRef::npos;
    return events_.chars(whole ? Node::Big : Node::Float, text, offset());
  }
  bool string(const Token &token) {
    return events_.chars(Node::String, token.view(), offset());
  }
  bool binary(const Json::binary_t &) { return false; } // Not JSON.
  bool start_object(size_t) { return events_.open(Node::Object, offset()); }
  bool start_array(size_t) { return events_.open(Node::Array, offset()); }
  bool key(const Token &token) { return events_.key(token.view(), offset()); }
  bool end_object() { return events_.close(offset()); }
  bool end_array() { return events_.close(offset()); }
  bool parse_error(size_t, const std::string &,
                   const nlohmann::detail::exception &error) {
    return events_.error(error.what(), offset());
  }

private:
  uint32_t offset() const {
    return static_cast<uint32_t>(position_.at - begin_);
  }
  const char *begin_;
  Position position_;
  Events &events_;
};

[[noreturn]] void throwSyntax(StringRef what, uint32_t offset) {
  // "[...] parse error at line 1, column 2: syntax error while ..."
  size_t column = what.find(", column ");
  size_t colon = what.find(": ", column == StringRef::npos ? 0 : column);
  std::string text = what.substr(colon + 2).str();
  constexpr size_t Longest = 200; // The text quotes tokens of any length.
  if (text.size() > Longest)
    text = text.substr(0, Longest) + "...";
  throw Bad{diag::JsonSyntax, offset, {llvm::json::fixUTF8(text)}};
}

/// Passes events to a Stream, which throws to stop.
struct StreamEvents {
  Stream &stream;
  bool scalar(Node::Kind kind, int64_t integer, uint32_t offset) {
    stream.scalar(kind, integer, offset);
    return true;
  }
  bool chars(Node::Kind kind, StringRef text, uint32_t offset) {
    stream.chars(kind, text, offset);
    return true;
  }
  bool open(Node::Kind kind, uint32_t offset) {
    stream.open(kind, offset);
    return true;
  }
  bool key(StringRef text, uint32_t offset) {
    stream.key(text, offset);
    return true;
  }
  bool close(uint32_t offset) {
    stream.close(offset);
    return true;
  }
  [[noreturn]] bool error(StringRef what, uint32_t offset) {
    throwSyntax(what, offset);
  }
};

/// Lays down a whole text as one element.
struct TreeEvents {
  Tree &tree;
  const JsonLimits &limits;
  unsigned depth = 0;
  bool scalar(Node::Kind kind, int64_t integer, uint32_t offset) {
    tree.scalar(kind, integer, offset);
    return check(offset);
  }
  bool chars(Node::Kind kind, StringRef text, uint32_t offset) {
    tree.chars(kind, text, offset);
    return check(offset);
  }
  bool open(Node::Kind kind, uint32_t offset) {
    if (++depth > limits.depth)
      badLimit(offset, "the nesting of the file", limits.depth);
    tree.open(kind, offset);
    return check(offset);
  }
  bool key(StringRef text, uint32_t offset) {
    tree.key(text, offset);
    return true;
  }
  bool close(uint32_t offset) {
    --depth;
    tree.close(offset);
    return true;
  }
  [[noreturn]] bool error(StringRef what, uint32_t offset) {
    throwSyntax(what, offset);
  }
  bool check(uint32_t offset) {
    if (tree.size() > limits.parts)
      badLimit(offset, "the number of parts of the file", limits.parts);
    return true;
  }
};

/// Follows the events up to one position and knows the way there.
struct PathEvents {
  struct Step {
    bool list;
    size_t index; // Of the next element.
    std::string key;
  };
  uint32_t target;
  std::vector<Step> steps = {};

  bool here(uint32_t offset) { return offset < target; }
  bool value(uint32_t offset) {
    if (!here(offset))
      return false;
    after();
    return true;
  }
  /// A value is over: the next element of its list comes.
  void after() {
    if (!steps.empty() && steps.back().list)
      ++steps.back().index;
  }
  bool scalar(Node::Kind, int64_t, uint32_t offset) { return value(offset); }
  bool chars(Node::Kind, StringRef, uint32_t offset) { return value(offset); }
  bool open(Node::Kind kind, uint32_t offset) {
    if (!here(offset))
      return false;
    steps.push_back({kind == Node::Array, 0, {}});
    return true;
  }
  bool key(StringRef text, uint32_t offset) {
    steps.back().key = text.str();
    return here(offset);
  }
  bool close(uint32_t) {
    steps.pop_back();
    after();
    return true;
  }
  bool error(StringRef, uint32_t) { return false; }
};
} // namespace

void json::scan(StringRef text, Stream &stream) {
  StreamEvents events{stream};
  Handler<StreamEvents>(text, events).run();
}

void json::scanWhole(StringRef text, const JsonLimits &limits,
                     llvm::function_ref<void(Ref)> take) {
  Tree tree(text);
  TreeEvents events{tree, limits};
  Handler<TreeEvents>(text, events).run();
  take(tree.root());
}

std::string json::locate(StringRef text, uint32_t offset) {
  PathEvents events{offset};
  Handler<PathEvents>(text, events).run();
  std::string pointer;
  for (const PathEvents::Step &step : events.steps) {
    pointer += '/';
    if (step.list) {
      pointer += std::to_string(step.index);
      continue;
    }
    for (char c : step.key) {
      if (c == '~')
        pointer += "~0";
      else if (c == '/')
        pointer += "~1";
      else
        pointer += c;
    }
  }
  return pointer;
}
