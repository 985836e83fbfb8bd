// Sources.h - lines of the user's source files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_REPORT_SOURCES_H
#define SHARDTYPE_REPORT_SOURCES_H

#include "shardtype/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace shardtype {

/// Reads source files below a root, each once. A program file says which lines
/// are shown, so paths that lead out of the root are never opened.
class Sources {
public:
  /// An empty root shows no lines.
  explicit Sources(StringRef root) : root_(root.str()) {}
  /// Line `number`, from 1, without its end; nothing if it is not there.
  std::optional<StringRef> line(StringRef file, unsigned number);
  /// All of a file; nothing if it is not there.
  std::optional<StringRef> text(StringRef file);

private:
  struct File {
    std::unique_ptr<llvm::MemoryBuffer> text; // Null: cannot be read.
    std::vector<StringRef> lines;
  };
  const File &read(StringRef file);
  std::string root_;
  llvm::StringMap<File> files_;
};

} // namespace shardtype

#endif
