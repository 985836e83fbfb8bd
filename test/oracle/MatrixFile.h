// MatrixFile.h - reads verdict files: plain, compressed, and of the matrix.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_ORACLE_MATRIXFILE_H
#define SHARDTYPE_TEST_ORACLE_MATRIXFILE_H

#include "Situation.h"
#include "llvm/Support/JSON.h"

namespace shardtype::oracle {

/// Cases of one primitive that share parameters and mesh: one line of a file.
struct Group {
  std::string mesh, primitive;
  std::map<std::string, std::string> params;
  std::vector<Case> cases;
};

/// The text of a verdict file; one whose name ends in `.z` is zlib data behind
/// the length of the text (8 bytes, little-endian). Nothing: `error` says why.
std::optional<std::string> readText(StringRef path, std::string &error);

/// Reads the lines of one file in order, as README.md describes them.
class GroupReader {
public:
  /// The line's group, or no group where it is only a list of types. Nothing
  /// at all: it is neither.
  std::optional<std::optional<Group>> line(const llvm::json::Value &line);

private:
  bool plainCases(const llvm::json::Array &list, Group &group);
  bool numberedCases(const llvm::json::Object &line, Group &group);

  std::vector<std::vector<std::string>> types_;
};

} // namespace shardtype::oracle

#endif
