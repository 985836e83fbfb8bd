// TypeParser.cpp - reads types as JAX prints them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a text starts with decides how it is read. A dtype that is followed by
// `[` or a memory space, a `Ref`, an `AbstractFuture` or a `Tok` must be
// correct to its end. Any other text is one of JAX's or a library's own types:
// it is taken up to the next blank outside brackets and kept as it is.
#include "Scanner.h"
#include "shardtype/Types/Resolve.h"
#include "shardtype/Types/SizeText.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

namespace {

/// Refs and futures inside each other; more is not a program's type.
constexpr unsigned MaxDepth = 32;
/// How far a `>` is looked for before a `<` is taken as a mere character.
constexpr size_t AngleReach = 256;
/// Dims of one array.
constexpr size_t MaxRank = 1024;

class TypeParser {
public:
  TypeParser(Context &cx, Scanner &in, MeshId meshId)
      : cx_(cx), in_(in), meshId_(cx.forTypes(meshId)),
        mesh_(cx.meshOrEmpty(meshId_)) {}

  FailureOr<TypeId> type(unsigned depth = 0);

private:
  /// Where an axis was seen, for the message when it is seen again.
  struct Use {
    enum Kind : uint8_t { None, Dim, Varying, Unreduced, Reduced } kind = None;
    unsigned dim = 0;
  };

  FailureOr<TypeId> wrapper(Type::Kind kind, unsigned depth);
  FailureOr<TypeId> array(DType dtype, bool weak);
  LogicalResult checkDTypeName();
  FailureOr<TypeId> opaque();
  std::optional<DType> dtype();
  bool atForeignMemory();
  LogicalResult dims(Type &type);
  FailureOr<int64_t> extent();
  FailureOr<int64_t> symbolicExtent();
  LogicalResult sets(Type &type);
  LogicalResult set(Type &type, AxisSet &seen);
  LogicalResult axes(Use use, AxisList &list);
  LogicalResult axis(Use use, AxisList &list);
  LogicalResult checkUse(size_t at, StringRef name, unsigned axis, Use use);

  Context &cx_;
  Scanner &in_;
  MeshId meshId_;
  const Mesh &mesh_;
  std::array<Use, MaxMeshAxes> uses_;
  SmallVector<size_t, 6> dimOffsets_;
};

} // namespace

FailureOr<TypeId> TypeParser::type(unsigned depth) {
  in_.skipBlanks();
  size_t start = in_.offset();
  bool weak = in_.peek() == '~';
  if (weak)
    in_.skip();
  if (std::optional<DType> known = dtype()) {
    // `f32<vmem>[8]` is of a library with memory spaces of its own.
    if (!atForeignMemory())
      return array(*known, weak);
  } else if (weak) {
    return in_.fail("expected an array type after '~'");
  } else if (in_.acceptWord("Ref") &&
             (in_.peek() == '{' || in_.peek() == '<')) {
    return wrapper(Type::Ref, depth);
  } else if (in_.acceptWord("AbstractFuture") && in_.peek() == '{') {
    return wrapper(Type::Future, depth);
  } else if (in_.acceptWord("Tok")) {
    return cx_.token();
  }
  in_.seek(start);
  if (failed(checkDTypeName()))
    return failure();
  return opaque();
}

/// A word and dims, `f99[8,4]`, where the word is nearly a dtype: a mistyped
/// array type and not some library's own.
LogicalResult TypeParser::checkDTypeName() {
  size_t start = in_.offset();
  StringRef word = in_.takeWord();
  bool hasDims = in_.peek() == '[';
  in_.seek(start);
  std::optional<StringRef> meant =
      hasDims ? meantDType(word) : std::optional<StringRef>();
  if (!meant)
    return success();
  return in_.failAt(
      start,
      "there is no dtype '" + word.str() + "'" +
          (meant->empty() ? "" : "; did you mean '" + meant->str() + "'?"));
}

bool TypeParser::atForeignMemory() {
  StringRef rest = in_.rest();
  if (!rest.consume_front("<") || rest.starts_with("host>") ||
      rest.starts_with("any>"))
    return false;
  StringRef name = rest.take_while(
      [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
  return !name.empty() && rest.substr(name.size()).starts_with(">[");
}

std::optional<DType> TypeParser::dtype() {
  size_t start = in_.offset();
  in_.takeWord();
  if (in_.since(start) == "key" && in_.peek() == '<') {
    in_.skip();
    in_.takeWord();
    if (in_.peek() == '>')
      in_.skip();
  }
  std::optional<DType> known = parseDType(in_.since(start));
  if (!known)
    in_.seek(start);
  return known;
}

FailureOr<TypeId> TypeParser::wrapper(Type::Kind kind, unsigned depth) {
  if (depth >= MaxDepth)
    return in_.fail("types stand in each other more than " +
                    std::to_string(MaxDepth) + " deep");
  Type result;
  result.kind = kind;
  if (in_.accept("<")) {
    size_t start = in_.offset();
    in_.takeWhile([](char c) { return c != '>' && c != '\n' && c != '{'; });
    result.text = cx_.intern(in_.since(start));
    if (failed(in_.expect(">")))
      return failure();
  }
  if (failed(in_.expect("{")))
    return failure();
  FailureOr<TypeId> inner = type(depth + 1);
  if (failed(inner) || failed(in_.expect("}")))
    return failure();
  result.inner = *inner;
  return cx_.intern(result);
}

FailureOr<TypeId> TypeParser::array(DType dtype, bool weak) {
  Type result;
  result.dtype = dtype;
  result.weak = weak;
  result.sharding.mesh = meshId_;
  uses_.fill({});
  dimOffsets_.clear();
  if (in_.accept("<host>"))
    result.memory = MemorySpace::Host;
  else if (in_.accept("<any>"))
    result.memory = MemorySpace::Any;
  if (failed(dims(result)))
    return failure();
  if (in_.peek() == '{' && failed(sets(result)))
    return failure();
  if (std::optional<SpecError> error =
          checkDivisible(cx_, result.sharding, result.shape)) {
    const AxisList &by = result.sharding.dims[error->dim];
    return in_.failAt(dimOffsets_[error->dim],
                      "dim " + std::to_string(error->dim) + " of size " +
                          sizeText(cx_, result.shape[error->dim]) +
                          " does not divide over '" + str(cx_, meshId_, by) +
                          "' of size " + std::to_string(mesh_.size(by)));
  }
  return cx_.intern(result);
}

LogicalResult TypeParser::dims(Type &type) {
  if (in_.peek() != '[')
    return in_.fail("expected '[' after the dtype, not " + describeNext(in_));
  in_.skip();
  if (in_.accept("]"))
    return success();
  do {
    in_.skipBlanks();
    if (type.shape.size() == MaxRank)
      return in_.fail("more than " + std::to_string(MaxRank) + " dims");
    dimOffsets_.push_back(in_.offset());
    FailureOr<int64_t> size = extent();
    if (failed(size))
      return failure();
    AxisList list;
    Use use{Use::Dim, static_cast<unsigned>(type.shape.size())};
    if (in_.accept("@") && failed(axes(use, list)))
      return failure();
    type.shape.push_back(*size);
    type.sharding.dims.push_back(std::move(list));
  } while (in_.accept(","));
  return in_.expect("]");
}

FailureOr<int64_t> TypeParser::extent() {
  size_t start = in_.offset();
  in_.takeWhile([](char c) { return llvm::isDigit(c); });
  bool number = in_.offset() > start && (in_.accept(",") || in_.accept("]") ||
                                         in_.accept("@") || in_.atEnd());
  in_.seek(start);
  return number ? in_.takeNumber("a dim's size") : symbolicExtent();
}

/// `b`, `2*b + 1`, `max(a, b)`: kept as text once it looks like an expression.
FailureOr<int64_t> TypeParser::symbolicExtent() {
  size_t start = in_.offset();
  unsigned depth = 0;
  bool anyLetter = false;
  while (!in_.atEnd()) {
    char c = in_.peek();
    if (depth == 0 && (c == ',' || c == ']' || c == '@'))
      break;
    if (c == ')' && depth-- == 0)
      return in_.fail("')' without '('");
    if (c == '(')
      ++depth;
    else if (!llvm::isAlnum(c) && !StringRef("_+-*^ ,)").contains(c))
      return in_.fail("unexpected " + describeNext(in_) + " in a dim");
    size_t word = in_.offset();
    if (in_.takeWord().empty())
      in_.skip();
    StringRef token = in_.since(word);
    if (llvm::isDigit(token.front()) &&
        !llvm::all_of(token, [](char d) { return llvm::isDigit(d); }))
      return in_.failAt(word, "'" + token.str() + "' is no dim");
    anyLetter |= llvm::isAlpha(token.front()) || token.front() == '_';
  }
  if (in_.atEnd() || depth)
    return in_.fail("expected ']', not " + describeNext(in_));
  if (!anyLetter)
    return in_.failAt(start, "expected the size of a dim");
  return Dim::symbolic(cx_.intern(in_.since(start).trim()));
}

LogicalResult TypeParser::sets(Type &type) {
  in_.skip();
  AxisSet seen;
  do {
    if (failed(set(type, seen)))
      return failure();
  } while (in_.accept(","));
  return in_.expect("}");
}

/// One of `V:i`, `U:(x,y)`, `U_max:x`, `R:z`. An axis of U or R that is Manual
/// in the mesh goes to the manual type, an Explicit one to the spec.
LogicalResult TypeParser::set(Type &type, AxisSet &seen) {
  in_.skipBlanks();
  size_t start = in_.offset();
  StringRef name = in_.takeWord();
  ReductionKind kind = name == "U_max"   ? ReductionKind::Max
                       : name == "U_min" ? ReductionKind::Min
                                         : ReductionKind::Sum;
  Use use{name == "V"                                 ? Use::Varying
          : name == "R"                               ? Use::Reduced
          : name == "U" || kind != ReductionKind::Sum ? Use::Unreduced
                                                      : Use::None};
  if (use.kind == Use::None)
    return in_.failAt(start, "expected V, U, U_max, U_min or R");
  if (seen.contains(use.kind))
    return in_.failAt(start, "'" + name.take_front(1).str() + "' stands twice");
  seen.insert(use.kind);
  AxisList list;
  if (failed(in_.expect(":")) || failed(axes(use, list)))
    return failure();
  AxisSet manual = AxisSet::of(list) & mesh_.axesOf(AxisType::Manual);
  AxisSet rest = AxisSet::of(list) - manual;
  if (use.kind == Use::Varying) {
    type.manual.varying = manual;
  } else if (use.kind == Use::Reduced) {
    type.manual.reduced = manual;
    type.sharding.reduced = rest;
  } else {
    type.manual.unreduced = manual;
    type.sharding.unreduced = rest;
    if (!rest.empty())
      type.sharding.kind = kind;
    // JAX prints a kind of the spec's only; alone it can be but the other.
    if (!manual.empty())
      type.manual.kind = rest.empty() ? kind : ReductionKind::Sum;
  }
  return success();
}

LogicalResult TypeParser::axes(Use use, AxisList &list) {
  if (!in_.accept("("))
    return axis(use, list);
  do {
    if (failed(axis(use, list)))
      return failure();
  } while (in_.accept(","));
  return in_.expect(")");
}

LogicalResult TypeParser::axis(Use use, AxisList &list) {
  in_.skipBlanks();
  size_t start = in_.offset();
  FailureOr<std::string> name = in_.takeName("an axis");
  if (failed(name))
    return failure();
  if (mesh_.empty())
    return in_.failAt(start,
                      "axis '" + *name + "' needs a mesh, and there is none");
  std::optional<unsigned> axis = mesh_.find(cx_.intern(*name));
  if (!axis)
    return in_.failAt(start, "axis '" + *name +
                                 "' is not an axis of the mesh " +
                                 shortMesh(cx_, mesh_));
  if (failed(checkUse(start, *name, *axis, use)))
    return failure();
  uses_[*axis] = use;
  list.push_back(static_cast<uint8_t>(*axis));
  return success();
}

LogicalResult TypeParser::checkUse(size_t at, StringRef name, unsigned axis,
                                   Use use) {
  std::string quoted = "'" + name.str() + "'";
  AxisType kind = mesh_.axes[axis].type;
  if (use.kind == Use::Varying && kind != AxisType::Manual)
    return in_.failAt(at, "axis " + quoted + " is " + str(kind).str() +
                              "; only values over Manual axes vary");
  if (use.kind == Use::Dim && kind != AxisType::Explicit)
    return in_.failAt(at, "axis " + quoted + " is " + str(kind).str() +
                              "; dims show Explicit axes only");
  if (kind == AxisType::Auto)
    return in_.failAt(at, "axis " + quoted +
                              " is Auto; types do not show such axes");
  Use before = uses_[axis];
  if (before.kind == Use::None)
    return success();
  bool isCopies = before.kind == Use::Reduced || use.kind == Use::Reduced;
  bool isSum = before.kind == Use::Unreduced || use.kind == Use::Unreduced;
  if (kind == AxisType::Manual && isCopies && isSum)
    return success(); // JAX has such types, which are a warning where made.
  if (before.kind == Use::Dim && use.kind == Use::Dim)
    return in_.failAt(at, before.dim == use.dim
                              ? "axis " + quoted + " occurs twice on dim " +
                                    std::to_string(use.dim)
                              : "axis " + quoted + " shards both dim " +
                                    std::to_string(before.dim) + " and dim " +
                                    std::to_string(use.dim));
  auto says = [](Use seen) -> std::string {
    constexpr StringRef Words[] = {"", "", "varying", "unreduced", "reduced"};
    return seen.kind == Use::Dim ? "shards dim " + std::to_string(seen.dim)
                                 : "is " + Words[seen.kind].str();
  };
  if (before.kind == use.kind)
    return in_.failAt(at, "axis " + quoted + " stands twice in one set");
  return in_.failAt(at, "axis " + quoted + " " + says(before) + " and " +
                            says(use) + "; it may be one of these only");
}

static bool endsOpaque(char c) {
  return llvm::isSpace(c) || StringRef(",;)]}").contains(c);
}

FailureOr<TypeId> TypeParser::opaque() {
  size_t start = in_.offset();
  char first = in_.peek();
  if (!llvm::isAlpha(first) && first != '_' && first != '<')
    return in_.fail("expected a type, not " + describeNext(in_));
  SmallVector<char, 8> open;
  for (; !in_.atEnd(); in_.skip()) {
    char c = in_.peek();
    if (open.empty() && endsOpaque(c))
      break;
    // The end of a binder: `a:Foo. let`.
    if (open.empty() && c == '.' &&
        (in_.rest().size() == 1 || endsOpaque(in_.rest()[1])))
      break;
    if (StringRef("([{").contains(c)) {
      open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (StringRef(")]}").contains(c)) {
      if (open.empty() || open.pop_back_val() != c)
        return in_.fail("unexpected " + describeNext(in_));
    } else if (c == '<' && in_.rest().take_front(AngleReach).contains('>')) {
      open.push_back('>');
    } else if (c == '>' && !open.empty() && open.back() == '>' &&
               !in_.since(start).ends_with("-")) { // `->` is no bracket.
      open.pop_back();
    }
  }
  if (!open.empty())
    return in_.fail(std::string("expected '") + open.back() + "', not the end");
  Type result;
  result.kind = Type::Opaque;
  result.text = cx_.intern(in_.since(start));
  return cx_.intern(result);
}

TextResult<TypeId> shardtype::parseType(Context &cx, StringRef text,
                                        MeshId mesh, size_t *length) {
  return runParser<TypeId>(text, length, [&](Scanner &in) {
    return TypeParser(cx, in, mesh).type();
  });
}
