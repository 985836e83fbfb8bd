// Families.h - the rows of each family file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_PRIMITIVES_FAMILIES_H
#define SHARDTYPE_LIB_PRIMITIVES_FAMILIES_H

#include "shardtype/Rules/Primitive.h"

namespace shardtype {

ArrayRef<Primitive> approximate();
ArrayRef<Primitive> branches();
ArrayRef<Primitive> calls();
ArrayRef<Primitive> conversions();
ArrayRef<Primitive> convolution();
ArrayRef<Primitive> elementwise();
ArrayRef<Primitive> elementwiseNary();
ArrayRef<Primitive> gather();
ArrayRef<Primitive> hashes();
ArrayRef<Primitive> hiPrims();
ArrayRef<Primitive> identities();
ArrayRef<Primitive> loops();
ArrayRef<Primitive> manualCasts();
ArrayRef<Primitive> manualMoves();
ArrayRef<Primitive> manualReductions();
ArrayRef<Primitive> markers();
ArrayRef<Primitive> derivatives();
ArrayRef<Primitive> random();
ArrayRef<Primitive> scatter();
ArrayRef<Primitive> selection();
ArrayRef<Primitive> shardings();
ArrayRef<Primitive> shardMaps();
ArrayRef<Primitive> slicing();
ArrayRef<Primitive> windows();
ArrayRef<Primitive> contraction();
ArrayRef<Primitive> joining();
ArrayRef<Primitive> reductions();
ArrayRef<Primitive> reshape();
ArrayRef<Primitive> reshaping();
ArrayRef<Primitive> sorting();
ArrayRef<Primitive> splitting();
ArrayRef<Primitive> values();
ArrayRef<Primitive> decompositions();
ArrayRef<Primitive> solvers();
ArrayRef<Primitive> fourier();
ArrayRef<Primitive> genericReductions();
ArrayRef<Primitive> raggedDots();
ArrayRef<Primitive> scaledDots();
ArrayRef<Primitive> randomBits();
ArrayRef<Primitive> effects();
ArrayRef<Primitive> declared();
ArrayRef<Primitive> moreCalls();
ArrayRef<Primitive> refs();

} // namespace shardtype

#endif
