// Edits.h - fixes as edits of the user's source.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An export in mode record says which call, operator or subscript of the source
// each equation comes from (docs/spec/export.md, E34 to E37). With that a fix
// is a change of that expression: another argument of the call, another
// function in place of an operator, a call around an operand.
#ifndef SHARDTYPE_REPORT_EDITS_H
#define SHARDTYPE_REPORT_EDITS_H

#include "shardtype/Report/Sources.h"
#include "shardtype/Rules/CheckedProgram.h"

namespace shardtype {

/// A stretch of a source file: lines from 1, columns in bytes from 0.
struct SourceSpan {
  unsigned line = 0, column = 0, endLine = 0, endColumn = 0;
  friend auto operator<=>(const SourceSpan &, const SourceSpan &) = default;
};

/// One replacement within a line, for the sake of an edit of `owner`.
struct SourceChange {
  unsigned line = 0, column = 0, endColumn = 0;
  std::string text;
  SourceSpan owner;
  bool closes = false; // It belongs behind what stands before it.
  friend bool operator==(const SourceChange &, const SourceChange &) = default;
};

struct SourceEdit {
  /// The expression as it would stand. Without its source `...` stands for what
  /// is not known, and `file` is empty.
  std::string text;
  std::string file;
  SourceSpan span;                   // What `text` takes the place of.
  std::vector<std::string> imports;  // Lines that the file needs besides.
  std::vector<SourceChange> changes; // The same edit, in small.
  /// Other equations of the same primitive that come from the same expression:
  /// the edit is one for them too.
  unsigned alsoAt = 0;
  /// `text` without its line breaks, for reports.
  std::string oneLine() const;
};

/// Finds the edits for one checked program.
class Edits {
public:
  /// `sources` null: no source is at hand.
  Edits(const CheckedProgram &checked, Sources *sources);
  ~Edits();

  /// Nothing: which call it is, or how to write it there, is not known.
  std::optional<SourceEdit> edit(const Diagnostic &diagnostic, const Fix &fix);

  /// The file of the program's call table that a finding stands in; empty:
  /// there is none.
  StringRef file(const Diagnostic &diagnostic) const;
  /// Is a file as it was when the program was exported?
  enum class FileState : uint8_t { Same, Changed, Missing };
  FileState state(StringRef file);
  /// The line behind which imports are added; nothing: the export does not say.
  std::optional<unsigned> importsEnd(StringRef file) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A file with changes made; none of them may overlap. `added` lines come
/// behind line `behind`.
struct ChangedFile {
  std::vector<std::string> before; // Lines without their line feeds.
  std::vector<std::string> after;  // As many; see `added`.
  std::vector<std::string> added;
  unsigned behind = 0;
  bool endsInLineFeed = true;
  std::string text() const;
};
ChangedFile changed(StringRef text, std::vector<SourceChange> changes,
                    std::vector<std::string> added = {}, unsigned behind = 0);
/// As `diff -u` writes it, with three lines of context; nothing if no line
/// differs.
void printDiff(raw_ostream &os, StringRef file, const ChangedFile &changed);

} // namespace shardtype

#endif
