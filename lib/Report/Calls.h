// Calls.h - the expressions of the source that equations come from.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_REPORT_CALLS_H
#define SHARDTYPE_LIB_REPORT_CALLS_H

#include "shardtype/Report/Edits.h"
#include <map>

namespace shardtype {

/// An entry of `apis` (docs/spec/export.md, E35 and E36).
struct Call {
  enum Kind : uint8_t { Function, Method, At, Operator, Index, Other };
  Kind kind = Other;
  std::string name, text, file;
  SourceSpan span;
  std::vector<SourceSpan> args;
  std::map<std::string, SourceSpan> keywords;
  std::map<unsigned, std::vector<SourceSpan>> items; // Of arguments, by number.
};

/// What an export says of the source. Empty for other programs, and for one
/// whose tables are not as they should be.
class CallTable {
public:
  CallTable() = default;
  explicit CallTable(const Program &program);
  /// The expression that a frame is in; null: it is not in the table.
  const Call *at(const Frame &frame) const;
  /// What a file calls a module or a name of JAX; empty: it does not import it.
  StringRef import(StringRef file, StringRef name) const;
  StringRef hash(StringRef file) const; // `sha256:...`, or empty.
  std::optional<unsigned> importsEnd(StringRef file) const;
  StringRef jaxVersion() const { return jaxVersion_; }

private:
  const Program *program_ = nullptr;
  std::map<std::pair<std::string, SourceSpan>, Call> calls_;
  std::map<std::string, std::map<std::string, std::string>> imports_;
  std::map<std::string, std::string> hashes_;
  std::map<std::string, unsigned> importsEnd_;
  std::string jaxVersion_;
};

/// Where an equation stands: from the entry's, through the equations that hold
/// its body, to itself. Empty: the path leads nowhere.
struct PlacedEqn {
  JaxprId jaxpr;
  EqnId eqn;
};
std::vector<PlacedEqn> placesOf(const Program &program, StringRef path);

/// The frame of an equation that its expression is at; null: no source is
/// known.
const Frame *frameOf(const Program &program, EqnId eqn);

/// Code that waits for the operand or the result it is for.
class Rewriter {
public:
  Rewriter(const CallTable &calls, Sources *sources, const Call &call)
      : calls_(calls), sources_(sources), call_(call) {}

  /// The call with `out_sharding=SPEC`; nothing: it takes none. A `layer` does.
  std::optional<SourceEdit> withOutSharding(StringRef spec, bool layer = false);
  /// The call with `code` around an operand, which is `{0}` in it.
  std::optional<SourceEdit> withOperand(unsigned argument, int item,
                                        StringRef code);
  /// `reshard({0}, P('X'))` with the names of this file.
  std::string localCode(StringRef code);
  /// What stands in the source between two ends of lines of code; nothing if
  /// there is no source.
  std::optional<std::string> source(const SourceSpan &span) const;

private:
  struct Token {
    unsigned line = 0, column = 0;
    char c = 0;
  };
  std::string name(StringRef full, StringRef importLine, StringRef local);
  std::optional<Token> tokenBetween(const SourceSpan &a, unsigned endLine,
                                    unsigned endColumn) const;
  bool addArgument(const std::string &argument);
  bool functionForOperator(const std::string &argument);
  bool getForIndex(const std::string &argument);
  bool augmented(const Token &op, const std::string &before,
                 const std::string &after);
  void insert(unsigned line, unsigned column, std::string text, bool closes) {
    replace(line, column, column, std::move(text), closes);
  }
  void replace(unsigned line, unsigned column, unsigned end, std::string text,
               bool closes) {
    changes_.push_back(
        {line, column, end, std::move(text), call_.span, closes});
  }
  std::optional<StringRef> line(unsigned number) const {
    return sources_ ? sources_->line(call_.file, number) : std::nullopt;
  }
  std::string generic(StringRef argument);
  std::optional<SourceEdit> finish();

  const CallTable &calls_;
  Sources *sources_;
  const Call &call_;
  std::vector<SourceChange> changes_;
  std::vector<std::string> imports_;
};

/// Is `word` an identifier somewhere in a text?
bool hasWord(StringRef text, StringRef word);

} // namespace shardtype

#endif
