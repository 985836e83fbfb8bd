// JsonFixture.h - reading, writing and comparing programs in JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_UNIT_JSONFIXTURE_H
#define SHARDTYPE_TEST_UNIT_JSONFIXTURE_H

#include "shardtype/IR/Printer.h"
#include "shardtype/Json/Json.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace jsontest {

using namespace shardtype;

/// What reading gave: a program, or the diagnostics.
struct Reading {
  std::optional<Program> program;
  DiagnosticList diags;
  /// "code path: message" of the first diagnostic; empty if there is none.
  std::string error() const;
};
Reading read(Context &cx, StringRef text, const JsonLimits &limits = {});

std::string write(const Program &program);
std::string print(const Program &program);
std::string slurp(const std::string &path);
/// Paths of the files in `directory` that end in `suffix`, sorted.
std::vector<std::string> filesIn(const std::string &directory,
                                 StringRef suffix);
/// A printed program with the names in sets sorted and `np.int64(n)` as `n`.
std::string normalText(StringRef text);

/// The tree of a file without what the format lets be absent: so two files that
/// say the same are equal. Indices are kept: a writer keeps the tables.
llvm::json::Value normal(StringRef text);
/// Where two trees first differ; empty if they are equal.
std::string difference(const llvm::json::Value &a, const llvm::json::Value &b,
                       const std::string &path = "");

/// Directories with recorded programs: golden samples and the corpus. The text
/// of `json/X.json` is `jaxpr/X.txt`, that of `X.json` is `X.txt`.
struct Sample {
  std::string json, text;
};
std::vector<Sample> samples();

/// A small program in which `%KEY%` can be replaced, for errors.
std::string
small(std::initializer_list<std::pair<StringRef, StringRef>> replacements = {});

} // namespace jsontest

#endif
