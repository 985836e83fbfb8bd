// ReadProgram.cpp - the exchange format as a whole.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values refer to tables by index, so a table must be read before what names
// its entries. Files usually have them in such an order and are read in one
// pass. A file that has not (its keys are sorted, say) is noticed when it names
// an entry of a table that has not begun, or has a jaxpr's equations before its
// inputs; it is then read again in four passes, each of which takes one level:
//
//   0  everything that refers to nothing: meshes, sources, arrays, opaques
//   1  types, stacks
//   2  the inputs of all jaxprs
//   3  equations, entry, context
#include "Guard.h"
#include "Jaxprs.h"
#include "shardtype/Json/Json.h"

using namespace shardtype;
using namespace shardtype::json;

namespace {
constexpr int64_t MajorVersion = 1, MinorVersion = 2;

class ProgramReader final : public Client {
public:
  ProgramReader(Context &context, StringRef text, InfoLookup lookup,
                const JsonLimits &limits)
      : text_(text), limits_(limits), tables_(context), types_(tables_),
        values_(tables_),
        jaxprs_(tables_, values_, lookup, static_cast<uint32_t>(text.size())) {}

  /// Reads the usual order. May throw Bad, or Deferred for another order.
  Program readInOnePass();
  /// Reads any order. May throw Bad.
  Program readInPasses();

private:
  enum Field : uint8_t {
    Format,
    Version,
    Producer,
    Meshes,
    Types,
    Sources,
    Stacks,
    Arrays,
    Opaques,
    Jaxprs,
    TheEntry,
    TheContext,
    Unknown
  };
  static Field fieldOf(StringRef name);
  static unsigned levelOf(Field field);

  void pass();
  void checkComplete();
  void readVersion(Ref value);
  void readEntry(Ref value);
  void readContext(Ref value);
  template <typename List> void readNames(Ref value, bool inputs, List &out);

  Want rootField(StringRef name, uint32_t offset) override;
  void rootValue(Ref value) override;
  void rootElement(Ref value) override;
  void rootListEnd() override;
  void jaxprBegin(uint32_t offset) override { jaxprs_.begin(offset); }
  Want jaxprField(StringRef name, uint32_t offset) override {
    return jaxprs_.field(name, offset);
  }
  void jaxprValue(Ref value) override { jaxprs_.value(value); }
  void eqn(Ref value) override { jaxprs_.eqn(value); }
  void jaxprEnd() override { jaxprs_.end(); }

  StringRef text_;
  const JsonLimits &limits_;
  Tables tables_;
  TypeReader types_;
  ValueReader values_;
  JaxprReader jaxprs_;
  std::optional<unsigned> level_; // Of this pass; none: all.
  SmallVector<std::string, 16> fields_;
  Field field_ = Unknown;
  std::string fieldName_;
  Extra extra_;
  /// Lists in `entry` that must fit the jaxpr, which may come later.
  struct Counted {
    size_t size;
    uint32_t offset;
    bool inputs; // Of results otherwise.
  };
  SmallVector<Counted, 4> counted_;
};
} // namespace

ProgramReader::Field ProgramReader::fieldOf(StringRef name) {
  constexpr StringRef Names[] = {"format",  "version", "producer", "meshes",
                                 "types",   "sources", "stacks",   "arrays",
                                 "opaques", "jaxprs",  "entry",    "context"};
  return static_cast<Field>(llvm::find(Names, name) - Names);
}

unsigned ProgramReader::levelOf(Field field) {
  switch (field) {
  case Types:
  case Stacks:
    return 1;
  case Jaxprs:
  case TheEntry:
  case TheContext:
    return 3;
  default:
    return 0;
  }
}

Want ProgramReader::rootField(StringRef name, uint32_t offset) {
  if (llvm::is_contained(fields_, name))
    throw Bad{diag::JsonDuplicateKey, offset, {name.str()}};
  fields_.push_back(name.str());
  field_ = fieldOf(name);
  fieldName_ = name.str();
  bool binders = level_ == 2 && field_ == Jaxprs;
  if (level_ && *level_ != levelOf(field_) && !binders)
    return Want::Skip;
  if (field_ >= Meshes && field_ <= Opaques) {
    tables_.seen[field_ - Meshes] = true;
    return Want::Each;
  }
  if (field_ != Jaxprs)
    return Want::Whole;
  // An equation takes 33 bytes at the very least and 141 in real files.
  // Pages that stay untouched cost nothing.
  Program &program = tables_.program;
  if (program.eqns.empty() && !binders) {
    program.eqns.reserve(text_.size() / 100);
    program.operands.reserve(text_.size() / 50);
    program.vars.reserve(text_.size() / 80);
  }
  return Want::Jaxprs;
}

void ProgramReader::rootElement(Ref value) {
  switch (field_) {
  case Meshes:
    return readMesh(tables_, value);
  case Types:
    return types_.read(value);
  case Sources:
    return readFrame(tables_, value);
  case Stacks:
    return readStack(tables_, value);
  case Arrays:
    return readArray(tables_, value);
  case Opaques:
    return readOpaque(tables_, value);
  default:
    llvm_unreachable("no other field comes by its elements");
  }
}

void ProgramReader::rootListEnd() {
  if (field_ == Types)
    types_.finish();
}

void ProgramReader::rootValue(Ref value) {
  switch (field_) {
  case Format:
    if (value.string() != "shardtype-jaxpr")
      bad(value, "expected 'shardtype-jaxpr'");
    return;
  case Version:
    return readVersion(value);
  case Producer:
    if (Ref name = Fields(value, {"name"}).get("name"))
      tables_.program.fromText = name.isString() && name.chars() == "text";
    value.append(tables_.program.producer);
    return;
  case TheEntry:
    return readEntry(value);
  case TheContext:
    return readContext(value);
  default:
    return extra_.add(fieldName_, value);
  }
}

void ProgramReader::readVersion(Ref value) {
  if (value.array().size() != 2)
    bad(value, "expected [major, minor]");
  Ref major = value.first(), minor = major.next();
  if (major.integer(1) > MajorVersion)
    throw Bad{
        diag::JsonVersion,
        value.offset(),
        {std::to_string(major.integer()) + "." +
             std::to_string(minor.integer(0)),
         std::to_string(MajorVersion) + "." + std::to_string(MinorVersion)}};
  tables_.program.formatMinor = minor.integer(0, INT32_MAX);
}

template <typename List>
void ProgramReader::readNames(Ref value, bool inputs, List &out) {
  if (!value)
    return;
  tables_.strings(value, out);
  counted_.push_back({out.size(), value.offset(), inputs});
}

void ProgramReader::readEntry(Ref value) {
  Entry &entry = tables_.program.entry;
  Fields fields(value, {"jaxpr", "name", "arg_names", "arg_paths",
                        "result_paths", "in_shardings", "out_shardings"});
  entry.jaxpr = JaxprId(tables_.jaxpr(fields.need("jaxpr")));
  if (Ref name = fields.getIfNotNull("name"))
    entry.name = tables_.string(name);
  readNames(fields.getIfNotNull("arg_names"), true, entry.argNames);
  // Paths of results are normalised where those of arguments are (1.2).
  Ref argPaths = fields.getIfNotNull("arg_paths");
  readNames(argPaths, true, entry.argPaths);
  readNames(fields.getIfNotNull("result_paths"), false,
            argPaths ? entry.outPaths : entry.resultPaths);
  if (Ref shardings = fields.get("in_shardings"))
    entry.inShardings = values_.read(shardings);
  if (Ref shardings = fields.get("out_shardings"))
    entry.outShardings = values_.read(shardings);
  entry.extra = tables_.intern(fields.extra());
}

void ProgramReader::readContext(Ref value) {
  Fields fields(value, {"mesh", "concrete_mesh"});
  if (Ref mesh = fields.getIfNotNull("mesh"))
    tables_.program.contextMeshAtTop = tables_.mesh(mesh);
  if (Ref mesh = fields.getIfNotNull("concrete_mesh"))
    tables_.program.concreteMesh = tables_.mesh(mesh);
  if (fields.get("concrete_mesh"))
    fields.keep("concrete_mesh");
  tables_.program.contextExtra = fields.extra().str();
}

/// One pass over the text, of all levels or of one.
void ProgramReader::pass() {
  fields_.clear();
  Stream stream(text_, *this, limits_);
  scan(text_, stream);
}

void ProgramReader::checkComplete() {
  uint32_t root = text_.find('{') + 1;
  for (StringRef name : {"format", "version", "jaxprs", "entry"})
    if (!llvm::is_contained(fields_, name))
      throw Bad{diag::JsonStructure,
                root,
                {("field '" + name + "' is missing").str()}};
  tables_.checkJaxprs();
  Program &program = tables_.program;
  const Jaxpr &entry = program.jaxpr(program.entry.jaxpr);
  for (const Counted &list : counted_) {
    size_t wanted = list.inputs ? entry.numInputs : entry.outs.size();
    if (list.size != wanted)
      throw Bad{diag::JsonStructure,
                list.offset,
                {"the entry has " + std::to_string(wanted) +
                 (list.inputs ? " inputs, not " : " results, not ") +
                 std::to_string(list.size)}};
  }
  jaxprs_.finish();
  program.extra = extra_.str();
}

Program ProgramReader::readInOnePass() {
  pass();
  checkComplete();
  return std::move(tables_.program);
}

Program ProgramReader::readInPasses() {
  std::fill(std::begin(tables_.seen), std::end(tables_.seen), true);
  for (unsigned level = 0; level < 4; ++level) {
    level_ = level;
    jaxprs_.setParts(level == 2 ? JaxprReader::Parts::Binders
                                : JaxprReader::Parts::Rest);
    pass();
  }
  checkComplete();
  return std::move(tables_.program);
}

std::optional<Program> shardtype::readJson(Context &context, StringRef text,
                                           InfoLookup lookup,
                                           DiagnosticList &diags,
                                           const JsonLimits &limits) {
  return guarded(text, diags, limits, [&]() -> Program {
    try {
      return ProgramReader(context, text, lookup, limits).readInOnePass();
    } catch (const Deferred &) {
      return ProgramReader(context, text, lookup, limits).readInPasses();
    }
  });
}
