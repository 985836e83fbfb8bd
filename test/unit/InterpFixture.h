// InterpFixture.h - running programs in tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_UNIT_INTERPFIXTURE_H
#define SHARDTYPE_TEST_UNIT_INTERPFIXTURE_H

#include "shardtype/Check/Check.h"
#include "shardtype/IR/Parser.h"
#include "shardtype/Interp/Interp.h"
#include "shardtype/Primitives/All.h"
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

namespace shardtype {

/// A program that is typed, and runs of it.
struct Running {
  Context cx;
  PrimitiveSet primitives = allPrimitives();
  std::optional<Program> program;
  std::optional<CheckedProgram> checked;

  explicit Running(const std::string &text, ArrayRef<Primitive> more = {}) {
    primitives.add(more);
    auto info = [&](StringRef name) { return primitives.info(name); };
    DiagnosticList errors;
    auto parsed = parseText(cx, text, "test", info, errors);
    for (const Diagnostic &d : errors.all())
      UNSCOPED_INFO(d.line << ":" << d.column << ": " << d.message);
    REQUIRE(parsed);
    program.emplace(std::move(parsed->program));
    checked.emplace(check(*program, primitives));
    for (const Diagnostic &d : checked->diagnostics.all())
      if (d.level == Level::Error)
        FAIL(d.message);
  }
  RunResult run(std::vector<Tensor> arguments, RunOptions options = {}) {
    Interpreter interpreter(*checked, primitives, std::move(options));
    for (const RunError &error : interpreter.errors())
      FAIL(error.message);
    return interpreter.run(std::move(arguments));
  }
  /// The results of a run that must not fail.
  std::vector<Tensor> values(std::vector<Tensor> arguments,
                             RunOptions options = {}) {
    RunResult result = run(std::move(arguments), std::move(options));
    if (result.error)
      FAIL(result.error->message);
    return std::move(result.results);
  }
};

/// Devices are now and then made to wait before a step: another schedule in
/// every run. A seed says which, `pauses` how seldom it sleeps.
inline RunOptions shaken(unsigned seed, unsigned workers, unsigned pauses) {
  static std::atomic<unsigned> counter;
  RunOptions options;
  options.workers = workers;
  options.beforeStep = [seed, pauses] {
    unsigned x = (counter++ * 2654435761u) ^ seed * 40503u;
    if (x % pauses == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(x % 50));
    else if (x % 3 == 0)
      std::this_thread::yield();
  };
  return options;
}

/// What an error says below its message.
inline std::string noteText(const RunError &error) {
  std::string text;
  for (const std::string &note : error.notes)
    text += note + "\n";
  return text;
}

inline Tensor counting(DType dtype, ArrayRef<int64_t> shape, float first = 0,
                       float step = 1) {
  Tensor result = Tensor::uninitialised(dtype, shape);
  float next = first;
  if (dtype == DType::F32) {
    for (float &x : result.fill<float>()) {
      x = next;
      next += step;
    }
  } else {
    for (int32_t &x : result.fill<int32_t>()) {
      x = static_cast<int32_t>(next);
      next += step;
    }
  }
  return result;
}

} // namespace shardtype

#endif
