// Fft.cpp - fft, all four kinds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Fft.h"
#include "DTypeSets.h"
#include "EvalParams.h"
#include "Families.h"
#include "Results.h"

using namespace shardtype;

namespace {
struct Fft {
  SmallVector<int64_t, 4> lengths;
  const Value *type = nullptr;
  static constexpr auto fields =
      std::tuple(field("fft_lengths", &Fft::lengths),
                 valueField("fft_type", &Fft::type, form::choice));
};
enum class FftKind : uint8_t { Complex, FromReal, ToReal };
} // namespace

/// FFT, IFFT, RFFT, IRFFT, by name or by JAX's number (0 to 3).
static FailureOr<FftKind> kindOf(TypingContext &cx) {
  const Value &v = *cx.params<Fft>().type;
  EnumParam read;
  StringRef name;
  if (readParam(cx.program(), v, read))
    name = read.name;
  int64_t number = v.kind == Value::Int ? v.integer : -1;
  if (name == "RFFT" || number == 2)
    return FftKind::FromReal;
  if (name == "IRFFT" || number == 3)
    return FftKind::ToReal;
  if (name == "FFT" || name == "IFFT" || number == 0 || number == 1)
    return FftKind::Complex;
  return cx.error(diag::ParamInvalid, "fft_type", "is no kind of transform")
      .markParam("fft_type");
}

static LogicalResult checkElements(TypingContext &cx, FftKind kind) {
  DType dtype = cx.operand(0).dtype;
  bool real = dtype == DType::F32 || dtype == DType::F64;
  if (kind == FftKind::FromReal ? real : isComplex(dtype))
    return success();
  return cx
      .error(
          diag::ShapeInvalid,
          std::string("this transform takes ") +
              (kind == FftKind::FromReal ? "f32 or f64" : "complex numbers") +
              ", not " + cx.arg(cx.operandId(0)))
      .mark(0); // fft/dtype.1
}

static FailureOr<Shape> fftShape(TypingContext &cx, FftKind kind) {
  ArrayRef<int64_t> lengths = cx.params<Fft>().lengths;
  Shape shape = cx.operand(0).shape;
  if (lengths.size() > shape.size())
    return cx
        .error(diag::ShapeInvalid, "there are more fft_lengths than dims of " +
                                       cx.arg(cx.operandId(0)))
        .mark(0)
        .markParam("fft_lengths"); // fft/shape.1
  if (failed(checkElements(cx, kind)))
    return failure();
  if (lengths.empty()) // fft/shape.4
    return cx.error(diag::ParamInvalid, "fft_lengths", "names no dims")
        .markParam("fft_lengths");
  unsigned first = shape.size() - lengths.size();
  unsigned last = shape.size() - 1;
  for (unsigned d = first; d < shape.size(); ++d)
    if (shape[d] != lengths[d - first] &&
        !(kind == FftKind::ToReal && d == last))
      return cx
          .error(diag::ShapeInvalid, "dim " + std::to_string(d) + " of " +
                                         cx.arg(cx.operandId(0)) +
                                         " has another size than its "
                                         "fft_length")
          .mark(0, d)
          .markParam("fft_lengths"); // fft/shape.2
  if (kind == FftKind::FromReal) {
    if (failed(checkKnown(cx, 0, last)))
      return failure();
    shape[last] = shape[last] / 2 + 1;
  }
  if (kind == FftKind::ToReal)
    shape[last] = lengths.back();
  return shape; // fft/shape.3
}

static LogicalResult typeFft(TypingContext &cx) {
  if (failed(checkArrays(cx)))
    return failure();
  FailureOr<FftKind> kind = kindOf(cx);
  if (failed(kind))
    return failure();
  FailureOr<Shape> shape = fftShape(cx, *kind);
  if (failed(shape))
    return failure();
  const ManualAxisType &own = cx.operand(0).manual;
  if (!own.unreduced.empty() || !own.reduced.empty())
    return cx
        .error(diag::RuleMissingBare, cx.name(),
               "an operand that is unreduced or reduced over a Manual axis")
        .mark(0); // manual/sets.7
  FailureOr<TypeId> type = cx.updateType(0, *shape, cx.sharding(0));
  if (failed(type))
    return failure(); // fft/sharding.1
  Type result = cx.context().type(*type);
  if (*kind == FftKind::FromReal)
    result.dtype = complexOf(result.dtype);
  if (*kind == FftKind::ToReal)
    result.dtype = realPart(result.dtype); // fft/dtype.2
  if (!cx.sharding(0).unreduced.empty())
    cx.error(diag::DoesNotRun, cx.name(), // runs/warning.5
             "its lowering of partial sums crashes the compiler")
        .mark(0);
  return setResults(cx, cx.context().intern(result));
}

static DimMap fftDims(TypingContext &cx) {
  size_t rank = cx.shape(0).size();
  size_t count = std::min(cx.params<Fft>().lengths.size(), rank);
  SmallVector<int64_t, 4> transformed;
  for (size_t d = rank - count; d < rank; ++d)
    transformed.push_back(static_cast<int64_t>(d));
  return sameDims(cx, transformed, FactorRole::Whole);
}

static LogicalResult fftEval(EvalContext &cx) {
  std::string name = eval::choice(cx, "fft_type");
  kernels::FftKind kind =
      name == "IFFT" || name == "1"    ? kernels::FftKind::Ifft
      : name == "RFFT" || name == "2"  ? kernels::FftKind::Rfft
      : name == "IRFFT" || name == "3" ? kernels::FftKind::Irfft
                                       : kernels::FftKind::Fft;
  cx.setResult(0, kernels::fft(cx.operand(0), kind, cx.params<Fft>().lengths,
                               cx.resultDType()));
  return success();
}

static const Primitive Rows[] = {{.info = {"fft", schemaOf<Fft>},
                                  .decode = decodeFor<Fft, 1>,
                                  .dims = fftDims,
                                  .linearity = {Linearity::Jointly, 1},
                                  .open = OpenRule::Opaque,
                                  .type = Custom{typeFft},
                                  .eval = fftEval}};

ArrayRef<Primitive> shardtype::fourier() { return Rows; }
