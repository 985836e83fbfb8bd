// TextResolver.cpp - builds the program that a text describes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TextResolver.h"
#include "TextCursor.h"
#include "shardtype/Types/Text.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

LogicalResult TextResolver::resolve() {
  findJaxprs();
  if (failed(checkNesting()))
    return llvm::failure();
  findMeshes();
  giveMeshes();
  findPlaces();
  for (JaxprId id : order_)
    if (failed(build(id)))
      return llvm::failure();
  program_.entry.jaxpr = syntax_.entry;
  program_.contextMeshAtTop = mesh_;
  program_.fromText = true;
  program_.producer = "{\"name\":\"text\"}";
  return success();
}

/// Lines, columns and source comments of all equations. JAX puts the comment of
/// an equation at the end of the line that has its `=`; those of further
/// equations of the line follow on lines of their own.
void TextResolver::findPlaces() {
  size_t count = syntax_.eqnOffsets.size();
  places_.resize(count);
  dropEmptyComments();
  LineCounter starts(text_), marks(text_), comments(text_);
  size_t next = 0;
  unsigned groupLine = 0, inGroup = 0;
  for (size_t i = 0; i < count; ++i) {
    starts.advance(syntax_.eqnOffsets[i]);
    places_[i].line = starts.line();
    places_[i].column = starts.column() - 1;
    if (!syntax_.markOffsets[i])
      continue;
    marks.advance(syntax_.markOffsets[i]);
    inGroup = marks.line() == groupLine ? inGroup + 1 : 0;
    groupLine = marks.line();
    for (; next < syntax_.sourceComments.size(); ++next) {
      comments.advance(syntax_.sourceComments[next].offset);
      if (comments.line() >= groupLine + inGroup)
        break;
    }
    if (next < syntax_.sourceComments.size() &&
        comments.line() == groupLine + inGroup)
      readSource(syntax_.sourceComments[next++], places_[i]);
  }
}

/// An empty comment says that no source is known, but only in a text that has
/// comments with sources.
void TextResolver::dropEmptyComments() {
  auto isEmpty = [&](TextRange range) { return str(range).trim().empty(); };
  if (llvm::all_of(syntax_.sourceComments, isEmpty))
    syntax_.sourceComments.clear();
}

void TextResolver::readSource(TextRange comment, Place &place) {
  SourceComment source = *readSourceComment(str(comment));
  place.unknown = source.file.empty();
  if (place.unknown)
    return;
  Frame frame;
  frame.file = cx_.intern(source.file);
  frame.function = cx_.intern(source.function);
  frame.line = source.line;
  frame.column = source.column;
  place.frame = FrameId(program_.frames.size());
  program_.frames.push_back(frame);
}

EqnInfoId TextResolver::eqnInfo(const SyntaxEqn &eqn, StringId derived,
                                MeshId mesh) {
  const Place &place = places_[eqn.order];
  FrameId id = place.frame;
  if (!id.valid() && !place.unknown) {
    Frame frame;
    frame.file = file_;
    frame.function = noFunction_;
    frame.line = place.line;
    frame.column = place.column;
    id = FrameId(program_.frames.size());
    program_.frames.push_back(frame);
  }
  EqnInfo info;
  if (id.valid())
    info.stack = program_.internStack(id);
  info.derived = derived;
  info.hasContextMesh = mesh != here_;
  if (info.hasContextMesh)
    info.contextMesh = mesh;
  return program_.intern(info);
}

/// Reads a binder's type on a mesh. A region with other axes, or with some of
/// them Explicit that are Auto around it, shows only in its types.
FailureOr<TypeId> TextResolver::binderType(const SyntaxBinder &binder,
                                           MeshId mesh) {
  if (binder.type.empty())
    return TypeId();
  StringRef text = str(binder.type);
  llvm::StringMap<TypeId> &types = types_[mesh];
  if (auto it = types.find(text); it != types.end())
    return it->second;
  TextResult<TypeId> read = parseType(cx_, text, mesh);
  SmallVector<MeshId, 6> others = {region_};
  others.append(known_);
  for (MeshId other : others) {
    if (read)
      break;
    TextResult<TypeId> elsewhere = parseType(cx_, text, other);
    if (elsewhere)
      read = elsewhere;
  }
  if (!read) {
    std::string message = read.error.message;
    if (!mesh.valid() && StringRef(message).contains("needs a mesh")) {
      wantsMesh_ = true;
      message += "; say which with a line such as '#! mesh X=4 Y=2' before the "
                 "program, or with --mesh";
    }
    return fail(binder.type.offset + read.error.offset, message);
  }
  types[text] = *read;
  return *read;
}

MeshId TextResolver::meshOf(TypeId type) const {
  return type.valid() ? cx_.type(type).sharding.mesh : MeshId();
}

/// The mesh an equation runs on, as its operands show it.
MeshId TextResolver::eqnMesh(ArrayRef<Atom> operands) const {
  for (Atom operand : operands)
    if (MeshId mesh = meshOf(program_.recordedType(operand)); mesh.valid())
      return mesh;
  return here_;
}

void TextResolver::nameVar(const SyntaxBinder &binder, VarId id) {
  Var &var = program_.vars[id.index()];
  if (binder.name.valid())
    var.setName(binder.name);
  else if (binder.state == SyntaxBinder::Read)
    var.setName(cx_.intern("_"));
  else
    var.dropped = binder.state == SyntaxBinder::Plain;
}

Atom TextResolver::atom(SyntaxAtom operand) const {
  if (operand.isLiteral())
    return LiteralId(operand.index());
  return VarId(firstVar_ + operand.index());
}

LogicalResult TextResolver::build(JaxprId id) {
  const SyntaxJaxpr &read = syntax_.jaxprs[id.index()];
  here_ = meshes_[id.index()];
  region_ = withShownAxes(read, here_);
  firstVar_ = program_.vars.size();
  builder_.begin(id);
  for (uint32_t i = 0; i < read.numConsts + read.numInputs; ++i) {
    const SyntaxBinder &binder = read.binders[i];
    bool isConst = i < read.numConsts;
    // A captured array stays without a mesh, as far as its type can tell.
    bool onMesh =
        !isConst || str(binder.type).find_first_of("@{") != StringRef::npos;
    FailureOr<TypeId> type = binderType(binder, onMesh ? here_ : MeshId());
    if (failed(type))
      return llvm::failure();
    VarId var = isConst ? builder_.addConst(*type) : builder_.addInput(*type);
    nameVar(binder, var);
  }
  uint32_t nextVar = read.numConsts + read.numInputs;
  for (const SyntaxEqn &eqn : read.eqns)
    if (failed(buildEqn(read, eqn, nextVar)))
      return llvm::failure();
  SmallVector<Atom, 8> outs;
  for (SyntaxAtom out : read.outs)
    outs.push_back(atom(out));
  Jaxpr &jaxpr = builder_.jaxpr();
  jaxpr.mesh = here_;
  jaxpr.name = read.name;
  if (read.debugName.valid()) {
    jaxpr.hasDebug = true;
    jaxpr.debugFor = cx_.intern("custom_call");
    jaxpr.debugSource = read.debugName;
  }
  builder_.finish(outs);
  return success();
}

LogicalResult TextResolver::buildEqn(const SyntaxJaxpr &jaxpr,
                                     const SyntaxEqn &eqn, uint32_t &nextVar) {
  SmallVector<Atom, 8> operands;
  for (SyntaxAtom operand :
       ArrayRef(syntax_.operands).slice(eqn.firstOperand, eqn.numOperands))
    operands.push_back(atom(operand));
  // A reshard is how values enter a region and leave it.
  bool reshard = cx_.str(program_.primitives[eqn.primitive].name) == "reshard";
  MeshId mesh = reshard ? here_ : eqnMesh(operands);
  SmallVector<TypeId, 4> types;
  for (uint32_t i = 0; i < eqn.numResults; ++i) {
    FailureOr<TypeId> type = binderType(jaxpr.binders[nextVar + i], mesh);
    if (failed(type))
      return llvm::failure();
    types.push_back(*type);
    if (MeshId seen = meshOf(*type); seen.valid())
      mesh = seen;
  }
  FailureOr<ParamsId> params = buildParams(eqn, operands, types);
  if (failed(params))
    return llvm::failure();
  StringId derived = eqn.ref >= 0 ? refAccess(eqn, operands) : StringId();
  EqnId built = builder_.addEqn(eqn.primitive, operands, *params, types,
                                eqnInfo(eqn, derived, mesh));
  for (uint32_t i = 0; i < eqn.numResults; ++i)
    nameVar(jaxpr.binders[nextVar + i],
            program_.result(program_.eqn(built), i));
  nextVar += eqn.numResults;
  return success();
}

FailureOr<ParamsId> TextResolver::buildParams(const SyntaxEqn &eqn,
                                              ArrayRef<Atom> operands,
                                              ArrayRef<TypeId> results) {
  SmallVector<Param, 12> list;
  for (const SyntaxParam &param : params(eqn)) {
    ValueId value = param.value;
    if (eqn.holdsJaxprs)
      value = united(value);
    if (eqn.hiPrim && cx_.str(param.key) == "_prim")
      value = withTypes(value, operands, results);
    if (eqn.bareSpecs && (cx_.str(param.key).ends_with("sharding") ||
                          cx_.str(param.key).ends_with("shardings"))) {
      FailureOr<ValueId> sharding = toSharding(value, param.offset);
      if (failed(sharding))
        return llvm::failure();
      value = *sharding;
    }
    list.push_back({param.key, value});
  }
  return program_.internParams(list);
}

/// A spec, or those in a tuple, as shardings on the mesh around.
FailureOr<ValueId> TextResolver::toSharding(ValueId id, uint32_t offset) {
  Value changed = program_.value(id);
  if (changed.kind == Value::Tuple) {
    for (ValueId &element : changed.elements) {
      FailureOr<ValueId> sharding = toSharding(element, offset);
      if (failed(sharding))
        return llvm::failure();
      element = *sharding;
    }
    return program_.intern(changed);
  }
  if (changed.kind != Value::Spec)
    return id;
  if (!here_.valid()) {
    wantsMesh_ = true;
    return fail(offset, "this spec needs a mesh, and there is none; say which "
                        "with a line such as '#! mesh X=4 Y=2' before the "
                        "program, or with --mesh");
  }
  Value sharding;
  sharding.kind = Value::Sharding;
  sharding.integer = here_.raw();
  sharding.elements = {id};
  return program_.intern(sharding);
}

/// The high-level primitive with the types of its operands and results, which
/// in a file stand beside its parameters.
ValueId TextResolver::withTypes(ValueId id, ArrayRef<Atom> operands,
                                ArrayRef<TypeId> results) {
  Value prim = program_.value(id);
  SmallVector<TypeId, 4> inputs;
  for (Atom operand : operands)
    inputs.push_back(program_.recordedType(operand));
  for (auto [name, types] : {std::pair("$in", ArrayRef<TypeId>(inputs)),
                             std::pair("$out", results)}) {
    Value tuple;
    tuple.kind = Value::Tuple;
    for (TypeId typeId : types) {
      if (!typeId.valid())
        return id;
      Value type;
      type.kind = Value::Type;
      type.integer = typeId.raw();
      tuple.elements.push_back(program_.intern(type));
    }
    prim.names.push_back(cx_.intern(name));
    prim.elements.push_back(program_.intern(tuple));
  }
  return program_.intern(prim);
}

/// The `derived` field that says how the operands index a Ref (spec 04, 6.2).
StringId TextResolver::refAccess(const SyntaxEqn &eqn,
                                 ArrayRef<Atom> operands) {
  const SyntaxRef &ref = syntax_.refs[eqn.ref];
  if (ref.whole)
    return cx_.intern("{\"transforms\":[]}");
  TypeId refType = program_.recordedType(operands[0]);
  TypeId inner = refType.valid() ? cx_.type(refType).inner : TypeId();
  ArrayRef<int64_t> shape;
  if (inner.valid() && cx_.type(inner).isArray())
    shape = cx_.type(inner).shape;
  bool fits = !ref.verbatim && (shape.size() == ref.indices.size());
  std::string json = "{\"transforms\":[{";
  if (!fits) {
    // Without the Ref's shape an open end cannot be told: keep the text.
    json += "\"text\":\"";
    for (char c : str(ref.text))
      if (llvm::isPrint(c) && c != '"' && c != '\\')
        json += c;
    return cx_.intern(json + "\"}]}");
  }
  auto number = [](int64_t value, bool isOperand) {
    return isOperand ? "{\"operand\":" + std::to_string(value) + "}"
                     : std::to_string(value);
  };
  json += "\"index\":[";
  std::string dims;
  for (auto [index, size] : llvm::zip(ref.indices, shape)) {
    if (!dims.empty())
      json += ',';
    dims += (dims.empty() ? "" : ",") + std::to_string(size);
    if (index.kind != SyntaxIndex::Slice) {
      json += number(index.start, index.startIsOperand);
      continue;
    }
    int64_t extent = index.toTheEnd ? size - index.start : index.size;
    json += "{\"slice\":[" + number(index.start, index.startIsOperand) + "," +
            number(extent, index.sizeIsOperand) + ",1]}";
  }
  return cx_.intern(json + "],\"shape\":[" + dims + "]}]}");
}
