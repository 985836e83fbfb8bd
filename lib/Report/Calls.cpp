// Calls.cpp - reads the tables of calls, imports and hashes of an export.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Calls.h"
#include "shardtype/IR/Paths.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/JSON.h"

using namespace shardtype;

static bool readSpan(const llvm::json::Value &value, SourceSpan &span) {
  const llvm::json::Array *list = value.getAsArray();
  if (!list || list->size() != 4)
    return false;
  unsigned *const parts[] = {&span.line, &span.column, &span.endLine,
                             &span.endColumn};
  for (auto [part, item] : llvm::zip(parts, *list)) {
    std::optional<int64_t> number = item.getAsInteger();
    if (!number || *number < 0 || *number > INT32_MAX)
      return false;
    *part = static_cast<unsigned>(*number);
  }
  return span.line > 0 && std::pair(span.line, span.column) <=
                              std::pair(span.endLine, span.endColumn);
}

static bool readSpans(const llvm::json::Array *list,
                      std::vector<SourceSpan> &spans) {
  for (const llvm::json::Value &item : *list)
    if (!readSpan(item, spans.emplace_back()))
      return false;
  return true;
}

static bool readCall(const llvm::json::Value &value, Call &call) {
  const llvm::json::Object *object = value.getAsObject();
  if (!object)
    return false;
  auto string = [&](StringRef key) {
    return object->getString(key).value_or("").str();
  };
  call.kind = llvm::StringSwitch<Call::Kind>(string("kind"))
                  .Case("call", Call::Function)
                  .Case("method", Call::Method)
                  .Case("at", Call::At)
                  .Case("operator", Call::Operator)
                  .Case("index", Call::Index)
                  .Default(Call::Other);
  call.name = string("name");
  call.text = string("text");
  call.file = string("file");
  const llvm::json::Value *span = object->get("span");
  if (!span || !readSpan(*span, call.span))
    return false;
  if (const llvm::json::Array *args = object->getArray("args"))
    if (!readSpans(args, call.args))
      return false;
  if (const llvm::json::Object *keywords = object->getObject("kw"))
    for (const auto &[key, item] : *keywords)
      if (!readSpan(item, call.keywords[key.str()]))
        return false;
  if (const llvm::json::Object *items = object->getObject("items"))
    for (const auto &[key, list] : *items) {
      unsigned number = 0;
      const llvm::json::Array *spans = list.getAsArray();
      if (StringRef(key).getAsInteger(10, number) || !spans ||
          !readSpans(spans, call.items[number]))
        return false;
    }
  return true;
}

CallTable::CallTable(const Program &program) : program_(&program) {
  if (program.extra.empty())
    return;
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(program.extra);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return;
  }
  const llvm::json::Object *root = parsed->getAsObject();
  if (!root)
    return;
  if (const llvm::json::Array *apis = root->getArray("apis"))
    for (const llvm::json::Value &item : *apis) {
      Call call;
      if (readCall(item, call))
        calls_.insert({{call.file, call.span}, std::move(call)});
    }
  if (const llvm::json::Object *files = root->getObject("imports"))
    for (const auto &[file, names] : *files)
      if (const llvm::json::Object *list = names.getAsObject())
        for (const auto &[full, local] : *list)
          if (std::optional<StringRef> text = local.getAsString())
            imports_[file.str()][full.str()] = text->str();
  if (const llvm::json::Object *files = root->getObject("files"))
    for (const auto &[file, hash] : *files)
      if (std::optional<StringRef> text = hash.getAsString())
        hashes_[file.str()] = text->str();
  if (const llvm::json::Object *ends = root->getObject("imports_end"))
    for (const auto &[file, line] : *ends)
      if (std::optional<int64_t> number = line.getAsInteger();
          number && *number >= 0 && *number <= INT32_MAX)
        importsEnd_[file.str()] = static_cast<unsigned>(*number);
  llvm::Expected<llvm::json::Value> producer =
      llvm::json::parse(program.producer.empty() ? "{}" : program.producer);
  if (!producer) {
    llvm::consumeError(producer.takeError());
    return;
  }
  if (const llvm::json::Object *object = producer->getAsObject())
    jaxVersion_ = object->getString("version").value_or("").str();
}

const Call *CallTable::at(const Frame &frame) const {
  if (calls_.empty() || !frame.file.valid())
    return nullptr;
  auto found =
      calls_.find({program_->context().str(frame.file).str(),
                   {frame.line, frame.column, frame.endLine, frame.endColumn}});
  return found == calls_.end() ? nullptr : &found->second;
}

StringRef CallTable::import(StringRef file, StringRef name) const {
  auto names = imports_.find(file.str());
  if (names == imports_.end())
    return "";
  auto found = names->second.find(name.str());
  return found == names->second.end() ? StringRef() : StringRef(found->second);
}

StringRef CallTable::hash(StringRef file) const {
  auto found = hashes_.find(file.str());
  return found == hashes_.end() ? StringRef() : StringRef(found->second);
}

std::optional<unsigned> CallTable::importsEnd(StringRef file) const {
  auto found = importsEnd_.find(file.str());
  if (found == importsEnd_.end())
    return std::nullopt;
  return found->second;
}

std::vector<PlacedEqn> shardtype::placesOf(const Program &program,
                                           StringRef path) {
  std::vector<PlacedEqn> places;
  for (JaxprId id = program.entry.jaxpr; id.valid();) {
    const Jaxpr &jaxpr = program.jaxpr(id);
    unsigned number = 0;
    if (!path.consume_front("eqns/") || path.consumeInteger(10, number) ||
        number >= jaxpr.numEqns)
      return {};
    places.push_back({id, jaxpr.eqn(number)});
    if (path.empty())
      return places;
    if (!path.consume_front("/"))
      return {};
    id = JaxprId();
    size_t length = 0;
    forEachBody(program, program.eqn(places.back().eqn),
                [&](const std::string &place, JaxprId body) {
                  if (path.starts_with(place + "/")) {
                    id = body;
                    length = place.size() + 1;
                  }
                });
    path = path.drop_front(length);
  }
  return {};
}

const Frame *shardtype::frameOf(const Program &program, EqnId id) {
  EqnInfoId info = program.eqn(id).info;
  if (!info.valid())
    return nullptr;
  return ownFrame(program, program.info(info).stack);
}

bool shardtype::hasWord(StringRef text, StringRef word) {
  auto isPart = [](char c) {
    return llvm::isAlnum(c) || c == '_' || static_cast<signed char>(c) < 0;
  };
  for (size_t at = text.find(word); at != StringRef::npos;
       at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at == 0 || !isPart(text[at - 1])) &&
        (end == text.size() || !isPart(text[end])))
      return true;
  }
  return false;
}
