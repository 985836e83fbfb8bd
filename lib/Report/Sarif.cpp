// Sarif.cpp - SARIF 2.1.0 and GitHub annotations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Common.h"
#include "llvm/Support/JSON.h"
#include <set>

using namespace shardtype;
using llvm::json::OStream;

static void region(OStream &json, const Frame &frame) {
  json.attributeObject("region", [&] {
    json.attribute("startLine", frame.line);
    json.attribute("startColumn", frame.column + 1);
    if (frame.endLine) {
      json.attribute("endLine", frame.endLine);
      json.attribute("endColumn", frame.endColumn + 1);
    }
  });
}

static void location(OStream &json, const SarifInput &input,
                     const Diagnostic &d) {
  const Frame *frame =
      input.checked ? innermost(*input.checked->program, d.stack) : nullptr;
  json.object([&] {
    json.attributeObject("physicalLocation", [&] {
      json.attributeObject("artifactLocation", [&] {
        json.attribute(
            "uri",
            utf8(frame ? input.checked->program->context().str(frame->file)
                       : StringRef(input.program)));
      });
      if (frame)
        region(json, *frame);
      else if (d.line)
        json.attributeObject("region", [&] {
          json.attribute("startLine", d.line);
          json.attribute("startColumn", d.column);
        });
    });
    if (!d.path.empty())
      json.attributeArray("logicalLocations", [&] {
        json.object([&] {
          json.attribute("fullyQualifiedName",
                         utf8(input.program + "/" + d.path));
        });
      });
  });
}

static void result(OStream &json, const SarifInput &input,
                   const Diagnostic &d) {
  json.object([&] {
    json.attribute("ruleId", info(d.code).code);
    json.attribute("level", levelWord(d.level));
    json.attributeObject("message",
                         [&] { json.attribute("text", utf8(d.message)); });
    json.attributeArray("locations", [&] { location(json, input, d); });
  });
}

static ArrayRef<Diagnostic> findings(const SarifInput &input) {
  return input.checked ? input.checked->diagnostics.all()
                       : input.diagnostics->all();
}

void shardtype::writeSarif(raw_ostream &os, ArrayRef<SarifInput> inputs) {
  std::set<diag::Code> codes;
  for (const SarifInput &input : inputs)
    for (const Diagnostic &d : findings(input))
      codes.insert(d.code);
  OStream json(os, 1);
  json.object([&] {
    json.attribute("$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    json.attribute("version", "2.1.0");
    json.attributeArray("runs", [&] {
      json.object([&] {
        json.attributeObject("tool", [&] {
          json.attributeObject("driver", [&] {
            json.attribute("name", "shardtype");
            json.attributeArray("rules", [&] {
              for (diag::Code code : codes)
                json.object([&] { json.attribute("id", info(code).code); });
            });
          });
        });
        json.attribute("columnKind", "utf16CodeUnits");
        json.attributeArray("results", [&] {
          for (const SarifInput &input : inputs)
            for (const Diagnostic &d : findings(input))
              result(json, input, d);
        });
      });
    });
  });
  os << '\n';
}

/// Escapes what GitHub's workflow commands treat specially.
static std::string escaped(StringRef text, bool property) {
  std::string out;
  for (char c : text) {
    if (c == '%')
      out += "%25";
    else if (c == '\n')
      out += "%0A";
    else if (c == '\r')
      out += "%0D";
    else if (property && c == ':')
      out += "%3A";
    else if (property && c == ',')
      out += "%2C";
    else
      out += c;
  }
  return out;
}

void shardtype::printGithub(raw_ostream &os, const CheckedProgram &checked,
                            const ReportOptions &options) {
  const Program &program = *checked.program;
  VarNames names(program);
  Edits edits(checked, options.sources);
  for (const Diagnostic &d : checked.diagnostics.all()) {
    os << "::" << (d.level == Level::Note ? "notice" : levelWord(d.level))
       << ' ';
    if (const Frame *frame = innermost(program, d.stack))
      os << "file=" << escaped(program.context().str(frame->file), true)
         << ",line=" << frame->line << ",col=" << frame->column + 1 << ',';
    os << "title=" << escaped(info(d.code).code, true) << "::";
    std::string text = d.message;
    if (!innermost(program, d.stack))
      text = options.program + ", " + d.path + ": " + text;
    for (const Fix &fix : d.fixes)
      text += "\n" + editText(edits, program, names, d, fix) + ": " +
              describe(fix.communication,
                       fix.type.valid() &&
                           leavesPartial(program.context(), fix.type));
    os << escaped(text, false) << '\n';
  }
}

void shardtype::printInputErrorsGithub(raw_ostream &os,
                                       const DiagnosticList &diagnostics,
                                       const ReportOptions &options) {
  for (const Diagnostic &d : diagnostics.all()) {
    os << "::" << (d.level == Level::Note ? "notice" : levelWord(d.level))
       << " file=" << escaped(options.program, true);
    if (d.line)
      os << ",line=" << d.line << ",col=" << d.column;
    os << ",title=" << escaped(info(d.code).code, true)
       << "::" << escaped(d.message, false);
    if (!d.path.empty())
      os << " (at " << escaped(d.path, false) << ')';
    os << '\n';
  }
}
