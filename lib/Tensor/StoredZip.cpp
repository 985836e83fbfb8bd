// StoredZip.cpp - reading and writing of entries as they are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format is PKWARE's APPNOTE; numbers are little-endian. Sizes, offsets and
// counts that do not fit their fields are all ones there, and stand in an extra
// field or record of "zip64".
#include "StoredZip.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CRC.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

using namespace shardtype;
using namespace llvm::support;

namespace {
constexpr uint32_t LocalMark = 0x04034b50, EntryMark = 0x02014b50,
                   EndMark = 0x06054b50, End64Mark = 0x06064b50,
                   Locator64Mark = 0x07064b50;
constexpr size_t LocalSize = 30, EntrySize = 46, EndSize = 22;
constexpr uint16_t InUTF8 = 1 << 11, Zip64 = 45, Plain = 20;
constexpr uint64_t Most = UINT32_MAX, MostEntries = UINT16_MAX;
} // namespace

static uint32_t checksumOf(StringRef bytes, uint32_t before = 0) {
  if (bytes.empty()) // zlib starts anew where there is no pointer.
    return before;
  return llvm::crc32(before, llvm::arrayRefFromStringRef(bytes));
}

bool StoredEntry::isDamaged() const { return checksumOf(data) != checksum; }

//===--- Reading ----------------------------------------------------------===//

static uint32_t number(StringRef bytes, size_t at, unsigned size) {
  return size == 2 ? endian::read16le(bytes.data() + at)
                   : endian::read32le(bytes.data() + at);
}

/// What stands behind an entry's local header, which is at `offset`.
static std::optional<StringRef> dataOf(StringRef files, StringRef name,
                                       size_t offset, size_t size) {
  if (offset > files.size() || files.size() - offset < LocalSize)
    return std::nullopt;
  StringRef rest = files.drop_front(offset);
  size_t nameSize = number(rest, 26, 2), extraSize = number(rest, 28, 2);
  if (number(rest, 0, 4) != LocalMark || number(rest, 8, 2) != 0)
    return std::nullopt;
  rest = rest.drop_front(LocalSize);
  if (rest.substr(0, nameSize) != name ||
      rest.size() < nameSize + extraSize + size)
    return std::nullopt;
  return rest.substr(nameSize + extraSize, size);
}

/// Takes an entry off the directory.
static std::optional<StoredEntry> takeEntry(StringRef &directory,
                                            StringRef files) {
  if (directory.size() < EntrySize || number(directory, 0, 4) != EntryMark)
    return std::nullopt;
  uint32_t flags = number(directory, 8, 2), method = number(directory, 10, 2);
  uint32_t packed = number(directory, 20, 4), size = number(directory, 24, 4);
  uint32_t offset = number(directory, 42, 4);
  size_t nameSize = number(directory, 28, 2);
  size_t rest = size_t(number(directory, 30, 2)) + number(directory, 32, 2);
  if ((flags & ~InUTF8) || method != 0 || packed != size || size == Most ||
      offset == Most || directory.size() < EntrySize + nameSize + rest)
    return std::nullopt;
  StringRef name = directory.substr(EntrySize, nameSize);
  std::optional<StringRef> data = dataOf(files, name, offset, size);
  if (!data || !llvm::isASCII(name))
    return std::nullopt;
  StoredEntry entry{name.str(), *data, number(directory, 16, 4)};
  directory = directory.drop_front(EntrySize + nameSize + rest);
  return entry;
}

std::optional<std::vector<StoredEntry>>
shardtype::storedEntries(StringRef archive) {
  if (archive.size() < EndSize)
    return std::nullopt;
  StringRef end = archive.take_back(EndSize);
  uint32_t count = number(end, 10, 2), commentSize = number(end, 20, 2);
  uint64_t size = number(end, 12, 4), offset = number(end, 16, 4);
  if (number(end, 0, 4) != EndMark || commentSize != 0 ||
      number(end, 8, 2) != count || offset + size + EndSize != archive.size())
    return std::nullopt;
  StringRef files = archive.take_front(offset);
  StringRef directory = archive.substr(offset, size);
  std::vector<StoredEntry> entries;
  for (uint32_t i = 0; i < count; ++i) {
    std::optional<StoredEntry> entry = takeEntry(directory, files);
    if (!entry)
      return std::nullopt;
    entries.push_back(std::move(*entry));
  }
  if (!directory.empty())
    return std::nullopt;
  return entries;
}

//===--- Writing ----------------------------------------------------------===//

static void put(std::string &to, uint64_t value, unsigned size) {
  for (unsigned i = 0; i < size; ++i)
    to.push_back(static_cast<char>(value >> (8 * i)));
}

/// All ones if it does not fit.
static void put32(std::string &to, uint64_t value) {
  put(to, std::min(value, Most), 4);
}

/// The extra field of the numbers that do not fit; none: empty.
static std::string extraOf(ArrayRef<uint64_t> large) {
  std::string extra;
  if (large.empty())
    return extra;
  put(extra, 1, 2);
  put(extra, 8 * large.size(), 2);
  for (uint64_t number : large)
    put(extra, number, 8);
  return extra;
}

/// What the local header and the directory have in common.
static std::string commonPart(StringRef name, uint32_t checksum, uint64_t size,
                              uint64_t extraSize) {
  std::string part;
  put(part, extraSize ? Zip64 : Plain, 2);
  put(part, InUTF8, 2);
  put(part, /*method=*/0, 2);
  put(part, /*time=*/0, 2);
  put(part, /*1980-01-01*/ (1 << 5) | 1, 2);
  put(part, checksum, 4);
  put32(part, size);
  put32(part, size);
  put(part, name.size(), 2);
  put(part, extraSize, 2);
  return part;
}

void StoredZipWriter::add(StringRef name, StringRef head, StringRef data) {
  uint32_t checksum = checksumOf(data, checksumOf(head));
  uint64_t size = head.size() + data.size();
  SmallVector<uint64_t, 3> large;
  if (size >= Most)
    large.append({size, size});
  std::string local, extra = extraOf(large);
  put(local, LocalMark, 4);
  local += commonPart(name, checksum, size, extra.size());
  local += name;
  local += extra;
  os_ << local << head << data;
  if (offset_ >= Most)
    large.push_back(offset_);
  extra = extraOf(large);
  put(directory_, EntryMark, 4);
  put(directory_, extra.empty() ? Plain : Zip64, 2);
  directory_ += commonPart(name, checksum, size, extra.size());
  put(directory_, 0, 4); // No comment, and the first disk.
  put(directory_, 0, 6); // Nothing about the file.
  put32(directory_, offset_);
  directory_ += name;
  directory_ += extra;
  offset_ += local.size() + size;
  ++count_;
}

void StoredZipWriter::finish() {
  uint64_t size = directory_.size();
  std::string end;
  if (offset_ >= Most || size >= Most || count_ >= MostEntries) {
    put(end, End64Mark, 4);
    put(end, /*size of the rest*/ 44, 8);
    put(end, Zip64, 2);
    put(end, Zip64, 2);
    put(end, 0, 8); // One disk.
    put(end, count_, 8);
    put(end, count_, 8);
    put(end, size, 8);
    put(end, offset_, 8);
    put(end, Locator64Mark, 4);
    put(end, 0, 4);
    put(end, offset_ + size, 8);
    put(end, /*disks*/ 1, 4);
  }
  put(end, EndMark, 4);
  put(end, 0, 4);
  put(end, std::min(count_, MostEntries), 2);
  put(end, std::min(count_, MostEntries), 2);
  put32(end, size);
  put32(end, offset_);
  put(end, 0, 2);
  os_ << directory_ << end;
}
