// Retyped.h - small programs around a primitive, typed for other operands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_ORACLE_RETYPED_H
#define SHARDTYPE_TEST_ORACLE_RETYPED_H

#include "MatrixFile.h"
#include "shardtype/Rules/CheckedProgram.h"

namespace shardtype::oracle {

/// The cases of primitives that have bodies. Their parameter `program` names a
/// function whose trace without a mesh lies in a folder; each case is that
/// trace, re-typed for the operands under the mesh.
class Retyped {
public:
  /// `rows` outlives it.
  Retyped(std::string folder, const PrimitiveSet &rows)
      : folder_(std::move(folder)), rows_(rows) {}
  /// Is the group one of a program's?
  static bool isOne(const Group &group) {
    return group.params.count("program") != 0;
  }
  /// JAX stops at its first error; ours must be the first, too. Results are
  /// compared by shape, dtype and sharding.
  Outcome judge(const Group &group, const Case &c);
  /// Types the program and goes on behind what is refused, as `--allow` does.
  /// Nothing if something cannot be read; else the results, and whether all was
  /// accepted.
  struct Results {
    bool accepted = false;
    std::vector<std::string> types;
  };
  std::optional<Results> run(const Group &group, StringRef mesh,
                             ArrayRef<std::string> operands);
  const std::string &trouble() const { return trouble_; }
  /// For people and patterns, as Situation::text.
  static std::string text(const Group &group, const Case &c);

private:
  const Program *program(const std::string &name);
  std::optional<CheckedProgram> check(const Group &group, StringRef mesh,
                                      ArrayRef<std::string> operands);

  std::string folder_;
  const PrimitiveSet &rows_;
  Context context_;
  std::map<std::string, std::optional<Program>> programs_;
  std::string trouble_;
};

} // namespace shardtype::oracle

#endif
