// RowPartsTest.cpp - a row with a part left out does not compile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts with a default (`linearity`, `open`) are not here: leaving one out is a
// warning of its own, and warnings are errors (-Wmissing-field-initializers).
#include "shardtype/Rules/Helpers.h"
#include <catch2/catch.hpp>

using namespace shardtype;

static constexpr Standard Common = {.shape = shape::operand,
                                    .dtype = dtype::operand,
                                    .weak = weak::all,
                                    .sharding = sharding::operand,
                                    .reduction = reduction::pass,
                                    .memory = memory::standard};

template <typename T>
concept CompleteRow = requires {
  T{.info = {"x", schemaOf<NoParams>},
    .decode = decodeFor<NoParams, 1>,
    .dims = unaryDims,
    .linearity = {},
    .open = OpenRule::Opaque,
    .type = Common};
};
template <typename T>
concept RowWithoutDecode = requires {
  T{.info = {"x", schemaOf<NoParams>},
    .dims = unaryDims,
    .linearity = {},
    .open = OpenRule::Opaque,
    .type = Common};
};
template <typename T>
concept RowWithoutDims = requires {
  T{.info = {"x", schemaOf<NoParams>},
    .decode = decodeFor<NoParams, 1>,
    .linearity = {},
    .open = OpenRule::Opaque,
    .type = Common};
};
template <typename T>
concept RowWithoutType = requires {
  T{.info = {"x", schemaOf<NoParams>},
    .decode = decodeFor<NoParams, 1>,
    .dims = unaryDims,
    .linearity = {},
    .open = OpenRule::Opaque};
};
template <typename T>
concept WithoutShape = requires {
  T{.dtype = dtype::operand,
    .weak = weak::all,
    .sharding = sharding::operand,
    .reduction = reduction::pass,
    .memory = memory::standard};
};
template <typename T>
concept WithoutReduction = requires {
  T{.shape = shape::operand,
    .dtype = dtype::operand,
    .weak = weak::all,
    .sharding = sharding::operand,
    .memory = memory::standard};
};
template <typename T>
concept WithoutMemory = requires {
  T{.shape = shape::operand,
    .dtype = dtype::operand,
    .weak = weak::all,
    .sharding = sharding::operand,
    .reduction = reduction::pass};
};
template <typename T>
concept FromNullptr = requires { T{nullptr}; };

TEST_CASE("a row must name every part") {
  STATIC_REQUIRE(CompleteRow<Primitive>);
  STATIC_REQUIRE_FALSE(RowWithoutDecode<Primitive>);
  STATIC_REQUIRE_FALSE(RowWithoutDims<Primitive>);
  STATIC_REQUIRE_FALSE(RowWithoutType<Primitive>);
  STATIC_REQUIRE_FALSE(WithoutShape<Standard>);
  STATIC_REQUIRE_FALSE(WithoutReduction<Standard>);
  STATIC_REQUIRE_FALSE(WithoutMemory<Standard>);
}

TEST_CASE("a rule is a function or a reason, never nothing") {
  using Dims = Rule<DimMap(TypingContext &)>;
  STATIC_REQUIRE_FALSE(FromNullptr<Dims>);
  STATIC_REQUIRE_FALSE(std::is_default_constructible_v<Dims>);
  Dims none = NoRule{NoRule::NotImplemented, "windows"};
  CHECK_FALSE(none);
  CHECK(none.none().why == "windows");
  CHECK(Dims(unaryDims));
}
