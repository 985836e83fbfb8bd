// Parser.cpp - reads programs in JAX's printed form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/IR/Parser.h"
#include "TextParser.h"
#include "TextResolver.h"
#include "shardtype/Types/Text.h"
#include "llvm/ADT/StringExtras.h"

using namespace shardtype;

/// Offsets in a text take 32 bits.
static constexpr uint64_t MaxBytes = 0xffffffffull;

static void report(DiagnosticList &diags, StringRef text,
                   const TextFailure &failure) {
  LineCounter counter(text);
  counter.advance(failure.offset);
  Diagnostic &diagnostic = diags.add(failure.code, failure.args);
  diagnostic.line = counter.line();
  diagnostic.column = counter.column();
}

/// Lines `#!` before the program; other comments may stand between them.
static std::vector<Directive> findDirectives(StringRef text) {
  std::vector<Directive> directives;
  text.consume_front("\xef\xbb\xbf");
  for (unsigned line = 1; !text.empty(); ++line) {
    auto [first, rest] = text.split('\n');
    StringRef content = first.trim();
    if (!content.empty() && !content.starts_with("#"))
      break;
    if (content.consume_front("#!"))
      directives.push_back({content.trim().str(), line});
    text = rest;
  }
  return directives;
}

namespace {

/// What the directives say that concerns reading.
class DirectiveReader {
public:
  DirectiveReader(Context &cx, DiagnosticList &diags)
      : cx_(cx), diags_(diags) {}

  /// The meshes of `mesh` lines, in order.
  FailureOr<SmallVector<MeshId, 2>> meshes(ArrayRef<Directive> directives);
  /// Makes the inputs that a `weak` line names weakly typed.
  LogicalResult weak(ArrayRef<Directive> directives, Program &program);

private:
  LogicalResult fail(const Directive &directive, std::string message) {
    diags_.add(diag::TextSyntax, std::move(message)).line = directive.line;
    diags_.all().back().column = 1;
    return llvm::failure();
  }

  Context &cx_;
  DiagnosticList &diags_;
};

} // namespace

FailureOr<SmallVector<MeshId, 2>>
DirectiveReader::meshes(ArrayRef<Directive> directives) {
  SmallVector<MeshId, 2> meshes;
  for (const Directive &directive : directives) {
    auto [word, rest] = StringRef(directive.text).split(' ');
    if (word != "mesh")
      continue;
    TextResult<MeshId> read = parseMesh(cx_, rest);
    if (!read)
      return fail(directive, read.error.message);
    if (MeshId mesh = cx_.forTypes(*read); mesh.valid())
      meshes.push_back(mesh);
  }
  return meshes;
}

LogicalResult DirectiveReader::weak(ArrayRef<Directive> directives,
                                    Program &program) {
  const Jaxpr &entry = program.jaxpr(program.entry.jaxpr);
  for (const Directive &directive : directives) {
    auto [word, rest] = StringRef(directive.text).split(' ');
    if (word != "weak")
      continue;
    SmallVector<StringRef, 4> names;
    rest.split(names, ' ', -1, /*KeepEmpty=*/false);
    for (StringRef name : names) {
      StringId wanted = cx_.intern(name);
      bool found = false;
      for (uint32_t i = 0; i < entry.numConsts + entry.numInputs; ++i) {
        Var &var = program.vars[entry.var(i).index()];
        if (var.name() != wanted || !var.type.valid())
          continue;
        var.type = cx_.withWeak(var.type, true);
        found = true;
      }
      if (!found)
        return fail(directive,
                    "no input with a type is called '" + name.str() + "'");
    }
  }
  return success();
}

/// Is it text at all? The bytes of another format are not worth a closer look.
static bool isText(StringRef text) {
  return !text.take_front(4096).contains('\0');
}

/// Reads on the mesh `given` what names no mesh; invalid: none.
static std::optional<ParsedText>
parseOn(MeshId given, Context &context, StringRef text, StringRef fileName,
        InfoLookup lookup, DiagnosticList &diags, const ParseLimits &limits) {
  ParsedText result{Program(context), findDirectives(text)};
  DirectiveReader directives(context, diags);
  FailureOr<SmallVector<MeshId, 2>> declared =
      directives.meshes(result.directives);
  if (failed(declared))
    return std::nullopt;
  if (MeshId mesh = context.forTypes(given); mesh.valid())
    declared->push_back(mesh);
  TextParser parser(result.program, text, lookup, limits);
  if (failed(parser.parse())) {
    report(diags, text, parser.failure());
    return std::nullopt;
  }
  TextResolver resolver(result.program, text, fileName, parser.syntax(),
                        *declared, limits.depth);
  if (failed(resolver.resolve())) {
    if (resolver.wantsMesh() && !given.valid() && limits.mesh.valid())
      return parseOn(limits.mesh, context, text, fileName, lookup, diags,
                     limits);
    report(diags, text, resolver.failure());
    return std::nullopt;
  }
  if (failed(directives.weak(result.directives, result.program)))
    return std::nullopt;
  return result;
}

std::optional<ParsedText> shardtype::parseText(Context &context, StringRef text,
                                               StringRef fileName,
                                               InfoLookup lookup,
                                               DiagnosticList &diags,
                                               const ParseLimits &limits) {
  uint64_t maxBytes = std::min(limits.bytes, MaxBytes);
  if (text.size() > maxBytes) {
    diags.add(diag::InputLimit,
              {"the size of the input", std::to_string(maxBytes) + " bytes"});
    return std::nullopt;
  }
  if (text.trim().empty()) {
    diags.add(diag::InputEmpty);
    return std::nullopt;
  }
  if (!isText(text)) {
    diags.add(diag::InputBinary, {"it holds zero bytes"});
    return std::nullopt;
  }
  return parseOn(MeshId(), context, text, fileName, lookup, diags, limits);
}
