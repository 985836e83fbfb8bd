// MatrixFile.cpp - reads verdict files: plain, compressed, and of the matrix.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "MatrixFile.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace shardtype;
using namespace shardtype::oracle;
namespace json = llvm::json;

static std::optional<std::string> decompress(StringRef data,
                                             std::string &error) {
  constexpr uint64_t most = 1u << 30;
  if (!llvm::compression::zlib::isAvailable()) {
    error = "LLVM was built without zlib";
    return std::nullopt;
  }
  uint64_t size =
      data.size() < 8 ? 0 : llvm::support::endian::read64le(data.data());
  if (size == 0 || size > most) {
    error = "no length in front of the data";
    return std::nullopt;
  }
  SmallVector<uint8_t, 0> text;
  llvm::Error failed = llvm::compression::zlib::decompress(
      llvm::arrayRefFromStringRef(data.drop_front(8)), text, size);
  if (failed) {
    error = llvm::toString(std::move(failed));
    return std::nullopt;
  }
  return llvm::toStringRef(text).str();
}

std::optional<std::string> oracle::readText(StringRef path,
                                            std::string &error) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    error = "cannot be read";
    return std::nullopt;
  }
  StringRef data = (*buffer)->getBuffer();
  return path.ends_with(".z") ? decompress(data, error) : data.str();
}

/// The answer of JAX: `[result, ...]` or `"!CLASS id"`.
static bool readVerdict(const json::Value &value, Case &c) {
  if (std::optional<StringRef> error = value.getAsString()) {
    c.error = error->drop_front().str();
    return true;
  }
  if (!value.getAsArray())
    return false;
  for (const json::Value &result : *value.getAsArray())
    c.results.push_back(result.getAsString().value_or("").str());
  return true;
}

static std::vector<std::string> strings(const json::Array &list) {
  std::vector<std::string> out;
  for (const json::Value &text : list)
    out.push_back(text.getAsString().value_or("").str());
  return out;
}

/// `"cases"`: `[[operand, ...], verdict]` each.
bool GroupReader::plainCases(const json::Array &list, Group &group) {
  for (const json::Value &value : list) {
    const json::Array *pair = value.getAsArray();
    if (!pair || pair->size() != 2 || !(*pair)[0].getAsArray())
      return false;
    Case c;
    c.operands = strings(*(*pair)[0].getAsArray());
    if (!readVerdict((*pair)[1], c))
      return false;
    group.cases.push_back(std::move(c));
  }
  return true;
}

/// The lists of types of a line's operands; nothing if one is not there.
static std::optional<std::vector<const std::vector<std::string> *>>
listsOf(const json::Array &numbers,
        const std::vector<std::vector<std::string>> &types) {
  std::vector<const std::vector<std::string> *> lists;
  for (const json::Value &number : numbers) {
    uint64_t at = number.getAsUINT64().value_or(types.size());
    if (at >= types.size() || types[at].empty())
      return std::nullopt;
    lists.push_back(&types[at]);
  }
  return lists;
}

/// `"in"`, `"v"`, `"c"` and perhaps `"n"` or `"at"`: which combinations of the
/// lists' members.
bool GroupReader::numberedCases(const json::Object &line, Group &group) {
  const json::Array *in = line.getArray("in"), *table = line.getArray("v");
  const json::Array *verdicts = line.getArray("c");
  const json::Array *gaps = line.getArray("n"), *at = line.getArray("at");
  if (!in || !table || !verdicts || (gaps && gaps->size() != verdicts->size()))
    return false;
  auto lists = listsOf(*in, types_);
  if (!lists || (at && at->size() != verdicts->size() * lists->size()))
    return false;
  std::vector<Case> answers(table->size());
  for (unsigned i = 0; i < answers.size(); ++i)
    if (!readVerdict((*table)[i], answers[i]))
      return false;
  uint64_t place = 0; // One more than the place in the product.
  for (unsigned i = 0; i < verdicts->size(); ++i) {
    uint64_t which = (*verdicts)[i].getAsUINT64().value_or(answers.size());
    uint64_t gap = gaps ? (*gaps)[i].getAsUINT64().value_or(0) : 1;
    if (which >= answers.size() || gap == 0)
      return false;
    place += gap;
    Case c = answers[which];
    c.operands.resize(lists->size());
    uint64_t rest = place - 1;
    for (unsigned k = lists->size(); k-- > 0;) {
      const std::vector<std::string> &list = *(*lists)[k];
      uint64_t member = rest % list.size();
      if (at)
        member = (*at)[i * lists->size() + k].getAsUINT64().value_or(~0ull);
      if (member >= list.size())
        return false;
      rest /= list.size();
      c.operands[k] = list[member];
    }
    if (rest != 0 && !at)
      return false;
    group.cases.push_back(std::move(c));
  }
  return true;
}

std::optional<std::optional<Group>>
GroupReader::line(const json::Value &value) {
  const json::Object *line = value.getAsObject();
  if (!line)
    return std::nullopt;
  if (const json::Array *types = line->getArray("types")) {
    types_.push_back(strings(*types));
    return std::optional<Group>();
  }
  std::optional<StringRef> mesh = line->getString("mesh");
  std::optional<StringRef> primitive = line->getString("p");
  const json::Object *params = line->getObject("params");
  if (!mesh || !primitive || !params)
    return std::nullopt;
  Group group{mesh->str(), primitive->str(), {}, {}};
  for (const auto &[key, text] : *params)
    group.params[StringRef(key).str()] = text.getAsString().value_or("").str();
  const json::Array *cases = line->getArray("cases");
  if (!(cases ? plainCases(*cases, group) : numberedCases(*line, group)))
    return std::nullopt;
  return group;
}
