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
// struct (decodeParams). A key that no rule looks at is `ignored(...)`: of such
// a value only the form is checked, as of one that a rule reads by itself
// (`valueField`).
#ifndef SHARDTYPE_RULES_PARAMS_H
#define SHARDTYPE_RULES_PARAMS_H

#include "shardtype/Rules/Forms.h"
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
/// A field of a named tuple by name, as GatherDimensionNumbers.offset_dims.
const Value *structField(const Program &, const Value &, StringRef name);

template <typename P, typename T> struct TypedField {
  ParamField field;
  T P::*member;
};
/// A value that a rule reads by itself; null if it is absent.
template <typename P> struct ValueField {
  ParamField field;
  Form form;
  const Value *P::*member;
};
struct IgnoredField {
  ParamField field;
  Form form;
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
template <typename P>
constexpr ValueField<P> valueField(StringRef key, const Value *P::*member,
                                   Form form, Hide hide = Hide::Never,
                                   bool required = true) {
  return {{key, hide, ParamField::Generic, {}, required}, form, member};
}
template <typename P>
constexpr ValueField<P> optionalValue(StringRef key, const Value *P::*member,
                                      Form form, Hide hide = Hide::Never) {
  return valueField(key, member, form, hide, /*required=*/false);
}
constexpr IgnoredField ignored(StringRef key, Form form,
                               Hide hide = Hide::Never,
                               ParamField::Reads reads = ParamField::Generic,
                               StringRef printedAs = {}) {
  return {{key, hide, reads, printedAs, false}, form};
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
template <typename P, typename Base>
bool readField(const Program &program, ParamsId params, P &result,
               const ValueField<Base> &f, bool &missing) {
  ValueId id = program.param(params, f.field.key);
  missing = !id.valid();
  if (missing)
    return !f.field.required;
  result.*(f.member) = &program.value(id);
  return hasForm(program, program.value(id), f.form);
}
template <typename P>
bool readField(const Program &program, ParamsId params, P &,
               const IgnoredField &f, bool &) {
  ValueId id = program.param(params, f.field.key);
  return !id.valid() || hasForm(program, program.value(id), f.form);
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
