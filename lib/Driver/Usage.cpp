// Usage.cpp - what is said of options that cannot be used.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Unicode.h"

using namespace shardtype;

/// Columns of an option's value shown around the fault.
static constexpr size_t ShownBefore = 60, ShownAfter = 40;

/// Control characters would move the mark, or worse, the terminal.
static std::string printable(StringRef text) {
  std::string shown = text.str();
  for (char &c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = ' ';
  return shown;
}

static size_t columns(StringRef text) {
  int width = llvm::sys::unicode::columnWidthUTF8(text);
  return width < 0 ? text.size() : static_cast<size_t>(width);
}

void shardtype::printUsageError(raw_ostream &err, StringRef from,
                                const TextError &error, StringRef text,
                                StringRef hint) {
  err << "shardtype: " << from << ": " << error.message << '\n';
  size_t at = std::min(error.offset, text.size());
  size_t begin = at > ShownBefore ? at - ShownBefore : 0;
  // Not in the middle of a character.
  while (begin < at && (text[begin] & 0xc0) == 0x80)
    ++begin;
  std::string before = (begin ? "..." : "") + printable(text.slice(begin, at));
  StringRef rest = text.drop_front(at);
  std::string after = printable(rest.take_front(ShownAfter));
  if (!text.empty())
    err << "  " << before << after
        << (rest.size() > ShownAfter ? "...\n" : "\n")
        << std::string(2 + columns(before), ' ') << "^\n";
  if (!hint.empty())
    err << "  " << hint << '\n';
}

std::string shardtype::wordWithNearest(StringRef word,
                                       ArrayRef<std::string> known) {
  std::string text = "'" + printable(word) + "'";
  const std::string *best = nullptr;
  if (!word.starts_with("-") && llvm::none_of(word, llvm::isAlpha))
    return text; // Numbers are not mistyped words.
  unsigned bestDistance = 2 + word.size() / 4;
  for (const std::string &other : known) {
    unsigned distance = word.edit_distance_insensitive(other);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = &other;
    }
  }
  return best ? text + " (did you mean '" + *best + "'?)" : text;
}

std::string shardtype::listed(ArrayRef<std::string> words, StringRef last) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i)
      text += i + 1 == words.size() ? " " + last.str() + " " : ", ";
    text += words[i];
  }
  return text;
}

bool shardtype::checkInputNames(const Options &options, StringRef verb,
                                raw_ostream &err) {
  auto fail = [&](StringRef message) {
    err << "shardtype " << verb << ": " << message << '\n';
    return false;
  };
  if (options.programs.empty())
    return fail("name a program: a file, or - for standard input");
  if (llvm::is_contained(options.programs, ""))
    return fail("a program's name is empty");
  if (llvm::count(options.programs, "-") + llvm::count(options.rules, "-") +
          (options.config == "-") >
      1)
    return fail("standard input (-) can be read only once");
  return true;
}

bool shardtype::isOutputAnInput(const Options &options) {
  if (options.output.empty() || options.output == "-")
    return false;
  return llvm::any_of(options.programs, [&](const std::string &program) {
    bool same = false;
    return program != "-" &&
           !llvm::sys::fs::equivalent(program, options.output, same) && same &&
           llvm::sys::fs::is_regular_file(options.output);
  });
}
