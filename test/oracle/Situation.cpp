// Situation.cpp - one equation as a verdict file describes it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Situation.h"
#include "ReadValue.h"
#include "shardtype/Rules/NoBodies.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;
using namespace shardtype::oracle;

std::string Case::expected() const {
  return error.empty() ? llvm::join(results, ", ") : "!" + error;
}

Situation::Situation(const Primitive &row, StringRef mesh,
                     const std::map<std::string, std::string> &params,
                     ArrayRef<Case> cases)
    : program_(context_), row_(row), meshText_(mesh.str()) {
  bool checked = !mesh.consume_back(" unchecked");
  if (!mesh.empty()) {
    TextResult<MeshId> parsed = parseMesh(context_, mesh);
    if (parsed)
      mesh_ = *parsed;
    else
      trouble_ = "mesh: " + parsed.error.message;
  }
  SmallVector<Param, 8> list; // A map gives keys in order.
  for (const auto &[key, text] : params) {
    paramsText_ += (paramsText_.empty() ? "" : " ") + key + "=" + text;
    if (key == "derived") { // How index operands of a Ref are used.
      derived_ = text;
      continue;
    }
    std::string error;
    std::optional<ValueId> value = readValue(program_, text, mesh_, error);
    if (value)
      list.push_back({context_.intern(key), *value});
    else
      trouble_ = "parameter " + key + "=" + text + ": " + error;
  }
  // Inside of shard_map, where JAX checks types.
  if (checked && !context_.meshOrEmpty(mesh_).axesOf(AxisType::Manual).empty())
    vma_ = Vma::On;
  params_ = program_.internParams(list);
  for (const Case &c : cases)
    if (!c.results.empty())
      numResults_ = c.results.size();
}

std::string Situation::text(const Case &c) const {
  std::string text = name().str();
  if (!paramsText_.empty())
    text += "[" + paramsText_ + "]";
  text += " " + llvm::join(c.operands, ", ");
  return text + " on " + (meshText_.empty() ? "no mesh" : meshText_);
}

/// `np:~f32[]`: np: no mesh, ~: weak.
std::optional<TypeId> Situation::read(StringRef text) {
  auto known = known_.find(text);
  if (known != known_.end())
    return known->second;
  StringRef whole = text;
  MeshId mesh = text.consume_front("np:") ? MeshId() : mesh_;
  bool weak = text.consume_front("~");
  TextResult<TypeId> type = parseType(context_, text, mesh);
  if (!type) {
    trouble_ = "type " + text.str() + ": " + type.error.message;
    return std::nullopt;
  }
  return known_[whole] = weak ? context_.withWeak(*type, true) : *type;
}

std::string Situation::print(TypeId id) {
  const Type &type = context_.type(id);
  const Type &array = type.kind == Type::Ref ? context_.type(type.inner) : type;
  bool np = array.isArray() && !array.sharding.hasMesh() && mesh_.valid();
  return std::string(np ? "np:" : "") + (type.weak ? "~" : "") +
         str(context_, id);
}

bool Situation::run(ArrayRef<std::string> texts, unsigned numResults,
                    llvm::function_ref<void(TypingContext &, bool)> then) {
  SmallVector<Typed, 4> operands;
  for (const std::string &text : texts)
    if (std::optional<TypeId> type = read(text))
      operands.push_back({*type});
  if (!trouble_.empty())
    return false;
  TypingContext::Options options;
  options.jax = jax_;
  options.vma = vma_;
  NoBodies host;
  TypingContext cx(context_, program_, row_, params_, operands, mesh_,
                   numResults, options, host);
  cx.setDerived(derived_);
  bool accepted = succeeded(cx.run());
  then(cx, accepted);
  return true;
}

Outcome Situation::judge(const Case &c) {
  Outcome outcome;
  if (!run(c.operands, numResults(c), [&](TypingContext &cx, bool accepted) {
        outcome = compare(c, cx, accepted);
      }))
    return {false, "cannot read " + trouble_};
  return outcome;
}

Outcome Situation::compare(const Case &c, TypingContext &cx, bool accepted) {
  std::string ours;
  // What JAX accepts may still be warned of.
  bool refused = !accepted;
  for (const Diagnostic &d : cx.diagnostics())
    refused |= d.level == Level::Error;
  if (!refused) {
    bool agrees = c.error.empty();
    for (unsigned i = 0; i < cx.results().size(); ++i) {
      TypeId type = cx.results()[i].type;
      agrees &= type.valid() && c.error.empty() && read(c.results[i]) == type;
      ours += (i ? ", " : "") + (type.valid() ? print(type) : "(not set)");
    }
    return {agrees, ours};
  }
  auto first = llvm::find_if(cx.diagnostics(), [](const Diagnostic &d) {
    return d.level == Level::Error;
  });
  if (first == cx.diagnostics().end())
    return {false, "refused without a diagnostic"};
  const DiagInfo &kind = info(first->code);
  ours = "!" + kind.jaxClass.str() + " " + kind.jaxId.str();
  bool agrees = !c.error.empty() && ours == "!" + c.error;
  return {agrees, ours + " (" + kind.code.str() + ": " + first->message + ")"};
}
