// Builder.cpp - appends jaxprs to a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/IR/Builder.h"

using namespace shardtype;

void Builder::begin(JaxprId reserved) {
  current_ = Jaxpr();
  reserved_ = reserved;
  current_.firstEqn = program_.eqns.size();
  current_.firstVar = program_.vars.size();
}

JaxprId Builder::reserve() {
  program_.jaxprs.emplace_back();
  return JaxprId(program_.jaxprs.size() - 1);
}

static VarId addVar(Program &program, TypeId type, StringId name) {
  Var var;
  var.type = type;
  if (name.valid())
    var.setName(name);
  program.vars.push_back(var);
  return VarId(program.vars.size() - 1);
}

VarId Builder::addConst(TypeId type, StringId name, int32_t array) {
  assert(current_.numInputs == 0 && "constants come before inputs");
  ++current_.numConsts;
  current_.constArrays.push_back(array);
  return addVar(program_, type, name);
}

VarId Builder::addInput(TypeId type, StringId name) {
  assert(program_.eqns.size() == current_.firstEqn &&
         "inputs come before equations");
  ++current_.numInputs;
  return addVar(program_, type, name);
}

EqnId Builder::addEqn(uint16_t primitive, ArrayRef<Atom> operands,
                      ParamsId params, ArrayRef<TypeId> resultTypes,
                      EqnInfoId info) {
  Eqn eqn;
  eqn.params = params;
  eqn.info = info;
  eqn.firstOperand = program_.operands.size();
  eqn.firstResult = VarId(program_.vars.size());
  eqn.primitive = primitive;
  eqn.numOperands = operands.size();
  eqn.numResults = resultTypes.size();
  program_.operands.insert(program_.operands.end(), operands.begin(),
                           operands.end());
  for (TypeId type : resultTypes)
    addVar(program_, type, StringId());
  program_.eqns.push_back(eqn);
  return EqnId(program_.eqns.size() - 1);
}

JaxprId Builder::finish(ArrayRef<Atom> outs) {
  current_.numEqns = program_.eqns.size() - current_.firstEqn;
  current_.numVars = program_.vars.size() - current_.firstVar;
  current_.outs.assign(outs.begin(), outs.end());
  JaxprId id = reserved_.valid() ? reserved_ : reserve();
  program_.jaxprs[id.index()] = std::move(current_);
  current_ = Jaxpr();
  reserved_ = JaxprId();
  return id;
}
