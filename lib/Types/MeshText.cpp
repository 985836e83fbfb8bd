// MeshText.cpp - meshes as JAX prints them and as the command line has them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Scanner.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

/// `(4, 2)`, `(4,)`, `()`, as Python prints tuples.
static void printTuple(raw_ostream &os, const Mesh &mesh,
                       llvm::function_ref<void(const MeshAxis &)> print) {
  os << '(';
  llvm::interleaveComma(mesh.axes, os, print);
  os << (mesh.rank() == 1 ? ",)" : ")");
}

static void printAxisTypes(raw_ostream &os, const Mesh &mesh) {
  os << "axis_types=";
  printTuple(os, mesh, [&](const MeshAxis &axis) { os << str(axis.type); });
}

static void printAsContained(raw_ostream &os, const Context &cx,
                             const Mesh &mesh) {
  os << "Mesh(axis_sizes=";
  printTuple(os, mesh, [&](const MeshAxis &axis) { os << axis.size; });
  os << ", axis_names=";
  printTuple(os, mesh,
             [&](const MeshAxis &axis) { printQuoted(os, cx.str(axis.name)); });
  if (!mesh.empty()) {
    os << ", ";
    printAxisTypes(os, mesh);
  }
  os << ')';
}

void shardtype::print(raw_ostream &os, const Context &cx, const Mesh &mesh,
                      bool repr) {
  if (mesh.concrete && repr)
    return printAsContained(os, cx, mesh);
  if (mesh.concrete && mesh.empty()) {
    os << "Mesh()";
    return;
  }
  os << (mesh.concrete ? "Mesh(" : "AbstractMesh(");
  if (mesh.empty())
    os << "()";
  llvm::interleaveComma(mesh.axes, os, [&](const MeshAxis &axis) {
    // Quoted by hand in JAX, without escapes.
    os << '\'' << cx.str(axis.name) << "': " << axis.size;
  });
  os << ", ";
  printAxisTypes(os, mesh);
  if (mesh.device && !mesh.concrete)
    os << ", device_kind=" << mesh.device->kind
       << ", num_cores=" << mesh.device->numCores
       << ", platform=" << mesh.device->platform;
  os << ')';
}

std::string shardtype::str(const Context &cx, const Mesh &mesh) {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os, cx, mesh);
  return text;
}

std::string shardtype::shortMesh(const Context &cx, const Mesh &mesh) {
  if (mesh.empty())
    return "()";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(mesh.axes, os, [&](const MeshAxis &axis) {
    StringRef name = cx.str(axis.name);
    bool plain = !name.empty() && llvm::all_of(name, [](char c) {
      return llvm::isAlnum(c) || StringRef("_-./").contains(c);
    });
    if (plain)
      os << name;
    else
      printQuoted(os, name);
    os << '=' << axis.size;
    if (axis.type != AxisType::Explicit)
      os << ':' << str(axis.type);
  });
  return text;
}

namespace {

class MeshParser {
public:
  MeshParser(Context &cx, Scanner &in) : cx_(cx), in_(in) {}
  FailureOr<MeshId> shortForm();
  FailureOr<MeshId> printedForm();

private:
  LogicalResult shortAxis();
  LogicalResult addAxis(size_t at, StringRef name, int64_t size, size_t sizeAt);
  FailureOr<AxisType> axisType();
  LogicalResult axes();
  LogicalResult axis();
  LogicalResult sizesAndNames();
  LogicalResult axisTypes();
  LogicalResult device();
  FailureOr<std::string> deviceField(StringRef key, StringRef end);
  /// Elements up to `)`, parted by commas; a comma may stand at the end.
  LogicalResult elements(llvm::function_ref<LogicalResult()> element);

  Context &cx_;
  Scanner &in_;
  Mesh mesh_;
};

} // namespace

LogicalResult MeshParser::addAxis(size_t at, StringRef name, int64_t size,
                                  size_t sizeAt) {
  StringId id = cx_.intern(name);
  if (name.empty())
    return in_.failAt(at, "an axis needs a name");
  if (mesh_.find(id))
    return in_.failAt(at, "axis '" + name.str() + "' stands twice in the mesh");
  if (size < 1)
    return in_.failAt(sizeAt,
                      "axis '" + name.str() + "' needs a size of at least 1");
  if (mesh_.rank() == MaxMeshAxes)
    return in_.failAt(at, "a mesh has at most " + std::to_string(MaxMeshAxes) +
                              " axes");
  mesh_.axes.push_back({id, size, AxisType::Explicit});
  return success();
}

FailureOr<AxisType> MeshParser::axisType() {
  in_.skipBlanks();
  size_t start = in_.offset();
  StringRef word = in_.takeWord();
  if (word == "AxisType" && in_.peek() == '.') {
    in_.skip();
    word = in_.takeWord();
  }
  for (AxisType type : {AxisType::Auto, AxisType::Explicit, AxisType::Manual})
    if (word.equals_insensitive(str(type)))
      return type;
  return in_.failAt(start, "expected Auto, Explicit or Manual" +
                               (word.empty() ? ", not " + describeNext(in_)
                                             : ", not '" + word.str() + "'"));
}

LogicalResult MeshParser::shortAxis() {
  in_.skipBlanks();
  size_t start = in_.offset();
  FailureOr<std::string> name = in_.takeName("an axis such as X=4");
  if (failed(name) || failed(in_.expect("=")))
    return failure();
  in_.skipBlanks();
  size_t sizeAt = in_.offset();
  FailureOr<int64_t> size = in_.takeNumber("the size of an axis");
  if (failed(size) || failed(addAxis(start, *name, *size, sizeAt)))
    return failure();
  if (in_.accept(":")) {
    FailureOr<AxisType> type = axisType();
    if (failed(type))
      return failure();
    mesh_.axes.back().type = *type;
  }
  return success();
}

FailureOr<MeshId> MeshParser::shortForm() {
  if (in_.accept("()"))
    return cx_.intern(mesh_);
  do {
    if (failed(shortAxis()))
      return failure();
    size_t end = in_.offset();
    in_.skipBlanks();
    bool blank = in_.offset() > end;
    if (in_.accept(","))
      continue;
    if (!blank || in_.atEnd())
      break;
  } while (true);
  return cx_.intern(mesh_);
}

LogicalResult
MeshParser::elements(llvm::function_ref<LogicalResult()> element) {
  while (!in_.accept(")")) {
    if (failed(element()))
      return failure();
    if (!in_.accept(",") && (in_.skipBlanks(), in_.peek() != ')'))
      return in_.fail("expected ',' or ')', not " + describeNext(in_));
  }
  return success();
}

LogicalResult MeshParser::axis() {
  in_.skipBlanks();
  size_t start = in_.offset();
  FailureOr<std::string> name = in_.takeName("an axis");
  if (failed(name) || failed(in_.expect(":")))
    return failure();
  in_.skipBlanks();
  size_t sizeAt = in_.offset();
  FailureOr<int64_t> size = in_.takeNumber("the size of an axis");
  if (failed(size))
    return failure();
  return addAxis(start, *name, *size, sizeAt);
}

/// `axis_sizes=(4, 2), axis_names=('X', 'Y')`, the form inside containers.
LogicalResult MeshParser::sizesAndNames() {
  SmallVector<std::pair<size_t, int64_t>, 4> sizes;
  auto size = [&]() -> LogicalResult {
    in_.skipBlanks();
    size_t at = in_.offset();
    FailureOr<int64_t> number = in_.takeNumber("the size of an axis");
    if (succeeded(number))
      sizes.push_back({at, *number});
    return number;
  };
  auto name = [&]() -> LogicalResult {
    in_.skipBlanks();
    size_t at = in_.offset();
    FailureOr<std::string> text = in_.takeName("an axis");
    if (failed(text))
      return failure();
    if (mesh_.rank() >= sizes.size())
      return in_.failAt(at, "more names than sizes");
    auto [sizeAt, number] = sizes[mesh_.rank()];
    return addAxis(at, *text, number, sizeAt);
  };
  if (failed(in_.expect("(")) || failed(elements(size)) ||
      failed(in_.expect(",")) || failed(in_.expect("axis_names")) ||
      failed(in_.expect("=")) || failed(in_.expect("(")) ||
      failed(elements(name)))
    return failure();
  if (mesh_.rank() < sizes.size())
    return in_.fail("fewer names than sizes");
  return success();
}

LogicalResult MeshParser::axisTypes() {
  if (failed(in_.expect("(")))
    return failure();
  size_t start = in_.offset();
  unsigned count = 0;
  auto type = [&]() -> LogicalResult {
    FailureOr<AxisType> read = axisType();
    if (failed(read))
      return failure();
    if (count < mesh_.rank())
      mesh_.axes[count].type = *read;
    ++count;
    return success();
  };
  if (failed(elements(type)))
    return failure();
  if (count != mesh_.rank())
    return in_.failAt(start, std::to_string(count) + " axis types for " +
                                 std::to_string(mesh_.rank()) + " axes");
  return success();
}

/// A device's kind may hold blanks and brackets (`NVIDIA H100 (80GB)`).
FailureOr<std::string> MeshParser::deviceField(StringRef key, StringRef end) {
  if (failed(in_.expect(key)) || failed(in_.expect("=")))
    return failure();
  size_t length = in_.rest().find(end);
  if (length == StringRef::npos || in_.rest().take_front(length).contains('\n'))
    return in_.fail("expected '" + end.str() + "' after " + key.str());
  std::string value = in_.rest().take_front(length).str();
  in_.skip(length);
  return value;
}

LogicalResult MeshParser::device() {
  FailureOr<std::string> kind = deviceField("device_kind", ", num_cores=");
  if (failed(kind) || failed(in_.expect(",")))
    return failure();
  FailureOr<std::string> cores = deviceField("num_cores", ", platform=");
  if (failed(cores) || failed(in_.expect(",")))
    return failure();
  FailureOr<std::string> platform = deviceField("platform", ")");
  if (failed(platform))
    return failure();
  mesh_.device = AbstractDevice{*kind, *cores, *platform};
  return success();
}

LogicalResult MeshParser::axes() {
  if (in_.accept("()"))
    return success();
  do {
    if (failed(axis()))
      return failure();
  } while (in_.accept(",") &&
           (in_.skipBlanks(), in_.peek() == '\'' || in_.peek() == '"'));
  return success();
}

FailureOr<MeshId> MeshParser::printedForm() {
  bool abstract = in_.acceptWord("AbstractMesh");
  if (!abstract && !in_.acceptWord("Mesh"))
    return in_.fail("expected a mesh such as AbstractMesh('X': 4, "
                    "axis_types=(Explicit,))");
  mesh_.concrete = !abstract;
  if (failed(in_.expect("(")))
    return failure();
  if (in_.accept(")"))
    return cx_.intern(mesh_);
  if (!abstract && in_.acceptWord("axis_sizes")) {
    if (failed(in_.expect("=")) || failed(sizesAndNames()))
      return failure();
  } else if (failed(axes())) {
    return failure();
  }
  in_.accept(",");
  if (in_.acceptWord("axis_types") &&
      (failed(in_.expect("=")) || failed(axisTypes())))
    return failure();
  if (in_.accept(",") && failed(device()))
    return failure();
  if (failed(in_.expect(")")))
    return failure();
  return cx_.intern(mesh_);
}

TextResult<MeshId> shardtype::parseMesh(Context &cx, StringRef text) {
  return runParser<MeshId>(text, nullptr, [&](Scanner &in) {
    return MeshParser(cx, in).shortForm();
  });
}

TextResult<MeshId> shardtype::parseMeshRepr(Context &cx, StringRef text,
                                            size_t *length) {
  return runParser<MeshId>(text, length, [&](Scanner &in) {
    return MeshParser(cx, in).printedForm();
  });
}
