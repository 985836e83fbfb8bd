// Picture.h - where the parts of an array live: pictures and tables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_REPORT_PICTURE_H
#define SHARDTYPE_REPORT_PICTURE_H

#include "shardtype/Types/Context.h"

namespace llvm::json {
class OStream;
}

namespace shardtype {

/// Indices `begin` to `end` (not included) of one dim.
struct IndexRange {
  int64_t begin = 0, end = 0;
  friend bool operator==(const IndexRange &, const IndexRange &) = default;
};

/// How a dim is cut: into `parts` equal ranges.
struct ShardDim {
  int64_t size = 0; // As in the type; symbolic ones have no ranges.
  AxisList axes;    // Of the mesh, major to minor.
  int64_t parts = 1;
};

/// A part of an array, as one part number per dim, and who holds it.
struct ShardBlock {
  SmallVector<int64_t, 4> parts;
  SmallVector<int64_t, 4> devices; // Ascending; the first few of `copies`.
};

/// What each device holds. Work and memory are bounded by the limits asked for,
/// whatever the size of the mesh.
struct ShardTable {
  TypeId type;          // The array; of a Ref the array in it.
  MeshId mesh;          // Whose devices are meant. Invalid: the type has none.
  bool isArray = false; // Else there is nothing below.
  int64_t numDevices = 0; // Saturates at the largest int64.
  int64_t numBlocks = 0;  // Different blocks; likewise.
  int64_t copies = 0;     // Devices that hold one block; likewise.
  SmallVector<ShardDim, 4> dims;
  /// The first devices in the mesh's row-major order, one device each.
  std::vector<ShardBlock> shards;
  /// The first blocks, row-major by part. Empty for a mesh with more devices
  /// than int64 can count.
  std::vector<ShardBlock> blocks;

  /// The indices that a part of a dim holds; the dim is not symbolic.
  IndexRange range(unsigned dim, int64_t part) const;
};

struct ShardLimits {
  unsigned devices = 64;      // Rows of `shards`.
  unsigned blocks = 64;       // Entries of `blocks`.
  unsigned blockDevices = 16; // Devices listed with one block.
};

/// The table of an array type. `placed`, if it has the axes of the type's mesh,
/// is the concrete mesh whose device ids are shown; without it devices are
/// numbered in row-major order.
ShardTable shardTable(const Context &cx, TypeId type, MeshId placed = MeshId(),
                      const ShardLimits &limits = {});

/// What the table cannot show: repeated blocks, parts to be added, gradients
/// that are, axes whose use is open. Sentences without a full stop.
std::vector<std::string> shardNotes(const Context &cx, const ShardTable &table);

struct PictureOptions {
  bool ascii = false;     // `+-|` in place of box characters.
  std::string deviceName; // Empty: the mesh's platform, else "CPU".
  unsigned maxWidth = 100;
};

/// Boxes as `jax.debug.visualize_array_sharding` draws them, each with its
/// devices, then how each drawn dim is cut. An array of a higher rank is drawn
/// if at most two dims are cut. Where there is no picture, one line says why.
void printPicture(raw_ostream &os, const Context &cx, const ShardTable &table,
                  const PictureOptions &options = {});
/// The labels of the boxes row by row; empty where there is no picture.
std::vector<std::vector<std::string>>
pictureLabels(const Context &cx, const ShardTable &table,
              const PictureOptions &options = {});
/// `device  dim 0  dim 1` and a line for each device, then the notes.
void printShardTable(raw_ostream &os, const Context &cx,
                     const ShardTable &table);
/// One object, schema `shardtype-show/1`.
void writeShardJson(llvm::json::OStream &json, const Context &cx,
                    const ShardTable &table,
                    const PictureOptions &options = {});

} // namespace shardtype

#endif
