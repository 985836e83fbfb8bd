// ValueText.h - parameter values as Python's `str` and `repr` print them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_IR_VALUETEXT_H
#define SHARDTYPE_LIB_IR_VALUETEXT_H

#include "shardtype/IR/Program.h"

namespace shardtype {

/// Prints values of one program (spec 04, 3 and 4.6). `str` is what stands
/// after a parameter's `key=`, `repr` what stands inside a container.
class ValueText {
public:
  using PrintJaxpr = llvm::function_ref<void(raw_ostream &, JaxprId)>;
  /// `jaxpr` prints the jaxprs inside a value.
  ValueText(const Program &program, PrintJaxpr jaxpr)
      : program_(program), jaxpr_(jaxpr) {}

  void str(raw_ostream &os, ValueId value) const { print(os, value, false); }
  void repr(raw_ostream &os, ValueId value) const { print(os, value, true); }
  /// Nested tuples with the innermost as lists: dot_general's
  /// dimension_numbers.
  void dotDims(raw_ostream &os, ValueId value) const;

private:
  void print(raw_ostream &os, ValueId id, bool nested) const;
  void printScalar(raw_ostream &os, const Value &v, bool nested) const;
  void printContainer(raw_ostream &os, const Value &v, bool nested) const;
  void printTyped(raw_ostream &os, const Value &v, bool nested) const;
  void printFields(raw_ostream &os, const Value &v, StringRef separator) const;
  void printItems(raw_ostream &os, ArrayRef<ValueId> items) const;
  void printSet(raw_ostream &os, const Value &v, bool nested) const;
  void printSharding(raw_ostream &os, const Value &v) const;
  void printOpaque(raw_ostream &os, const Value &v, bool nested) const;
  void list(raw_ostream &os, ValueId value) const;
  StringRef text(StringId id) const {
    return id.valid() ? program_.context().str(id) : StringRef();
  }

  const Program &program_;
  PrintJaxpr jaxpr_;
};

/// Replaces the digits of addresses (` at 0x7f12`) by X's, as JAX does.
std::string maskAddresses(StringRef text);

/// Does an enum print as `Class.MEMBER` inside containers? Others print as
/// `<Class.MEMBER: value>`, for which a text must give the value.
bool printsAsMember(StringRef enumClass);

} // namespace shardtype

#endif
