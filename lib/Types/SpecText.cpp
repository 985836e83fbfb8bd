// SpecText.cpp - partition specs as JAX prints them and as people write them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Scanner.h"

using namespace shardtype;

StringRef shardtype::str(ReductionKind kind) {
  constexpr StringRef Names[] = {"None", "sum", "max", "min"};
  return Names[static_cast<unsigned>(kind)];
}

static void printEntry(raw_ostream &os, const Context &cx,
                       const SpecEntry &entry) {
  if (entry.kind == SpecEntry::Unconstrained) {
    os << "UNCONSTRAINED";
  } else if (entry.kind == SpecEntry::Inherit) {
    os << "INHERIT";
  } else if (entry.axes.empty()) {
    os << "None";
  } else if (entry.axes.size() == 1) {
    printQuoted(os, cx.str(entry.axes[0]));
  } else {
    os << '(';
    llvm::interleaveComma(
        entry.axes, os, [&](StringId axis) { printQuoted(os, cx.str(axis)); });
    os << ')';
  }
}

static void printSet(raw_ostream &os, const Context &cx, StringRef key,
                     ArrayRef<StringId> axes) {
  os << key << "={";
  llvm::interleaveComma(axes, os,
                        [&](StringId axis) { printQuoted(os, cx.str(axis)); });
  os << '}';
}

void shardtype::print(raw_ostream &os, const Context &cx,
                      const PartitionSpec &spec) {
  os << "P(";
  StringRef separator = "";
  auto next = [&]() -> raw_ostream & {
    os << separator;
    separator = ", ";
    return os;
  };
  for (const SpecEntry &entry : spec.partitions)
    printEntry(next(), cx, entry);
  if (!spec.unreduced.empty())
    printSet(next(), cx, "unreduced", spec.unreduced);
  if (!spec.reduced.empty())
    printSet(next(), cx, "reduced", spec.reduced);
  if (spec.kind != ReductionKind::None)
    next() << "unreduced_kind=" << str(spec.kind);
  else if (spec.partitions.size() == 1 && spec.unreduced.empty() &&
           spec.reduced.empty())
    os << ','; // A tuple of one, as Python prints it.
  os << ')';
}

std::string shardtype::str(const Context &cx, const PartitionSpec &spec) {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os, cx, spec);
  return text;
}

namespace {

class SpecParser {
public:
  SpecParser(Context &cx, Scanner &in) : cx_(cx), in_(in) {}
  FailureOr<PartitionSpec> spec();

private:
  LogicalResult head();
  LogicalResult argument();
  FailureOr<SpecEntry> entry();
  LogicalResult tuple(StringRef close, SpecEntry &entry);
  FailureOr<SpecEntry::Kind> special();
  LogicalResult keyword(StringRef key, size_t at);
  LogicalResult set(SmallVectorImpl<StringId> &axes);
  LogicalResult setMembers(StringRef close, SmallVectorImpl<StringId> &axes);
  LogicalResult kind();

  Context &cx_;
  Scanner &in_;
  PartitionSpec spec_;
  SmallVector<std::string, 3> keys_;
};

} // namespace

/// `P(`, `PartitionSpec(`, also behind module names: `jax.P(`.
LogicalResult SpecParser::head() {
  in_.skipBlanks();
  size_t start = in_.offset();
  StringRef name = in_.takeWord();
  while (in_.peek() == '.') {
    in_.skip();
    name = in_.takeWord();
  }
  if ((name != "P" && name != "PartitionSpec") || !in_.accept("("))
    return in_.failAt(start, "expected a spec such as P('X', None)");
  return success();
}

FailureOr<PartitionSpec> SpecParser::spec() {
  if (failed(head()))
    return failure();
  while (!in_.accept(")")) {
    if (failed(argument()))
      return failure();
    if (!in_.accept(",") && (in_.skipBlanks(), in_.peek() != ')'))
      return in_.fail("expected ',' or ')', not " + describeNext(in_));
  }
  if (!spec_.unreduced.empty() && spec_.kind == ReductionKind::None)
    spec_.kind = ReductionKind::Sum;
  return std::move(spec_);
}

LogicalResult SpecParser::argument() {
  in_.skipBlanks();
  size_t start = in_.offset();
  StringRef word = in_.takeWord();
  if (!word.empty() && in_.accept("=")) {
    std::string key = word.str();
    return keyword(key, start);
  }
  in_.seek(start);
  if (!keys_.empty())
    return in_.fail("a dim's entry may not follow '" + keys_.back() + "='");
  FailureOr<SpecEntry> dim = entry();
  if (failed(dim))
    return failure();
  spec_.partitions.push_back(std::move(*dim));
  return success();
}

/// None, UNCONSTRAINED or INHERIT, the last two also behind `P.`; else Axes
/// with nothing read.
FailureOr<SpecEntry::Kind> SpecParser::special() {
  size_t start = in_.offset();
  StringRef word = in_.takeWord();
  if ((word == "P" || word == "PartitionSpec") && in_.peek() == '.') {
    in_.skip();
    word = in_.takeWord();
    if (word != "UNCONSTRAINED")
      return in_.failAt(start, "expected P.UNCONSTRAINED");
  }
  if (word == "UNCONSTRAINED")
    return SpecEntry::Unconstrained;
  if (word == "INHERIT")
    return SpecEntry::Inherit;
  in_.seek(start);
  return SpecEntry::Axes;
}

FailureOr<SpecEntry> SpecParser::entry() {
  in_.skipBlanks();
  SpecEntry entry;
  if (in_.acceptWord("None"))
    return entry;
  FailureOr<SpecEntry::Kind> kind = special();
  if (failed(kind))
    return failure();
  entry.kind = *kind;
  if (entry.kind != SpecEntry::Axes)
    return entry;
  bool paren = in_.accept("(");
  if (paren || in_.accept("[")) {
    if (failed(tuple(paren ? ")" : "]", entry)))
      return failure();
    return entry;
  }
  FailureOr<std::string> name = in_.takeName("an axis, None or a tuple");
  if (failed(name))
    return failure();
  if (!name->empty()) // '' is None (spec 01, 2.3).
    entry.axes.push_back(cx_.intern(*name));
  return entry;
}

LogicalResult SpecParser::tuple(StringRef close, SpecEntry &entry) {
  while (!in_.accept(close)) {
    in_.skipBlanks();
    if (in_.peek() == '(' || in_.peek() == '[')
      return in_.fail("a tuple of axes may not hold another tuple");
    if (in_.acceptWord("None"))
      return in_.failAt(in_.offset() - 4, "a tuple of axes may not hold None");
    FailureOr<std::string> name = in_.takeName("an axis");
    if (failed(name))
      return failure();
    entry.axes.push_back(cx_.intern(*name));
    if (!in_.accept(",") && (in_.skipBlanks(), in_.peek() != close.front()))
      return in_.fail("expected ',' or '" + close.str() + "', not " +
                      describeNext(in_));
  }
  return success();
}

LogicalResult SpecParser::keyword(StringRef key, size_t at) {
  if (key != "unreduced" && key != "reduced" && key != "unreduced_kind")
    return in_.failAt(at, "no argument '" + key.str() +
                              "' of a spec; expected unreduced, reduced or "
                              "unreduced_kind");
  if (llvm::is_contained(keys_, key))
    return in_.failAt(at, "'" + key.str() + "' is given twice");
  keys_.push_back(key.str());
  if (key == "unreduced_kind")
    return kind();
  return set(key == "unreduced" ? spec_.unreduced : spec_.reduced);
}

/// `{'X', 'Y'}`, `set()`, `frozenset({'X'})`; also `{}`, which is no set in
/// Python but can mean nothing else here.
LogicalResult SpecParser::set(SmallVectorImpl<StringId> &axes) {
  if (in_.accept("{"))
    return setMembers("}", axes);
  if (!in_.acceptWord("frozenset") && !in_.acceptWord("set")) {
    in_.skipBlanks();
    return in_.fail("expected a set such as {'X'}, not " + describeNext(in_));
  }
  if (failed(in_.expect("(")))
    return failure();
  if (in_.accept(")"))
    return success();
  if (failed(in_.expect("{")) || failed(setMembers("}", axes)))
    return failure();
  return in_.expect(")");
}

LogicalResult SpecParser::setMembers(StringRef close,
                                     SmallVectorImpl<StringId> &axes) {
  while (!in_.accept(close)) {
    if (in_.acceptWord("None"))
      return in_.failAt(in_.offset() - 4,
                        "None may not be unreduced or reduced");
    FailureOr<std::string> name = in_.takeName("an axis");
    if (failed(name))
      return failure();
    StringId axis = cx_.intern(*name);
    if (!llvm::is_contained(axes, axis))
      axes.push_back(axis);
    if (!in_.accept(",") && (in_.skipBlanks(), in_.peek() != close.front()))
      return in_.fail("expected ',' or '" + close.str() + "', not " +
                      describeNext(in_));
  }
  return success();
}

/// `max`, `'max'`, `UnreducedKind.max`.
LogicalResult SpecParser::kind() {
  in_.skipBlanks();
  size_t start = in_.offset();
  FailureOr<std::string> name = in_.takeName("sum, max or min");
  if (failed(name))
    return failure();
  StringRef last = StringRef(*name).rsplit('.').second;
  if (last.empty())
    last = *name;
  for (ReductionKind kind : {ReductionKind::None, ReductionKind::Sum,
                             ReductionKind::Max, ReductionKind::Min})
    if (last == str(kind)) {
      spec_.kind = kind;
      return success();
    }
  return in_.failAt(start, "expected sum, max or min, not '" + *name + "'");
}

TextResult<PartitionSpec> shardtype::parseSpec(Context &cx, StringRef text,
                                               size_t *length) {
  return runParser<PartitionSpec>(
      text, length, [&](Scanner &in) { return SpecParser(cx, in).spec(); });
}
