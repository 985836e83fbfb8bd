// Params.h - from interned parameter values to a row's plain struct.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row's parameters are a struct with one static list, in JAX's key order:
//
//   struct ReduceSum {
//     SmallVector<int64_t> axes;
//     ShardingParam outSharding;
//     static constexpr auto fields = std::tuple(
//         field("axes", &ReduceSum::axes),
//         field("out_sharding", &ReduceSum::outSharding));
//   };
//   ... .info = {"reduce_sum", schemaOf<ReduceSum>},
//       .decode = decodeParams<ReduceSum>, ...
//
// The list gives printing and reading what they need (schemaOf) and fills the
// struct (decodeParams). A key that no rule looks at is `ignored(...)`.
#ifndef SHARDTYPE_RULES_PARAMS_H
#define SHARDTYPE_RULES_PARAMS_H

#include "shardtype/Rules/TypingContext.h"
#include <array>
#include <tuple>

namespace shardtype {

/// dot_general's dimension_numbers.
struct DotDims {
  SmallVector<int64_t, 2> lhsContract, rhsContract, lhsBatch, rhsBatch;
};
/// The member of an enum, or a string: `CLIP` of `GatherScatterMode.CLIP`.
struct EnumParam {
  StringRef name;
};

// One reader per type of member: false if the value is no such thing. `Hidden`
// values read as the member's default, except that ShardingParam keeps it.
bool readParam(const Program &, const Value &, bool &);
bool readParam(const Program &, const Value &, int64_t &);
bool readParam(const Program &, const Value &, std::optional<int64_t> &);
bool readParam(const Program &, const Value &, SmallVectorImpl<int64_t> &);
bool readParam(const Program &, const Value &,
               std::optional<SmallVector<int64_t, 4>> &);
/// Nested: padding_config, `((lo, hi, interior), ...)`.
bool readParam(const Program &, const Value &,
               SmallVectorImpl<SmallVector<int64_t, 3>> &);
bool readParam(const Program &, const Value &, DType &);
bool readParam(const Program &, const Value &, std::optional<DType> &);
bool readParam(const Program &, const Value &, EnumParam &);
bool readParam(const Program &, const Value &, StringRef &);
bool readParam(const Program &, const Value &, DotDims &);
bool readParam(const Program &, const Value &, ShardingParam &);
bool readParam(const Program &, const Value &, PartitionSpec &);
bool readParam(const Program &, const Value &, JaxprId &);
bool readParam(const Program &, const Value &, SmallVectorImpl<JaxprId> &);
bool readParam(const Program &, const Value &, const Value *&);
/// A field of a named tuple by name, as GatherDimensionNumbers.offset_dims.
const Value *structField(const Program &, const Value &, StringRef name);

template <typename P, typename T> struct TypedField {
  ParamField field;
  T P::*member;
};
struct IgnoredField {
  ParamField field;
};
template <typename P, typename T>
constexpr TypedField<P, T>
field(StringRef key, T P::*member, Hide hide = Hide::Never,
      ParamField::Reads reads = ParamField::Generic, bool required = true) {
  return {{key, hide, reads, {}, required}, member};
}
/// A parameter that may be absent, as files of older versions have it.
template <typename P, typename T>
constexpr TypedField<P, T>
optionalField(StringRef key, T P::*member, Hide hide = Hide::Never,
              ParamField::Reads reads = ParamField::Generic) {
  return {{key, hide, reads, {}, false}, member};
}
constexpr IgnoredField ignored(StringRef key, Hide hide = Hide::Never,
                               ParamField::Reads reads = ParamField::Generic,
                               StringRef printedAs = {}) {
  return {{key, hide, reads, printedAs, false}};
}

namespace detail {
template <typename P>
inline constexpr auto fieldArray = std::apply(
    [](const auto &...fields) {
      return std::array<ParamField, sizeof...(fields)>{fields.field...};
    },
    P::fields);

/// Reports that `key` is missing or of the wrong form.
LogicalResult badParam(TypingContext &cx, StringRef key, bool missing);

/// `Base` is P, or a struct P has its first members from.
template <typename P, typename Base, typename T>
bool readField(const Program &program, ParamsId params, P &result,
               const TypedField<Base, T> &f, bool &missing) {
  ValueId id = program.param(params, f.field.key);
  missing = !id.valid();
  if (missing)
    return !f.field.required;
  return readParam(program, program.value(id), result.*(f.member));
}
template <typename P>
bool readField(const Program &, ParamsId, P &, const IgnoredField &, bool &) {
  return true;
}
} // namespace detail

template <typename P>
inline constexpr ParamSchema schemaOf = {ArrayRef<ParamField>(
    detail::fieldArray<P>.data(), detail::fieldArray<P>.size())};

/// Reads all fields of P; the first that does not fit is reported.
template <typename P>
FailureOr<std::shared_ptr<const void>> decodeParams(TypingContext &cx) {
  auto result = std::make_shared<P>();
  StringRef bad;
  bool badMissing = false;
  auto one = [&](const auto &f) {
    bool missing = false;
    if (!detail::readField(cx.program(), cx.paramsId(), *result, f, missing) &&
        bad.empty()) {
      bad = f.field.key;
      badMissing = missing;
    }
  };
  std::apply([&](const auto &...fields) { (one(fields), ...); }, P::fields);
  if (!bad.empty())
    return detail::badParam(cx, bad, badMissing);
  return std::shared_ptr<const void>(std::move(result));
}

/// For primitives without parameters.
struct NoParams {
  static constexpr auto fields = std::tuple();
};
template <>
inline constexpr ParamSchema schemaOf<NoParams> = {ArrayRef<ParamField>()};

} // namespace shardtype

#endif
