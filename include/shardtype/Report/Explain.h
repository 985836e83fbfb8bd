// Explain.h - what each kind of diagnostic means.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_REPORT_EXPLAIN_H
#define SHARDTYPE_REPORT_EXPLAIN_H

#include "shardtype/Support/Diagnostic.h"

namespace shardtype {

/// For `shardtype explain`: the rule in a few sentences, the smallest program
/// that breaks it (a printed jaxpr, or the beginning of a broken input), and
/// what to write instead.
struct Explanation {
  StringRef rule;
  StringRef example; // Empty: none can be written as a text.
  StringRef options; // Further options the example needs: `--mesh X=2`.
  StringRef fix;
};
const Explanation &explain(diag::Code code);

} // namespace shardtype

#endif
