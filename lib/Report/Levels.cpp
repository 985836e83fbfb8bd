// Levels.cpp - which kinds of diagnostics count, and how much.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Report/Levels.h"
#include "llvm/ADT/StringSet.h"

using namespace shardtype;

std::optional<std::string> shardtype::unknownCode(const LevelOptions &options) {
  for (const LevelOptions::Change &change : options.changes) {
    if (change.code == "warnings" || findCode(change.code))
      continue;
    std::string text = change.origin.empty() ? "" : change.origin + ": ";
    text += "no diagnostic has the code '" + change.code + "'";
    SmallVector<StringRef, 3> near = nearestCodes(change.code);
    for (StringRef kind : collectiveNames())
      if (change.level == Level::Error && kind.edit_distance(change.code) <= 2)
        near.insert(near.begin(), kind);
    if (!near.empty())
      text += "; did you mean '" + near.front().str() + "'?";
    return text;
  }
  return std::nullopt;
}

static Level levelOf(const Diagnostic &diagnostic,
                     const LevelOptions &options) {
  Level level = diagnostic.level;
  if (diagnostic.code == diag::RegionUnchecked)
    return level; // Nobody has looked, so there is nothing to allow.
  for (const LevelOptions::Change &change : options.changes)
    // What a choice mended does not count again, unless it is not wanted at
    // all.
    if (diagnostic.mended() && change.level != Level::Ignored)
      continue;
    else if (change.code == info(diagnostic.code).code ||
             (change.code == "warnings" && level == Level::Warning))
      level = change.level;
  return level;
}

void shardtype::applyLevels(DiagnosticList &diagnostics, const Program &program,
                            const LevelOptions &options) {
  llvm::StringSet<> excused;
  for (const std::string &place : options.excused)
    excused.insert(place);
  auto isExcused = [&](const Diagnostic &d) {
    return llvm::any_of(program.stack(d.stack), [&](FrameId id) {
      const Frame &frame = program.frames[id.index()];
      return excused.contains(program.context().str(frame.file).str() + ":" +
                              std::to_string(frame.line));
    });
  };
  std::vector<Diagnostic> kept;
  for (Diagnostic &diagnostic : diagnostics.all()) {
    diagnostic.level = levelOf(diagnostic, options);
    bool isStated = diagnostic.code == diag::RegionUnchecked;
    if (diagnostic.level != Level::Ignored &&
        (isStated || !isExcused(diagnostic)))
      kept.push_back(std::move(diagnostic));
  }
  diagnostics.all() = std::move(kept);
}
