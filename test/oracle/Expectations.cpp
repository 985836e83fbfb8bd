// Expectations.cpp - where we mean to differ from JAX, and what has no rule.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Expectations.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace shardtype;
using namespace shardtype::oracle;

/// Calls `each(number, line)` for the lines that say something.
static bool forLines(StringRef path, std::string &error,
                     llvm::function_ref<bool(unsigned, StringRef)> each) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    error = "cannot read '" + path.str() + "'";
    return false;
  }
  SmallVector<StringRef, 0> lines;
  (*buffer)->getBuffer().split(lines, '\n');
  for (unsigned i = 0; i < lines.size(); ++i) {
    StringRef line = lines[i].trim();
    if (line.empty() || line.starts_with("#") || each(i + 1, line))
      continue;
    error = path.str() + ":" + std::to_string(i + 1) + ": malformed line";
    return false;
  }
  return true;
}

bool Expectations::read(StringRef differences, StringRef noRules,
                        std::string &error) {
  auto difference = [&](unsigned number, StringRef line) {
    SmallVector<StringRef, 5> parts;
    line.split(parts, ';', 4);
    if (parts.size() != 5)
      return false;
    Entry entry{parts[0].trim().str(),
                parts[1].trim().str(),
                parts[2].trim().str(),
                parts[3].trim().str(),
                parts[4].trim().str(),
                number,
                {}};
    std::string why;
    bool fine = llvm::Regex(entry.pattern).isValid(why) &&
                !entry.clause.empty() && !entry.reason.empty();
    entries_.push_back(std::move(entry));
    return fine;
  };
  auto noRule = [&](unsigned, StringRef line) {
    auto [name, reason] = line.split(' ');
    noRules_[name.str()] = reason.trim().str();
    return !reason.trim().empty();
  };
  return forLines(differences, error, difference) &&
         forLines(noRules, error, noRule);
}

bool Expectations::isDeliberate(StringRef family, StringRef primitive,
                                StringRef caseText) {
  bool found = false;
  for (Entry &entry : entries_) {
    bool named = entry.primitive == primitive || entry.primitive == "*";
    if (entry.family != family || !named ||
        !llvm::Regex(entry.pattern).match(caseText))
      continue;
    ++entry.used[primitive.str()];
    found = true;
  }
  return found;
}

std::optional<std::string> Expectations::whyNoRule(StringRef primitive) const {
  auto at = noRules_.find(primitive.str());
  if (at == noRules_.end())
    return std::nullopt;
  return at->second;
}

std::vector<std::string> Expectations::listed() const {
  std::vector<std::string> texts;
  for (const Entry &entry : entries_)
    for (const auto &[primitive, count] : entry.used)
      texts.push_back("listed " + std::to_string(entry.line) + " " + primitive +
                      " " + std::to_string(count));
  return texts;
}

std::vector<std::string> Expectations::unused() const {
  std::vector<std::string> texts;
  for (const Entry &entry : entries_)
    if (entry.used.empty() && families_.count(entry.family))
      texts.push_back("line " + std::to_string(entry.line) + ": " +
                      entry.primitive + "; " + entry.pattern);
  return texts;
}
