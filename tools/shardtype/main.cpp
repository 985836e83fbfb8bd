// main.cpp - the program `shardtype`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Driver/Driver.h"

int main(int argc, char **argv) {
  std::vector<std::string> args(argv + (argc > 0), argv + argc);
  return shardtype::runCommandLine(args, llvm::outs(), llvm::errs());
}
