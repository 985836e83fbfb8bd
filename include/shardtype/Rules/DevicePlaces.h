// DevicePlaces.h - where devices of a mesh are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices are numbered row-major over some axes, in the order of the mesh.
#ifndef SHARDTYPE_RULES_DEVICEPLACES_H
#define SHARDTYPE_RULES_DEVICEPLACES_H

#include "shardtype/Types/Context.h"

namespace shardtype {

/// The number, over `axes`, of the device with these coordinates.
int64_t placeAlong(const Mesh &mesh, AxisSet axes,
                   ArrayRef<int64_t> coordinates);
/// By axis of the mesh; 0 along other axes.
SmallVector<int64_t, 4> coordinatesOf(const Mesh &mesh, AxisSet axes,
                                      int64_t place);
/// `x=0,y=1`, of these axes.
std::string deviceName(const Context &cx, const Mesh &mesh, AxisSet axes,
                       ArrayRef<int64_t> coordinates);

} // namespace shardtype

#endif
