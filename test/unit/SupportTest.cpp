// SupportTest.cpp - axis sets, interning, the table of diagnostics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Support/AxisSet.h"
#include "shardtype/Support/Diagnostic.h"
#include "shardtype/Support/Intern.h"
#include <catch2/catch.hpp>
#include <set>

using namespace shardtype;

TEST_CASE("an axis set lists its axes in mesh order") {
  AxisSet set = AxisSet::of({3, 0, 63});
  CHECK(set.size() == 3);
  CHECK(set.list() == AxisList{0, 3, 63});
  CHECK((set - AxisSet::of({3})).list() == AxisList{0, 63});
  CHECK(set.contains(AxisSet::of({0, 63})));
  CHECK_FALSE(set.contains(AxisSet::of({0, 1})));
  CHECK(AxisSet::firstN(64).size() == 64);
  CHECK(AxisSet::firstN(0).empty());
}

TEST_CASE("equal objects get one id, whatever their hashes") {
  InternTable<std::string, StringId> table;
  std::vector<StringId> ids;
  for (int i = 0; i < 1000; ++i) // All hashes collide on purpose.
    ids.push_back(table.intern(std::to_string(i), 7));
  CHECK(table.size() == 1000);
  for (int i = 0; i < 1000; ++i)
    CHECK(table.intern(std::to_string(i), 7) == ids[i]);
  CHECK(table[ids[42]] == "42");
}

TEST_CASE("diagnostic codes are unique kebab-case words") {
  std::set<std::string> seen;
  for (unsigned i = 0; i < diag::NumCodes; ++i) {
    const DiagInfo &kind = info(static_cast<diag::Code>(i));
    INFO(kind.code.str());
    CHECK(seen.insert(kind.code.str()).second);
    CHECK(kind.code.find_first_not_of(
              "abcdefghijklmnopqrstuvwxyz0123456789-") == StringRef::npos);
    CHECK(findCode(kind.code) == static_cast<diag::Code>(i));
  }
  CHECK_FALSE(findCode("no-such-code"));
  CHECK(nearestCodes("dot-contracting-ambigous").front() ==
        "dot-contracting-ambiguous");
}

TEST_CASE("arguments fill the places of a diagnostic's text") {
  CHECK(formatDiag(diag::JsonDuplicateKey, {"p"}) == "key 'p' is given twice");
  DiagnosticList list;
  list.add(diag::InputEmpty);
  CHECK(list.hasErrors());
}
