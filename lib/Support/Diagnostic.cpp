// Diagnostic.cpp - the table of diagnostic kinds and their texts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Support/Diagnostic.h"
#include <algorithm>

using namespace shardtype;

static constexpr DiagInfo Infos[] = {
#define DIAG(Name, code, level, jaxId, jaxClass, format)                       \
  {code, Level::level, jaxId, jaxClass, format},
#include "shardtype/Support/Diag/All.def"
};

const DiagInfo &shardtype::info(diag::Code code) { return Infos[code]; }

std::optional<diag::Code> shardtype::findCode(StringRef code) {
  for (unsigned i = 0; i < diag::NumCodes; ++i)
    if (Infos[i].code == code)
      return static_cast<diag::Code>(i);
  return std::nullopt;
}

SmallVector<StringRef, 3> shardtype::nearestCodes(StringRef code) {
  SmallVector<std::pair<unsigned, StringRef>, 0> found;
  for (const DiagInfo &info : Infos)
    found.push_back({info.code.edit_distance(code), info.code});
  llvm::stable_sort(found, llvm::less_first());
  SmallVector<StringRef, 3> nearest;
  for (auto [distance, name] : found)
    if (nearest.size() < 3 && distance <= 2 + code.size() / 3)
      nearest.push_back(name);
  // The beginning of a code, or a word in it.
  for (auto [distance, name] : found)
    if (nearest.size() < 3 && code.size() >= 3 && name.contains(code) &&
        !llvm::is_contained(nearest, name))
      nearest.push_back(name);
  return nearest;
}

static constexpr StringRef CollectiveNames[] = {
    "all-reduce", "reduce-scatter", "all-gather",        "all-to-all",
    "permute",    "broadcast",      "ragged-all-to-all",
};

StringRef shardtype::str(CommStep::Kind kind) { return CollectiveNames[kind]; }

ArrayRef<StringRef> shardtype::collectiveNames() { return CollectiveNames; }

std::optional<CommStep::Kind> shardtype::findCollective(StringRef name) {
  for (auto [kind, known] : llvm::enumerate(CollectiveNames))
    if (known == name)
      return static_cast<CommStep::Kind>(kind);
  return std::nullopt;
}

std::string shardtype::formatDiag(diag::Code code, ArrayRef<std::string> args) {
  std::string text;
  StringRef rest = Infos[code].format;
  while (!rest.empty()) {
    if (rest.size() >= 3 && rest[0] == '{' && rest[2] == '}' &&
        rest[1] >= '0' && rest[1] <= '9') {
      size_t index = rest[1] - '0';
      assert(index < args.size() && "a diagnostic lacks an argument");
      if (index < args.size())
        text += args[index];
      rest = rest.drop_front(3);
      continue;
    }
    text += rest[0];
    rest = rest.drop_front();
  }
  return text;
}

Diagnostic &DiagnosticList::add(diag::Code code, ArrayRef<std::string> args) {
  Diagnostic &diagnostic = all_.emplace_back();
  diagnostic.code = code;
  diagnostic.level = Infos[code].level;
  diagnostic.message = formatDiag(code, args);
  return diagnostic;
}

bool DiagnosticList::hasErrors() const {
  return llvm::any_of(
      all_, [](const Diagnostic &d) { return d.level == Level::Error; });
}
