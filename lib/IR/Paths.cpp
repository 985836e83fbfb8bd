// Paths.cpp - names of places in a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/IR/Paths.h"

using namespace shardtype;

const Frame *shardtype::ownFrame(const Program &program, StackId stack) {
  ArrayRef<FrameId> frames = program.stack(stack);
  for (FrameId id : frames) {
    const Frame &frame = program.frames[id.index()];
    if (!frame.extra.valid() ||
        !program.context().str(frame.extra).contains("\"lib\":true"))
      return &frame;
  }
  return frames.empty() ? nullptr : &program.frames[frames.front().index()];
}

static void appendKey(std::string &path, StringRef key) {
  path += '/';
  for (char c : key)
    if (c == '/')
      path += "~1";
    else
      path += c;
}

/// Takes `['key']` or `[0]` from the front of `text`.
static bool takeSubscript(StringRef &text, std::string &path) {
  if (!text.starts_with("["))
    return false;
  StringRef inside = text.drop_front();
  if (inside.starts_with("'") || inside.starts_with("\"")) {
    size_t end = inside.find(inside.front(), 1);
    if (end == StringRef::npos || !inside.substr(end + 1).starts_with("]"))
      return false;
    appendKey(path, inside.slice(1, end));
    text = inside.drop_front(end + 2);
    return true;
  }
  size_t end = inside.find(']');
  if (end == StringRef::npos)
    return false;
  appendKey(path, inside.take_front(end));
  text = inside.drop_front(end + 1);
  return true;
}

std::string shardtype::normalPath(StringRef text) {
  size_t start = text.find_first_of("[.");
  std::string path = text.take_front(start).str();
  text = start == StringRef::npos ? StringRef() : text.drop_front(start);
  while (!text.empty()) {
    if (takeSubscript(text, path))
      continue;
    // An attribute, or something we do not know: up to the next part.
    StringRef rest = text.starts_with(".") ? text.drop_front() : text;
    size_t end = rest.find_first_of("[.", rest.starts_with("[") ? 1 : 0);
    appendKey(path, rest.take_front(end));
    text = end == StringRef::npos ? StringRef() : rest.drop_front(end);
  }
  return path;
}

std::vector<std::string>
shardtype::argumentPaths(const Program &program,
                         llvm::function_ref<std::string(VarId)> name) {
  const Jaxpr &jaxpr = program.jaxpr(program.entry.jaxpr);
  const Context &cx = program.context();
  std::vector<std::string> paths;
  for (uint32_t i = 0; i < jaxpr.numInputs; ++i) {
    const Entry &entry = program.entry;
    if (i < entry.argPaths.size() && entry.argPaths[i].valid())
      paths.push_back(cx.str(entry.argPaths[i]).str());
    else if (i < entry.argNames.size() && entry.argNames[i].valid())
      paths.push_back(normalPath(cx.str(entry.argNames[i])));
    else
      paths.push_back(name(jaxpr.input(i)));
  }
  return paths;
}

std::vector<std::string> shardtype::resultPaths(const Program &program) {
  const Jaxpr &jaxpr = program.jaxpr(program.entry.jaxpr);
  const Context &cx = program.context();
  std::vector<std::string> paths;
  for (uint32_t i = 0; i < jaxpr.outs.size(); ++i) {
    const Entry &entry = program.entry;
    if (i < entry.outPaths.size() && entry.outPaths[i].valid())
      paths.push_back(cx.str(entry.outPaths[i]).str());
    else if (i < entry.resultPaths.size() && entry.resultPaths[i].valid())
      paths.push_back(normalPath(cx.str(entry.resultPaths[i])));
    else if (jaxpr.outs.size() == 1)
      paths.push_back("result");
    else
      paths.push_back("result/" + std::to_string(i));
  }
  return paths;
}

/// Text against a pattern in which `*` is any text; no backtracking beyond the
/// last star, so linear in practice and never exponential.
static bool matchesPart(StringRef pattern, StringRef text) {
  size_t p = 0, t = 0, star = StringRef::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != StringRef::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  return pattern.drop_front(p).find_first_not_of('*') == StringRef::npos;
}

bool shardtype::matchesPath(StringRef pattern, StringRef path) {
  SmallVector<StringRef, 8> want, have;
  pattern.split(want, '/');
  path.split(have, '/');
  // The same scheme one level up: `**` is any number of parts.
  size_t p = 0, t = 0, star = StringRef::npos, mark = 0;
  while (t < have.size()) {
    if (p < want.size() && want[p] == "**") {
      star = p++;
      mark = t;
    } else if (p < want.size() && matchesPart(want[p], have[t])) {
      ++p;
      ++t;
    } else if (star != StringRef::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < want.size() && want[p] == "**")
    ++p;
  return p == want.size();
}

static void
visitBodies(const Program &program, ValueId id, const std::string &place,
            llvm::function_ref<void(const std::string &, JaxprId)> visit) {
  const Value &value = program.value(id);
  if (value.kind == Value::Jaxpr)
    return visit(place, JaxprId(static_cast<uint32_t>(value.integer)));
  bool isStruct = value.kind == Value::Struct || value.kind == Value::HiPrim;
  if (!isStruct && value.kind != Value::Tuple && value.kind != Value::List)
    return;
  for (unsigned i = 0; i < value.elements.size(); ++i) {
    std::string part = isStruct && i < value.names.size()
                           ? program.context().str(value.names[i]).str()
                           : std::to_string(i);
    visitBodies(program, value.elements[i], place + "/" + part, visit);
  }
}

void shardtype::forEachBody(
    const Program &program, const Eqn &eqn,
    llvm::function_ref<void(const std::string &, JaxprId)> visit) {
  for (const Param &param : program.params(eqn.params))
    visitBodies(program, param.value,
                "params/" + program.context().str(param.key).str(), visit);
}
