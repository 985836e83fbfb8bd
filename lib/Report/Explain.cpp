// Explain.cpp - what each kind of diagnostic means.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Report/Explain.h"

using namespace shardtype;

namespace {
struct Entry {
  diag::Code code;
  Explanation text;
};
} // namespace

static constexpr Entry Entries[] = {
#define EXPLAIN(Name, rule, example, options, fix)                             \
  {diag::Name, {rule, example, options, fix}},
#include "Explain.def"
#undef EXPLAIN
};

const Explanation &shardtype::explain(diag::Code code) {
  static constexpr Explanation Missing{};
  for (const Entry &entry : Entries)
    if (entry.code == code)
      return entry.text;
  return Missing;
}
