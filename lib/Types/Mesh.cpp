// Mesh.cpp - questions about meshes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Types/Mesh.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace shardtype;

StringRef shardtype::str(AxisType type) {
  constexpr StringRef Names[] = {"Auto", "Explicit", "Manual"};
  return Names[static_cast<unsigned>(type)];
}

std::optional<unsigned> Mesh::find(StringId name) const {
  for (unsigned i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return i;
  return std::nullopt;
}

AxisSet Mesh::axesOf(AxisType type) const {
  AxisSet set;
  for (unsigned i = 0; i < axes.size(); ++i)
    if (axes[i].type == type)
      set.insert(i);
  return set;
}

int64_t Mesh::size(ArrayRef<uint8_t> list) const {
  int64_t product = 1;
  for (uint8_t axis : list)
    if (llvm::MulOverflow(product, axes[axis].size, product))
      return std::numeric_limits<int64_t>::max();
  return product;
}

int64_t Mesh::size(AxisSet set) const { return size(set.list()); }
