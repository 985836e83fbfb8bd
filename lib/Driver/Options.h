// Options.h - what the command line said.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_DRIVER_OPTIONS_H
#define SHARDTYPE_LIB_DRIVER_OPTIONS_H

#include "shardtype/Check/Check.h"
#include "shardtype/Driver/Load.h"
#include "shardtype/Report/Levels.h"
#include "shardtype/Report/Report.h"

namespace shardtype {

enum class OutputFormat : uint8_t { Text, Json, Github, Sarif };

/// Options as written; `resolveOptions` gives them meaning.
struct Options {
  std::vector<std::string> programs;
  std::string mesh, constraints, config, jax, sourceRoot = ".", output, to;
  std::vector<std::string> in, out, choose, rules;
  LevelOptions levels; // In the order written.
  OutputFormat format = OutputFormat::Text;
  std::string color = "auto", code, value;
  unsigned maxErrors = 50, maxDepth = 256;
  uint64_t maxBytes = 4ull << 30;
  bool all = false, split = false, verify = false, fixAll = false,
       source = false, markdown = false, ascii = false, assumeDeclared = false,
       assumeVma = false, ignoreUnitAxes = false, write = false;
  // Of `run`.
  std::string inputs, random, fill, expect, maxMemory;
  std::vector<std::string> trace;
  double rtol = -1, atol = -1; // Negative: by dtype.
  unsigned workers = 0;
  bool print = false, devices = false, checkRun = false, stats = false,
       force = false, flushDenormals = false, jaxNumbers = false;
};

/// Where a command writes, and what it needs of the surroundings.
struct Streams {
  raw_ostream &out, &err;
};

/// Reads `--config` and all options that name meshes, specs and places.
/// Failure: `err` says what is wrong, where in the option or in the config file
/// (as a JSON pointer), and what to write instead; exit 2.
LogicalResult resolveOptions(Context &context, const Options &options,
                             CheckOptions &check, LevelOptions &levels,
                             raw_ostream &err);

/// The JSON of a config or rules file, called `shown` in messages. Nothing: it
/// cannot be read, and `err` says why.
std::optional<JsonValue> readJsonFile(StringRef path, StringRef shown,
                                      raw_ostream &err);
/// One part of a JSON pointer: `/name`.
std::string pointerPart(StringRef key);

/// `PATTERN=P(...)` or `P(...)`; positional ones are numbered by the caller.
/// False: `error` has what is wrong, and where in the text.
bool parseArgumentSpec(Context &context, StringRef text, ArgumentSpec &spec,
                       TextError &error);
bool parseChoice(Context &context, StringRef text, Choice &choice,
                 TextError &error);
/// A mesh asked for from outside: none of its axes may be Manual.
TextResult<MeshId> parseAskedMesh(Context &context, StringRef text);

/// `shardtype: FROM: message`, then the text with a mark below the fault, then
/// `hint` if there is one.
void printUsageError(raw_ostream &err, StringRef from, const TextError &error,
                     StringRef text, StringRef hint = "");
/// `'chek' (did you mean 'check'?)`, or without a near word `'chek'`.
std::string wordWithNearest(StringRef word, ArrayRef<std::string> known);
/// `a, b or c`
std::string listed(ArrayRef<std::string> words, StringRef last = "or");

/// False: no program is named, or one that cannot be read as asked (standard
/// input twice); that has been said.
bool checkInputNames(const Options &options, StringRef verb, raw_ostream &err);

/// One program text: a file, or a section of one under --split-input-file.
struct InputText {
  std::string name;  // As reported.
  std::string bytes; // Padded with line breaks, so that lines are the file's.
};
/// Splits at lines that are `# -----`.
std::vector<InputText> splitSections(StringRef name, StringRef bytes,
                                     bool split);

LoadLimits limitsOf(const Options &options);
bool useColor(const Options &options, raw_ostream &out);
/// Does `-o` name one of the programs that are read?
bool isOutputAnInput(const Options &options);
/// Writes a file at once or not at all; `-` or empty: `out`.
LogicalResult writeOutput(StringRef path, StringRef bytes, Streams streams);

/// Compares findings with `expect-error` comments (style.md, section 6).
/// Prints what is missing or unexpected; the number of those.
unsigned verifyExpectations(const InputText &input,
                            const DiagnosticList &diagnostics,
                            const Program *program, raw_ostream &err);

int checkCommand(const Options &options, Streams streams);
int fixCommand(const Options &options, Streams streams);
int typesCommand(const Options &options, Streams streams);
int runCommand(const Options &options, Streams streams);
int costCommand(const Options &options, Streams streams);
int convertCommand(const Options &options, Streams streams);
int showCommand(const Options &options, Streams streams);
int explainCommand(const Options &options, Streams streams);
int primitivesCommand(const Options &options, Streams streams);

} // namespace shardtype

#endif
