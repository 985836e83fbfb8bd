// StoredZip.h - zip archives of entries that are not compressed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As `numpy.savez` makes them and we write them. libzip, which reads all
// others, takes longer to load and to make up names of temporary files (both by
// way of libcrypto) than small programs take to run.
#ifndef SHARDTYPE_LIB_TENSOR_STOREDZIP_H
#define SHARDTYPE_LIB_TENSOR_STOREDZIP_H

#include "shardtype/Support/LLVM.h"
#include <optional>
#include <string>
#include <vector>

namespace shardtype {

struct StoredEntry {
  std::string name; // ASCII.
  StringRef data;   // Of the archive's bytes.
  uint32_t checksum = 0;
  bool isDamaged() const;
};

/// The entries of an archive, in order. Nothing: it has another form
/// (compressed, encrypted, with a comment, of 4 GiB or more, damaged, ...).
std::optional<std::vector<StoredEntry>> storedEntries(StringRef archive);

/// Writes an archive: `add` each entry, then `finish`. The same entries give
/// the same bytes.
class StoredZipWriter {
public:
  explicit StoredZipWriter(raw_ostream &os) : os_(os) {}
  /// The content is `head` and `data` behind it.
  void add(StringRef name, StringRef head, StringRef data);
  void finish();

private:
  raw_ostream &os_;
  std::string directory_;
  uint64_t offset_ = 0, count_ = 0;
};

} // namespace shardtype

#endif
