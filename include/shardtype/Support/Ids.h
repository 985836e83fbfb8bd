// Ids.h - typed 32-bit names of objects that live in stores.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_SUPPORT_IDS_H
#define SHARDTYPE_SUPPORT_IDS_H

#include "llvm/ADT/DenseMapInfo.h"
#include <cassert>
#include <compare>
#include <cstdint>

namespace shardtype {

/// An index into a store of `Tag` objects. Ids of different stores do not mix.
/// A default-constructed id names nothing.
template <typename Tag> class Id {
public:
  constexpr Id() = default;
  constexpr explicit Id(uint32_t index) : index_(index) {}
  constexpr bool valid() const { return index_ != None; }
  constexpr uint32_t index() const {
    assert(valid() && "an id that names nothing has no index");
    return index_;
  }
  /// The index, or 2^32-1 for an id that names nothing.
  constexpr uint32_t raw() const { return index_; }
  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr auto operator<=>(Id, Id) = default;

private:
  static constexpr uint32_t None = ~0u;
  uint32_t index_ = None;
};

using StringId = Id<struct StringTag>;       // Names and texts, in Context.
using MeshId = Id<struct MeshTag>;           // Meshes, in Context.
using TypeId = Id<struct TypeTag>;           // Types, in Context.
using PrimitiveId = Id<struct PrimitiveTag>; // Names in a PrimitiveSet.
using VarId = Id<struct VarTag>;             // The rest live in a Program.
using EqnId = Id<struct EqnTag>;
using JaxprId = Id<struct JaxprTag>;
using ValueId = Id<struct ValueTag>;   // One parameter value.
using ParamsId = Id<struct ParamsTag>; // All parameters of an equation.
using LiteralId = Id<struct LiteralTag>;
using FrameId = Id<struct FrameTag>;
using StackId = Id<struct StackTag>;
using EqnInfoId = Id<struct EqnInfoTag>;
using InstanceId = Id<struct InstanceTag>; // A typed jaxpr, in CheckedProgram.

} // namespace shardtype

namespace llvm {
template <typename Tag> struct DenseMapInfo<shardtype::Id<Tag>> {
  using Id = shardtype::Id<Tag>;
  static Id getEmptyKey() { return Id(0xfffffffeu); }
  static Id getTombstoneKey() { return Id(0xfffffffdu); }
  static unsigned getHashValue(Id id) { return id.raw() * 2654435761u; }
  static bool isEqual(Id a, Id b) { return a == b; }
};
} // namespace llvm

#endif
