// Listing.cpp - counts by reason and primitive, and the file that lists them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Listing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <set>

using namespace shardtype;
using namespace shardtype::oracle;

static constexpr size_t Columns = 88;
static constexpr size_t LongestExample = 240;

void Listing::add(StringRef kind, StringRef key, StringRef primitive,
                  llvm::function_ref<std::string()> example) {
  Found &found = found_[{kind.str(), key.str()}][primitive.str()];
  // Texts cost more than the count, and short ones come early.
  if (++found.count > 20)
    return;
  std::string text = example();
  if (found.count == 1 || text.size() < found.example.size())
    found.example = std::move(text);
}

/// `add 12, sub 3` into counts; false: it is something else.
static bool readCounts(StringRef line, std::map<std::string, unsigned> &into) {
  SmallVector<StringRef, 8> parts;
  line.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [name, number] = part.trim().split(' ');
    unsigned count = 0;
    if (name.empty() || (!number.empty() && number.getAsInteger(10, count)))
      return false;
    into[name.str()] = count;
  }
  return true;
}

std::optional<Listing::File> Listing::read(StringRef path) {
  File file;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    llvm::errs() << "cannot read '" << path << "'\n";
    return std::nullopt;
  }
  SmallVector<StringRef, 0> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    bool fine = true;
    SmallVector<StringRef, 4> parts;
    if (line.starts_with("#")) {
      file.head += line.str() + "\n";
    } else if (line.starts_with("  e.g. ")) {
      continue;
    } else if (line.starts_with("  ")) {
      fine =
          !file.entries.empty() && readCounts(line, file.entries.back().counts);
    } else {
      line.split(parts, ';', 3);
      fine = parts.size() == 4;
      if (fine)
        file.entries.push_back({{parts[0].trim().str(), parts[1].trim().str()},
                                parts[2].trim().str(),
                                parts[3].trim().str(),
                                {}});
    }
    if (!fine) {
      llvm::errs() << path << ": malformed line: " << line << '\n';
      return std::nullopt;
    }
  }
  return file;
}

bool Listing::compare(StringRef path) const {
  std::optional<File> file = read(path);
  if (!file)
    return false;
  bool same = true;
  auto complain = [&](const llvm::Twine &what, const Key &key) {
    llvm::outs() << path << ": " << key.first << "; " << key.second << ": "
                 << what << '\n';
    same = false;
  };
  std::set<std::pair<Key, std::string>> listed;
  for (const Entry &entry : file->entries) {
    if (entry.clause.empty() || entry.why.empty() || entry.clause == "?" ||
        entry.why == "?")
      complain("no clause, or no reason", entry.key);
    auto found = found_.find(entry.key);
    for (const auto &[name, count] : entry.counts) {
      unsigned now = 0;
      if (found != found_.end())
        if (auto at = found->second.find(name); at != found->second.end())
          now = at->second.count;
      if (now != count)
        complain(name + " has " + std::to_string(count) + ", and " +
                     std::to_string(now) + " are found",
                 entry.key);
      if (!listed.insert({entry.key, name}).second)
        complain(name + " is listed twice", entry.key);
    }
  }
  for (const auto &[key, primitives] : found_)
    for (const auto &[name, found] : primitives)
      if (!listed.count({key, name}))
        complain(name + " is not listed: " + std::to_string(found.count) +
                     ", such as " + found.example,
                 key);
  return same;
}

std::string Listing::print(const Entry &entry, const ByPrimitive &found) {
  std::string text, line, example;
  for (const auto &[name, ignored] : entry.counts) {
    auto at = found.find(name);
    if (at == found.end())
      continue; // It is gone.
    const Found &now = at->second;
    std::string item = name + " " + std::to_string(now.count);
    if (!line.empty() && line.size() + item.size() + 2 > Columns) {
      text += line + ",\n";
      line.clear();
    }
    line += (line.empty() ? "  " : ", ") + item;
    if (example.empty() || now.example.size() < example.size())
      example = now.example;
  }
  if (line.empty())
    return "";
  if (!example.empty() && example.size() <= LongestExample)
    line += "\n  e.g. " + example;
  return entry.key.first + "; " + entry.key.second + "; " + entry.clause +
         "; " + entry.why + "\n" + text + line + "\n";
}

bool Listing::update(StringRef path) const {
  std::optional<File> file = read(path);
  if (!file)
    return false;
  std::set<std::pair<Key, std::string>> listed;
  for (const Entry &entry : file->entries)
    for (const auto &[name, count] : entry.counts)
      listed.insert({entry.key, name});
  std::string text = file->head;
  auto write = [&](const Key &key, const ByPrimitive &primitives) {
    for (const Entry &entry : file->entries)
      if (entry.key == key)
        text += print(entry, primitives);
    Entry fresh{key, "?", "?", {}};
    for (const auto &[name, found] : primitives)
      if (!listed.count({key, name}))
        fresh.counts[name] = 0;
    text += print(fresh, primitives);
  };
  for (const auto &[key, primitives] : found_)
    write(key, primitives);
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (error) {
    llvm::errs() << "cannot write '" << path << "': " << error.message()
                 << '\n';
    return false;
  }
  os << text;
  return true;
}
