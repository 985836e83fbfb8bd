// main.cpp - the program `shardtype`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Driver/Driver.h"

int main(int argc, char **argv) {
  std::vector<std::string> args(argv + (argc > 0), argv + argc);
  llvm::raw_fd_ostream &out = llvm::outs();
  int code = shardtype::runCommandLine(args, out, llvm::errs());
  if (!out.has_error())
    return code;
  llvm::errs() << "shardtype: cannot write standard output: "
               << out.error().message() << '\n';
  out.clear_error(); // Or the stream ends the program its own way.
  return 2;
}
