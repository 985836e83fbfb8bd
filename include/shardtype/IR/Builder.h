// Builder.h - appends jaxprs to a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_IR_BUILDER_H
#define SHARDTYPE_IR_BUILDER_H

#include "shardtype/IR/Primitive.h"

namespace shardtype {

/// Builds one jaxpr at a time at the end of a program. Bodies are built before
/// the equation that holds them, or reserved first with `reserve`.
class Builder {
public:
  explicit Builder(Program &program) : program_(program) {}

  /// Starts a jaxpr; with `reserved`, one whose id was given out before.
  void begin(JaxprId reserved = {});
  /// An id to refer to now and build later.
  JaxprId reserve();
  VarId addConst(TypeId type, StringId name = {}, int32_t array = -1);
  VarId addInput(TypeId type, StringId name = {});
  /// Appends an equation and its results, whose recorded types are given (an
  /// invalid one: not recorded).
  EqnId addEqn(uint16_t primitive, ArrayRef<Atom> operands, ParamsId params,
               ArrayRef<TypeId> resultTypes, EqnInfoId info);
  JaxprId finish(ArrayRef<Atom> outs);
  Jaxpr &jaxpr() { return current_; }

private:
  Program &program_;
  Jaxpr current_;
  JaxprId reserved_;
};

} // namespace shardtype

#endif
