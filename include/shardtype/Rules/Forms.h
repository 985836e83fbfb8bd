// Forms.h - which kinds of value a parameter that no rule reads may have.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A parameter that changes no type must still be what JAX could have written:
// else the file is not the program it claims to be. Forms are wide where JAX
// is: its functions let `is_stable=1` through and print it so, and many
// parameters are Python objects of the user's.
#ifndef SHARDTYPE_RULES_FORMS_H
#define SHARDTYPE_RULES_FORMS_H

#include "shardtype/IR/Program.h"

namespace shardtype {

/// Kinds of a value, and of the elements if it is a tuple or a list.
struct Form {
  uint64_t kinds = 0;
  uint64_t elements = 0; // None: it may not be a tuple or a list.
};

namespace form {
template <typename... Kinds> constexpr uint64_t bits(Kinds... kinds) {
  return (... | (uint64_t(1) << kinds));
}
using V = Value;
inline constexpr uint64_t Lists = bits(V::Tuple, V::List);
inline constexpr uint64_t Flag = bits(V::Bool, V::Int);
inline constexpr uint64_t Number =
    bits(V::Bool, V::Int, V::BigInt, V::Float, V::Complex, V::OpaqueText);
/// A Python object: by its name, its text, or not at all.
inline constexpr uint64_t Object =
    bits(V::None, V::Str, V::Enum, V::Struct, V::Callable, V::Opaque,
         V::OpaqueText, V::Raw);
inline constexpr uint64_t ShardingLike =
    bits(V::None, V::Unspecified, V::Sharding, V::Opaque, V::OpaqueText);

inline constexpr Form any = {~uint64_t(0), ~uint64_t(0)};
inline constexpr Form flag = {Flag};
inline constexpr Form flags = {Flag, Flag}; // One, or one for each.
inline constexpr Form integer = {Flag};     // In Python a bool is an int.
inline constexpr Form number = {Number | bits(V::None, V::Str, V::Array)};
inline constexpr Form object = {Object};
/// A choice: the member of an enum, or its name or number, or None.
inline constexpr Form choice = {Object | Flag};
inline constexpr Form choices = {Object | Flag, Object | Flag};
inline constexpr Form name = {Object | bits(V::Prng)};
/// Names of mesh axes: one, several, or a set.
inline constexpr Form axes = {bits(V::Str, V::Set, V::OpaqueText) | Lists,
                              bits(V::Str, V::Int, V::OpaqueText)};
inline constexpr Form list = {bits(V::None), ~uint64_t(0)};
inline constexpr Form pairs = {Lists, Lists};
inline constexpr Form dtype = {
    bits(V::DType, V::Str, V::OpaqueText, V::Enum, V::List)};
inline constexpr Form jaxpr = {bits(V::None, V::Jaxpr, V::OpaqueText)};
inline constexpr Form mesh = {
    bits(V::None, V::Mesh, V::Opaque, V::OpaqueText, V::Unspecified) | Lists};
inline constexpr Form meshes = {mesh.kinds, mesh.kinds};
inline constexpr Form numbers = {bits(V::Struct, V::OpaqueText)};
inline constexpr Form sharding = {bits(V::Sharding, V::Opaque, V::OpaqueText)};
inline constexpr Form shardings = {bits(V::None, V::Unspecified), ShardingLike};
inline constexpr Form destinations = {0, ShardingLike | Object};
inline constexpr Form layouts = {Object | bits(V::Unspecified),
                                 Object | bits(V::Unspecified)};
inline constexpr Form tree = {
    bits(V::None, V::TreeDef, V::Opaque, V::OpaqueText, V::Raw)};
/// A type, or a list of them, which a text abbreviates.
inline constexpr Form avals = {bits(V::None, V::Type, V::OpaqueText),
                               ~uint64_t(0)};
inline constexpr Form leaves = {bits(V::None, V::FlatTree)};
} // namespace form

/// Whether a value has a form. What a printed program hides has any.
bool hasForm(const Program &program, const Value &value, const Form &form);

} // namespace shardtype

#endif
