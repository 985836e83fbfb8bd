// Layout.cpp - the pretty printer's layout engine (spec 04, 4.1).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group is flat if its own flat width fits into the rest of the line,
// whatever follows it. So its fate is known once it is closed, or as soon as it
// has become wider than a whole line. Until then its pieces wait; an open group
// that is too wide is broken for sure, and so are those around it, hence what
// waits never grows beyond about one line, however large the document is.
#include "Layout.h"

using namespace shardtype;

static constexpr size_t Broken = ~size_t(0);

void Layout::push(Token::Kind kind, StringRef text, uint64_t width) {
  tokens_.push_back({kind, static_cast<uint32_t>(text.size()), pool_.size()});
  pool_ += text;
  grow(width);
}

/// Accounts for `width` more columns: open groups that are now wider than any
/// line are broken.
void Layout::grow(uint64_t width) {
  total_ += width;
  while (undecided_ < groups_.size() &&
         total_ - groups_[undecided_].start > width_)
    tokens_[groups_[undecided_++].token].value = Broken;
  if (undecided_ == groups_.size())
    flush();
}

void Layout::text(StringRef text) {
  if (text.empty())
    return;
  if (tokens_.empty() && undecided_ == groups_.size()) {
    total_ += text.size();
    write(text);
    return;
  }
  push(Token::Text, text, text.size());
}

void Layout::brk(StringRef flat) { push(Token::Break, flat, flat.size()); }
void Layout::fill() { push(Token::Fill, "", 1); }

void Layout::openGroup() {
  groups_.push_back({tokens_.size(), total_});
  tokens_.push_back({Token::OpenGroup});
}

void Layout::closeGroup() {
  Group group = groups_.back();
  groups_.pop_back();
  bool decided = undecided_ > groups_.size();
  if (decided)
    undecided_ = groups_.size();
  else
    tokens_[group.token].value = total_ - group.start;
  push(Token::CloseGroup, "", 0);
}

void Layout::openNest(unsigned columns) {
  tokens_.push_back({Token::OpenNest, 0, columns});
}
void Layout::closeNest() { push(Token::CloseNest, "", 0); }
void Layout::annotate(StringRef text) { push(Token::Annotate, text, 0); }

/// Writes everything that waits. Groups that are open by now are broken, and
/// their tokens go away.
void Layout::flush() {
  for (const Token &token : tokens_)
    render(token);
  tokens_.clear();
  pool_.clear();
}

void Layout::render(const Token &token) {
  Frame frame = frames_.back();
  StringRef text = StringRef(pool_).substr(token.value, token.length);
  switch (token.kind) {
  case Token::Text:
    return write(text);
  case Token::Break:
    return frame.flat ? write(text) : newLine();
  case Token::Fill:
    return frame.flat || column_ < width_ ? write(" ") : newLine();
  case Token::OpenGroup:
    frame.flat |= token.value != Broken && column_ + token.value <= width_;
    frames_.push_back(frame);
    return;
  case Token::OpenNest:
    frame.indent += token.value;
    frames_.push_back(frame);
    return;
  case Token::CloseGroup:
  case Token::CloseNest:
    frames_.pop_back();
    return;
  case Token::Annotate:
    annotations_.push_back(text.str());
  }
}

void Layout::write(StringRef text) {
  column_ += text.size();
  if (annotated_)
    body_ += text;
  else
    os_ << text;
}

void Layout::newLine() {
  unsigned indent = frames_.back().indent;
  column_ = indent;
  if (!annotated_) {
    os_ << '\n';
    os_.indent(indent);
    return;
  }
  lines_.push_back({body_.size(), std::move(annotations_)});
  annotations_.clear();
  body_.append(indent, ' ');
}

void Layout::finish() {
  assert(groups_.empty() && "a group was not closed");
  flush();
  if (!annotated_)
    return;
  lines_.push_back({body_.size(), std::move(annotations_)});
  size_t begin = 0, longest = 0;
  for (const Line &line : lines_) {
    longest = std::max(longest, line.end - begin);
    begin = line.end;
  }
  begin = 0;
  for (size_t i = 0; i < lines_.size(); ++i) {
    const Line &line = lines_[i];
    os_ << (i ? "\n" : "") << StringRef(body_).slice(begin, line.end);
    size_t length = line.end - begin;
    begin = line.end;
    for (const std::string &annotation : line.annotations) {
      if (&annotation != &line.annotations.front()) {
        os_ << '\n';
        length = 0;
      }
      os_.indent(longest - length) << " # " << annotation;
    }
  }
}
