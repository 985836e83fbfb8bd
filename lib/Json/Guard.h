// Guard.h - no exception leaves this library.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_JSON_GUARD_H
#define SHARDTYPE_LIB_JSON_GUARD_H

#include "Stream.h"
#include "shardtype/Json/Json.h"
#include <new>

namespace shardtype::json {

/// Adds what ended a reading to the diagnostics: with a JSON pointer, or with
/// line and column for a syntax error.
void report(DiagnosticList &diags, StringRef text, const Bad &bad);

/// Runs a reading; what it throws becomes a diagnostic.
template <typename Fn>
auto guarded(StringRef text, DiagnosticList &diags, const JsonLimits &limits,
             Fn read) -> std::optional<decltype(read())> {
  // Positions have 32 bits.
  uint64_t most = std::min<uint64_t>(limits.bytes, UINT32_MAX);
  if (text.size() > most) {
    diags.add(diag::InputLimit,
              {"the size of the file", std::to_string(most) + " bytes"});
    return std::nullopt;
  }
  if (text.trim().empty()) {
    diags.add(diag::InputEmpty);
    return std::nullopt;
  }
  try {
    return read();
  } catch (const Bad &bad) {
    report(diags, text, bad);
  } catch (const std::bad_alloc &) {
    diags.add(diag::InputLimit, {"the memory for the file", "what there is"});
  }
  return std::nullopt;
}

} // namespace shardtype::json

#endif
