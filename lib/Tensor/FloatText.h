// FloatText.h - floats in decimal, as NumPy writes them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_TENSOR_FLOATTEXT_H
#define SHARDTYPE_LIB_TENSOR_FLOATTEXT_H

#include "shardtype/Support/LLVM.h"

namespace shardtype {

/// Which type's neighbours a value must be told apart from.
enum class FloatWidth : uint8_t { Half, Single, Double };

/// `1.25`, `3.`: the fewest digits that read back as `value`, at most
/// `precision` of them behind the point (-1: any number). Finite values only.
std::string positionalText(double value, FloatWidth width, int precision);
/// `1.25e+10`, `1.e-05`: likewise, but at least `least` digits behind the
/// point: those of the value itself, not zeros.
std::string scientificText(double value, FloatWidth width, int precision,
                           int least = 0);
/// What Python prints for a NumPy scalar: `1.0`, `1e+16`, `nan`. `bare`:
/// without the `.0`, as for the parts of complex numbers.
std::string scalarText(double value, FloatWidth width, bool bare);
/// As C++ streams print floats: six digits, `nan`, `-inf` (%g).
std::string streamText(double value);

} // namespace shardtype

#endif
