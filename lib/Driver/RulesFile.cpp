// RulesFile.cpp - `--rules`: primitives of the user's own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RulesFile.h"
#include "shardtype/Types/Text.h"

using namespace shardtype;

namespace {
/// Reads one file. Each error says where: line and column, or a JSON pointer.
class RulesReader {
public:
  RulesReader(StringRef file, OwnPrimitives &own, raw_ostream &err)
      : file_(file), own_(own), err_(err) {}
  LogicalResult read(const JsonValue &root);

private:
  LogicalResult fail(const std::string &at, const std::string &message) {
    err_ << "shardtype: " << file_ << ": " << at << ": " << message << '\n';
    return failure();
  }
  LogicalResult primitive(const JsonValue &value, const std::string &at);
  LogicalResult entry(StringRef key, const JsonValue &value,
                      const std::string &at, OwnRule &rule);
  LogicalResult string(const JsonValue &value, const std::string &at,
                       std::string &text);
  LogicalResult whole(const JsonValue &value, const std::string &at,
                      OwnRule &rule);
  LogicalResult linear(const JsonValue &value, const std::string &at,
                       OwnRule &rule);
  LogicalResult sizes(const JsonValue &value, const std::string &at,
                      OwnRule &rule);

  StringRef file_;
  OwnPrimitives &own_;
  raw_ostream &err_;
};
} // namespace

/// A whole number of a JSON value, not negative.
static std::optional<int64_t> wholeNumber(const JsonValue &value) {
  constexpr double most = 9007199254740992.0; // 2^53
  if (value.kind != JsonValue::Number || value.number < 0 ||
      value.number > most ||
      value.number != static_cast<double>(static_cast<int64_t>(value.number)))
    return std::nullopt;
  return static_cast<int64_t>(value.number);
}

LogicalResult RulesReader::string(const JsonValue &value, const std::string &at,
                                  std::string &text) {
  if (value.kind != JsonValue::String)
    return fail(at, "expected a string");
  text = value.string;
  return success();
}

LogicalResult RulesReader::whole(const JsonValue &value, const std::string &at,
                                 OwnRule &rule) {
  if (value.kind != JsonValue::List)
    return fail(at, "expected a list of factors, such as [\"d\"]");
  for (unsigned i = 0; i < value.list.size(); ++i)
    if (failed(string(value.list[i], at + "/" + std::to_string(i),
                      rule.whole.emplace_back())))
      return failure();
  return success();
}

/// `[0, 1]`: in each of them alone; `[[0, 1]]`: in both together.
LogicalResult RulesReader::linear(const JsonValue &value, const std::string &at,
                                  OwnRule &rule) {
  if (value.kind != JsonValue::List)
    return fail(at, "expected a list of operands, such as [0]");
  for (unsigned i = 0; i < value.list.size(); ++i) {
    const JsonValue &item = value.list[i];
    std::string place = at + "/" + std::to_string(i);
    bool isGroup = item.kind == JsonValue::List;
    SmallVector<unsigned, 2> &group = rule.linear.emplace_back();
    for (const JsonValue &member : isGroup ? item.list : std::vector{item}) {
      std::optional<int64_t> operand = wholeNumber(member);
      if (!operand || *operand > 65535)
        return fail(place, "expected the number of an operand, from 0, or a "
                           "list of them");
      group.push_back(static_cast<unsigned>(*operand));
    }
  }
  return success();
}

LogicalResult RulesReader::sizes(const JsonValue &value, const std::string &at,
                                 OwnRule &rule) {
  if (value.kind != JsonValue::Object)
    return fail(at, "expected an object of factors and sizes");
  for (const auto &[factor, item] : value.object) {
    std::optional<int64_t> size = wholeNumber(item);
    if (!size)
      return fail(at + pointerPart(factor), "expected a size, 0 or more");
    rule.sizes.push_back({factor, *size});
  }
  return success();
}

LogicalResult RulesReader::entry(StringRef key, const JsonValue &value,
                                 const std::string &at, OwnRule &rule) {
  if (key == "name")
    return string(value, at, rule.name);
  if (key == "dims")
    return string(value, at, rule.dims);
  if (key == "whole")
    return whole(value, at, rule);
  if (key == "linear")
    return linear(value, at, rule);
  if (key == "sizes")
    return sizes(value, at, rule);
  if (key != "dtype")
    return fail(at, "unknown key; known are name, dims, whole, linear, sizes, "
                    "dtype");
  std::string text;
  if (failed(string(value, at, text)))
    return failure();
  rule.dtype = parseDType(text);
  return rule.dtype ? success()
                    : fail(at, "'" + text +
                                   "' is no element type; write it "
                                   "short, such as f32");
}

LogicalResult RulesReader::primitive(const JsonValue &value,
                                     const std::string &at) {
  if (value.kind != JsonValue::Object)
    return fail(at, "expected an object with name and dims");
  OwnRule rule;
  for (const auto &[key, item] : value.object)
    if (failed(entry(key, item, at + pointerPart(key), rule)))
      return failure();
  if (!value.get("name") || !value.get("dims"))
    return fail(at, std::string("'") + (value.get("name") ? "dims" : "name") +
                        "' is missing");
  std::optional<OwnFault> fault = own_.add(rule);
  if (!fault)
    return success();
  std::string place = at + "/" + fault->field.str();
  if (fault->field == "sizes")
    place += pointerPart(rule.sizes[fault->index].first);
  else if (fault->index >= 0)
    place += "/" + std::to_string(fault->index);
  std::string message = fault->message;
  if (fault->field == "dims")
    message += " at character " + std::to_string(fault->offset + 1) + " of '" +
               rule.dims + "'";
  return fail(place, message);
}

LogicalResult RulesReader::read(const JsonValue &root) {
  const JsonValue *list = root.get("primitives");
  if (root.kind != JsonValue::Object || !list || list->kind != JsonValue::List)
    return fail("/", "expected an object with a list 'primitives'");
  for (const auto &[key, item] : root.object)
    if (key != "primitives")
      return fail(pointerPart(key), "unknown key; known is primitives");
  for (unsigned i = 0; i < list->list.size(); ++i)
    if (failed(primitive(list->list[i], "/primitives/" + std::to_string(i))))
      return failure();
  return success();
}

static LogicalResult readRules(StringRef path, OwnPrimitives &own,
                               raw_ostream &err) {
  StringRef shown = path == "-" ? "<stdin>" : path;
  std::optional<JsonValue> value = readJsonFile(path, shown, err);
  return value ? RulesReader(shown, own, err).read(*value) : failure();
}

LogicalResult shardtype::addOwnRules(const Options &options, OwnPrimitives &own,
                                     PrimitiveSet &primitives,
                                     raw_ostream &err) {
  for (const std::string &path : options.rules)
    if (failed(readRules(path, own, err)))
      return failure();
  own.addTo(primitives);
  return success();
}
