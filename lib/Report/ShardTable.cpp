// ShardTable.cpp - which indices of an array each device holds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Common.h"
#include "shardtype/Report/Picture.h"
#include "shardtype/Report/Report.h"
#include "shardtype/Types/Resolve.h"
#include "shardtype/Types/Text.h"
#include "llvm/Support/JSON.h"
#include <limits>

using namespace shardtype;

static constexpr int64_t Saturated = std::numeric_limits<int64_t>::max();

IndexRange ShardTable::range(unsigned dim, int64_t part) const {
  assert(!Dim::isSymbolic(dims[dim].size) && "a symbolic dim has no ranges");
  int64_t length = dims[dim].size / dims[dim].parts;
  return {part * length, (part + 1) * length};
}

namespace {

/// Converts between a device's position and what it holds.
class Layout {
public:
  Layout(const Mesh &mesh, ArrayRef<ShardDim> dims) : mesh_(mesh), dims_(dims) {
    AxisSet used;
    for (const ShardDim &dim : dims)
      used |= AxisSet::of(dim.axes);
    free_ = (mesh.allAxes() - used).list();
  }

  /// Which part of each dim the device at a row-major position holds.
  SmallVector<int64_t, 4> partsOf(int64_t position) const {
    SmallVector<int64_t, 8> coordinates(mesh_.rank());
    for (unsigned axis = mesh_.rank(); axis-- > 0;) {
      coordinates[axis] = position % mesh_.axes[axis].size;
      position /= mesh_.axes[axis].size;
    }
    SmallVector<int64_t, 4> parts;
    for (const ShardDim &dim : dims_) {
      int64_t part = 0;
      for (uint8_t axis : dim.axes)
        part = part * mesh_.axes[axis].size + coordinates[axis];
      parts.push_back(part);
    }
    return parts;
  }

  /// The position of the `copy`th device that holds a block. The mesh has no
  /// more devices than int64 counts.
  int64_t position(ArrayRef<int64_t> parts, int64_t copy) const {
    SmallVector<int64_t, 8> coordinates(mesh_.rank());
    auto spread = [&](int64_t number, ArrayRef<uint8_t> axes) {
      for (uint8_t axis : llvm::reverse(axes)) {
        coordinates[axis] = number % mesh_.axes[axis].size;
        number /= mesh_.axes[axis].size;
      }
    };
    for (auto [part, dim] : llvm::zip_equal(parts, dims_))
      spread(part, dim.axes);
    spread(copy, free_);
    int64_t position = 0;
    for (auto [axis, coordinate] : llvm::zip_equal(mesh_.axes, coordinates))
      position = position * axis.size + coordinate;
    return position;
  }

  int64_t copies() const { return mesh_.size(free_); }

private:
  const Mesh &mesh_;
  ArrayRef<ShardDim> dims_;
  AxisList free_;
};

} // namespace

/// Does `placed` have the axes of the type's mesh, so that it may stand for it?
static bool sameAxes(const Mesh &placed, const Mesh &mesh) {
  return llvm::equal(placed.axes, mesh.axes,
                     [](const MeshAxis &a, const MeshAxis &b) {
                       return a.name == b.name && a.size == b.size;
                     });
}

static void fillBlocks(ShardTable &table, const Mesh &mesh,
                       const Layout &layout, const ShardLimits &limits) {
  auto deviceAt = [&](int64_t position) {
    return mesh.concrete && static_cast<uint64_t>(table.numDevices) ==
                                mesh.devices.size()
               ? mesh.devices[position]
               : position;
  };
  int64_t rows = std::min<int64_t>(table.numDevices, limits.devices);
  for (int64_t position = 0; position < rows; ++position)
    table.shards.push_back({layout.partsOf(position), {deviceAt(position)}});
  if (table.numDevices == Saturated)
    return;
  SmallVector<int64_t, 4> parts(table.dims.size(), 0);
  int64_t blocks = std::min<int64_t>(table.numBlocks, limits.blocks);
  for (int64_t block = 0; block < blocks; ++block) {
    ShardBlock &entry = table.blocks.emplace_back();
    entry.parts = parts;
    int64_t listed = std::min<int64_t>(table.copies, limits.blockDevices);
    for (int64_t copy = 0; copy < listed; ++copy)
      entry.devices.push_back(deviceAt(layout.position(parts, copy)));
    llvm::sort(entry.devices);
    for (size_t dim = parts.size(); dim-- > 0;) {
      if (++parts[dim] < table.dims[dim].parts)
        break;
      parts[dim] = 0;
    }
  }
}

ShardTable shardtype::shardTable(const Context &cx, TypeId id, MeshId placed,
                                 const ShardLimits &limits) {
  ShardTable table;
  while (cx.type(id).kind == Type::Ref)
    id = cx.type(id).inner;
  table.type = id;
  const Type &type = cx.type(id);
  table.isArray = type.isArray();
  if (!table.isArray)
    return table;
  table.mesh = type.sharding.mesh;
  const Mesh &own = cx.meshOrEmpty(table.mesh);
  for (auto [size, axes] : llvm::zip_equal(type.shape, type.sharding.dims))
    table.dims.push_back({size, axes, own.size(axes)});
  if (!table.mesh.valid())
    return table;
  if (placed.valid() && sameAxes(cx.mesh(placed), own))
    table.mesh = placed;
  const Mesh &mesh = cx.mesh(table.mesh);
  Layout layout(mesh, table.dims);
  table.numDevices = mesh.numDevices();
  table.numBlocks = mesh.size(type.sharding.axes());
  table.copies = layout.copies();
  fillBlocks(table, mesh, layout, limits);
  return table;
}

/// What is to be done with the parts of an unreduced value.
static std::string partsNote(ReductionKind kind) {
  std::string note = " every device holds a part of its block; the ";
  switch (kind) {
  case ReductionKind::Max:
    return note + "elementwise maximum of the parts is the value";
  case ReductionKind::Min:
    return note + "elementwise minimum of the parts is the value";
  default:
    return note + "parts are to be added";
  }
}

std::vector<std::string> shardtype::shardNotes(const Context &cx,
                                               const ShardTable &table) {
  std::vector<std::string> notes;
  if (!table.isArray)
    return notes;
  if (!table.mesh.valid()) {
    notes.push_back("the type has no mesh, so no devices");
    return notes;
  }
  const Type &type = cx.type(table.type);
  const Mesh &mesh = cx.mesh(table.mesh);
  const Sharding &sharding = type.sharding;
  const ManualAxisType &manual = type.manual;
  auto add = [&](AxisSet axes, StringRef before, const std::string &after) {
    if (!axes.empty())
      notes.push_back(before.str() + str(cx, sharding.mesh, axes) + after);
  };
  add(sharding.unreduced, "over ", partsNote(sharding.kind));
  add(manual.unreduced, "over ", partsNote(manual.kind));
  add(sharding.reduced | manual.reduced, "equal over ",
      "; the cotangent is unreduced there");
  add(manual.varying, "over ", " every device has an array of its own");
  AxisSet open;
  for (uint8_t axis : mesh.axesOf(AxisType::Auto).list())
    if (mesh.axes[axis].size > 1)
      open.insert(axis);
  add(open, "over ",
      " (Auto) the compiler decides: a device may hold less than is shown");
  AxisSet said = sharding.axes() | sharding.unreduced | sharding.reduced |
                 manual.varying | manual.unreduced | manual.reduced |
                 mesh.axesOf(AxisType::Auto);
  AxisSet repeated;
  for (uint8_t axis : (mesh.allAxes() - said).list())
    if (mesh.axes[axis].size > 1)
      repeated.insert(axis);
  add(repeated, "the same over ", "");
  return notes;
}

/// `0:2`; of a symbolic dim `0:b` or `part 1 of 4`.
static std::string rangeText(const Context &cx, const ShardTable &table,
                             unsigned dim, int64_t part) {
  const ShardDim &of = table.dims[dim];
  if (Dim::isSymbolic(of.size))
    return of.parts == 1 ? "0:" + cx.str(Dim::text(of.size)).str()
                         : "part " + std::to_string(part) + " of " +
                               std::to_string(of.parts);
  IndexRange range = table.range(dim, part);
  return std::to_string(range.begin) + ":" + std::to_string(range.end);
}

void shardtype::printShardTable(raw_ostream &os, const Context &cx,
                                const ShardTable &table) {
  if (!table.isArray) {
    os << str(cx, table.type) << " is no array\n";
    return;
  }
  std::vector<SmallVector<std::string, 4>> rows(1);
  rows[0].push_back("device");
  for (size_t dim = 0; dim < table.dims.size(); ++dim)
    rows[0].push_back("dim " + std::to_string(dim));
  if (table.dims.empty())
    rows[0].push_back("value");
  for (const ShardBlock &shard : table.shards) {
    rows.emplace_back().push_back(std::to_string(shard.devices[0]));
    for (auto [dim, part] : llvm::enumerate(shard.parts))
      rows.back().push_back(rangeText(cx, table, dim, part));
    if (table.dims.empty())
      rows.back().push_back("scalar");
  }
  SmallVector<size_t, 8> widths(rows[0].size(), 0);
  for (const auto &row : rows)
    for (auto [width, cell] : llvm::zip_equal(widths, row))
      width = std::max(width, cell.size());
  for (const auto &row : rows) {
    if (table.shards.empty())
      break;
    os.indent(widths[0] - row[0].size()) << row[0];
    for (size_t column = 1; column < row.size(); ++column) {
      os << "  " << row[column];
      if (column + 1 < row.size()) // No blanks at the end of a line.
        os.indent(widths[column] - row[column].size());
    }
    os << '\n';
  }
  if (int64_t more = table.numDevices - static_cast<int64_t>(rows.size() - 1);
      table.numDevices == Saturated)
    os << "... and more devices than can be counted\n";
  else if (more > 0)
    os << "... and " << groupedDigits(more) << " more devices\n";
  for (const std::string &note : shardNotes(cx, table))
    os << note << '\n';
}

/// A number that saturates at `Saturated` as an amount.
static uint64_t countOf(int64_t number) {
  return number == Saturated ? TooManyBytes : static_cast<uint64_t>(number);
}

static void writeRanges(llvm::json::OStream &json, const Context &cx,
                        const ShardTable &table, ArrayRef<int64_t> parts) {
  json.attributeArray("ranges", [&] {
    for (auto [dim, part] : llvm::enumerate(parts)) {
      if (Dim::isSymbolic(table.dims[dim].size)) {
        json.value(utf8(rangeText(cx, table, dim, part)));
        continue;
      }
      IndexRange range = table.range(dim, part);
      json.array([&] {
        json.value(range.begin);
        json.value(range.end);
      });
    }
  });
}

void shardtype::writeShardJson(llvm::json::OStream &json, const Context &cx,
                               const ShardTable &table,
                               const PictureOptions &options) {
  json.object([&] {
    json.attribute("schema", "shardtype-show/1");
    json.attribute("type", utf8(str(cx, table.type)));
    json.attribute("long", utf8(str(cx, table.type, TypeForm::Long)));
    writeMesh(json, cx, cx.meshOrEmpty(table.mesh));
    writeAmount(json, "devices", countOf(table.numDevices));
    writeAmount(json, "blocks_total", countOf(table.numBlocks));
    writeAmount(json, "bytes_per_device", bytesPerDevice(cx, table.type));
    json.attributeArray("blocks", [&] {
      for (const ShardBlock &block : table.blocks)
        json.object([&] {
          writeRanges(json, cx, table, block.parts);
          json.attributeArray("devices", [&] {
            for (int64_t device : block.devices)
              json.value(device);
          });
          writeAmount(json, "devices_total", countOf(table.copies));
        });
    });
    json.attributeArray("shards", [&] {
      for (const ShardBlock &shard : table.shards)
        json.object([&] {
          json.attribute("device", shard.devices[0]);
          writeRanges(json, cx, table, shard.parts);
        });
    });
    json.attributeArray("labels", [&] {
      for (const auto &row : pictureLabels(cx, table, options))
        json.array([&] {
          for (const std::string &label : row)
            json.value(utf8(label));
        });
    });
    json.attributeArray("notes", [&] {
      for (const std::string &note : shardNotes(cx, table))
        json.value(utf8(note));
    });
  });
}
