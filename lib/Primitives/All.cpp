// All.cpp - the explicit list of families.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Primitives/All.h"
#include "Families.h"

using namespace shardtype;

PrimitiveSet shardtype::allPrimitives() {
  PrimitiveSet set;
  set.add(elementwise());
  set.add(convolution());
  set.add(gather());
  set.add(random());
  set.add(scatter());
  set.add(slicing());
  set.add(windows());
  return set;
}
