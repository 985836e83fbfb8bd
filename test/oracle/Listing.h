// Listing.h - counts by reason and primitive, and the file that lists them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_ORACLE_LISTING_H
#define SHARDTYPE_TEST_ORACLE_LISTING_H

#include "shardtype/Support/LLVM.h"
#include <map>
#include <vector>

namespace shardtype::oracle {

/// What was found, and a file that says of each reason how often it occurs for
/// which primitives, why, and by which clause:
///
///   KIND; KEY; CLAUSE; WHY
///     PRIMITIVE NUMBER, PRIMITIVE NUMBER
///     e.g. EXAMPLE
///
/// One kind and key may stand several times, for other primitives each. Lines
/// that begin with # are comments, at the head of the file only.
class Listing {
public:
  void add(StringRef kind, StringRef key, StringRef primitive,
           llvm::function_ref<std::string()> example);
  /// Is the file about the same, with a clause and a reason each? What is not
  /// is printed.
  bool compare(StringRef path) const;
  /// Writes it, with the clauses and reasons that it has; what is new has `?`
  /// for them.
  bool update(StringRef path) const;

private:
  struct Found {
    unsigned count = 0;
    std::string example; // The shortest.
  };
  using Key = std::pair<std::string, std::string>; // Kind and key.
  using ByPrimitive = std::map<std::string, Found>;
  /// One entry of the file.
  struct Entry {
    Key key;
    std::string clause, why;
    std::map<std::string, unsigned> counts; // By primitive.
  };
  struct File {
    std::string head; // Its comments.
    std::vector<Entry> entries;
  };
  static std::optional<File> read(StringRef path);
  static std::string print(const Entry &entry, const ByPrimitive &found);

  std::map<Key, ByPrimitive> found_;
};

} // namespace shardtype::oracle

#endif
