// Primitive.cpp - the set of known primitives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/Primitive.h"

using namespace shardtype;

void PrimitiveSet::add(ArrayRef<Primitive> rows) {
  for (const Primitive &row : rows) {
    byName_[row.info.name] = &row;
    for (StringRef alias : row.info.aliases)
      byName_[alias] = &row;
  }
}

const Primitive *PrimitiveSet::find(StringRef name) const {
  return byName_.lookup(name);
}

std::vector<const Primitive *> PrimitiveSet::rows() const {
  std::vector<const Primitive *> rows;
  for (const auto &entry : byName_)
    if (entry.first() == entry.second->info.name)
      rows.push_back(entry.second);
  llvm::sort(rows, [](const Primitive *a, const Primitive *b) {
    return a->info.name < b->info.name;
  });
  return rows;
}
