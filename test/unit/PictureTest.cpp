// PictureTest.cpp - pictures and tables of where arrays live.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks, devices and labels are those that real JAX showed for the rows of
// spec 00 (`picture` in the recorded results).
#include "shardtype/Report/Picture.h"
#include "TypesFixture.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace shardtype;

namespace {
struct Picture : TypesFixture {
  ShardTable table(StringRef text, StringRef meshText = "X=4,Y=2") {
    return shardTable(cx, type(text, meshText));
  }
  /// `CPU 0 | CPU 1 / CPU 2 | CPU 3`, as the recorded results have it.
  std::string words(const ShardTable &table) {
    std::string text;
    for (const auto &row : pictureLabels(cx, table))
      text += (text.empty() ? "" : " / ") + llvm::join(row, " | ");
    return text;
  }
  std::string drawn(const ShardTable &table, PictureOptions options = {}) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printPicture(os, cx, table, options);
    return text;
  }
  std::string listed(const ShardTable &table) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printShardTable(os, cx, table);
    return text;
  }
};

/// A block of the recorded results: its ranges and devices.
struct Box {
  SmallVector<IndexRange, 2> ranges;
  SmallVector<int64_t, 4> devices;
};

void checkBoxes(const ShardTable &table, ArrayRef<Box> boxes) {
  REQUIRE(table.blocks.size() == boxes.size());
  for (auto [block, box] : llvm::zip_equal(table.blocks, boxes)) {
    for (auto [dim, range] : llvm::enumerate(box.ranges))
      CHECK(table.range(dim, block.parts[dim]) == range);
    CHECK(block.devices == box.devices);
  }
}
} // namespace

TEST_CASE_METHOD(Picture, "row A03: P(X,Y)") {
  ShardTable shards = table("f32[8@X,4@Y]");
  CHECK(words(shards) ==
        "CPU 0 | CPU 1 / CPU 2 | CPU 3 / CPU 4 | CPU 5 / CPU 6 | CPU 7");
  checkBoxes(shards, {{{{0, 2}, {0, 2}}, {0}},
                      {{{0, 2}, {2, 4}}, {1}},
                      {{{2, 4}, {0, 2}}, {2}},
                      {{{2, 4}, {2, 4}}, {3}},
                      {{{4, 6}, {0, 2}}, {4}},
                      {{{4, 6}, {2, 4}}, {5}},
                      {{{6, 8}, {0, 2}}, {6}},
                      {{{6, 8}, {2, 4}}, {7}}});
  // The boxes of seed 000.
  CHECK(StringRef(drawn(shards))
            .starts_with("┌───────┬───────┐\n"
                         "│ CPU 0 │ CPU 1 │\n"
                         "├───────┼───────┤\n"
                         "│ CPU 2 │ CPU 3 │\n"
                         "├───────┼───────┤\n"
                         "│ CPU 4 │ CPU 5 │\n"
                         "├───────┼───────┤\n"
                         "│ CPU 6 │ CPU 7 │\n"
                         "└───────┴───────┘\n"));
}

TEST_CASE_METHOD(Picture, "rows A12 and A13: P(Y,X)") {
  ShardTable shards = table("f32[8@Y,4@X]");
  CHECK(words(shards) ==
        "CPU 0 | CPU 2 | CPU 4 | CPU 6 / CPU 1 | CPU 3 | CPU 5 | CPU 7");
  checkBoxes(shards, {{{{0, 4}, {0, 1}}, {0}},
                      {{{0, 4}, {1, 2}}, {2}},
                      {{{0, 4}, {2, 3}}, {4}},
                      {{{0, 4}, {3, 4}}, {6}},
                      {{{4, 8}, {0, 1}}, {1}},
                      {{{4, 8}, {1, 2}}, {3}},
                      {{{4, 8}, {2, 3}}, {5}},
                      {{{4, 8}, {3, 4}}, {7}}});
}

TEST_CASE_METHOD(Picture, "rows A14 and A15: P(X,None)") {
  ShardTable shards = table("f32[8@X,4]");
  CHECK(words(shards) == "CPU 0,1 / CPU 2,3 / CPU 4,5 / CPU 6,7");
  checkBoxes(shards, {{{{0, 2}, {0, 4}}, {0, 1}},
                      {{{2, 4}, {0, 4}}, {2, 3}},
                      {{{4, 6}, {0, 4}}, {4, 5}},
                      {{{6, 8}, {0, 4}}, {6, 7}}});
}

TEST_CASE_METHOD(Picture, "row A16: P((X,Y)) and P((Y,X))") {
  ShardTable shards = table("f32[8@(X,Y),4]");
  CHECK(words(shards) == "CPU 0 / CPU 1 / CPU 2 / CPU 3 / CPU 4 / CPU 5 / "
                         "CPU 6 / CPU 7");
  REQUIRE(shards.blocks.size() == 8);
  for (int64_t row = 0; row < 8; ++row)
    CHECK(shards.range(0, shards.blocks[row].parts[0]) ==
          IndexRange{row, row + 1});
  // `shards_YX`: which row of arange(32).reshape(8, 4) each device holds.
  ShardTable swapped = table("f32[8@(Y,X),4]");
  SmallVector<int64_t, 8> rows;
  for (const ShardBlock &shard : swapped.shards)
    rows.push_back(swapped.range(0, shard.parts[0]).begin);
  CHECK(rows == SmallVector<int64_t, 8>{0, 4, 1, 5, 2, 6, 3, 7});
}

TEST_CASE_METHOD(Picture, "row B07: the blocks of a, b and c") {
  StringRef mesh = "i=4,j=2";
  ShardTable a = table("f32[8@i,16@j]", mesh);
  CHECK(words(a) ==
        "CPU 0 | CPU 1 / CPU 2 | CPU 3 / CPU 4 | CPU 5 / CPU 6 | CPU 7");
  CHECK(a.range(1, a.blocks[1].parts[1]) == IndexRange{8, 16});
  ShardTable b = table("f32[16@j,4]", mesh);
  CHECK(words(b) == "CPU 0,2,4,6 / CPU 1,3,5,7");
  checkBoxes(
      b, {{{{0, 8}, {0, 4}}, {0, 2, 4, 6}}, {{{8, 16}, {0, 4}}, {1, 3, 5, 7}}});
  CHECK(words(table("f32[8@i,4]", mesh)) ==
        "CPU 0,1 / CPU 2,3 / CPU 4,5 / CPU 6,7");
}

TEST_CASE_METHOD(Picture, "arrays of rank one and none") {
  // JAX 0.12.0.1 draws rank one as one row of boxes.
  CHECK(words(table("f32[8@X]")) == "CPU 0,1 | CPU 2,3 | CPU 4,5 | CPU 6,7");
  CHECK(words(table("f32[8@(X,Y)]")) ==
        "CPU 0 | CPU 1 | CPU 2 | CPU 3 | CPU 4 | CPU 5 | CPU 6 | CPU 7");
  CHECK(words(table("f32[8]")) == "CPU 0,1,2,3,4,5,6,7");
  CHECK(words(table("f32[]")) == "CPU 0,1,2,3,4,5,6,7");
  CHECK(listed(table("f32[]", "X=2")) == "device  value\n"
                                         "     0  scalar\n"
                                         "     1  scalar\n"
                                         "the same over X\n");
}

TEST_CASE_METHOD(Picture, "a picture says how its dims are cut") {
  PictureOptions ascii;
  ascii.ascii = true;
  CHECK(drawn(table("f32[8@Y,4]"), ascii) ==
        "+-------------+\n"
        "|             |\n"
        "| CPU 0,2,4,6 |\n"
        "|             |\n"
        "+-------------+\n"
        "|             |\n"
        "| CPU 1,3,5,7 |\n"
        "|             |\n"
        "+-------------+\n"
        "down: dim 0, 2 parts of 4 over Y\n"
        "across: dim 1, whole\n");
  // Boxes go with the shape of the blocks: these are flat.
  std::string flat = drawn(table("f32[8@X,64@Y]"), ascii);
  CHECK(StringRef(flat).starts_with("+--------------------+"
                                    "--------------------+\n"
                                    "|       CPU 0        |"));
}

TEST_CASE_METHOD(Picture, "higher ranks are drawn if two dims are cut") {
  StringRef mesh = "X=2,Y=2,Z=2";
  ShardTable two = table("f32[8@X,3,4@Y]", mesh);
  CHECK(words(two) == "CPU 0,1 | CPU 2,3 / CPU 4,5 | CPU 6,7");
  CHECK(StringRef(drawn(two))
            .ends_with("down: dim 0, 2 parts of 4 over X\n"
                       "across: dim 2, 2 parts of 2 over Y\n"
                       "other dims: whole\n"));
  CHECK(words(table("f32[8,3,4@Y]", mesh)) == "CPU 0,1,4,5 | CPU 2,3,6,7");
  CHECK(drawn(table("f32[8@X,2@Z,4@Y]", mesh)) ==
        "not drawn: 3 dims are cut\n");
  CHECK(words(table("f32[8,3,4]", mesh)) == "CPU 0,1,2,3,4,5,6,7");
}

TEST_CASE_METHOD(Picture, "the table of index ranges") {
  CHECK(listed(table("f32[8@X,12@Y]")) == "device  dim 0  dim 1\n"
                                          "     0  0:2    0:6\n"
                                          "     1  0:2    6:12\n"
                                          "     2  2:4    0:6\n"
                                          "     3  2:4    6:12\n"
                                          "     4  4:6    0:6\n"
                                          "     5  4:6    6:12\n"
                                          "     6  6:8    0:6\n"
                                          "     7  6:8    6:12\n");
  CHECK(listed(table("f32[2*b@X,c,0@Y]", "X=2,Y=1")) ==
        "device  dim 0        dim 1  dim 2\n"
        "     0  part 0 of 2  0:c    0:0\n"
        "     1  part 1 of 2  0:c    0:0\n");
  CHECK(listed(table("Tok")) == "Tok is no array\n");
  CHECK(drawn(table("Tok")) == "not drawn: this is no array\n");
  CHECK(listed(table("Ref{f32[2@X]}", "X=2")) == "device  dim 0\n"
                                                 "     0  0:1\n"
                                                 "     1  1:2\n");
}

TEST_CASE_METHOD(Picture, "notes tell what ranges do not") {
  auto notes = [&](StringRef text, StringRef mesh) {
    return llvm::join(shardNotes(cx, table(text, mesh)), "; ");
  };
  CHECK(notes("f32[8@X,4@Y]", "X=4,Y=2") == "");
  CHECK(notes("f32[8@X,4]", "X=4,Y=2") == "the same over Y");
  CHECK(notes("f32[8@X,4]", "X=4,Y=1") == "");
  // Row A17.
  CHECK(notes("f32[8@X,4]{U:Y}", "X=4,Y=2") ==
        "over Y every device holds a part of its block; the parts are to be "
        "added");
  CHECK(notes("f32[8]{U_max:(X,Y)}", "X=4,Y=2") ==
        "over (X,Y) every device holds a part of its block; the elementwise "
        "maximum of the parts is the value");
  CHECK(notes("f32[8@X]{R:Y}", "X=4,Y=2") ==
        "equal over Y; the cotangent is unreduced there");
  CHECK(notes("f32[8]{V:i, U:j}", "i=2:Manual,j=2:Manual") ==
        "over j every device holds a part of its block; the parts are to be "
        "added; over i every device has an array of its own");
  CHECK(notes("f32[8@X]", "X=2,Z=2:Auto") ==
        "over Z (Auto) the compiler decides: a device may hold less than is "
        "shown");
  CHECK(notes("f32[8]", "") == "the type has no mesh, so no devices");
  CHECK(drawn(table("f32[8]", "")) == "not drawn: the type has no mesh\n");
  CHECK(listed(table("f32[8]", "")) == "the type has no mesh, so no devices\n");
}

TEST_CASE_METHOD(Picture, "a concrete mesh gives its own devices") {
  Mesh mesh = cx.mesh(this->mesh("X=2,Y=2"));
  mesh.concrete = true;
  mesh.devices = {3, 2, 1, 0};
  mesh.device = AbstractDevice{"TPU v5", "1", "tpu"};
  TypeId id = type("f32[4@X,3]", "X=2,Y=2");
  ShardTable placed = shardTable(cx, id, cx.intern(mesh));
  CHECK(words(placed) == "TPU 2,3 / TPU 0,1"); // JAX sorts the ids of a box.
  CHECK(placed.shards[0].devices[0] == 3);
  CHECK(placed.shards[0].parts[0] == 0);
  // A mesh of other axes is not the one that is meant.
  CHECK(words(shardTable(cx, id, this->mesh("X=4"))) == "CPU 0,1 / CPU 2,3");
}

TEST_CASE_METHOD(Picture, "large meshes cost no more than small ones") {
  StringRef large = "X=1048576,Y=1048576";
  ShardTable shards = table("f32[1099511627776@(X,Y)]", large);
  CHECK(shards.numDevices == int64_t(1) << 40);
  CHECK(shards.shards.size() == 64);
  CHECK(shards.blocks.size() == 64);
  CHECK(drawn(shards) == "not drawn: there are 1 099 511 627 776 blocks\n");
  CHECK(StringRef(listed(shards))
            .ends_with("    63  63:64\n"
                       "... and 1 099 511 627 712 more devices\n"));
  ShardTable repeated = table("f32[8,4]", large);
  CHECK(words(repeated) == "CPU 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,…");
  CHECK(repeated.copies == int64_t(1) << 40);
  CHECK(repeated.blocks[0].devices.size() == 16);
  ShardTable beyond =
      table("f32[8]", "X=9223372036854775807,Y=9223372036854775807");
  CHECK(beyond.shards.size() == 64);
  CHECK(StringRef(listed(beyond))
            .contains("... and more devices than can be counted\n"));
  CHECK(drawn(beyond) == "not drawn: the mesh is too large\n");
}

TEST_CASE_METHOD(Picture, "labels and boxes fit the page") {
  // Labels of 16 devices are shortened, then given up.
  ShardTable wide = table("f32[8@X]", "X=4,Y=16");
  CHECK(StringRef(words(wide)).starts_with("CPU 0,1,2,… | CPU 16,17,18,… |"));
  CHECK(drawn(table("f32[32@X]", "X=32,Y=16")) ==
        "not drawn: the boxes would be wider than 100 columns\n");
  PictureOptions narrow;
  narrow.maxWidth = 12;
  CHECK(drawn(table("f32[8@Y,4@X]"), narrow) ==
        "not drawn: the boxes would be wider than 12 columns\n");
  SmallVector<StringRef, 0> lines;
  for (StringRef text :
       {"f32[8@X]", "f32[4@X,8@Y]", "f32[8@Y,4@X]", "f32[8]",
        "f32[4@X,9000000000000000000]", "f32[9000000000000000000@X,4]"}) {
    PictureOptions ascii;
    ascii.ascii = true;
    std::string picture = drawn(table(text), ascii);
    lines.clear();
    StringRef(picture).split(lines, '\n');
    size_t width = lines[0].size();
    CHECK(width <= 100);
    for (StringRef line : lines)
      if (!line.empty() && (line[0] == '+' || line[0] == '|'))
        CHECK(line.size() == width);
  }
}

TEST_CASE_METHOD(Picture, "the same as JSON") {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream json(os);
  writeShardJson(json, cx, table("f32[8@X,4]{U:Y}", "X=2,Y=2"));
  os.flush();
  CHECK(text ==
        R"({"schema":"shardtype-show/1","type":"f32[8@X,4]{U:Y}",)"
        R"("long":"float32[8@X,4]{U:Y}","mesh":[{"name":"X","size":2,)"
        R"("type":"Explicit"},{"name":"Y","size":2,"type":"Explicit"}],)"
        R"("devices":4,"blocks_total":2,"bytes_per_device":64,"blocks":[)"
        R"({"ranges":[[0,4],[0,4]],"devices":[0,1],"devices_total":2},)"
        R"({"ranges":[[4,8],[0,4]],"devices":[2,3],"devices_total":2}],)"
        R"("shards":[{"device":0,"ranges":[[0,4],[0,4]]},)"
        R"({"device":1,"ranges":[[0,4],[0,4]]},)"
        R"({"device":2,"ranges":[[4,8],[0,4]]},)"
        R"({"device":3,"ranges":[[4,8],[0,4]]}],)"
        R"("labels":[["CPU 0,1"],["CPU 2,3"]],)"
        R"("notes":["over Y every device holds a part of its block; )"
        R"(the parts are to be added"]})");
}
