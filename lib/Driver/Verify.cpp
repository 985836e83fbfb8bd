// Verify.cpp - findings against the expectations a text states.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A comment `# expect-error@+1 {{text}}` states a finding of that level on the
// line after it whose message, followed by ` [code]`, holds the text; ` ... `
// in the text stands for anything. `expect-warning` and `expect-note` likewise;
// without `@` it is the comment's own line, and `@any` any line. Every finding
// must be expected and every expectation met.
#include "Options.h"

using namespace shardtype;

namespace {
struct Expectation {
  Level level;
  unsigned writtenAt;
  unsigned line; // 0: any.
  StringRef text;
  bool met = false;
};
} // namespace

/// Reads `@+1`, `@-2` or `@any` from the front; false: none of them.
static bool takeOffset(StringRef &rest, unsigned at, unsigned &line) {
  line = at;
  if (!rest.consume_front("@"))
    return true;
  if (rest.consume_front("any")) {
    line = 0;
    return true;
  }
  bool down = rest.consume_front("-");
  int offset = 0;
  if ((!down && !rest.consume_front("+")) || rest.consumeInteger(10, offset))
    return false;
  line = down ? at - offset : at + offset;
  return true;
}

static void takeExpectations(StringRef comment, unsigned at,
                             std::vector<Expectation> &found, raw_ostream &err,
                             unsigned &bad) {
  while (true) {
    size_t start = comment.find("expect-");
    if (start == StringRef::npos)
      return;
    StringRef rest = comment.drop_front(start + 7);
    comment = rest;
    std::optional<Level> level;
    if (rest.consume_front("error"))
      level = Level::Error;
    else if (rest.consume_front("warning"))
      level = Level::Warning;
    else if (rest.consume_front("note"))
      level = Level::Note;
    unsigned line = 0;
    bool isGood = level && takeOffset(rest, at, line);
    rest = rest.ltrim();
    size_t end = rest.find("}}");
    if (!isGood || !rest.starts_with("{{") || end == StringRef::npos) {
      err << "line " << at << ": malformed expectation\n";
      ++bad;
      continue;
    }
    found.push_back({*level, at, line, rest.slice(2, end)});
    comment = rest.drop_front(end);
  }
}

static unsigned lineOf(const Diagnostic &d, const Program *program,
                       StringRef name) {
  if (d.line || !program)
    return d.line;
  for (FrameId id : program->stack(d.stack)) {
    const Frame &frame = program->frames[id.index()];
    if (program->context().str(frame.file) == name)
      return frame.line;
  }
  return 0;
}

/// Does `text` hold the parts of `wanted`, in order?
static bool holds(StringRef text, StringRef wanted) {
  while (!wanted.empty()) {
    auto [part, rest] = wanted.split(" ... ");
    size_t at = text.find(part);
    if (at == StringRef::npos)
      return false;
    text = text.drop_front(at + part.size());
    wanted = rest;
  }
  return true;
}

unsigned shardtype::verifyExpectations(const InputText &input,
                                       const DiagnosticList &diagnostics,
                                       const Program *program,
                                       raw_ostream &err) {
  std::vector<Expectation> expectations;
  unsigned bad = 0, at = 0;
  for (StringRef rest = input.bytes; !rest.empty();) {
    auto [line, tail] = rest.split('\n');
    rest = tail;
    ++at;
    if (size_t hash = line.find('#'); hash != StringRef::npos)
      takeExpectations(line.drop_front(hash), at, expectations, err, bad);
  }
  for (const Diagnostic &d : diagnostics.all()) {
    unsigned line = lineOf(d, program, input.name);
    std::string whole = d.message + " [" + info(d.code).code.str() + "]";
    Expectation *hit = nullptr;
    for (Expectation &e : expectations)
      if (!hit && !e.met && e.level == d.level &&
          (e.line == 0 || e.line == line) && holds(whole, e.text))
        hit = &e;
    if (hit) {
      hit->met = true;
      continue;
    }
    err << input.name << ':' << line << ": unexpected: " << whole << '\n';
    ++bad;
  }
  for (const Expectation &e : expectations)
    if (!e.met) {
      err << input.name << ':' << e.writtenAt
          << ": expected but not found: " << e.text << '\n';
      ++bad;
    }
  return bad;
}
