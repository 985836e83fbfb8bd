// Expectations.h - where we mean to differ from JAX, and what has no rule yet.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_ORACLE_EXPECTATIONS_H
#define SHARDTYPE_TEST_ORACLE_EXPECTATIONS_H

#include "shardtype/Support/LLVM.h"
#include "llvm/Support/Regex.h"
#include <map>
#include <set>

namespace shardtype::oracle {

/// differences.txt and norules.txt; their form stands at the head of each.
class Expectations {
public:
  bool read(StringRef differences, StringRef noRules, std::string &error);
  /// Cases of this file follow.
  void enter(StringRef family) { families_.insert(family.str()); }
  /// Is this disagreement listed?
  bool isDeliberate(StringRef family, StringRef primitive, StringRef caseText);
  std::optional<std::string> whyNoRule(StringRef primitive) const;
  /// Listed differences of the files entered that did not occur.
  std::vector<std::string> unused() const;
  /// `listed LINE PRIMITIVE COUNT` of each entry that occurred, for
  /// agreement_doc.py.
  std::vector<std::string> listed() const;

private:
  struct Entry {
    std::string family, primitive, pattern, clause, reason;
    unsigned line = 0;
    std::map<std::string, unsigned> used; // Cases of each primitive.
  };
  std::vector<Entry> entries_;
  std::map<std::string, std::string> noRules_;
  std::set<std::string> families_;
};

} // namespace shardtype::oracle

#endif
