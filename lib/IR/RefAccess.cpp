// RefAccess.cpp - how reads and writes of Refs index them, as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RefAccess.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;
namespace json = llvm::json;

namespace {

/// Composes the pieces of one equation.
class AccessText {
public:
  AccessText(unsigned firstIndex, unsigned numOperands, RefAccess &access)
      : firstIndex_(firstIndex), numOperands_(numOperands), access_(access) {}

  bool transforms(const json::Array &list);

private:
  bool transform(const json::Object &transform);
  bool index(const json::Value &index, const json::Value *dim);
  bool slice(const json::Array &slice, const json::Value *dim);
  bool number(const json::Value &value);
  void text(StringRef text);
  std::optional<int> operand(const json::Value &value) const;

  unsigned firstIndex_, numOperands_;
  RefAccess &access_;
};

} // namespace

void AccessText::text(StringRef text) {
  if (access_.pieces.empty() || access_.pieces.back().operand >= 0)
    access_.pieces.emplace_back();
  access_.pieces.back().text += text;
}

/// The equation's operand that `{"operand":k}` stands for, if it has one.
std::optional<int> AccessText::operand(const json::Value &value) const {
  const json::Object *object = value.getAsObject();
  std::optional<int64_t> k =
      object ? object->getInteger("operand") : std::nullopt;
  if (!k || *k < 0 || *k >= int64_t(numOperands_) - int64_t(firstIndex_))
    return std::nullopt;
  return static_cast<int>(*k) + static_cast<int>(firstIndex_);
}

bool AccessText::number(const json::Value &value) {
  if (std::optional<int> k = operand(value)) {
    access_.pieces.push_back({*k, ""});
    return true;
  }
  std::optional<int64_t> n = value.getAsInteger();
  if (n)
    text(std::to_string(*n));
  return n.has_value();
}

/// `start:end`, with `start+size` for an end that is not known; nothing for a
/// start of 0 and for an end at the dim's (spec 04, 4.8).
bool AccessText::slice(const json::Array &slice, const json::Value *dim) {
  if (slice.size() < 2)
    return false;
  std::optional<int64_t> start = slice[0].getAsInteger();
  std::optional<int64_t> size = slice[1].getAsInteger();
  if (!start || !size) {
    bool zero = start == 0;
    if (!zero && !number(slice[0]))
      return false;
    text(":");
    if (!zero) {
      if (!number(slice[0]))
        return false;
      text("+");
    }
    return number(slice[1]);
  }
  if (*start != 0)
    text(std::to_string(*start));
  text(":");
  std::optional<int64_t> extent = dim ? dim->getAsInteger() : std::nullopt;
  int64_t end;
  if (llvm::AddOverflow(*start, *size, end))
    return false;
  if (extent != end)
    text(std::to_string(end));
  return true;
}

bool AccessText::index(const json::Value &index, const json::Value *dim) {
  const json::Object *object = index.getAsObject();
  const json::Array *parts = object ? object->getArray("slice") : nullptr;
  return parts ? slice(*parts, dim) : number(index);
}

bool AccessText::transform(const json::Object &transform) {
  if (std::optional<llvm::StringRef> other = transform.getString("text")) {
    text(*other);
    return true;
  }
  if (std::optional<llvm::StringRef> other = transform.getString("repr")) {
    text(("{" + *other + "}").str());
    return true;
  }
  const json::Array *indices = transform.getArray("index");
  const json::Array *shape = transform.getArray("shape");
  if (!indices)
    return false;
  text("[");
  for (size_t i = 0; i < indices->size(); ++i) {
    if (i)
      text(",");
    const json::Value *dim =
        shape && i < shape->size() ? &(*shape)[i] : nullptr;
    if (!index((*indices)[i], dim))
      return false;
  }
  text("]");
  return true;
}

bool AccessText::transforms(const json::Array &list) {
  if (list.empty())
    text("[...]");
  for (const json::Value &item : list) {
    const json::Object *object = item.getAsObject();
    if (!object || !transform(*object))
      return false;
  }
  return true;
}

std::optional<RefAccess>
shardtype::refAccess(const Program &program, const Eqn &eqn, PrintStyle style) {
  unsigned firstIndex = style == PrintStyle::RefGet ? 1 : 2;
  unsigned numResults = style == PrintStyle::RefAdd ? 0 : 1;
  if (eqn.numOperands < firstIndex || eqn.numResults != numResults)
    return std::nullopt;
  RefAccess access;
  StringId derived = program.info(eqn.info).derived;
  if (!derived.valid())
    return std::nullopt;
  llvm::Expected<json::Value> value =
      json::parse(program.context().str(derived));
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const json::Object *object = value->getAsObject();
  const json::Array *list = object ? object->getArray("transforms") : nullptr;
  AccessText text(firstIndex, eqn.numOperands, access);
  if (!list || !text.transforms(*list))
    return std::nullopt;
  return access;
}
