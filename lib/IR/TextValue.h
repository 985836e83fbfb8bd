// TextValue.h - reads parameter values from Python's print of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_IR_TEXTVALUE_H
#define SHARDTYPE_LIB_IR_TEXTVALUE_H

#include "TextCursor.h"

namespace shardtype {

/// Reads one value at a time (spec 04, 3 and 5, rule 3). A text that is no
/// value of a known form is not an error by itself, since any object may print
/// anywhere: the caller keeps it verbatim. A spec or mesh with a mistake inside
/// is one.
class TextValue {
public:
  /// Reads a whole program at an offset of the text and moves the offset behind
  /// it; a failure has been reported. The last argument is how deep the value
  /// is here.
  using ReadProgram =
      llvm::function_ref<FailureOr<JaxprId>(size_t &, unsigned)>;

  TextValue(Program &program, StringRef text, unsigned maxDepth,
            ReadProgram readProgram)
      : program_(program), text_(text), maxDepth_(maxDepth),
        readProgram_(readProgram) {}

  struct Result {
    std::optional<ValueId> value;
    /// Without a value: what is wrong for sure and where, or nothing.
    std::string error;
    size_t errorOffset = 0;
    bool reported = false; // By ReadProgram.
  };
  /// Reads all of [begin, end). Top-level words are names: `float32` a dtype if
  /// `dtypes`, else a string.
  Result read(size_t begin, size_t end, bool dtypes);

private:
  std::optional<ValueId> value(unsigned depth);
  std::optional<ValueId> word(unsigned depth);
  std::optional<ValueId> call(StringRef name, unsigned depth);
  std::optional<ValueId> parenthesized(unsigned depth);
  std::optional<ValueId> sequence(Value::Kind kind, char close, unsigned depth);
  std::optional<ValueId> braces(unsigned depth);
  std::optional<ValueId> frozenset(unsigned depth);
  std::optional<ValueId> fields(StringRef name, unsigned depth);
  std::optional<ValueId> angled();
  std::optional<ValueId> quoted();
  std::optional<ValueId> number();
  std::optional<ValueId> complex();
  std::optional<ValueId> numpy(unsigned depth);
  std::optional<ValueId> spec();
  std::optional<ValueId> mesh();
  std::optional<ValueId> namedSharding();
  std::optional<ValueId> treeDef();
  std::optional<ValueId> dtypeCall();
  std::optional<ValueId> program(unsigned depth);
  std::optional<ValueId> topWord(StringRef word);

  bool startsProgram() const;
  void skipBlanks();
  bool accept(StringRef token);
  StringRef rest() const { return text_.slice(at_, end_); }
  StringRef takeWord();
  ValueId intern(const Value &value) { return program_.intern(value); }
  ValueId simple(Value::Kind kind, int64_t integer = 0);
  ValueId textual(Value::Kind kind, StringRef text, int64_t integer = 0);
  ValueId floating(StringRef text);
  std::nullopt_t fail(size_t offset, std::string error);

  Program &program_;
  StringRef text_;
  unsigned maxDepth_;
  ReadProgram readProgram_;
  size_t at_ = 0, end_ = 0;
  bool dtypes_ = false;
  Result result_;
};

/// scan's trees of arguments (spec 04, 4.7): the text, and how many leaves each
/// component of the outermost tuple has.
ValueId readFlatTree(Program &program, StringRef text);

} // namespace shardtype

#endif
