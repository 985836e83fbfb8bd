// Sources.cpp - lines of the user's source files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Report/Sources.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

using namespace shardtype;

/// Larger files are no source code; they are not read.
static constexpr uint64_t MaxSourceBytes = 16 << 20;

static bool staysBelow(StringRef file) {
  if (llvm::sys::path::is_absolute(file))
    return false;
  return llvm::none_of(llvm::make_range(llvm::sys::path::begin(file),
                                        llvm::sys::path::end(file)),
                       [](StringRef part) { return part == ".."; });
}

const Sources::File &Sources::read(StringRef file) {
  auto [it, isNew] = files_.try_emplace(file);
  File &entry = it->second;
  if (!isNew || root_.empty() || !staysBelow(file))
    return entry;
  llvm::SmallString<128> path(root_);
  llvm::sys::path::append(path, file);
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer || (*buffer)->getBufferSize() > MaxSourceBytes)
    return entry;
  entry.text = std::move(*buffer);
  SmallVector<StringRef, 0> lines;
  entry.text->getBuffer().split(lines, '\n');
  entry.lines.assign(lines.begin(), lines.end());
  return entry;
}

std::optional<StringRef> Sources::line(StringRef file, unsigned number) {
  const File &entry = read(file);
  if (number == 0 || number > entry.lines.size())
    return std::nullopt;
  return entry.lines[number - 1].rtrim('\r');
}

std::optional<StringRef> Sources::text(StringRef file) {
  const File &entry = read(file);
  return entry.text ? std::optional(entry.text->getBuffer()) : std::nullopt;
}
