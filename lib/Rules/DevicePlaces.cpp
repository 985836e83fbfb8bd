// DevicePlaces.cpp - where devices of a mesh are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/DevicePlaces.h"

using namespace shardtype;

int64_t shardtype::placeAlong(const Mesh &mesh, AxisSet axes,
                              ArrayRef<int64_t> coordinates) {
  int64_t place = 0;
  for (uint8_t axis : axes.list())
    place = place * mesh.axes[axis].size + coordinates[axis];
  return place;
}

SmallVector<int64_t, 4> shardtype::coordinatesOf(const Mesh &mesh, AxisSet axes,
                                                 int64_t place) {
  SmallVector<int64_t, 4> coordinates(mesh.rank(), 0);
  for (uint8_t axis : llvm::reverse(axes.list())) {
    coordinates[axis] = place % mesh.axes[axis].size;
    place /= mesh.axes[axis].size;
  }
  return coordinates;
}

std::string shardtype::deviceName(const Context &cx, const Mesh &mesh,
                                  AxisSet axes, ArrayRef<int64_t> coordinates) {
  std::string text;
  for (uint8_t axis : axes.list())
    text += (text.empty() ? "" : ",") + cx.str(mesh.axes[axis].name).str() +
            "=" + std::to_string(coordinates[axis]);
  return text;
}
