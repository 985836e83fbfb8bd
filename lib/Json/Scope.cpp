// Scope.cpp - which variable a number of the file means.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Jaxprs.h"

using namespace shardtype;
using namespace shardtype::json;

static constexpr uint32_t None = ~0u;

uint32_t &Scope::slot(int64_t id) {
  if (id >= maxDense_)
    return sparse_.try_emplace(id, None).first->second;
  size_t index = static_cast<size_t>(id);
  if (index >= dense_.size())
    dense_.resize(std::max(index + 1, dense_.size() * 2), None);
  return dense_[index];
}

VarId Scope::lookup(int64_t id, uint32_t offset) const {
  uint32_t var = None;
  if (id >= 0 && id < static_cast<int64_t>(dense_.size()))
    var = dense_[static_cast<size_t>(id)];
  else if (auto it = sparse_.find(id); it != sparse_.end())
    var = it->second;
  if (var == None || var < first_)
    throw Bad{diag::JaxprScope, offset, {std::to_string(id)}};
  return VarId(var);
}

void Scope::bind(const Binder &binder) {
  std::vector<Var> &vars = tables_.program.vars;
  constexpr uint32_t MaxVars = 0x7ffffff0; // Atoms have 31 bits for them.
  if (vars.size() >= MaxVars)
    badLimit(binder.offset, "the number of variables", MaxVars);
  bool isNew = true;
  if (binder.id >= 0) {
    uint32_t &var = slot(binder.id);
    isNew = var == None;
    if (!isNew && var >= first_)
      throw Bad{diag::JaxprRebound, binder.offset, {std::to_string(binder.id)}};
    var = vars.size();
  }
  remember(binder, isNew);
  vars.push_back(binder.var);
}

void Scope::remember(const Binder &binder, bool isNew) {
  bool dropped = binder.id < 0;
  if (usual_ && (dropped || binder.id == nextUsual_)) {
    nextUsual_ += !dropped;
    return;
  }
  if (usual_) {
    usual_ = false;
    uint32_t next = 0;
    for (const Var &var : tables_.program.vars)
      ids_.push_back(var.dropped ? 0 : next++);
  }
  unique_ &= isNew && binder.id < None;
  ids_.push_back(dropped ? 0 : static_cast<uint32_t>(binder.id));
}

void Scope::finish() {
  if (!usual_ && unique_)
    tables_.program.file.varIds = std::move(ids_);
}
