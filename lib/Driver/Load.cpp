// Load.cpp - programs from files, whatever their format.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Driver/Load.h"
#include "shardtype/IR/Verifier.h"

using namespace shardtype;

Format shardtype::guessFormat(StringRef bytes) {
  StringRef rest = bytes.ltrim();
  // A printed jaxpr begins with `{ lambda`, `let`, or a comment.
  if (rest.starts_with("["))
    return Format::Json;
  if (!rest.consume_front("{"))
    return Format::Text;
  rest = rest.ltrim();
  return rest.empty() || rest.starts_with("\"") || rest.starts_with("}")
             ? Format::Json
             : Format::Text;
}

/// Bytes that no text file holds: say so instead of a syntax error.
static std::optional<std::string> notText(StringRef bytes) {
  StringRef head = bytes.take_front(4096);
  size_t at = head.find('\0');
  if (at != StringRef::npos)
    return "byte " + std::to_string(at) + " is zero";
  if (head.starts_with("\x1f\x8b"))
    return "it is compressed (gzip)";
  return std::nullopt;
}

/// Findings about equations of a file get their JSON pointers: its jaxprs and
/// equations are the program's, in the same order.
static void addPointers(const Program &program, DiagnosticList &diags) {
  for (Diagnostic &d : diags.all()) {
    if (!d.path.empty() || !d.eqn.valid())
      continue;
    for (auto [i, jaxpr] : llvm::enumerate(program.jaxprs))
      if (d.eqn.raw() - jaxpr.firstEqn < jaxpr.numEqns)
        d.path = "/jaxprs/" + std::to_string(i) + "/eqns/" +
                 std::to_string(d.eqn.raw() - jaxpr.firstEqn);
  }
}

std::optional<Program> shardtype::loadProgram(Context &context, StringRef bytes,
                                              StringRef name,
                                              const PrimitiveSet &primitives,
                                              DiagnosticList &diags,
                                              const LoadLimits &limits) {
  if (bytes.trim().empty()) {
    diags.add(diag::InputEmpty);
    return std::nullopt;
  }
  if (std::optional<std::string> why = notText(bytes)) {
    diags.add(diag::InputBinary, {*why});
    return std::nullopt;
  }
  bytes.consume_front("\xef\xbb\xbf"); // A byte order mark.
  auto lookup = [&](StringRef primitive) { return primitives.info(primitive); };
  std::optional<Program> program;
  bool isJson = guessFormat(bytes) == Format::Json;
  if (isJson) {
    program = readJson(context, bytes, lookup, diags, limits.json);
  } else if (std::optional<ParsedText> parsed =
                 parseText(context, bytes, name, lookup, diags, limits.text)) {
    program = std::move(parsed->program);
  }
  if (!program)
    return std::nullopt;
  if (succeeded(verify(*program, diags, limits.text.depth)))
    return program;
  if (isJson)
    addPointers(*program, diags);
  return std::nullopt;
}

std::unique_ptr<llvm::MemoryBuffer>
shardtype::readInput(StringRef path, DiagnosticList &diags) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/false);
  if (buffer)
    return std::move(*buffer);
  diags.add(diag::InputUnreadable, {path.str(), buffer.getError().message()});
  return nullptr;
}
