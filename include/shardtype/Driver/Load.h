// Load.h - programs from files, whatever their format.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_DRIVER_LOAD_H
#define SHARDTYPE_DRIVER_LOAD_H

#include "shardtype/IR/Parser.h"
#include "shardtype/Json/Json.h"
#include "shardtype/Rules/Primitive.h"
#include "llvm/Support/MemoryBuffer.h"

namespace shardtype {

enum class Format : uint8_t { Json, Text };
/// Which format a text looks like: JSON begins with `{` and a quote, or `[`.
Format guessFormat(StringRef bytes);

struct LoadLimits {
  ParseLimits text;
  JsonLimits json;
};

/// Reads and verifies a program held in memory. `name` stands for it in
/// messages and sources. Nothing: see `diags`, whose findings are errors of the
/// input. Directives of a text have been applied.
std::optional<Program> loadProgram(Context &context, StringRef bytes,
                                   StringRef name,
                                   const PrimitiveSet &primitives,
                                   DiagnosticList &diags,
                                   const LoadLimits &limits = {});

/// The contents of a file, or of standard input for `-`; nothing: reported.
std::unique_ptr<llvm::MemoryBuffer> readInput(StringRef path,
                                              DiagnosticList &diags);

} // namespace shardtype

#endif
