// Fft.cpp - discrete Fourier transforms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Kernels/Fft.h"
#include "shardtype/Tensor/Element.h"
#include <kissfft/kissfft.hh>

using namespace shardtype;
using namespace shardtype::kernels;

using Values = std::vector<C128>;

namespace {
/// Transforms lines of one length. No factor.
class Line {
public:
  Line(int64_t length, bool inverse)
      : plan_(static_cast<size_t>(length), inverse), out_(length) {}
  void run(Values &line) {
    if (line.size() > 1) {
      plan_.transform(line.data(), out_.data());
      line.swap(out_);
    }
  }

private:
  kissfft<double> plan_;
  Values out_;
};

/// An array of complex numbers while its dims are transformed one by one.
struct Work {
  Shape shape;
  Values values;

  /// Replaces each line along `dim` by what `f` makes of it: `length` elements.
  template <typename F> void along(unsigned dim, int64_t length, F &&f) {
    int64_t outer = 1, inner = 1, before = shape[dim];
    for (auto [d, size] : llvm::enumerate(shape))
      if (d != dim)
        (d < dim ? outer : inner) *= size;
    Values result(outer * length * inner), line;
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        line.resize(before);
        for (int64_t k = 0; k < before; ++k)
          line[k] = values[(o * before + k) * inner + i];
        f(line);
        for (int64_t k = 0; k < length; ++k)
          result[(o * length + k) * inner + i] = line[k];
      }
    shape[dim] = length;
    values = std::move(result);
  }
};
} // namespace

/// Of a real signal's spectrum, the half that its first half implies. What
/// cannot be there is ignored: imaginary parts of the ends.
static void completeSpectrum(Values &line, int64_t length) {
  line.resize(length);
  line[0] = line[0].real();
  if (length % 2 == 0)
    line[length / 2] = line[length / 2].real();
  for (int64_t k = length / 2 + 1; k < length; ++k)
    line[k] = std::conj(line[length - k]);
}

static Work loaded(const Tensor &x) {
  Work work{Shape(x.shape()), Values(x.size())};
  dispatch(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (auto [to, from] : llvm::zip_equal(work.values, x.as<T>()))
      if constexpr (isComplexElement<T>)
        to = C128(from);
      else
        to = static_cast<double>(static_cast<ComputeType<T>>(from));
  });
  return work;
}

static Tensor stored(const Work &work, DType dtype, double factor) {
  Tensor result = Tensor::uninitialised(dtype, work.shape);
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (auto [to, from] : llvm::zip_equal(result.fill<T>(), work.values))
      if constexpr (isComplexElement<T>)
        to = T(from * factor);
      else if constexpr (isFloatElement<T>)
        to = T(from.real() * factor);
  });
  return result;
}

Tensor kernels::fft(const Tensor &x, FftKind kind, ArrayRef<int64_t> lengths,
                    DType dtype) {
  bool inverse = kind == FftKind::Ifft || kind == FftKind::Irfft;
  unsigned rank = x.rank(), first = rank - lengths.size();
  Shape shape(x.shape());
  if (kind == FftKind::Rfft || kind == FftKind::Irfft)
    shape.back() =
        kind == FftKind::Rfft ? lengths.back() / 2 + 1 : lengths.back();
  if (llvm::is_contained(shape, 0) || x.size() == 0)
    return Tensor::zeros(dtype, shape);
  Work work = loaded(x);
  double factor = 1;
  auto last = [&] {
    int64_t length = lengths.back();
    Line line(length, inverse);
    work.along(rank - 1, shape.back(), [&](Values &values) {
      if (kind == FftKind::Irfft)
        completeSpectrum(values, length);
      line.run(values);
    });
  };
  if (!inverse && !lengths.empty())
    last();
  for (unsigned d = first; d + 1 < rank; ++d) {
    Line line(lengths[d - first], inverse);
    work.along(d, lengths[d - first], [&](Values &v) { line.run(v); });
  }
  if (inverse && !lengths.empty())
    last();
  if (inverse)
    for (int64_t length : lengths)
      factor /= static_cast<double>(length);
  return stored(work, dtype, factor);
}
