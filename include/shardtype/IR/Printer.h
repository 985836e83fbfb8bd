// Printer.h - programs as JAX prints them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_IR_PRINTER_H
#define SHARDTYPE_IR_PRINTER_H

#include "shardtype/IR/Program.h"

namespace shardtype {

/// The types to print: the recorded ones, or those Check found. A jaxpr may
/// have been typed several times; each is an instance and prints apart.
class TypeView {
public:
  virtual ~TypeView();
  virtual TypeId type(InstanceId instance, VarId var) const = 0;
  /// The instance of `body`, held by an equation of `instance`.
  virtual InstanceId body(InstanceId instance, EqnId eqn,
                          JaxprId body) const = 0;
  virtual InstanceId entry() const = 0;
};

struct PrintOptions {
  unsigned width = 80;
  bool types = true;      // Binders with types.
  bool source = false;    // ` # file:line:column (function)` at line ends.
  bool nameStack = false; // ` # [stack]` at line ends.
  /// Variables and definitions keep the names that a text gave them; otherwise
  /// all are named as JAX names them.
  bool keepNames = true;
};

/// Prints a verified program from its entry as JAX 0.12 does (spec 04, 4),
/// ending without a line break. `view` null: recorded types. A binder without a
/// type prints its name only. Values of arrays print as `[...]`.
void printProgram(raw_ostream &os, const Program &program,
                  const TypeView *view = nullptr,
                  const PrintOptions &options = {});

/// Names of variables as `printProgram` gives them; those a text brought along
/// win. Computed once, for messages. The program must be verified and outlive
/// this.
class VarNames {
public:
  explicit VarNames(const Program &program);
  std::string name(VarId var) const;

private:
  const Program &program_;
  std::vector<uint32_t> names_; // By VarId; see VarName in lib/IR/PrintPlan.h.
};

/// One equation on one line, each operand with its type, for messages:
/// `d = dot_general[dimension_numbers=(([1], [0]), ([], []))] c:f32[8@X] b:...`
struct PrintedEqn {
  struct Span {
    unsigned begin = 0, end = 0; // Bytes in `text`.
  };
  std::string text;
  SmallVector<Span, 4> operands; // Each operand's type (or its name).
  /// Per operand, each dim's `8@X` inside the text.
  SmallVector<SmallVector<Span, 4>, 4> dims;
};
PrintedEqn printEqn(const Program &program, const VarNames &names, EqnId eqn,
                    ArrayRef<TypeId> operandTypes);

/// A value as it prints inside an equation's parameters, on one line; jaxprs
/// in it print as `{...}`.
std::string printValue(const Program &program, ValueId value);

} // namespace shardtype

#endif
