// Text.h - printing and parsing of types, specs and meshes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TYPES_TEXT_H
#define SHARDTYPE_TYPES_TEXT_H

#include "shardtype/Types/Context.h"

namespace shardtype {

/// Short: `f32[8@X]`, as in jaxprs. Long: `float32[8@X]`, `~` when weak, as
/// `str(jax.typeof(x))` (spec 01, 1.2).
enum class TypeForm { Short, Long };

void print(raw_ostream &os, const Context &cx, TypeId type,
           TypeForm form = TypeForm::Short);
std::string str(const Context &cx, TypeId type,
                TypeForm form = TypeForm::Short);
/// `P('X', None, unreduced={'Y'}, unreduced_kind=sum)` (spec 04, 4.6); names in
/// sets are printed in the order held.
void print(raw_ostream &os, const Context &cx, const PartitionSpec &spec);
std::string str(const Context &cx, const PartitionSpec &spec);
/// `AbstractMesh('X': 4, axis_types=(Explicit,))` or `Mesh(...)`. `repr` is the
/// form of a concrete mesh inside containers.
void print(raw_ostream &os, const Context &cx, const Mesh &mesh,
           bool repr = false);
std::string str(const Context &cx, const Mesh &mesh);
/// `X=4, Y=2:Auto`: for people, and what `--mesh` takes.
std::string shortMesh(const Context &cx, const Mesh &mesh);
/// `X`, or `(X,Y)` in mesh order, as in `{U:(X,Y)}`.
std::string str(const Context &cx, MeshId mesh, AxisSet axes);
/// `X`, or `(Y,X)` in the order held, as in `8@(Y,X)`.
std::string str(const Context &cx, MeshId mesh, ArrayRef<uint8_t> axes);

/// `({Explicit: ('x',), Auto: ('y',)})`: what follows a type where JAX prints
/// the types of its mesh's axes (spec 01, 1.1).
std::string axisTypesText(const Context &cx, const Mesh &mesh);
/// A string as Python's `repr` shows it.
void printQuoted(raw_ostream &os, StringRef text);

/// Why a text is no type, spec or mesh: what is wrong, and where in the text.
struct TextError {
  std::string message; // Lower case, no full stop.
  size_t offset = 0;   // Bytes from the start of the text.
};
template <typename T> struct TextResult {
  std::optional<T> value; // Empty: see `error`.
  TextError error;
  explicit operator bool() const { return value.has_value(); }
  T &operator*() { return *value; }
  T *operator->() { return &*value; }
};

/// Parses one type from the start of `text`. Axis names are looked up in
/// `mesh` (invalid: a type that names an axis is an error). Sets `length` to
/// the bytes read; with `length` null the whole text must be the type. Names
/// after V, and those after U and R that are Manual in the mesh, belong to the
/// manual axis type (spec 04, 5.8).
TextResult<TypeId> parseType(Context &cx, StringRef text, MeshId mesh,
                             size_t *length = nullptr);
/// `P('X', None, ('X','Y'))`; quotes may be left out. Same `length` rule.
TextResult<PartitionSpec> parseSpec(Context &cx, StringRef text,
                                    size_t *length = nullptr);
/// `X=4,Y=2:Auto` or `X=4 Y=2:Auto` (spaces and commas part axes).
TextResult<MeshId> parseMesh(Context &cx, StringRef text);
/// `AbstractMesh('X': 2, axis_types=(Explicit,))`, `Mesh('X': 2, ...)`,
/// `Mesh()` and the repr form. Same `length` rule.
TextResult<MeshId> parseMeshRepr(Context &cx, StringRef text,
                                 size_t *length = nullptr);

} // namespace shardtype

#endif
