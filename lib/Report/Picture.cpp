// Picture.cpp - draws the blocks of an array as boxes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A picture has one row or column of boxes per part of a dim. Two dims at most
// are drawn: those of an array of rank one or two, and of a higher rank those
// that are cut, if there are no more than two of them. A box is as wide as the
// longest label, or wider, and up to three lines high, so that it looks like
// its block as far as the page allows.
#include "shardtype/Report/Picture.h"
#include "shardtype/Report/Report.h"
#include "shardtype/Types/Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Unicode.h"

using namespace shardtype;

namespace {

/// Lines and columns that all boxes together should take.
constexpr int64_t PageLines = 9, PageColumns = 64;
constexpr int64_t MaxBoxLines = 3, MaxBoxColumns = 20;
/// Boxes of one picture.
constexpr int64_t MaxBoxes = 64;
/// Devices that a shortened label names.
constexpr size_t ShortLabel = 3;

/// Which dims are drawn, and in how many boxes.
struct Grid {
  int rowDim = -1, columnDim = -1; // -1: none, so one row or column.
  int64_t rows = 1, columns = 1;
  std::string refused; // Why there is no picture.
};

struct Glyphs {
  StringRef horizontal, vertical;
  // Left, middle and right of the top, an inner and the bottom line.
  StringRef corners[3][3];
};
constexpr Glyphs Boxes = {
    "─", "│", {{"┌", "┬", "┐"}, {"├", "┼", "┤"}, {"└", "┴", "┘"}}};
constexpr Glyphs Ascii = {
    "-", "|", {{"+", "+", "+"}, {"+", "+", "+"}, {"+", "+", "+"}}};

} // namespace

static Grid chooseGrid(const ShardTable &table) {
  Grid grid;
  SmallVector<int, 4> cut;
  for (auto [dim, of] : llvm::enumerate(table.dims))
    if (of.parts > 1 || table.dims.size() <= 2)
      cut.push_back(static_cast<int>(dim));
  if (!table.isArray)
    grid.refused = "not drawn: this is no array";
  else if (!table.mesh.valid())
    grid.refused = "not drawn: the type has no mesh";
  else if (cut.size() > 2)
    grid.refused = "not drawn: " + std::to_string(cut.size()) + " dims are cut";
  else if (table.numBlocks > MaxBoxes)
    grid.refused =
        table.numBlocks == std::numeric_limits<int64_t>::max() // Too many.
            ? "not drawn: there are more blocks than can be counted"
            : "not drawn: there are " + groupedDigits(table.numBlocks) +
                  " blocks";
  else if (table.blocks.size() < static_cast<size_t>(table.numBlocks))
    grid.refused = "not drawn: the mesh is too large";
  if (!grid.refused.empty() || cut.empty())
    return grid;
  // One dim lies across, as JAX draws arrays of rank one.
  grid.columnDim = cut.back();
  grid.columns = table.dims[grid.columnDim].parts;
  if (cut.size() == 2) {
    grid.rowDim = cut.front();
    grid.rows = table.dims[grid.rowDim].parts;
  }
  return grid;
}

static std::string deviceName(const Context &cx, const ShardTable &table,
                              const PictureOptions &options) {
  if (!options.deviceName.empty())
    return options.deviceName;
  const Mesh &mesh = cx.mesh(table.mesh);
  return mesh.device ? StringRef(mesh.device->platform).upper() : "CPU";
}

/// `CPU 0,1`; shortened, `CPU 0,1,2,...`.
static std::string label(const ShardTable &table, const ShardBlock &block,
                         StringRef device, bool shorten, bool ascii) {
  std::string text = device.str() + " ";
  ArrayRef<int64_t> ids = block.devices;
  if (shorten)
    ids = ids.take_front(ShortLabel);
  text += llvm::join(
      llvm::map_range(ids, [](int64_t id) { return std::to_string(id); }), ",");
  if (static_cast<int64_t>(ids.size()) < table.copies)
    text += ascii ? ",..." : ",…";
  return text;
}

static size_t columnsOf(StringRef text) {
  return std::max(0, llvm::sys::unicode::columnWidthUTF8(text));
}

/// Labels of all boxes, shortened if the boxes would else be too wide; none if
/// they are too wide even so.
static std::vector<std::string> labels(const Context &cx,
                                       const ShardTable &table,
                                       const Grid &grid,
                                       const PictureOptions &options) {
  for (bool shorten : {false, true}) {
    std::vector<std::string> all;
    size_t widest = 0;
    for (const ShardBlock &block : table.blocks) {
      all.push_back(label(table, block, deviceName(cx, table, options), shorten,
                          options.ascii));
      widest = std::max(widest, columnsOf(all.back()));
    }
    if (grid.columns * (widest + 1) + 1 <= options.maxWidth)
      return all;
  }
  return {};
}

std::vector<std::vector<std::string>>
shardtype::pictureLabels(const Context &cx, const ShardTable &table,
                         const PictureOptions &options) {
  Grid grid = chooseGrid(table);
  if (!grid.refused.empty())
    return {};
  std::vector<std::string> all = labels(cx, table, grid, options);
  std::vector<std::vector<std::string>> rows;
  for (size_t at = 0; at < all.size(); at += grid.columns)
    rows.emplace_back(all.begin() + at, all.begin() + at + grid.columns);
  return rows;
}

/// The extent of a block along a drawn dim, for the look of its box.
static double extent(const ShardTable &table, int dim) {
  if (dim < 0 || Dim::isSymbolic(table.dims[dim].size))
    return 1;
  const ShardDim &of = table.dims[dim];
  return std::max<double>(1, static_cast<double>(of.size) / of.parts);
}

static void drawLine(raw_ostream &os, const Glyphs &glyphs, unsigned which,
                     int64_t columns, int64_t width) {
  os << glyphs.corners[which][0];
  for (int64_t column = 0; column < columns; ++column) {
    if (column)
      os << glyphs.corners[which][1];
    for (int64_t i = 0; i < width; ++i)
      os << glyphs.horizontal;
  }
  os << glyphs.corners[which][2] << '\n';
}

/// One row of boxes, `lines` high, labels in the middle.
static void drawRow(raw_ostream &os, const Glyphs &glyphs,
                    ArrayRef<std::string> row, int64_t width, int64_t lines) {
  for (int64_t line = 0; line < lines; ++line) {
    os << glyphs.vertical;
    for (const std::string &text : row) {
      int64_t left = (width - columnsOf(text)) / 2;
      if (line == lines / 2)
        os.indent(left) << text, os.indent(width - left - columnsOf(text));
      else
        os.indent(width);
      os << glyphs.vertical;
    }
    os << '\n';
  }
}

/// `down: dim 0, 4 parts of 2 over X`.
static void describeDim(raw_ostream &os, const Context &cx,
                        const ShardTable &table, StringRef way, int dim) {
  if (dim < 0)
    return;
  const ShardDim &of = table.dims[dim];
  os << way << ": dim " << dim << ", ";
  if (of.axes.empty()) {
    os << "whole\n";
    return;
  }
  os << of.parts << (of.parts == 1 ? " part" : " parts");
  if (!Dim::isSymbolic(of.size))
    os << " of " << of.size / of.parts;
  os << " over "
     << str(cx, cx.type(table.type).sharding.mesh, ArrayRef<uint8_t>(of.axes))
     << '\n';
}

void shardtype::printPicture(raw_ostream &os, const Context &cx,
                             const ShardTable &table,
                             const PictureOptions &options) {
  Grid grid = chooseGrid(table);
  auto rows = pictureLabels(cx, table, options);
  if (grid.refused.empty() && rows.empty())
    grid.refused = "not drawn: the boxes would be wider than " +
                   std::to_string(options.maxWidth) + " columns";
  if (!grid.refused.empty()) {
    os << grid.refused << '\n';
    return;
  }
  int64_t width = 0;
  for (const auto &row : rows)
    for (const std::string &text : row)
      width = std::max<int64_t>(width, columnsOf(text));
  // A character is about twice as high as it is wide.
  double flatness =
      extent(table, grid.columnDim) / extent(table, grid.rowDim) / 2;
  int64_t lines = 1;
  if (grid.rowDim >= 0) {
    double wanted = std::min<double>(MaxBoxLines, (width + 2) / flatness / 4);
    lines = std::clamp<int64_t>(static_cast<int64_t>(wanted), 1,
                                std::max<int64_t>(1, PageLines / grid.rows));
    lines -= lines % 2 == 0; // Odd, so that labels stand in the middle.
  }
  int64_t roomy = std::clamp<int64_t>(PageColumns / grid.columns, width,
                                      std::max(width, MaxBoxColumns));
  int64_t padded = (options.maxWidth - 1) / grid.columns - 1;
  int64_t wanted = static_cast<int64_t>(
      std::min<double>(MaxBoxColumns, flatness * 4 * lines));
  width = std::max(std::min(width + 2, padded), std::min(wanted, roomy));
  const Glyphs &glyphs = options.ascii ? Ascii : Boxes;
  for (auto [index, row] : llvm::enumerate(rows)) {
    drawLine(os, glyphs, index ? 1 : 0, grid.columns, width);
    drawRow(os, glyphs, row, width, lines);
  }
  drawLine(os, glyphs, 2, grid.columns, width);
  describeDim(os, cx, table, "down", grid.rowDim);
  describeDim(os, cx, table, "across", grid.columnDim);
  if (table.dims.size() > 2)
    os << "other dims: whole\n";
}
