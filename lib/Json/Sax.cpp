// Sax.cpp - the events of a JSON text, from RapidJSON's parser.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// RapidJSON reads from a stream of ours in its "in situ" mode, in which strings
// and numbers stay where they are. It would write strings with escapes over
// the text; the stream writes them elsewhere. So nothing is copied that the
// text holds as it is, and nothing is allocated for it.
#include "Stream.h"
#include "Syntax.h"
#include "llvm/Support/JSON.h"
// The assertions guard the library against itself, not against input. The name
// keeps our copy apart from that of a program that uses RapidJSON too.
#define RAPIDJSON_ASSERT(condition) static_cast<void>(0)
#define RAPIDJSON_NAMESPACE shardtype_rapidjson
#define RAPIDJSON_NAMESPACE_BEGIN namespace shardtype_rapidjson {
#define RAPIDJSON_NAMESPACE_END }
#include <rapidjson/reader.h>

using namespace shardtype;
using namespace shardtype::json;
namespace rapid = shardtype_rapidjson;

namespace {
/// What a stream and its copies share.
struct Shared {
  const char *begin; // Of the text.
  // The last string that was read:
  std::string decoded = {}; // Its value, if it has escapes.
  bool hasEscapes = false;
  bool isAscii = true;
  const char *after = nullptr; // The position after its closing quote.
};

/// The text as RapidJSON reads it. The parser works on a copy while it reads a
/// string or a number, which keeps the members in registers.
class TextStream {
public:
  using Ch = char;
  TextStream(StringRef text, Shared &shared)
      : at_(text.begin()), end_(text.end()), shared_(&shared) {}
  // Only what a copy needs, member by member: a copy of the whole in one go
  // would wait for the store of `at_` each time.
  TextStream(const TextStream &other)
      : at_(other.at_), end_(other.end_), shared_(other.shared_) {}
  TextStream &operator=(const TextStream &other) {
    at_ = other.at_;
    return *this;
  }

  // At the end of the text these give 0.
  char Peek() const { return LLVM_LIKELY(at_ != end_) ? *at_ : 0; }
  char Take() { return LLVM_LIKELY(at_ != end_) ? *at_++ : 0; }
  size_t Tell() const { return at_ - shared_->begin; }

  void skipBlanks() {
    while (at_ != end_ && LLVM_UNLIKELY(*at_ <= ' ') &&
           (*at_ == ' ' || *at_ == '\n' || *at_ == '\t' || *at_ == '\r'))
      ++at_;
  }

  /// A string begins here. What comes back is never written to.
  char *PutBegin() {
    put_ = at_;
    bits_ = 0;
    return const_cast<char *>(at_);
  }
  /// The next byte of the string's value. Without escapes it is the byte that
  /// was just taken.
  void Put(char c) {
    bits_ |= c;
    if (LLVM_LIKELY(put_ == at_ - 1))
      put_ = at_;
    else
      copy(c);
  }
  /// The string is over, with a 0 that was put after it. Its size with the 0.
  size_t PutEnd(char *begin) {
    shared_->hasEscapes = !put_;
    shared_->isAscii = bits_ >= 0;
    shared_->after = at_;
    return put_ ? put_ - begin : shared_->decoded.size();
  }

private:
  void copy(char c) {
    if (put_) {
      // Since the opening quote no byte was different.
      const char *begin = put_;
      while (begin[-1] != '"')
        --begin;
      shared_->decoded.assign(begin, put_);
      put_ = nullptr;
    }
    shared_->decoded.push_back(c);
  }

  const char *at_, *end_;
  /// All up to here was put as it is; null once something was not.
  const char *put_ = nullptr;
  Shared *shared_;
  char bits_ = 0; // Of all bytes put.
};
} // namespace

RAPIDJSON_NAMESPACE_BEGIN
template <> struct StreamTraits<TextStream> {
  enum { copyOptimization = 1 };
};
template <> inline void SkipWhitespace(TextStream &stream) {
  stream.skipBlanks();
}
RAPIDJSON_NAMESPACE_END

namespace {
Mistake mistakeOf(rapid::ParseErrorCode code) {
  switch (code) {
  case rapid::kParseErrorDocumentRootNotSingular:
    return Mistake::FileEnd;
  case rapid::kParseErrorObjectMissName:
    return Mistake::Key;
  case rapid::kParseErrorObjectMissColon:
    return Mistake::Colon;
  case rapid::kParseErrorObjectMissCommaOrCurlyBracket:
    return Mistake::ObjectEnd;
  case rapid::kParseErrorArrayMissCommaOrSquareBracket:
    return Mistake::ListEnd;
  case rapid::kParseErrorStringUnicodeEscapeInvalidHex:
    return Mistake::Hex;
  case rapid::kParseErrorStringUnicodeSurrogateInvalid:
    return Mistake::Surrogate;
  case rapid::kParseErrorStringEscapeInvalid:
    return Mistake::Escape;
  case rapid::kParseErrorStringMissQuotationMark:
    return Mistake::StringEnd;
  case rapid::kParseErrorStringInvalidEncoding:
    return Mistake::Encoding;
  case rapid::kParseErrorNumberTooBig:
    return Mistake::Large;
  case rapid::kParseErrorNumberMissFraction:
    return Mistake::Fraction;
  case rapid::kParseErrorNumberMissExponent:
    return Mistake::Exponent;
  default:
    return Mistake::Value;
  }
}

/// Takes the parser's events and passes them on with their positions. The
/// parser calls itself for each level: events of too many must end it.
template <typename Events>
class Handler
    : public rapid::BaseReaderHandler<rapid::UTF8<>, Handler<Events>> {
public:
  Handler(StringRef text, Events &events)
      : text_(text), shared_{text.begin()}, stream_(text, shared_),
        events_(events) {}

  /// Parses all of the text, or up to an event that asks to stop.
  void run() {
    // Some editors begin a file with a byte order mark.
    if (text_.starts_with("\xef\xbb\xbf"))
      for (unsigned i = 0; i < 3; ++i)
        stream_.Take();
    rapid::Reader reader;
    constexpr unsigned Flags =
        rapid::kParseInsituFlag | rapid::kParseNumbersAsStringsFlag;
    rapid::ParseResult result = reader.Parse<Flags>(stream_, *this);
    if (result.Code() == rapid::kParseErrorTermination)
      return;
    if (result.IsError())
      events_.error(text_, mistakeOf(result.Code()), result.Offset());
    else if (stream_.Tell() !=
             text_.size()) // It takes a zero byte for the end.
      events_.error(text_, Mistake::FileEnd, stream_.Tell());
  }

  bool Null() { return events_.scalar(Node::Null, 0, offset()); }
  bool Bool(bool value) {
    return events_.scalar(value ? Node::True : Node::False, 0, offset());
  }
  bool RawNumber(const char *chars, unsigned size, bool) {
    StringRef text(chars, size);
    uint32_t end = offset(text.end());
    int64_t value;
    if (LLVM_LIKELY(size < 19)) { // No 18 digits are too many.
      if (readInt(text, value))
        return events_.scalar(Node::Int, value, end);
      return events_.chars(Node::Float, text, end);
    }
    if (text.find_first_of(".eE") != StringRef::npos)
      return events_.chars(Node::Float, text, end);
    if (text.getAsInteger(10, value))
      return events_.chars(Node::Big, text, end);
    return events_.scalar(Node::Int, value, end);
  }
  bool String(const char *chars, unsigned size, bool) {
    return events_.chars(Node::String, value(chars, size),
                         offset(shared_.after));
  }
  bool Key(const char *chars, unsigned size, bool) {
    return events_.key(value(chars, size), offset(shared_.after));
  }
  bool StartObject() { return events_.open(Node::Object, offset()); }
  bool StartArray() { return events_.open(Node::Array, offset()); }
  bool EndObject(unsigned) { return events_.close(offset()); }
  bool EndArray(unsigned) { return events_.close(offset()); }

private:
  uint32_t offset() const { return static_cast<uint32_t>(stream_.Tell()); }
  uint32_t offset(const char *at) const {
    return static_cast<uint32_t>(at - text_.begin());
  }
  /// At most 18 characters that are a number; false if it is no integer.
  static bool readInt(StringRef text, int64_t &value) {
    bool negative = text.consume_front("-");
    value = 0;
    for (char c : text) {
      if (!llvm::isDigit(c))
        return false;
      value = value * 10 + (c - '0');
    }
    if (negative)
      value = -value;
    return true;
  }
  /// The value of the last string.
  StringRef value(const char *chars, unsigned size) {
    StringRef text(shared_.hasEscapes ? shared_.decoded.data() : chars, size);
    if (LLVM_UNLIKELY(!shared_.isAscii) && !llvm::json::isUTF8(text))
      events_.badString(text_, offset(shared_.after));
    return text;
  }

  StringRef text_;
  Shared shared_;
  TextStream stream_;
  Events &events_;
};

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
  [[noreturn]] void error(StringRef text, Mistake mistake, size_t at) {
    badSyntax(text, mistake, at);
  }
  [[noreturn]] void badString(StringRef text, uint32_t end) {
    badEncoding(text, end);
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
    if (++depth > mostLevels(limits))
      badLimit(offset, "the nesting of the file", mostLevels(limits));
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
  [[noreturn]] void error(StringRef text, Mistake mistake, size_t at) {
    badSyntax(text, mistake, at);
  }
  [[noreturn]] void badString(StringRef text, uint32_t end) {
    badEncoding(text, end);
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
  void error(StringRef, Mistake, size_t) {}
  void badString(StringRef, uint32_t) {}
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
