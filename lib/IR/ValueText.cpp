// ValueText.cpp - parameter values as Python's `str` and `repr` print them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ValueText.h"
#include "shardtype/IR/Printer.h"
#include "shardtype/Types/Text.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

std::string shardtype::maskAddresses(StringRef text) {
  constexpr StringRef Mark = " at 0x";
  std::string masked;
  for (size_t at; (at = text.find(Mark)) != StringRef::npos;) {
    size_t digits = at + Mark.size();
    masked += text.take_front(digits);
    text = text.drop_front(digits);
    size_t count = text.find_if_not([](char c) { return llvm::isHexDigit(c); });
    count = std::min(count, text.size());
    masked.append(count, 'X');
    text = text.drop_front(count);
  }
  masked += text;
  return masked;
}

/// How the enums that are not printed Python's way print.
namespace {
struct EnumPrint {
  StringRef name;
  enum Form : uint8_t { Dotted, Member, Number } str; // Elsewhere.
  enum Nested : uint8_t { Python, DottedToo, MemberToo } repr;
};
} // namespace

static constexpr EnumPrint Enums[] = {
    {"Precision", EnumPrint::Member, EnumPrint::DottedToo},
    {"DotAlgorithmPreset", EnumPrint::Member, EnumPrint::DottedToo},
    {"RandomAlgorithm", EnumPrint::Member, EnumPrint::Python},
    {"RoundingMethod", EnumPrint::Number, EnumPrint::Python},
    {"FftType", EnumPrint::Number, EnumPrint::Python},
    {"AxisType", EnumPrint::Dotted, EnumPrint::MemberToo},
    {"MemorySpace", EnumPrint::Dotted, EnumPrint::DottedToo},
    {"ArrayCopySemantics", EnumPrint::Dotted, EnumPrint::DottedToo}};

static EnumPrint enumPrint(StringRef name) {
  for (const EnumPrint &print : Enums)
    if (print.name == name)
      return print;
  return {name, EnumPrint::Dotted, EnumPrint::Python};
}

bool shardtype::printsAsMember(StringRef enumClass) {
  return enumPrint(enumClass).repr == EnumPrint::DottedToo;
}

static void printEnum(raw_ostream &os, StringRef name, StringRef member,
                      int64_t value, bool nested) {
  EnumPrint how = enumPrint(name);
  if (!nested) {
    if (how.str == EnumPrint::Number)
      os << value;
    else if (how.str == EnumPrint::Member)
      os << member;
    else
      os << name << '.' << member;
    return;
  }
  if (how.repr == EnumPrint::MemberToo)
    os << member;
  else if (how.repr == EnumPrint::DottedToo)
    os << name << '.' << member;
  else
    os << '<' << name << '.' << member << ": " << value << '>';
}

/// NumPy's own dtypes print with quotes, those of ml_dtypes without.
static void printDType(raw_ostream &os, StringRef name, bool nested) {
  bool float0 = name == "float0" || name == "void";
  StringRef shown = float0 ? "[('float0', 'V')]" : name;
  if (!nested || name.starts_with("key<")) {
    os << shown;
    return;
  }
  bool own = name.starts_with("float4") || name.starts_with("float6") ||
             name.starts_with("float8") || name == "bfloat16" ||
             name.ends_with("int2") || name.ends_with("int4");
  StringRef quote = float0 || own ? "" : "'";
  os << "dtype(" << quote << shown << quote << ')';
}

/// A part of a complex number prints as a float without a fraction of zero.
static StringRef complexPart(StringRef text) {
  text.consume_back(".0");
  return text;
}

static void printComplex(raw_ostream &os, StringRef real, StringRef imag) {
  real = complexPart(real);
  imag = complexPart(imag);
  if (real == "0") {
    os << imag << 'j';
    return;
  }
  os << '(' << real << (imag.starts_with("-") ? "" : "+") << imag << "j)";
}

void ValueText::printItems(raw_ostream &os, ArrayRef<ValueId> items) const {
  llvm::interleaveComma(items, os, [&](ValueId item) { repr(os, item); });
}

void ValueText::printSet(raw_ostream &os, const Value &v, bool nested) const {
  // JAX sorts the members of a parameter, and writes the braces of an empty
  // one; inside containers Python prints.
  if (nested && v.elements.empty()) {
    os << "frozenset()";
    return;
  }
  SmallVector<ValueId, 4> members(v.elements.begin(), v.elements.end());
  auto before = [&](ValueId a, ValueId b) {
    const Value &x = program_.value(a), &y = program_.value(b);
    if (x.kind == Value::Int && y.kind == Value::Int)
      return x.integer < y.integer;
    return x.kind == Value::Str && y.kind == Value::Str &&
           text(x.text) < text(y.text);
  };
  if (!nested)
    llvm::stable_sort(members, before);
  os << "frozenset({";
  printItems(os, members);
  os << "})";
}

void ValueText::printFields(raw_ostream &os, const Value &v,
                            StringRef separator) const {
  StringRef between = "";
  for (auto [name, element] : llvm::zip(v.names, v.elements)) {
    if (text(name).starts_with("$"))
      continue; // The types of a high-level primitive.
    os << between << text(name) << '=';
    repr(os, element);
    between = separator;
  }
}

void ValueText::printSharding(raw_ostream &os, const Value &v) const {
  const Context &cx = program_.context();
  os << "NamedSharding(mesh=";
  shardtype::print(os, cx,
                   cx.meshOrEmpty(MeshId(static_cast<uint32_t>(v.integer))));
  os << ", spec=";
  if (!v.elements.empty())
    repr(os, v.elements[0]);
  if (v.text.valid())
    os << ", memory_kind=" << text(v.text);
  os << ')';
}

void ValueText::printOpaque(raw_ostream &os, const Value &v,
                            bool nested) const {
  size_t index = static_cast<size_t>(v.integer);
  if (v.integer < 0 || index >= program_.opaques.size()) {
    os << text(v.text);
    return;
  }
  const OpaqueObject &object = program_.opaques[index];
  os << maskAddresses(
      text(!nested && object.str.valid() ? object.str : object.repr));
}

void ValueText::printScalar(raw_ostream &os, const Value &v,
                            bool nested) const {
  switch (v.kind) {
  case Value::None:
    os << "None";
    return;
  case Value::Bool:
    os << (v.text.valid() ? text(v.text) : v.integer ? "True" : "False");
    return;
  case Value::Int:
    if (v.text.valid())
      os << text(v.text);
    else
      os << v.integer;
    return;
  case Value::Complex:
    if (v.elements.size() == 2)
      printComplex(os, text(program_.value(v.elements[0]).text),
                   text(program_.value(v.elements[1]).text));
    return;
  case Value::Str:
    if (nested)
      printQuoted(os, text(v.text));
    else
      os << text(v.text);
    return;
  case Value::DType:
    return printDType(os, text(v.text), nested);
  case Value::Enum:
    return printEnum(os, text(v.text), text(v.text2), v.integer, nested);
  default:
    os << text(v.text);
  }
}

void ValueText::printContainer(raw_ostream &os, const Value &v,
                               bool nested) const {
  switch (v.kind) {
  case Value::Tuple:
    os << '(';
    printItems(os, v.elements);
    os << (v.elements.size() == 1 ? ",)" : ")");
    return;
  case Value::List:
    os << '[';
    printItems(os, v.elements);
    os << ']';
    return;
  case Value::Dict:
    os << '{';
    for (size_t i = 0; i + 1 < v.elements.size(); i += 2) {
      os << (i ? ", " : "");
      repr(os, v.elements[i]);
      os << ": ";
      repr(os, v.elements[i + 1]);
    }
    os << '}';
    return;
  case Value::Set:
    return printSet(os, v, nested);
  case Value::HiPrim:
    os << text(v.text);
    if (v.names.empty() || text(v.names[0]).starts_with("$"))
      return;
    os << '[';
    printFields(os, v, " ");
    os << ']';
    return;
  default:
    os << text(v.text) << '(';
    printFields(os, v, ", ");
    os << ')';
  }
}

void ValueText::printTyped(raw_ostream &os, const Value &v, bool nested) const {
  const Context &cx = program_.context();
  if (v.kind == Value::Spec) {
    shardtype::print(os, cx, program_.spec(v));
  } else if (v.kind == Value::Sharding) {
    printSharding(os, v);
  } else if (v.kind == Value::Mesh) {
    MeshId mesh(static_cast<uint32_t>(v.integer));
    shardtype::print(os, cx, cx.meshOrEmpty(mesh), nested);
  } else {
    TypeId id(static_cast<uint32_t>(v.integer));
    if (!nested)
      return shardtype::print(os, cx, id, TypeForm::Long);
    StringRef type = cx.type(id).weak ? ", weak_type=True" : "";
    std::string shape = shardtype::str(cx, id, TypeForm::Long);
    os << "ShapedArray(" << StringRef(shape).ltrim('~') << type << ')';
  }
}

void ValueText::print(raw_ostream &os, ValueId id, bool nested) const {
  const Value &v = program_.value(id);
  switch (v.kind) {
  case Value::Tuple:
  case Value::List:
  case Value::Dict:
  case Value::Set:
  case Value::Struct:
  case Value::HiPrim:
    return printContainer(os, v, nested);
  case Value::Jaxpr:
    return jaxpr_(os, JaxprId(static_cast<uint32_t>(v.integer)));
  case Value::Spec:
  case Value::Sharding:
  case Value::Mesh:
  case Value::Type:
    return printTyped(os, v, nested);
  case Value::Array:
    os << "[...]"; // As array literals print; the elements are not text.
    return;
  case Value::Callable:
  case Value::Opaque:
    return printOpaque(os, v, nested);
  case Value::OpaqueText:
    os << maskAddresses(text(v.text));
    return;
  case Value::Unspecified:
    os << "UnspecifiedValue";
    return;
  case Value::Hidden:
    os << "<hidden>";
    return;
  default:
    return printScalar(os, v, nested);
  }
}

void ValueText::list(raw_ostream &os, ValueId id) const {
  const Value &v = program_.value(id);
  if (v.kind != Value::Tuple && v.kind != Value::List)
    return repr(os, id);
  os << '[';
  printItems(os, v.elements);
  os << ']';
}

void ValueText::dotDims(raw_ostream &os, ValueId id) const {
  auto isPair = [](const Value &v) {
    return v.kind == Value::Tuple && v.elements.size() == 2;
  };
  const Value &v = program_.value(id);
  if (!isPair(v) || !isPair(program_.value(v.elements[0])) ||
      !isPair(program_.value(v.elements[1])))
    return str(os, id);
  StringRef between = "(";
  for (ValueId pair : v.elements) {
    const Value &lists = program_.value(pair);
    os << between << '(';
    list(os, lists.elements[0]);
    os << ", ";
    list(os, lists.elements[1]);
    os << ')';
    between = ", ";
  }
  os << ')';
}

std::string shardtype::printValue(const Program &program, ValueId value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  ValueText(program, [](raw_ostream &out, JaxprId) {
    out << "{...}";
  }).str(os, value);
  return text;
}
