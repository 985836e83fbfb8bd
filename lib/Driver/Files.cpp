// Files.cpp - parts of inputs, and outputs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Options.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace shardtype;

std::vector<InputText> shardtype::splitSections(StringRef name, StringRef bytes,
                                                bool split) {
  std::vector<InputText> sections;
  if (!split) {
    sections.push_back({name.str(), bytes.str()});
    return sections;
  }
  std::string current;
  unsigned line = 0;
  bool isFirst = true;
  while (!bytes.empty()) {
    auto [head, tail] = bytes.split('\n');
    bytes = tail;
    ++line;
    if (head.rtrim() != "# -----") {
      current += head;
      current += '\n';
      continue;
    }
    sections.push_back({name.str(), std::move(current)});
    current.assign(line, '\n');
    isFirst = false;
  }
  if (isFirst || !StringRef(current).trim().empty())
    sections.push_back({name.str(), std::move(current)});
  return sections;
}

std::optional<JsonValue>
shardtype::readJsonFile(StringRef path, StringRef shown, raw_ostream &err) {
  DiagnosticList diags;
  if (auto buffer = readInput(path, diags))
    if (auto value = readJsonValue(buffer->getBuffer(), diags))
      return value;
  ReportOptions report;
  report.program = shown.str();
  printInputErrors(err, diags, report);
  return std::nullopt;
}

std::string shardtype::pointerPart(StringRef key) {
  std::string part;
  for (char c : key)
    part += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return "/" + part;
}

LoadLimits shardtype::limitsOf(const Options &options) {
  LoadLimits limits;
  limits.text.depth = options.maxDepth;
  // A level of a value takes two of JSON: the object with its tag, the list.
  limits.json.depth =
      std::max(limits.json.depth,
               2 * std::min(options.maxDepth, JsonLimits::MostDepth / 2));
  limits.text.bytes = limits.json.bytes = options.maxBytes;
  return limits;
}

bool shardtype::useColor(const Options &options, raw_ostream &out) {
  if (options.color != "auto")
    return options.color == "always";
  return out.is_displayed() && out.has_colors();
}

/// Writes and closes; what went wrong.
static std::error_code writeAll(llvm::raw_fd_ostream &os, StringRef bytes) {
  os << bytes;
  os.close();
  std::error_code error = os.error();
  os.clear_error(); // Or the stream ends the program its own way.
  return error;
}

/// A file beside the target, then in its place: never half written.
static std::error_code replaceFile(StringRef path, StringRef bytes) {
  // A link stays one.
  llvm::SmallString<128> target;
  if (llvm::sys::fs::real_path(path, target))
    target = path;
  llvm::sys::fs::perms perms =
      llvm::sys::fs::all_read | llvm::sys::fs::owner_write |
      llvm::sys::fs::group_write | llvm::sys::fs::others_write;
  perms = static_cast<llvm::sys::fs::perms>(perms & ~llvm::sys::fs::getUmask());
  if (auto known = llvm::sys::fs::getPermissions(target))
    perms = *known;
  int descriptor;
  llvm::SmallString<128> fresh;
  if (std::error_code error = llvm::sys::fs::createUniqueFile(
          target + ".%%%%%%.tmp", descriptor, fresh))
    return error;
  llvm::raw_fd_ostream os(descriptor, /*shouldClose=*/true);
  std::error_code error = writeAll(os, bytes);
  if (!error)
    error = llvm::sys::fs::setPermissions(fresh, perms);
  if (!error)
    error = llvm::sys::fs::rename(fresh, target);
  if (error)
    llvm::sys::fs::remove(fresh);
  return error;
}

LogicalResult shardtype::writeOutput(StringRef path, StringRef bytes,
                                     Streams streams) {
  if (path.empty() || path == "-") {
    streams.out << bytes;
    return success();
  }
  // A device cannot be replaced by a file.
  bool isDevice =
      llvm::sys::fs::exists(path) && !llvm::sys::fs::is_regular_file(path);
  std::error_code error;
  if (isDevice) {
    llvm::raw_fd_ostream os(path, error);
    if (!error)
      error = writeAll(os, bytes);
  } else {
    error = replaceFile(path, bytes);
  }
  if (!error)
    return success();
  streams.err << "shardtype: cannot write '" << path << "': " << error.message()
              << '\n';
  return failure();
}
