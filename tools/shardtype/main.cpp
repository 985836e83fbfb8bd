// main.cpp - the program `shardtype`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Driver/Driver.h"
#include "llvm/Support/ErrorHandling.h"
#include <unistd.h>

/// Nothing can be unwound, and nothing is half written: files are renamed when
/// they are whole.
static void endWithoutMemory(void *, const char *, bool) {
  constexpr char text[] = "shardtype: out of memory\n";
  ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);
  (void)written;
  _exit(2);
}

int main(int argc, char **argv) {
  std::vector<std::string> args(argv + (argc > 0), argv + argc);
  llvm::install_bad_alloc_error_handler(endWithoutMemory);
  llvm::raw_fd_ostream &out = llvm::outs();
  int code = shardtype::runCommandLine(args, out, llvm::errs());
  if (!out.has_error())
    return code;
  llvm::errs() << "shardtype: cannot write standard output: "
               << out.error().message() << '\n';
  out.clear_error(); // Or the stream ends the program its own way.
  return 2;
}
