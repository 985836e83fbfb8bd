// PlainKernelsTest.cpp - kernels against the plain evaluator.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PlainFixture.h"

using namespace shardtype;

static const DType All[] = {DType::F32,
                            DType::F64,
                            DType::BF16,
                            DType::F16,
                            DType::F8E4M3FN,
                            DType::F8E5M2,
                            DType::F8E4M3B11FNUZ,
                            DType::F8E3M4,
                            DType::F8E4M3FNUZ,
                            DType::I4,
                            DType::U4,
                            DType::I8,
                            DType::U8,
                            DType::I16,
                            DType::I32,
                            DType::U32,
                            DType::I64,
                            DType::U64,
                            DType::Bool,
                            DType::C64,
                            DType::C128};
static const DType Summed[] = {DType::F32, DType::BF16, DType::F8E4M3FN,
                               DType::I4,  DType::U8,   DType::I32,
                               DType::C64};

//===--- Elementwise ------------------------------------------------------===//

/// All patterns of a dtype of at most 16 bits, else its edge values.
static std::vector<plain::Number> valuesOf(DType dtype, unsigned most) {
  unsigned bits = info(dtype).bits;
  if (bits > most || dtype == DType::Bool)
    return edgesOf(dtype);
  std::vector<plain::Number> values;
  for (uint64_t pattern = 0; pattern < 1ull << bits; ++pattern)
    values.push_back(isInteger(dtype)
                         ? plain::rounded(dtype, {0, 0, plain::Wide(pattern)})
                         : plain::fromBits(dtype, pattern));
  return values;
}

static Tensor listed(DType dtype, ArrayRef<plain::Number> values) {
  Tensor result = Tensor::zeros(dtype, {static_cast<int64_t>(values.size())});
  for (auto [i, x] : llvm::enumerate(values))
    plain::store(result, i, x);
  return result;
}

static std::string ofOne(const std::string &equation, DType dtype,
                         size_t size) {
  return "{ lambda ; a:" + shapeText(dtype, {static_cast<int64_t>(size)}) +
         ". let b = " + equation + " a in (b,) }";
}

TEST_CASE("one operand: every value of up to 16 bits") {
  const StringRef exact[] = {
      "neg",
      "abs",
      "sign",
      "floor",
      "ceil",
      "round[rounding_method=0]",
      "round[rounding_method=1]",
      "square",
      "sqrt",
      "is_finite",
      "not",
      "clz",
      "population_count",
      "real",
      "imag",
      "copy",
      "stop_gradient",
      "integer_pow[y=2]",
      "integer_pow[y=3]",
      "integer_pow[y=0]",
      "integer_pow[y=7]",
      "reduce_precision[exponent_bits=5 mantissa_bits=10]",
      "reduce_precision[exponent_bits=4 mantissa_bits=2]",
      "reduce_precision[exponent_bits=8 mantissa_bits=0]"};
  for (StringRef name : exact) {
    Both both;
    for (DType dtype : All) {
      // Complex products and roots are not bit for bit.
      bool rounds = !name.starts_with("neg") && !name.starts_with("real") &&
                    name != "imag" && name != "copy" && name != "stop_gradient";
      if (isComplex(dtype) && rounds)
        continue;
      std::vector<plain::Number> values = valuesOf(dtype, 16);
      both.run(ofOne(name.str(), dtype, values.size()),
               [&](DType, ArrayRef<int64_t>, unsigned) {
                 return listed(dtype, values);
               });
    }
    INFO(name.str());
    CHECK(both.compared >= 2);
  }
}

TEST_CASE("one operand: functions of floats, within 4 steps") {
  std::vector<StringRef> names = {"rsqrt", "cbrt", "integer_pow[y=-1]",
                                  "integer_pow[y=-3]", "one_minus_square"};
  llvm::append_range(names, FloatFunctions);
  Tolerance close{.ulps = 4, .exactZeros = true, .ignoreTiny = true};
  for (StringRef name : names) {
    Both both;
    for (DType dtype : {DType::F32, DType::F64, DType::BF16, DType::F16}) {
      std::vector<plain::Number> values = valuesOf(dtype, 16);
      both.run(
          ofOne(name.str(), dtype, values.size()),
          [&](DType, ArrayRef<int64_t>, unsigned) {
            return listed(dtype, values);
          },
          close);
    }
    INFO(name.str());
    CHECK(both.compared == 4);
  }
}

TEST_CASE("two operands: every pair of edge values, of up to 8 bits all") {
  const StringRef exact[] = {"add",
                             "sub",
                             "mul",
                             "div",
                             "rem",
                             "max",
                             "min",
                             "and",
                             "or",
                             "xor",
                             "shift_left",
                             "shift_right_logical",
                             "shift_right_arithmetic",
                             "mulhi",
                             "nextafter",
                             "eq",
                             "ne",
                             "lt",
                             "le",
                             "gt",
                             "ge",
                             "eq_to",
                             "lt_to",
                             "le_to",
                             "add_any",
                             "complex",
                             "pow",
                             "atan2"};
  Tolerance close{.ulps = 2, .exactZeros = true};
  for (StringRef name : exact) {
    Both both;
    for (DType dtype : All) {
      if (isComplex(dtype) &&
          (name == "mul" || name == "div" || name == "pow" || name == "atan2"))
        continue;
      bool isShort =
          info(dtype).bits <= 8 &&
          (dtype == DType::F8E4M3FN || dtype == DType::F8E5M2 ||
           dtype == DType::I8 || dtype == DType::U8 || dtype == DType::I4);
      std::vector<plain::Number> values = valuesOf(dtype, isShort ? 8 : 0);
      size_t n = values.size();
      std::string type = shapeText(dtype, {static_cast<int64_t>(n * n)});
      both.run(
          "{ lambda ; a:" + type + " b:" + type + ". let c = " + name.str() +
              " a b in (c,) }",
          [&](DType, ArrayRef<int64_t>, unsigned argument) {
            std::vector<plain::Number> list;
            for (size_t i = 0; i < n * n; ++i)
              list.push_back(values[argument ? i % n : i / n]);
            return listed(dtype, list);
          },
          name == "pow" || name == "atan2" ? close : Exactly);
    }
    INFO(name.str());
    CHECK(both.compared >= 2);
  }
}

TEST_CASE("complex numbers: within 8 spacings of the modulus") {
  Tolerance close{.relative = 1e-6};
  Both both;
  std::vector<plain::Number> values = edgesOf(DType::C64, /*finite=*/true);
  size_t n = values.size();
  for (StringRef name : {"add", "sub", "mul", "div", "atan2", "exp", "log",
                         "sin", "cos", "tanh", "sqrt", "rsqrt", "abs", "sign",
                         "square", "conj[input_dtype=complex64]"}) {
    bool two = plain::binaryNamed(name) != nullptr;
    std::string type = shapeText(DType::C64, {static_cast<int64_t>(n * n)});
    both.run(
        "{ lambda ; a:" + type + " b:" + type + ". let c = " + name.str() +
            (two ? " a b" : " a") + " in (c,) }",
        [&](DType, ArrayRef<int64_t>, unsigned argument) {
          std::vector<plain::Number> list;
          for (size_t i = 0; i < n * n; ++i)
            list.push_back(values[argument ? i % (n - 2) + 2 : i / n]);
          return listed(DType::C64, list);
        },
        close);
  }
  CHECK(both.compared == 16);
}

TEST_CASE("conversions: every pair of dtypes, every value of up to 16 bits") {
  Both both;
  for (DType from : All)
    for (DType to : All) {
      std::vector<plain::Number> values = valuesOf(from, 16);
      auto fill = [&](DType, ArrayRef<int64_t>, unsigned) {
        return listed(from, values);
      };
      both.run(ofOne("convert_element_type[new_dtype=" +
                         info(to).longName.str() + " weak_type=False]",
                     from, values.size()),
               fill);
      if (info(from).bits == info(to).bits && from != DType::Bool &&
          !isComplex(from) && !isComplex(to))
        both.run(ofOne("bitcast_convert_type[new_dtype=" +
                           info(to).longName.str() + "]",
                       from, values.size()),
                 fill);
    }
  CHECK(both.compared >= std::size(All) * std::size(All));
}

TEST_CASE("select_n and clamp") {
  Both both;
  for (DType dtype : All) {
    std::string type = shapeText(dtype, {48});
    both.run("{ lambda ; w:bool[48] a:" + type + " b:" + type +
             ". let c = select_n w a b in (c,) }");
    both.run("{ lambda ; w:i32[48] a:" + type + " b:" + type + " c:" + type +
             ". let d = select_n w a b c in (d,) }");
    both.run("{ lambda ; w:i32[] a:" + type + " b:" + type + " c:" + type +
             ". let d = select_n w a b c in (d,) }");
    both.run("{ lambda ; a:" + type + " b:" + type + " c:" + type +
             ". let d = clamp a b c in (d,) }");
    std::string scalar = shapeText(dtype, {});
    both.run("{ lambda ; a:" + scalar + " b:" + type + " c:" + scalar +
             ". let d = clamp a b c in (d,) }");
  }
  CHECK(both.compared >= 3 * std::size(All));
}

//===--- Reductions -------------------------------------------------------===//

TEST_CASE("reductions: all shapes, all choices of dims") {
  Both both;
  for (unsigned rank = 1; rank <= 3; ++rank)
    for (const Shape &shape : shapesOf(rank, 0, rank == 3 ? 2 : 3))
      for (ArrayRef<int64_t> axes : subsetsOf(rank))
        for (DType dtype : Summed)
          for (StringRef name : {"sum", "prod", "max", "min"}) {
            std::string text =
                "{ lambda ; a:" + shapeText(dtype, shape) +
                ". let b = reduce_" + name.str() + "[axes=" + tupleText(axes) +
                (name == "sum" ? " out_sharding=None" : "") + "] a in (b,) }";
            both.run(text, isComplex(dtype) ? small : edges);
          }
  CHECK(both.compared > 5000);
  unsigned before = both.compared;
  for (DType dtype : {DType::Bool, DType::I8, DType::U32})
    for (const Shape &shape : shapesOf(2, 0, 3))
      for (ArrayRef<int64_t> axes : subsetsOf(2))
        for (StringRef name : {"and", "or", "xor"})
          both.run("{ lambda ; a:" + shapeText(dtype, shape) +
                   ". let b = reduce_" + name.str() +
                   "[axes=" + tupleText(axes) + "] a in (b,) }");
  CHECK(both.compared == before + 3 * 16 * 4 * 3);
}

TEST_CASE("reductions of long dims have JAX's order") {
  Both both;
  Filler fractions = [](DType dtype, ArrayRef<int64_t> shape, unsigned) {
    Tensor x = Tensor::zeros(dtype, shape);
    for (int64_t i = 0; i < x.size(); ++i)
      plain::store(x, i, {double((i * 7919) % 101) / 37 - 1, 0, 0});
    return x;
  };
  for (DType dtype : {DType::F32, DType::BF16, DType::F16, DType::F64})
    for (const Shape &shape : {Shape{33}, Shape{100}, Shape{1100}, Shape{3, 70},
                               Shape{70, 3}, Shape{40, 40}, Shape{2, 35, 3}})
      for (ArrayRef<int64_t> axes : subsetsOf(shape.size()))
        both.run("{ lambda ; a:" + shapeText(dtype, shape) +
                     ". let b = reduce_sum[axes=" + tupleText(axes) +
                     " out_sharding=None] a in (b,) }",
                 fractions);
  CHECK(both.compared == 4 * (3 * 2 + 3 * 4 + 8));
}

TEST_CASE("argmax and argmin: ties, NaN, small index dtypes") {
  Both both;
  for (unsigned rank = 1; rank <= 3; ++rank)
    for (const Shape &shape : shapesOf(rank, rank == 3 ? 1 : 0, 3))
      for (unsigned axis = 0; axis < rank; ++axis)
        for (DType dtype : {DType::F32, DType::BF16, DType::F8E5M2, DType::I8,
                            DType::U32, DType::Bool})
          for (StringRef name : {"argmax", "argmin"})
            both.run(
                "{ lambda ; a:" + shapeText(dtype, shape) +
                ". let b = " + name.str() + "[axes=" + tupleText({axis}) +
                " index_dtype=" + (dtype == DType::I8 ? "uint8" : "int32") +
                "] a in (b,) }");
  CHECK(both.compared > 1000);
}

TEST_CASE("cumulative operations, also over several tiles") {
  Both both;
  std::vector<Shape> shapes = shapesOf(2, 0, 3);
  shapes.insert(shapes.end(), {{40}, {3, 35}, {300}});
  for (const Shape &shape : shapes)
    for (unsigned axis = 0; axis < shape.size(); ++axis)
      for (DType dtype : Summed)
        for (StringRef name : {"cumsum", "cumprod", "cummax", "cummin"}) {
          if (isComplex(dtype) && shape.size() == 1)
            continue; // Such products overflow.
          for (StringRef reverse : {"False", "True"})
            both.run("{ lambda ; a:" + shapeText(dtype, shape) + ". let b = " +
                         name.str() + "[axis=" + std::to_string(axis) +
                         " reverse=" + reverse.str() + "] a in (b,) }",
                     isComplex(dtype) ? small : edges);
        }
  CHECK(both.compared > 1500);
  Tolerance close{.ulps = 4, .exactZeros = true};
  unsigned before = both.compared;
  for (DType dtype : {DType::F32, DType::BF16, DType::F64})
    for (const Shape &shape : shapes)
      for (StringRef reverse : {"False", "True"})
        both.run("{ lambda ; a:" + shapeText(dtype, shape) +
                     ". let b = cumlogsumexp[axis=0 reverse=" + reverse.str() +
                     "] a in (b,) }",
                 edges, close);
  CHECK(both.compared == before + 3 * shapes.size() * 2);
}

TEST_CASE("sort, top_k: several keys, ties, NaN") {
  Both both;
  for (const Shape &shape : {Shape{0}, Shape{1}, Shape{25}, Shape{3, 3},
                             Shape{2, 25}, Shape{5, 2, 3}, Shape{70}})
    for (unsigned dim = 0; dim < shape.size(); ++dim)
      for (DType dtype : All) {
        std::string a = shapeText(dtype, shape),
                    b = shapeText(DType::I32, shape), at = std::to_string(dim);
        both.run("{ lambda ; a:" + a + ". let b = sort[dimension=" + at +
                 " is_stable=True num_keys=1] a in (b,) }");
        for (StringRef keys : {"1", "2"})
          both.run("{ lambda ; a:" + a + " b:" + b +
                   ". let c d = sort[dimension=" + at +
                   " is_stable=True num_keys=" + keys.str() +
                   "] a b in (c, d) }");
        for (int64_t k = 0; k <= std::min<int64_t>(shape[dim], 3); ++k)
          both.run("{ lambda ; a:" + a + ". let b c = top_k[axis=" + at +
                   " is_stable=True k=" + std::to_string(k) +
                   "] a in (b, c) }");
      }
  CHECK(both.compared > 1000);
}
