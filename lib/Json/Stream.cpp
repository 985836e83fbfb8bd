// Stream.cpp - cuts the events of a file into the elements that readers take.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Stream.h"

using namespace shardtype;
using namespace shardtype::json;

[[noreturn]] static void expected(StringRef what, uint32_t offset) {
  throw Bad{diag::JsonStructure, offset, {("expected " + what).str()}};
}

bool Stream::begins(uint32_t offset) {
  if (skips_)
    return false;
  switch (at_) {
  case At::Start:
  case At::Jaxprs:
    expected("an object", offset);
  case At::Root:
  case At::Jaxpr:
    if (want_ == Want::Each || want_ == Want::Jaxprs)
      expected("a list", offset);
    return want_ == Want::Whole;
  case At::List:
  case At::Eqns:
    return true;
  }
  llvm_unreachable("all states are handled");
}

void Stream::field(StringRef name, uint32_t offset) {
  want_ = at_ == At::Root ? client_.rootField(name, offset)
                          : client_.jaxprField(name, offset);
}

void Stream::enter(Node::Kind kind, uint32_t offset) {
  bool list = kind == Node::Array;
  switch (at_) {
  case At::Start:
    if (list)
      expected("an object", offset);
    at_ = At::Root;
    return;
  case At::Jaxprs:
    if (list)
      expected("an object", offset);
    at_ = At::Jaxpr;
    return client_.jaxprBegin(offset);
  case At::Root:
  case At::Jaxpr:
    if (want_ == Want::Skip) {
      skips_ = 1;
      return;
    }
    if (want_ == Want::Whole)
      break;
    if (!list)
      expected("a list", offset);
    if (at_ == At::Jaxpr)
      at_ = At::Eqns;
    else
      at_ = want_ == Want::Jaxprs ? At::Jaxprs : At::List;
    return;
  case At::List:
  case At::Eqns:
    break;
  }
  collects_ = true;
  tree_.open(kind, offset);
}

void Stream::leave() {
  switch (at_) {
  case At::Start:
  case At::Root:
    return;
  case At::List:
    at_ = At::Root;
    return client_.rootListEnd();
  case At::Jaxprs:
    at_ = At::Root;
    return client_.rootListEnd();
  case At::Jaxpr:
    at_ = At::Jaxprs;
    return client_.jaxprEnd();
  case At::Eqns:
    at_ = At::Jaxpr;
    return;
  }
}

void Stream::finish() {
  collects_ = false;
  switch (at_) {
  case At::Root:
    client_.rootValue(tree_.root());
    break;
  case At::List:
    client_.rootElement(tree_.root());
    break;
  case At::Jaxpr:
    client_.jaxprValue(tree_.root());
    break;
  case At::Eqns:
    client_.eqn(tree_.root());
    break;
  case At::Start:
  case At::Jaxprs:
    llvm_unreachable("no elements here");
  }
  tree_.clear();
}
