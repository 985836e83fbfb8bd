// IRFixture.h - reading and printing programs in tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_UNIT_IRFIXTURE_H
#define SHARDTYPE_TEST_UNIT_IRFIXTURE_H

#include "shardtype/IR/Parser.h"
#include "shardtype/IR/Printer.h"
#include "shardtype/IR/Verifier.h"
#include "shardtype/Primitives/All.h"
#include "shardtype/Types/Text.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <catch2/catch.hpp>

namespace shardtype {

/// What rows say of printing and reading.
inline const PrimitiveInfo *rowInfo(StringRef name) {
  static const PrimitiveSet rows = allPrimitives();
  return rows.info(name);
}

inline std::string readFile(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

/// Files of a folder of the repository with this ending, in order.
inline std::vector<std::string> filesIn(StringRef folder, StringRef ending) {
  std::vector<std::string> paths;
  std::error_code error;
  std::string root = std::string(SHARDTYPE_SOURCE_DIR) + "/" + folder.str();
  for (llvm::sys::fs::directory_iterator it(root, error), end;
       it != end && !error; it.increment(error))
    if (StringRef(it->path()).ends_with(ending))
      paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// A text that was read, or the first thing wrong with it as
/// `line:column: message`.
struct Read {
  Context cx;
  DiagnosticList diags;
  std::optional<ParsedText> parsed;

  explicit Read(StringRef text, const ParseLimits &limits = {}) {
    parsed = parseText(cx, text, "test.jaxpr", rowInfo, diags, limits);
    if (parsed && failed(verify(parsed->program, diags)))
      parsed.reset();
  }
  explicit operator bool() const { return parsed.has_value(); }
  Program &program() { return parsed->program; }
  const Jaxpr &entry() { return program().jaxpr(program().entry.jaxpr); }
  const Eqn &eqn(unsigned i) { return program().eqn(entry().eqn(i)); }
  std::string type(VarId var) {
    TypeId id = program().var(var).type;
    return id.valid() ? str(cx, id) : "";
  }
  std::string param(const Eqn &eqn, StringRef key) {
    ValueId value = program().param(eqn.params, key);
    return value.valid() ? printValue(program(), value) : "(absent)";
  }
  std::string mesh(MeshId id) {
    return id.valid() ? shortMesh(cx, cx.mesh(id)) : "";
  }
  std::string error() {
    if (diags.empty())
      return "";
    const Diagnostic &d = diags.all().front();
    return std::to_string(d.line) + ":" + std::to_string(d.column) + ": " +
           d.message;
  }
  std::string print(const PrintOptions &options = {}) {
    if (!parsed)
      return error();
    std::string text;
    llvm::raw_string_ostream os(text);
    printProgram(os, program(), nullptr, options);
    return text;
  }
};

/// The text behind the lines that declare meshes.
inline StringRef withoutDirectives(StringRef text) {
  while (text.starts_with("#!"))
    text = text.split('\n').second;
  return text.rtrim('\n');
}

} // namespace shardtype

#endif
