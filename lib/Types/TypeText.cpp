// TypeText.cpp - types as JAX prints them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Types/SizeText.h"
#include "shardtype/Types/Text.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

static void printAxes(raw_ostream &os, const Context &cx, const Mesh &mesh,
                      ArrayRef<uint8_t> axes) {
  if (axes.size() != 1)
    os << '(';
  llvm::interleave(
      axes, os, [&](uint8_t axis) { os << cx.str(mesh.axes[axis].name); }, ",");
  if (axes.size() != 1)
    os << ')';
}

std::string shardtype::str(const Context &cx, MeshId mesh,
                           ArrayRef<uint8_t> axes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printAxes(os, cx, cx.meshOrEmpty(mesh), axes);
  return text;
}

std::string shardtype::str(const Context &cx, MeshId mesh, AxisSet axes) {
  return str(cx, mesh, ArrayRef<uint8_t>(axes.list()));
}

static void printDims(raw_ostream &os, const Context &cx, const Type &type,
                      const Mesh &mesh) {
  os << '[';
  for (unsigned dim = 0; dim < type.rank(); ++dim) {
    if (dim)
      os << ',';
    if (Dim::isSymbolic(type.shape[dim]))
      os << cx.str(Dim::text(type.shape[dim]));
    else
      os << type.shape[dim];
    if (type.sharding.dims[dim].empty())
      continue;
    os << '@';
    printAxes(os, cx, mesh, type.sharding.dims[dim]);
  }
  os << ']';
}

/// `{V:i, U:(x,y), R:z}`. Axes of the spec and of the manual type are merged;
/// the suffix of U comes from the spec alone (spec 02, 2).
static void printSets(raw_ostream &os, const Context &cx, const Type &type,
                      const Mesh &mesh) {
  const Sharding &spec = type.sharding;
  const ManualAxisType &manual = type.manual;
  bool extreme =
      spec.kind == ReductionKind::Max || spec.kind == ReductionKind::Min;
  std::string unreduced = extreme ? "U_" + str(spec.kind).str() : "U";
  std::pair<StringRef, AxisSet> sets[] = {
      {"V", manual.varying},
      {unreduced, manual.unreduced | spec.unreduced},
      {"R", manual.reduced | spec.reduced}};
  bool any = false;
  for (auto &[name, axes] : sets) {
    if (axes.empty())
      continue;
    os << (any ? ", " : "{") << name << ':';
    printAxes(os, cx, mesh, axes.list());
    any = true;
  }
  if (any)
    os << '}';
}

static void printArray(raw_ostream &os, const Context &cx, const Type &type,
                       TypeForm form) {
  const Mesh &mesh = cx.meshOrEmpty(type.sharding.mesh);
  const DTypeInfo &dtype = info(type.dtype);
  os << (form == TypeForm::Long ? dtype.longName : dtype.shortName);
  constexpr StringRef Memory[] = {"", "<host>", "<any>"};
  os << Memory[static_cast<unsigned>(type.memory)];
  printDims(os, cx, type, mesh);
  printSets(os, cx, type, mesh);
}

void shardtype::print(raw_ostream &os, const Context &cx, TypeId id,
                      TypeForm form) {
  const Type *type = &cx.type(id);
  // Inside a Ref or Future it never shows that a type is weak.
  if (type->isArray() && type->weak && form == TypeForm::Long)
    os << '~';
  unsigned depth = 0;
  for (; type->kind == Type::Ref || type->kind == Type::Future; ++depth) {
    if (type->kind == Type::Future) {
      os << "AbstractFuture{";
      form = TypeForm::Short; // Whatever the form outside.
    } else if (type->text.valid()) {
      os << "Ref<" << cx.str(type->text) << ">{";
    } else {
      os << "Ref{";
    }
    type = &cx.type(type->inner);
  }
  if (type->isArray())
    printArray(os, cx, *type, form);
  else
    os << (type->kind == Type::Token ? "Tok" : cx.str(type->text));
  while (depth--)
    os << '}';
}

std::string shardtype::str(const Context &cx, TypeId type, TypeForm form) {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os, cx, type, form);
  return text;
}

std::string shardtype::axisTypesText(const Context &cx, const Mesh &mesh) {
  std::string text;
  llvm::raw_string_ostream os(text);
  SmallVector<AxisType, 3> order; // By first axis, as a Python dict has them.
  for (const MeshAxis &axis : mesh.axes)
    if (!llvm::is_contained(order, axis.type))
      order.push_back(axis.type);
  os << "({";
  for (AxisType type : order) {
    os << (type == order.front() ? "" : ", ") << str(type) << ": (";
    AxisList axes = mesh.axesOf(type).list();
    llvm::interleaveComma(axes, os, [&](uint8_t axis) {
      printQuoted(os, cx.str(mesh.axes[axis].name));
    });
    os << (axes.size() == 1 ? ",)" : ")");
  }
  os << "})";
  return text;
}

std::string shardtype::sizeText(const Context &cx, int64_t size) {
  return Dim::isSymbolic(size) ? cx.str(Dim::text(size)).str()
                               : std::to_string(size);
}

void shardtype::printQuoted(raw_ostream &os, StringRef text) {
  char quote = text.contains('\'') && !text.contains('"') ? '"' : '\'';
  os << quote;
  for (char c : text) {
    if (c == quote || c == '\\')
      os << '\\' << c;
    else if (c == '\n')
      os << "\\n";
    else if (c == '\t')
      os << "\\t";
    else if (c == '\r')
      os << "\\r";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      os << "\\x" << llvm::toHex(StringRef(&c, 1), /*LowerCase=*/true);
    else
      os << c;
  }
  os << quote;
}
