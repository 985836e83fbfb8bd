// CostTest.cpp - prices of reshards and results, worked out by hand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Rules/Cost.h"
#include "shardtype/Types/Resolve.h"
#include "shardtype/Types/Text.h"
#include <catch2/catch.hpp>
#include <set>

using namespace shardtype;

namespace {
struct Costs {
  Context cx;
  MeshId mesh;
  explicit Costs(StringRef text) : mesh(*parseMesh(cx, text)) {}

  TypeId type(StringRef text) {
    auto parsed = parseType(cx, text, mesh);
    INFO(text.str() << ": " << parsed.error.message);
    REQUIRE(parsed);
    return *parsed;
  }
  /// "all-gather(X) 256/192, ..." as kind(axes) payload/sent.
  static std::string print(ArrayRef<CommStep> steps) {
    std::string text;
    for (const CommStep &step : steps) {
      text += (text.empty() ? "" : ", ") + str(step.kind).str() + "(";
      for (const std::string &axis : step.axes)
        text += (&axis == step.axes.begin() ? "" : ",") + axis;
      text += ") " + std::to_string(step.payloadBytes) + "/" +
              std::to_string(step.sentBytes);
    }
    return text;
  }
  std::string reshard(StringRef from, StringRef to) {
    return print(reshardCost(cx, type(from), type(to)));
  }
  std::string result(const DimMap &dims, std::vector<StringRef> operands,
                     StringRef wanted) {
    SmallVector<TypeId> types;
    for (StringRef operand : operands)
      types.push_back(type(operand));
    return print(resultCost(cx, dims, types, type(wanted)));
  }
};
} // namespace

/// `(m k), (k n) -> (m n)`.
static DimMap matmul(int64_t m, int64_t k, int64_t n) {
  DimMap map;
  map.factors = {
      {FactorRole::Pass, m}, {FactorRole::Reduce, k}, {FactorRole::Pass, n}};
  map.operands = {{{0}, {1}}, {{1}, {2}}};
  map.results = {{{0}, {2}}};
  return map;
}

TEST_CASE("a reshard's steps follow from what each axis does") {
  Costs c("X=4,Y=2");
  // f32[8,4] is 128 bytes.
  CHECK(c.reshard("f32[8@X,4]", "f32[8@X,4]") == "");
  CHECK(c.reshard("f32[8,4]", "f32[8@X,4@Y]") == "");
  CHECK(c.reshard("f32[8@X,4]", "f32[8,4]") == "all-gather(X) 128/96");
  CHECK(c.reshard("f32[8@X,4]", "f32[8,4@X]") == "all-to-all(X) 32/24");
  CHECK(c.reshard("f32[8,4]{U:X}", "f32[8,4]") == "all-reduce(X) 128/192");
  CHECK(c.reshard("f32[8,4]{U:X}", "f32[8@X,4]") == "reduce-scatter(X) 128/96");
  CHECK(c.reshard("f32[8,4]{U:(X,Y)}", "f32[8,4]") ==
        "all-reduce(X,Y) 128/224");
  CHECK(c.reshard("f32[8,4]{U:(X,Y)}", "f32[8@(X,Y),4]") ==
        "reduce-scatter(X,Y) 128/112");
  CHECK(c.reshard("f32[8,4]{U:(X,Y)}", "f32[8@X,4@Y]") ==
        "reduce-scatter(X) 128/96, reduce-scatter(Y) 32/16");
  CHECK(c.reshard("f32[8,4]", "f32[8,4]{U:X}") == "");
  CHECK(c.reshard("f32[8@X,4]", "f32[8,4]{U:X}") == "");
  CHECK(c.reshard("f32[8,4]", "f32[8,4]{R:X}") == "");
  CHECK(c.reshard("f32[8@X,4]", "f32[8,4]{R:X}") == "all-gather(X) 128/96");
}

TEST_CASE("several axes of a reshard go in an order that keeps arrays small") {
  Costs c("X=4,Y=2");
  // A slice comes before the gather, a scatter before the gather.
  CHECK(c.reshard("f32[8@X,4]", "f32[8,4@Y]") == "all-gather(X) 64/48");
  CHECK(c.reshard("f32[8@X,4]{U:Y}", "f32[8,4@Y]") ==
        "reduce-scatter(Y) 32/16, all-gather(X) 64/48");
  CHECK(c.reshard("f32[8@X,4]{U:Y}", "f32[8,4]") ==
        "all-reduce(Y) 32/32, all-gather(X) 128/96");
  CHECK(c.reshard("f32[8@(X,Y),4]", "f32[8,4]") == "all-gather(X,Y) 128/112");
  CHECK(c.reshard("f32[8@X,4@Y]", "f32[8,4]") ==
        "all-gather(X) 64/48, all-gather(Y) 128/64");
  CHECK(c.reshard("f32[8@(X,Y),4]", "f32[8@(Y,X),4]") == "permute(X,Y) 16/16");
  // A minor axis is gathered as it is; a major one changes places first.
  CHECK(c.reshard("f32[8@(X,Y),4]", "f32[8@X,4]") == "all-gather(Y) 32/16");
  CHECK(c.reshard("f32[8@(X,Y),4]", "f32[8@Y,4]") ==
        "permute(X,Y) 16/16, all-gather(X) 64/48");
  // The new axis can be sliced off in its place, but not above the old one.
  CHECK(c.reshard("f32[8@X,4]", "f32[8@(X,Y),4]") == "");
  CHECK(c.reshard("f32[8,4]{U:Y}", "f32[8@(X,Y),4]") ==
        "reduce-scatter(Y) 32/16");
  // Row A12: the compiler, too, makes it an all-to-all and a permute.
  CHECK(c.reshard("f32[8@X,4@Y]", "f32[8@Y,4@X]") ==
        "permute(X,Y) 16/16, all-to-all(X) 16/8");
  CHECK(c.reshard("f32[8@(X,Y),8]", "f32[8,8@(X,Y)]") ==
        "all-to-all(X,Y) 32/28");
}

TEST_CASE("axes of one size can change places") {
  Costs c("X=2,Y=2,Z=1");
  CHECK(c.reshard("f32[8@X,8]", "f32[8@Y,8]") == "permute(X,Y) 128/128");
  CHECK(c.reshard("f32[8@X,8@Y]", "f32[8@Y,8@X]") == "permute(X,Y) 64/64");
  CHECK(c.reshard("f32[8@Z,8]", "f32[8,8]") == "");
}

TEST_CASE("prices of reshards in the cases") {
  // Case C16: f32[8@x,8,4@y] to P(x,None,None).
  CHECK(Costs("x=2,y=2").reshard("f32[8@x,8,4@y]", "f32[8@x,8,4]") ==
        "all-gather(y) 512/256");
  // Case C17: f32[8@X,8] to P().
  CHECK(Costs("X=2").reshard("f32[8@X,8]", "f32[8,8]") ==
        "all-gather(X) 256/128");
  // Case C12: a scalar, unreduced over two axes.
  CHECK(Costs("X=2,Y=2").reshard("f32[]{U:(X,Y)}", "f32[]") ==
        "all-reduce(X,Y) 4/6");
  // Case C13: a is replicated, so taking a part of it is free.
  CHECK(Costs("X=2,Y=2").reshard("f32[4,8]", "f32[4,8@Y]") == "");
}

TEST_CASE("odd sizes and kinds of values") {
  Costs c("X=2,Y=3");
  CHECK(c.reshard("f32[0@X,4]", "f32[0,4]") == "");
  CHECK(c.reshard("i4[6@Y]", "i4[6]") == "all-gather(Y) 3/2");
  CHECK(c.reshard("i4[2@X]", "i4[2]") == "all-gather(X) 1/1");
  CHECK(c.reshard("key<fry>[6@Y]", "key<fry>[6]") == "all-gather(Y) 48/32");
  // A value without a mesh is everywhere.
  CHECK(Costs::print(reshardCost(c.cx, c.cx.array(DType::F32, {6}),
                                 c.type("f32[6@(X,Y)]"))) == "");
  CHECK(Costs::print(reshardCost(c.cx, c.type("f32[6@X]"),
                                 c.cx.array(DType::F32, {6}))) == "");
  Costs huge("X=4611686018427387904,Y=2");
  CHECK(totalSent(reshardCost(
            huge.cx, huge.type("f64[4611686018427387904@X,9]"),
            huge.type("f64[4611686018427387904,9]"))) == UINT64_MAX);
}

TEST_CASE("row A28: the four results of a dot with sharded contracting dims") {
  Costs c("X=4,Y=2");
  DimMap dims = matmul(8, 4, 16);
  std::vector<StringRef> operands = {"f32[8,4@X]", "f32[4@X,16]"};
  // Partial results are f32[8,16]: 512 bytes.
  CHECK(c.result(dims, operands, "f32[8,16]") == "all-reduce(X) 512/768");
  CHECK(c.result(dims, operands, "f32[8@X,16]") == "reduce-scatter(X) 512/384");
  CHECK(c.result(dims, operands, "f32[8,16@X]") == "reduce-scatter(X) 512/384");
  CHECK(c.result(dims, operands, "f32[8,16]{U:X}") == "");
}

TEST_CASE("the example of the command line: 4 KiB, 2 KiB, 2 KiB, nothing") {
  Costs c("data=4,model=2");
  DimMap dims = matmul(32, 512, 128);
  std::vector<StringRef> operands = {"f32[32@data,512@model]",
                                     "f32[512@model,128]"};
  CHECK(c.result(dims, operands, "f32[32@data,128]") ==
        "all-reduce(model) 4096/4096");
  CHECK(c.result(dims, operands, "f32[32@data,128@model]") ==
        "reduce-scatter(model) 4096/2048");
  CHECK(c.result(dims, operands, "f32[32@(data,model),128]") ==
        "reduce-scatter(model) 4096/2048");
  CHECK(c.result(dims, operands, "f32[32@data,128]{U:model}") == "");
}

TEST_CASE("operands that disagree are resharded where that is cheapest") {
  Costs c("X=4,Y=2");
  DimMap dims = matmul(8, 4, 16);
  // Row A29b: gathering f32[4,16] (256 bytes) beats an all-reduce of 512.
  CHECK(c.result(dims, {"f32[8,4]", "f32[4@X,16]"}, "f32[8,16]") ==
        "all-gather(X) 256/192");
  // A large contraction is better done in parts.
  CHECK(c.result(matmul(8, 4096, 16), {"f32[8,4096]", "f32[4096@X,16]"},
                 "f32[8,16]") == "all-reduce(X) 512/768");
  // Both free dims over X: one operand is gathered, the smaller one.
  CHECK(c.result(dims, {"f32[8@X,4]", "f32[4,16@X]"}, "f32[8@X,16]") ==
        "all-gather(X) 256/192");
  CHECK(c.result(dims, {"f32[8@X,4]", "f32[4,16@X]"}, "f32[8,16@X]") ==
        "all-gather(X) 128/96");
  // Case C13, first resharded: parts over Y stay apart.
  Costs c13("X=2,Y=2");
  CHECK(c13.result(matmul(4, 8, 16), {"f32[4,8@Y]", "f32[8@Y,16@X]"},
                   "f32[4,16@X]{U:Y}") == "");
}

TEST_CASE("case C01: batched dot with the head dim sharded") {
  Costs c("D=2,M=4");
  DimMap dims;
  dims.factors = {{FactorRole::Pass, 2},
                  {FactorRole::Pass, 4},
                  {FactorRole::Pass, 8},
                  {FactorRole::Pass, 8},
                  {FactorRole::Reduce, 32}};
  dims.operands = {{{0}, {2}, {1}, {4}}, {{0}, {3}, {1}, {4}}};
  dims.results = {{{0}, {1}, {2}, {3}}};
  std::vector<StringRef> operands = {"f32[2@D,8,4,32@M]", "f32[2@D,8,4,32@M]"};
  CHECK(c.result(dims, operands, "f32[2@D,4,8,8]") ==
        "all-reduce(M) 1024/1536");
  CHECK(c.result(dims, operands, "f32[2@D,4,8,8]{U:M}") == "");
}

TEST_CASE("case C04: splitting a sharded batch dim moves rows") {
  Costs c("X=4");
  DimMap dims; // (i j) k -> i j k
  dims.factors = {
      {FactorRole::Pass, 2}, {FactorRole::Pass, 4}, {FactorRole::Pass, 2048}};
  dims.operands = {{{0, 1}, {2}}};
  dims.results = {{{0}, {1}, {2}}};
  CHECK(c.result(dims, {"bf16[8@X,2048]"}, "bf16[2,4@X,2048]") ==
        "all-to-all(X) 8192/6144");
  CHECK(c.result(dims, {"bf16[8@X,2048]"}, "bf16[2,4,2048]") ==
        "all-gather(X) 32768/24576");
  dims.factors[0].size = 4;
  dims.factors[1].size = 2;
  CHECK(c.result(dims, {"bf16[8@X,2048]"}, "bf16[4@X,2,2048]") == "");
}

TEST_CASE("roles of factors") {
  Costs c("X=2,Y=2");
  DimMap dims;
  dims.factors = {{FactorRole::Pass, 8}, {FactorRole::Whole, 4}};
  dims.operands = {{{0}, {1}}};
  dims.results = {{{0}, {1}}};
  // Sorting along dim 1: gathered first, sharded again for free.
  CHECK(c.result(dims, {"f32[8@X,4@Y]"}, "f32[8@X,4]") ==
        "all-gather(Y) 64/32");
  CHECK(c.result(dims, {"f32[8@X,4@Y]"}, "f32[8@X,4@Y]") ==
        "all-gather(Y) 64/32");
  // Reversing a sharded dim: every device sends its block on.
  dims.factors[1].role = FactorRole::Permute;
  CHECK(c.result(dims, {"f32[8@X,4@Y]"}, "f32[8@X,4@Y]") == "permute(Y) 32/32");
  // A new dim is made where it is wanted.
  dims.factors[1].role = FactorRole::Broadcast;
  dims.operands = {{{0}}};
  CHECK(c.result(dims, {"f32[8@X]"}, "f32[8@X,4@Y]") == "");
  // Sums that come in and stay.
  dims.factors[1].role = FactorRole::Pass;
  dims.operands = {{{0}, {1}}};
  CHECK(c.result(dims, {"f32[8@X,4]{U:Y}"}, "f32[8@X,4]{U:Y}") == "");
  CHECK(c.result(dims, {"f32[8@X,4]{U:Y}"}, "f32[8@X,4]") ==
        "all-reduce(Y) 64/64");
}

//===--- Against what devices hold ----------------------------------------===//

/// The elements (by flat index) that a device holds of an array.
static std::set<int64_t> heldBy(const Context &cx, const Type &type,
                                ArrayRef<int64_t> coordinates) {
  const Mesh &mesh = cx.mesh(type.sharding.mesh);
  std::set<int64_t> held = {0};
  for (unsigned dim = 0; dim < type.rank(); ++dim) {
    int64_t index = 0, parts = 1;
    for (uint8_t axis : type.sharding.dims[dim]) {
      index = index * mesh.axes[axis].size + coordinates[axis];
      parts *= mesh.axes[axis].size;
    }
    int64_t size = type.shape[dim], block = size / parts;
    std::set<int64_t> next;
    for (int64_t flat : held)
      for (int64_t i = index * block; i < (index + 1) * block; ++i)
        next.insert(flat * size + i);
    held = std::move(next);
  }
  return held;
}

/// The bytes that a device needs and has not: of the worst off, and in the mean
/// (rounded up). Elements have 4 bytes.
struct Missing {
  uint64_t most = 0, mean = 0;
};
static Missing missing(const Context &cx, const Type &from, const Type &to) {
  const Mesh &mesh = cx.mesh(to.sharding.mesh);
  uint64_t most = 0, sum = 0;
  for (int64_t device = 0; device < mesh.numDevices(); ++device) {
    SmallVector<int64_t, 3> coordinates(mesh.rank());
    int64_t rest = device;
    for (unsigned axis = mesh.rank(); axis-- > 0;) {
      coordinates[axis] = rest % mesh.axes[axis].size;
      rest /= mesh.axes[axis].size;
    }
    auto held = heldBy(cx, from, coordinates);
    uint64_t bytes = 0;
    for (int64_t element : heldBy(cx, to, coordinates))
      bytes += held.count(element) ? 0 : 4;
    most = std::max(most, bytes);
    sum += bytes;
  }
  uint64_t n = mesh.numDevices();
  return {most, (sum + n - 1) / n};
}

/// All shardings of this shape without sets.
static std::vector<TypeId> allTypes(Context &cx, MeshId mesh,
                                    ArrayRef<int64_t> shape) {
  std::vector<TypeId> types;
  std::vector<Sharding> open = {replicated(mesh, shape.size())};
  for (size_t i = 0; i < open.size(); ++i) {
    Sharding sharding = open[i];
    Type type;
    type.shape.assign(shape.begin(), shape.end());
    type.sharding = sharding;
    if (checkDivisible(cx, sharding, shape))
      continue;
    types.push_back(cx.intern(type));
    for (unsigned axis = 0; axis < cx.mesh(mesh).rank(); ++axis)
      for (AxisList &dim : sharding.dims) {
        if (sharding.axes().contains(axis))
          continue;
        dim.push_back(axis);
        if (!llvm::is_contained(open, sharding))
          open.push_back(sharding);
        dim.pop_back();
      }
  }
  return types;
}

/// No plan sends less than a device lacks (with `mean`: on average), none sends
/// anything if none lacks anything, and none is dearer than gathering all.
template <typename Price>
static void checkBounds(Costs &c, ArrayRef<TypeId> from, ArrayRef<TypeId> to,
                        bool mean, Price price) {
  for (TypeId source : from)
    for (TypeId target : to) {
      std::vector<CommStep> steps = price(source, target);
      uint64_t sent = totalSent(steps);
      const Type &f = c.cx.type(source), &t = c.cx.type(target);
      Missing lacks = missing(c.cx, f, t);
      int64_t all = 4, parts = c.cx.mesh(c.mesh).size(f.sharding.axes());
      for (int64_t size : f.shape)
        all *= size;
      uint64_t gather = all - all / parts;
      INFO(str(c.cx, source)
           << " -> " << str(c.cx, target) << ": " << Costs::print(steps));
      CHECK(sent >= (mean ? lacks.mean : lacks.most));
      CHECK((sent == 0) == (lacks.most == 0));
      CHECK(sent <= gather);
    }
}

TEST_CASE("plans against the elements devices hold", "[exhaustive]") {
  for (StringRef mesh : {"X=2,Y=2", "X=4,Y=2", "X=2,Y=3", "X=2,Y=2,Z=2"}) {
    Costs c(mesh);
    int64_t size = mesh.contains("3") ? 12 : 8;
    auto types = allTypes(c.cx, c.mesh, {size, size});
    checkBounds(c, types, types, /*mean=*/false, [&](TypeId from, TypeId to) {
      return reshardCost(c.cx, from, to);
    });
  }
}

TEST_CASE("prices of splits and merges likewise", "[exhaustive]") {
  for (StringRef mesh : {"X=2,Y=2", "X=4,Y=2", "X=2,Y=2,Z=2"}) {
    Costs c(mesh);
    DimMap split; // (i j) -> i j
    split.factors = {{FactorRole::Pass, 4}, {FactorRole::Pass, 4}};
    split.operands = {{{0, 1}}};
    split.results = {{{0}, {1}}};
    DimMap merge;
    merge.factors = split.factors;
    merge.operands = split.results;
    merge.results = split.operands;
    auto merged = allTypes(c.cx, c.mesh, {16});
    auto parts = allTypes(c.cx, c.mesh, {4, 4});
    checkBounds(c, merged, parts, /*mean=*/true, [&](TypeId from, TypeId to) {
      return resultCost(c.cx, split, from, to);
    });
    checkBounds(c, parts, merged, /*mean=*/true, [&](TypeId from, TypeId to) {
      return resultCost(c.cx, merge, from, to);
    });
  }
}
