// All.cpp - the explicit list of families.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "shardtype/Primitives/All.h"
#include "Families.h"

using namespace shardtype;

PrimitiveSet shardtype::allPrimitives() {
  PrimitiveSet set;
  set.add(branches());
  set.add(calls());
  set.add(conversions());
  set.add(convolution());
  set.add(elementwise());
  set.add(elementwiseNary());
  set.add(gather());
  set.add(hashes());
  set.add(hiPrims());
  set.add(identities());
  set.add(loops());
  set.add(manualCasts());
  set.add(manualMoves());
  set.add(manualReductions());
  set.add(markers());
  set.add(derivatives());
  set.add(random());
  set.add(scatter());
  set.add(selection());
  set.add(shardings());
  set.add(shardMaps());
  set.add(slicing());
  set.add(windows());
  set.add(contraction());
  set.add(joining());
  set.add(reductions());
  set.add(reshape());
  set.add(reshaping());
  set.add(sorting());
  set.add(splitting());
  set.add(values());
  set.add(approximate());
  set.add(decompositions());
  set.add(solvers());
  set.add(fourier());
  set.add(genericReductions());
  set.add(raggedDots());
  set.add(scaledDots());
  set.add(randomBits());
  set.add(effects());
  set.add(declared());
  set.add(moreCalls());
  set.add(refs());
  return set;
}
