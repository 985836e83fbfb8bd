// fuzz_program.cpp - bytes as a program: read, check, print, write.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Check/Check.h"
#include "shardtype/Driver/Load.h"
#include "shardtype/Primitives/All.h"
#include "shardtype/Report/Report.h"

using namespace shardtype;

/// Both formats come in here: the first bytes say which one it is. Whatever
/// the bytes, nothing may crash, hang or use memory without bound.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const PrimitiveSet Primitives = allPrimitives();
  Context context;
  DiagnosticList errors;
  StringRef bytes(reinterpret_cast<const char *>(data), size);
  std::optional<Program> program =
      loadProgram(context, bytes, "input", Primitives, errors);
  if (!program)
    return 0;
  CheckOptions recorded;
  CheckedProgram asRecorded = check(*program, Primitives, recorded);
  CheckOptions retyped;
  retyped.mesh = *parseMesh(context, "X=2,Y=2");
  CheckedProgram again = check(*program, Primitives, retyped);
  llvm::raw_null_ostream os;
  ReportOptions report;
  report.program = "input";
  printCheck(os, asRecorded, report);
  printCheck(os, again, report);
  printProgram(os, *program, &asRecorded);
  writeJson(os, *program);
  return 0;
}
