// Decompositions.cpp - factorisations and eigenproblems of batched matrices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EvalParams.h"
#include "Families.h"
#include "Linalg.h"
#include "shardtype/Kernels/Blocks.h"
#include "shardtype/Kernels/Linalg.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;

using Cores = ArrayRef<ArrayRef<int64_t>>;

namespace {
struct Eig {
  bool left = false, right = false;
  static constexpr auto fields =
      std::tuple(field("compute_left_eigenvectors", &Eig::left),
                 field("compute_right_eigenvectors", &Eig::right),
                 ignored("enable_eigvec_derivs", form::flag),
                 ignored("implementation", form::choice));
};
struct Eigh {
  std::optional<SmallVector<int64_t, 4>> subset;
  static constexpr auto fields = std::tuple(
      ignored("algorithm", form::choice), ignored("lower", form::flag),
      ignored("sort_eigenvalues", form::flag),
      optionalField("subset_by_index", &Eigh::subset));
};
struct Permutation {
  int64_t size = 0;
  static constexpr auto fields =
      std::tuple(field("permutation_size", &Permutation::size));
};
struct Ormqr {
  bool left = false;
  static constexpr auto fields =
      std::tuple(field("left", &Ormqr::left), ignored("transpose", form::flag));
};
struct Geqp3 {
  static constexpr auto fields = std::tuple(ignored("use_magma", form::choice));
};
struct Qr {
  bool full = false, pivoting = false;
  static constexpr auto fields =
      std::tuple(field("full_matrices", &Qr::full),
                 optionalField("pivoting", &Qr::pivoting),
                 ignored("use_magma", form::choice));
};
struct Schur {
  bool vectors = false;
  static constexpr auto fields =
      std::tuple(field("compute_schur_vectors", &Schur::vectors),
                 ignored("select_callable", form::object),
                 ignored("sort_eig_vals", form::flag));
};
struct Svd {
  bool uv = false, full = false;
  std::optional<SmallVector<int64_t, 4>> subset;
  static constexpr auto fields = std::tuple(
      ignored("algorithm", form::choice), field("compute_uv", &Svd::uv),
      field("full_matrices", &Svd::full),
      optionalField("subset_by_index", &Svd::subset));
};
struct Symmetric {
  static constexpr auto fields =
      std::tuple(ignored("alpha", form::number), ignored("beta", form::number));
};
struct Lower {
  static constexpr auto fields = std::tuple(ignored("lower", form::flag));
};
} // namespace

static ErrorBuilder coreError(TypingContext &cx, const std::string &message) {
  return cx.error(diag::ShapeInvalid, "'" + cx.name().str() + "': " + message);
}

static LogicalResult checkSquare(TypingContext &cx, ArrayRef<int64_t> core) {
  if (core[0] == core[1])
    return success();
  return coreError(cx, "the matrices of " + cx.arg(cx.operandId(0)) +
                           " are not square")
      .mark(0); // linalg/shape.3
}

/// `min(m, n)`; sizes that are no numbers have none.
static FailureOr<int64_t> smaller(TypingContext &cx, ArrayRef<int64_t> core) {
  unsigned batch = cx.shape(0).size() - 2;
  if (core[0] != core[1] && (failed(checkKnown(cx, 0, batch)) ||
                             failed(checkKnown(cx, 0, batch + 1))))
    return failure();
  return std::min(core[0], core[1]);
}

static FailureOr<int64_t> oneLess(TypingContext &cx, int64_t size) {
  if (failed(checkKnown(cx, 0, cx.shape(0).size() - 1)))
    return failure();
  if (size == 0)
    return coreError(cx, "an empty matrix has no such results").mark(0);
  return size - 1;
}

/// The two bounds of subset_by_index; the count between them.
static FailureOr<int64_t> subsetCount(TypingContext &cx,
                                      ArrayRef<int64_t> subset) {
  int64_t count = 0;
  if (subset.size() == 2 && !llvm::SubOverflow(subset[1], subset[0], count))
    return count;
  return cx.error(diag::ParamInvalid, "subset_by_index", "is no pair of bounds")
      .markParam("subset_by_index");
}

static DType dtypeAt(TypingContext &cx, unsigned i) {
  return cx.operand(i).dtype;
}

//===--- Cores ------------------------------------------------------------===//

static FailureOr<CoreParts> choleskyCore(TypingContext &cx, Cores in) {
  if (failed(checkSquare(cx, in[0])))
    return failure();
  return CoreParts{{Core(in[0]), dtypeAt(cx, 0)}};
}

static FailureOr<CoreParts> choleskyUpdateCore(TypingContext &cx, Cores in) {
  if (in[0][0] != in[0][1] || in[1][0] != in[0][1])
    return coreError(cx, "takes a square matrix and a vector of its size")
        .mark(0)
        .mark(1);
  return CoreParts{{Core(in[0]), dtypeAt(cx, 0)}};
}

/// eig/shape.1
static FailureOr<CoreParts> eigCore(TypingContext &cx, Cores in) {
  if (failed(checkSquare(cx, in[0])))
    return failure();
  const auto &p = cx.params<Eig>();
  DType dtype = complexOf(dtypeAt(cx, 0));
  CoreParts parts{{Core{in[0][0]}, dtype}};
  parts.append(unsigned(p.left) + unsigned(p.right), {Core(in[0]), dtype});
  return parts;
}

/// eigh/shape.1
static FailureOr<CoreParts> eighCore(TypingContext &cx, Cores in) {
  if (failed(checkSquare(cx, in[0])))
    return failure();
  int64_t count = in[0][0];
  if (const auto &subset = cx.params<Eigh>().subset) {
    FailureOr<int64_t> wanted = subsetCount(cx, *subset);
    if (failed(wanted))
      return failure();
    if (*wanted < 0)
      return coreError(cx, "subset_by_index ends before it begins")
          .markParam("subset_by_index");
    count = *wanted;
  }
  DType dtype = dtypeAt(cx, 0);
  return CoreParts{{Core{in[0][0], count}, dtype},
                   {Core{count}, realPart(dtype)}};
}

static FailureOr<CoreParts> hessenbergCore(TypingContext &cx, Cores in) {
  if (failed(checkSquare(cx, in[0])))
    return failure();
  FailureOr<int64_t> less = oneLess(cx, in[0][1]);
  if (failed(less))
    return failure();
  return CoreParts{{Core(in[0]), dtypeAt(cx, 0)},
                   {Core{*less}, dtypeAt(cx, 0)}};
}

/// householder_product/shape.1
static FailureOr<CoreParts> householderCore(TypingContext &cx, Cores in) {
  FailureOr<int64_t> least = smaller(cx, in[0]);
  if (failed(least))
    return failure();
  if (in[0][0] < in[0][1])
    return coreError(cx, "the matrices of " + cx.arg(cx.operandId(0)) +
                             " have more columns than rows")
        .mark(0);
  if (in[1][0] > *least)
    return coreError(cx, "there are more reflectors than columns").mark(1);
  return CoreParts{{Core(in[0]), dtypeAt(cx, 0)}};
}

static FailureOr<CoreParts> luCore(TypingContext &cx, Cores in) {
  FailureOr<int64_t> least = smaller(cx, in[0]);
  if (failed(least))
    return failure();
  return CoreParts{{Core(in[0]), dtypeAt(cx, 0)},
                   {Core{*least}, DType::I32},
                   {Core{in[0][0]}, DType::I32}};
}

/// lu_pivots_to_permutation/shape.1
static FailureOr<CoreParts> permutationCore(TypingContext &cx, Cores in) {
  int64_t size = cx.params<Permutation>().size;
  if (size < in[0][0])
    return coreError(cx, "a permutation of " + std::to_string(size) +
                             " has fewer elements than there are pivots")
        .mark(0)
        .markParam("permutation_size");
  return CoreParts{{Core{size}, DType::I32}};
}

/// ormqr/shape.1
static FailureOr<CoreParts> ormqrCore(TypingContext &cx, Cores in) {
  bool left = cx.params<Ormqr>().left;
  if (in[2][left ? 0 : 1] != in[0][0])
    return coreError(cx, std::string("the third operand has another number "
                                     "of ") +
                             (left ? "rows" : "columns") +
                             " than the first has rows")
        .mark(0)
        .mark(2);
  return CoreParts{{Core(in[2]), dtypeAt(cx, 0)}};
}

static FailureOr<CoreParts> geqrfCore(TypingContext &cx, Cores in) {
  FailureOr<int64_t> least = smaller(cx, in[0]);
  if (failed(least))
    return failure();
  return CoreParts{{Core(in[0]), dtypeAt(cx, 0)},
                   {Core{*least}, dtypeAt(cx, 0)}};
}

static FailureOr<CoreParts> geqp3Core(TypingContext &cx, Cores in) {
  FailureOr<int64_t> least = smaller(cx, in[0]);
  if (failed(least))
    return failure();
  return CoreParts{{Core(in[0]), dtypeAt(cx, 0)},
                   {Core(in[1]), dtypeAt(cx, 1)},
                   {Core{*least}, dtypeAt(cx, 0)}};
}

/// qr/shape.1
static FailureOr<CoreParts> qrCore(TypingContext &cx, Cores in) {
  const auto &p = cx.params<Qr>();
  int64_t m = in[0][0], n = in[0][1], k = m;
  if (!p.full) {
    FailureOr<int64_t> least = smaller(cx, in[0]);
    if (failed(least))
      return failure();
    k = *least;
  }
  DType dtype = dtypeAt(cx, 0);
  CoreParts parts{{Core{m, k}, dtype}, {Core{k, n}, dtype}};
  if (p.pivoting)
    parts.push_back({Core{n}, DType::I32});
  return parts;
}

static FailureOr<CoreParts> schurCore(TypingContext &cx, Cores in) {
  if (failed(checkSquare(cx, in[0])))
    return failure();
  return CoreParts(cx.params<Schur>().vectors ? 2 : 1,
                   {Core(in[0]), dtypeAt(cx, 0)});
}

/// svd/shape.1
static FailureOr<CoreParts> svdCore(TypingContext &cx, Cores in) {
  const auto &p = cx.params<Svd>();
  FailureOr<int64_t> least = smaller(cx, in[0]);
  if (failed(least))
    return failure();
  int64_t m = in[0][0], n = in[0][1], rank = *least;
  if (p.subset) {
    FailureOr<int64_t> count = subsetCount(cx, *p.subset);
    if (failed(count))
      return failure();
    if (p.full && ((*p.subset)[0] != 0 || (*p.subset)[1] != rank))
      return coreError(cx, "full_matrices and subset_by_index exclude each "
                           "other")
          .markParam("subset_by_index");
    rank = std::min(rank, *count);
    if (rank < 0)
      return coreError(cx, "subset_by_index ends before it begins")
          .markParam("subset_by_index");
  }
  DType dtype = dtypeAt(cx, 0);
  CoreParts parts{{Core{rank}, realPart(dtype)}};
  if (p.uv) {
    parts.push_back({Core{m, p.full ? m : rank}, dtype});
    parts.push_back({Core{p.full ? n : rank, n}, dtype});
  }
  return parts;
}

/// symmetric_product/shape.1
static FailureOr<CoreParts> symmetricCore(TypingContext &cx, Cores in) {
  if (in[0][0] != in[1][1] || in[1][0] != in[1][1])
    return coreError(cx, "takes matrices (n, m) and square ones (n, n)")
        .mark(0)
        .mark(1);
  return CoreParts{{Core(in[1]), dtypeAt(cx, 0)}};
}

/// tridiagonal/shape.1
static FailureOr<CoreParts> tridiagonalCore(TypingContext &cx, Cores in) {
  if (failed(checkSquare(cx, in[0])))
    return failure();
  FailureOr<int64_t> less = oneLess(cx, in[0][1]);
  if (failed(less))
    return failure();
  DType dtype = dtypeAt(cx, 0), real = realPart(dtype);
  return CoreParts{{Core(in[0]), dtype},
                   {Core{in[0][0]}, real},
                   {Core{*less}, real},
                   {Core{*less}, dtype}};
}

//===--- Evaluation -------------------------------------------------------===//

static LogicalResult give(EvalContext &cx, kernels::Tensors results) {
  for (auto [i, result] : llvm::enumerate(results))
    cx.setResult(i, std::move(result));
  return success();
}

/// The entries of a dim from `begin`, of which a result keeps fewer.
static Tensor kept(const Tensor &x, unsigned dim, int64_t begin,
                   int64_t count) {
  SmallVector<int64_t, 6> starts(x.rank()), sizes(x.shape());
  starts[dim] = begin;
  sizes[dim] = count;
  return kernels::blockOf(x, starts, sizes);
}

static LogicalResult choleskyEval(EvalContext &cx) {
  return give(cx, {kernels::cholesky(cx.operand(0))});
}
static LogicalResult choleskyUpdateEval(EvalContext &cx) {
  return give(cx, {kernels::choleskyUpdate(cx.operand(0), cx.operand(1))});
}
static LogicalResult eigEval(EvalContext &cx) {
  const auto &p = cx.params<Eig>();
  return give(cx, kernels::eig(cx.operand(0), p.left, p.right));
}
static LogicalResult eighEval(EvalContext &cx) {
  const auto &subset = cx.params<Eigh>().subset;
  kernels::Tensors results =
      kernels::eigh(cx.operand(0), eval::flag(cx, "lower", true));
  if (subset) {
    unsigned last = cx.operand(0).rank() - 1;
    int64_t begin = (*subset)[0], count = (*subset)[1] - begin;
    results[0] = kept(results[0], last, begin, count);
    results[1] = kept(results[1], last - 1, begin, count);
  }
  return give(cx, std::move(results));
}
static LogicalResult geqp3Eval(EvalContext &cx) {
  return give(cx, kernels::geqp3(cx.operand(0), cx.operand(1)));
}
static LogicalResult geqrfEval(EvalContext &cx) {
  return give(cx, kernels::geqrf(cx.operand(0)));
}
static LogicalResult hessenbergEval(EvalContext &cx) {
  return give(cx, kernels::hessenberg(cx.operand(0)));
}
static LogicalResult householderEval(EvalContext &cx) {
  return give(cx, {kernels::householderProduct(cx.operand(0), cx.operand(1))});
}
static LogicalResult luEval(EvalContext &cx) {
  return give(cx, kernels::lu(cx.operand(0)));
}
static LogicalResult permutationEval(EvalContext &cx) {
  return give(cx, {kernels::pivotsToPermutation(
                      cx.operand(0), cx.params<Permutation>().size)});
}
static LogicalResult ormqrEval(EvalContext &cx) {
  return give(cx, {kernels::ormqr(cx.operand(0), cx.operand(1), cx.operand(2),
                                  cx.params<Ormqr>().left,
                                  eval::flag(cx, "transpose"))});
}
static LogicalResult qrEval(EvalContext &cx) {
  const auto &p = cx.params<Qr>();
  return give(cx, kernels::qr(cx.operand(0), p.full, p.pivoting));
}
static LogicalResult schurEval(EvalContext &cx) {
  return give(cx, kernels::schur(cx.operand(0), cx.params<Schur>().vectors));
}
static LogicalResult svdEval(EvalContext &cx) {
  const auto &p = cx.params<Svd>();
  std::string algorithm = eval::choice(cx, "algorithm");
  bool plainQr = StringRef(algorithm).contains("QR");
  kernels::Tensors results =
      kernels::svd(cx.operand(0), {p.uv, p.full, plainQr});
  if (p.subset) {
    unsigned last = cx.operand(0).rank() - 1;
    int64_t begin = (*p.subset)[0], count = cx.resultShape(0).back();
    results[0] = kept(results[0], last - 1, begin, count);
    if (p.uv && !p.full) {
      results[1] = kept(results[1], last, begin, count);
      results[2] = kept(results[2], last - 1, begin, count);
    }
  }
  return give(cx, std::move(results));
}
static LogicalResult symmetricEval(EvalContext &cx) {
  return give(cx,
              {kernels::symmetricProduct(cx.operand(0), cx.operand(1),
                                         eval::real(cx, "alpha").value_or(1),
                                         eval::real(cx, "beta").value_or(0))});
}
static LogicalResult tridiagonalEval(EvalContext &cx) {
  return give(
      cx, kernels::tridiagonal(cx.operand(0), eval::flag(cx, "lower", true)));
}

//===--- Rows -------------------------------------------------------------===//

static constexpr unsigned Either = ComplexParts | Complexes;
static constexpr CoreInput Matrix[] = {{2, Either, false}};
static constexpr CoreInput RealMatrixVector[] = {{2, ComplexParts, false},
                                                 {1, ComplexParts, false}};
static constexpr CoreInput MatrixVector[] = {{2, Either, false},
                                             {1, Either, false}};
static constexpr CoreInput MatrixPivots[] = {{2, Either, false},
                                             {1, Ints, false}};
static constexpr CoreInput MatrixVectorMatrix[] = {
    {2, Either, false}, {1, Either, false}, {2, Either, false}};
static constexpr CoreInput Pivots[] = {{1, 0, true}};
static constexpr CoreInput RealMatrices[] = {{2, ComplexParts, false},
                                             {2, ComplexParts, false}};

template <const auto &Inputs, auto Rule, bool Same>
static LogicalResult typeLinalg(TypingContext &cx) {
  if (failed(beginResults(cx)))
    return failure();
  auto parts = linalgParts(cx, Inputs, Rule, Same);
  if (failed(parts))
    return failure();
  return finishResults(cx, *parts, [&](auto &shardings) {
    return linalgShardings(cx, Inputs, *parts, shardings);
  });
}

/// cholesky_update/sharding.1: JAX has no sharding rule, and no batch dims.
static LogicalResult typeCholeskyUpdate(TypingContext &cx) {
  if (failed(beginResults(cx)))
    return failure();
  for (unsigned i = 0; i < 2; ++i)
    if (cx.shape(i).size() > RealMatrixVector[i].rank)
      return cx
          .error(diag::ShapeMismatch,
                 "'cholesky_update' takes no batch dims, but operand " +
                     std::to_string(i) + " is " + cx.arg(cx.operandId(i)))
          .mark(i); // cholesky_update/shape.1
  auto parts = linalgParts(cx, RealMatrixVector, choleskyUpdateCore);
  if (failed(parts))
    return failure();
  return finishResults(cx, *parts, [&](auto &) -> LogicalResult {
    ErrorBuilder error = cx.error(diag::RuleMissing, cx.name());
    bool whole = true;
    for (unsigned i = 0; i < 2; ++i)
      whole &= cx.sharding(i).replicated();
    Type type = cx.operand(0);
    type.sharding = placed(cx, 0);
    if (whole && cx.numResults() == 1)
      error.soundTypes(cx.context().intern(type));
    return error;
  });
}

template <const auto &Inputs> static DimMap coreDims(TypingContext &cx) {
  SmallVector<unsigned, 4> ranks;
  unsigned batch = cx.shape(0).size() - Inputs[0].rank;
  for (const Typed &result : cx.results()) {
    unsigned rank =
        result.type.valid() ? cx.context().type(result.type).rank() : batch;
    ranks.push_back(rank - std::min(rank, batch));
  }
  return linalgDims(cx, Inputs, ranks);
}

template <typename P, const auto &Inputs, auto Rule, auto Eval,
          bool Same = true>
static constexpr Primitive row(StringRef name) {
  return {.info = {name, schemaOf<P>},
          .decode = decodeFor<P, std::size(Inputs)>,
          .dims = coreDims<Inputs>,
          .linearity = {},
          .open = OpenRule::Opaque,
          .type = Custom{typeLinalg<Inputs, Rule, Same>},
          .eval = {Eval, eval::needsLapack}};
}

static const Primitive Rows[] = {
    row<NoParams, Matrix, choleskyCore, choleskyEval>("cholesky"),
    {.info = {"cholesky_update", schemaOf<NoParams>},
     .decode = decodeFor<NoParams, 2>,
     .dims = coreDims<RealMatrixVector>,
     .linearity = {},
     .open = OpenRule::Opaque,
     .type = Custom{typeCholeskyUpdate},
     .eval = choleskyUpdateEval},
    row<Eig, Matrix, eigCore, eigEval>("eig"),
    row<Eigh, Matrix, eighCore, eighEval>("eigh"),
    row<Geqp3, MatrixPivots, geqp3Core, geqp3Eval, false>("geqp3"),
    row<NoParams, Matrix, geqrfCore, geqrfEval>("geqrf"),
    row<NoParams, Matrix, hessenbergCore, hessenbergEval>("hessenberg"),
    row<NoParams, MatrixVector, householderCore, householderEval>(
        "householder_product"),
    row<NoParams, Matrix, luCore, luEval>("lu"),
    row<Permutation, Pivots, permutationCore, permutationEval>(
        "lu_pivots_to_permutation"),
    row<Ormqr, MatrixVectorMatrix, ormqrCore, ormqrEval>("ormqr"),
    row<Qr, Matrix, qrCore, qrEval>("qr"),
    row<Schur, Matrix, schurCore, schurEval>("schur"),
    row<Svd, Matrix, svdCore, svdEval>("svd"),
    row<Symmetric, RealMatrices, symmetricCore, symmetricEval>(
        "symmetric_product"),
    row<Lower, Matrix, tridiagonalCore, tridiagonalEval>("tridiagonal"),
};

ArrayRef<Primitive> shardtype::decompositions() { return Rows; }
