// Emit.h - equations that stages write into programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_RULES_EMIT_H
#define SHARDTYPE_RULES_EMIT_H

#include "shardtype/IR/Builder.h"
#include "shardtype/Rules/Primitive.h"

namespace shardtype {

/// A NamedSharding on the sharding's mesh, as parameters hold it.
ValueId shardingValue(Program &program, const Sharding &sharding);

/// Appends equations to the jaxpr that `builder` builds.
class Emitter {
public:
  Emitter(Program &program, Builder &builder, const PrimitiveSet &primitives)
      : program_(program), builder_(builder), primitives_(primitives) {}

  /// `reshard operand`, to a type that differs in its sharding only.
  Atom reshard(Atom operand, TypeId to, EqnInfoId info);
  /// The same for a type that differs over Manual axes as well: by casts, and
  /// sums of what is unreduced (castPath in Manual.h).
  Atom convert(Atom operand, TypeId from, TypeId to, EqnInfoId info);

private:
  /// One equation of one operand and one result.
  Atom add(StringRef primitive, Atom operand, ArrayRef<Param> params, TypeId to,
           EqnInfoId info);
  Atom cast(StringRef primitive, Atom operand, AxisSet axes, TypeId to,
            EqnInfoId info);

  Program &program_;
  Builder &builder_;
  const PrimitiveSet &primitives_;
};

} // namespace shardtype

#endif
