// PrintFacts.cpp - how primitives without a typing row print.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/IR/PrintFacts.h"

using namespace shardtype;

using F = ParamField;

// Each list is in key order, as a schema must be.
static constexpr F Body[] = {{"jaxpr", Hide::Never, F::Jaxpr}};

static constexpr ParamSchema BodySchema{Body};

static constexpr PrimitiveInfo Facts[] = {{"shard_map", BodySchema}};

ArrayRef<PrimitiveInfo> shardtype::allPrintFacts() { return Facts; }

const PrimitiveInfo *shardtype::printFacts(StringRef name) {
  for (const PrimitiveInfo &facts : Facts)
    if (facts.name == name)
      return &facts;
  return nullptr;
}
