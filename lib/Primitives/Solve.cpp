// Solve.cpp - triangular_solve and tridiagonal_solve.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EvalParams.h"
#include "Families.h"
#include "Linalg.h"
#include "shardtype/Kernels/Linalg.h"

using namespace shardtype;

using Cores = ArrayRef<ArrayRef<int64_t>>;

namespace {
struct Triangular {
  bool leftSide = false, transposeA = false;
  static constexpr auto fields = std::tuple(
      ignored("conjugate_a", form::flag),
      field("left_side", &Triangular::leftSide), ignored("lower", form::flag),
      field("transpose_a", &Triangular::transposeA),
      ignored("unit_diagonal", form::flag));
  /// Core dims that are substituted along, of both operands.
  unsigned alongA() const { return leftSide != transposeA ? 1 : 0; }
  unsigned alongB() const { return leftSide ? 0 : 1; }
};
struct Tridiagonal {
  static constexpr auto fields =
      std::tuple(ignored("perturb_singular", form::flag));
};
} // namespace

static constexpr CoreInput TwoMatrices[] = {{2, Inexact, false},
                                            {2, Inexact, false}};
static constexpr unsigned Either = ComplexParts | Complexes;
static constexpr CoreInput Diagonals[] = {{1, Either, false},
                                          {1, Either, false},
                                          {1, Either, false},
                                          {2, Either, false}};

//===--- triangular_solve -------------------------------------------------===//

/// triangular_solve/shape.1
static FailureOr<CoreParts> triangularCore(TypingContext &cx, Cores in) {
  if (in[0][0] != in[0][1])
    return cx
        .error(diag::ShapeInvalid,
               "'triangular_solve' takes square matrices, not " +
                   cx.arg(cx.operandId(0)))
        .mark(0);
  unsigned along = cx.params<Triangular>().alongB();
  if (in[0][1] != in[1][along]) {
    unsigned batch = cx.shape(0).size() - 2;
    return cx
        .error(diag::ShapeInvalid, "the sides of 'triangular_solve' do not "
                                   "fit: " +
                                       cx.arg(cx.operandId(0)) + " and " +
                                       cx.arg(cx.operandId(1)))
        .mark(0, batch)
        .mark(1, batch + along);
  }
  return CoreParts{{Core(in[1]), cx.operand(0).dtype}};
}

static LogicalResult checkAlong(TypingContext &cx, unsigned operand,
                                unsigned dim) {
  const Sharding &s = cx.sharding(operand);
  if (s.dims[dim].empty())
    return success();
  return cx.error(diag::SolveSharded, dim, operand, s.dims[dim])
      .mark(operand, dim)
      .fixOperand(operand, withWholeDim(s, dim));
}

static LogicalResult triangularShardings(TypingContext &cx,
                                         ArrayRef<ResultPart> parts,
                                         SmallVectorImpl<Sharding> &out) {
  const auto &p = cx.params<Triangular>();
  unsigned batch = cx.shape(0).size() - 2;
  for (unsigned i = 0; i < 2; ++i)
    if (failed(refuseLinalgSets(cx, TwoMatrices, i, parts)))
      return failure(); // triangular_solve/reduction.1
  const Sharding &a = cx.sharding(0), &b = cx.sharding(1);
  for (unsigned d = 0; d < batch; ++d) {
    if (a.dims[d] == b.dims[d])
      continue;
    Sharding here = placed(cx, 1), there = placed(cx, 0);
    std::copy_n(a.dims.begin(), batch, here.dims.begin());
    std::copy_n(b.dims.begin(), batch, there.dims.begin());
    return cx.error(diag::LinalgBatch, cx.name(), d, a.dims[d], b.dims[d])
        .mark(0, d)
        .mark(1, d)
        .fixOperand(1, here)
        .fixOperand(0, there); // triangular_solve/sharding.1
  }
  if (failed(checkAlong(cx, 0, batch + p.alongA())) ||
      failed(checkAlong(cx, 1, batch + p.alongB())))
    return failure();                    // triangular_solve/sharding.2
  if (!a.hasMesh() && b.partitioned()) { // triangular_solve/sharding.5
    AxisSet first = AxisSet::of(b.axes().list().front());
    return cx
        .error(diag::SpecUnknownAxis, str(cx.context(), b.mesh, first), b,
               "of operand 0, which has none")
        .mark(0)
        .fixOperand(0, placed(cx, 0));
  }
  Sharding &result = out.emplace_back(a);
  const AxisList &fromA = a.dims[batch + 1 - p.alongA()];
  const AxisList &fromB = b.dims[batch + 1 - p.alongB()];
  result.dims[batch] = p.leftSide ? fromA : fromB;
  result.dims[batch + 1] = p.leftSide ? fromB : fromA;
  if (failed(checkIllegalResult(cx, result, diag::IllegalResult)))
    return failure(); // triangular_solve/sharding.4
  return success();   // triangular_solve/sharding.3
}

static LogicalResult typeTriangular(TypingContext &cx) {
  if (failed(beginResults(cx)))
    return failure();
  auto parts = linalgParts(cx, TwoMatrices, triangularCore);
  if (failed(parts))
    return failure();
  return finishResults(cx, *parts, [&](auto &shardings) {
    return triangularShardings(cx, *parts, shardings);
  });
}

static DimMap triangularDims(TypingContext &cx) {
  const auto &p = cx.params<Triangular>();
  DimMap map = linalgDims(cx, TwoMatrices, {2});
  unsigned batch = cx.shape(0).size() - 2;
  auto pass = [&](unsigned operand, unsigned dim) {
    DimMap::Dim factor = map.operands[operand][batch + dim];
    for (uint8_t f : factor)
      map.factors[f].role = FactorRole::Pass;
    return factor;
  };
  DimMap::Dim fromA = pass(0, 1 - p.alongA());
  DimMap::Dim fromB = pass(1, 1 - p.alongB());
  map.results[0][batch] = p.leftSide ? fromA : fromB;
  map.results[0][batch + 1] = p.leftSide ? fromB : fromA;
  return map;
}

//===--- tridiagonal_solve ------------------------------------------------===//

/// tridiagonal_solve/shape.1
static FailureOr<CoreParts> tridiagonalCore(TypingContext &cx, Cores in) {
  for (unsigned i : {1u, 2u})
    if (in[i] != in[0])
      return cx
          .error(diag::ShapeMismatch, "the diagonals of 'tridiagonal_solve' "
                                      "have different sizes")
          .mark(0)
          .mark(i);
  if (in[3][0] != in[0][0])
    return cx
        .error(diag::ShapeMismatch, "the right side of 'tridiagonal_solve' has "
                                    "another number of rows than the diagonals")
        .mark(0)
        .mark(3);
  return CoreParts{{Core(in[3]), cx.operand(0).dtype}};
}

static LogicalResult typeTridiagonal(TypingContext &cx) {
  if (failed(beginResults(cx)))
    return failure();
  auto parts = linalgParts(cx, Diagonals, tridiagonalCore);
  if (failed(parts))
    return failure();
  return finishResults(cx, *parts, [&](auto &shardings) {
    return linalgShardings(cx, Diagonals, *parts, shardings);
  });
}

static DimMap tridiagonalDims(TypingContext &cx) {
  return linalgDims(cx, Diagonals, {2});
}

static LogicalResult triangularEval(EvalContext &cx) {
  const auto &p = cx.params<Triangular>();
  cx.setResult(
      0, kernels::triangularSolve(cx.operand(0), cx.operand(1),
                                  {p.leftSide, eval::flag(cx, "lower"),
                                   p.transposeA, eval::flag(cx, "conjugate_a"),
                                   eval::flag(cx, "unit_diagonal")}));
  return success();
}

static LogicalResult tridiagonalEval(EvalContext &cx) {
  cx.setResult(0, kernels::tridiagonalSolve(cx.operand(0), cx.operand(1),
                                            cx.operand(2), cx.operand(3)));
  return success();
}

static const Primitive Rows[] = {
    {.info = {"triangular_solve", schemaOf<Triangular>},
     .decode = decodeFor<Triangular, 2>,
     .dims = triangularDims,
     .linearity = {},
     .open = OpenRule::Opaque,
     .type = Custom{typeTriangular},
     .eval = {triangularEval, eval::needsLapack}},
    {.info = {"tridiagonal_solve", schemaOf<Tridiagonal>},
     .decode = decodeFor<Tridiagonal, 4>,
     .dims = tridiagonalDims,
     .linearity = {},
     .open = OpenRule::Opaque,
     .type = Custom{typeTridiagonal},
     .eval = {tridiagonalEval, eval::needsLapack}},
};

ArrayRef<Primitive> shardtype::solvers() { return Rows; }
