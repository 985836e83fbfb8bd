// Layout.h - the pretty printer's layout engine (spec 04, 4.1).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_IR_LAYOUT_H
#define SHARDTYPE_LIB_IR_LAYOUT_H

#include "shardtype/Support/LLVM.h"
#include <vector>

namespace shardtype {

/// Lays out a document that is given piece by piece. Outside groups breaks are
/// line breaks; inside a group they are its flat text if the whole group fits
/// into what is left of the line. Widths count bytes, as JAX's printer does.
class Layout {
public:
  /// With `annotated`, output is held back until `finish`, since annotations
  /// stand in one column behind the longest line.
  Layout(raw_ostream &os, unsigned width, bool annotated)
      : os_(os), width_(width), annotated_(annotated) {
    frames_.push_back({0, false});
  }

  void text(StringRef text);
  /// A line break, or `flat` where the group is flat.
  void brk(StringRef flat = " ");
  /// A group of nothing but a break: a blank unless the line is full.
  void fill();
  void openGroup();
  void closeGroup();
  void openNest(unsigned columns = 2);
  void closeNest();
  /// A remark ` # text` for the end of the line being printed.
  void annotate(StringRef text);
  /// Ends the document; nothing may follow.
  void finish();

private:
  struct Token {
    enum Kind : uint8_t {
      Text,
      Break,
      Fill,
      OpenGroup,
      CloseGroup,
      OpenNest,
      CloseNest,
      Annotate
    } kind;
    uint32_t length = 0; // Text, Break, Annotate: bytes in pool_.
    size_t value = 0;    // Of these, where they begin; OpenGroup: flat width;
                         // OpenNest: columns.
  };
  struct Group {
    size_t token;
    uint64_t start; // total_ when it was opened.
  };
  struct Frame {
    unsigned indent;
    bool flat;
  };
  struct Line {
    size_t end; // In body_.
    SmallVector<std::string, 1> annotations;
  };

  void push(Token::Kind kind, StringRef text, uint64_t width);
  void grow(uint64_t width);
  void flush();
  void render(const Token &token);
  void write(StringRef text);
  void newLine();

  raw_ostream &os_;
  uint64_t width_;
  bool annotated_;

  // Tokens that wait until the groups around them are known to fit or not.
  std::vector<Token> tokens_;
  std::string pool_;
  uint64_t total_ = 0;        // Flat width of all that was given.
  std::vector<Group> groups_; // Open ones, outermost first.
  size_t undecided_ = 0;      // The first of them that may still fit.

  // What is being written.
  uint64_t column_ = 0;
  std::vector<Frame> frames_;
  std::string body_;
  std::vector<Line> lines_;
  SmallVector<std::string, 1> annotations_;
};

} // namespace shardtype

#endif
