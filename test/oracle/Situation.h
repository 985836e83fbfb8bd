// Situation.h - one equation as a verdict file describes it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_TEST_ORACLE_SITUATION_H
#define SHARDTYPE_TEST_ORACLE_SITUATION_H

#include "shardtype/Primitives/All.h"
#include "shardtype/Rules/TypingContext.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace shardtype::oracle {

/// Operands and JAX's verdict on them.
struct Case {
  std::vector<std::string> operands, results;
  std::string error; // "STE nary.conflict"; empty: accepted.
  std::string expected() const;
};

/// What our row says.
struct Outcome {
  bool agrees = false;
  std::string ours; // For people, and empty where we agree.
};

/// A primitive with its parameters under one mesh: the cases of one line of a
/// file. Texts that cannot be read are outcomes that do not agree.
class Situation {
public:
  Situation(const Primitive &row, StringRef mesh,
            const std::map<std::string, std::string> &params,
            ArrayRef<Case> cases);
  StringRef name() const { return row_.info.name; }
  void setJax(JaxVersion version) { jax_ = version; }
  Outcome judge(const Case &c);
  /// Runs the row on operands of these texts and hands over what came of it;
  /// false: a text cannot be read (`trouble`).
  bool run(ArrayRef<std::string> operands, unsigned numResults,
           llvm::function_ref<void(TypingContext &, bool accepted)> then);
  unsigned numResults(const Case &c) const {
    return c.error.empty() ? c.results.size() : numResults_;
  }
  const std::string &trouble() const { return trouble_; }
  std::optional<TypeId> read(StringRef text);
  std::string print(TypeId type);
  /// `add[k=v] f32[8@X,4], f32[8,4] on X=2,Y=2`, for people and patterns.
  std::string text(const Case &c) const;

private:
  Outcome compare(const Case &c, TypingContext &cx, bool accepted);

  Context context_;
  Program program_;
  const Primitive &row_;
  std::string meshText_, paramsText_, derived_, trouble_;
  MeshId mesh_;
  ParamsId params_;
  JaxVersion jax_ = JaxVersion::V0_12;
  Vma vma_ = Vma::Off;
  unsigned numResults_ = 1; // Where JAX gives no results: as its neighbours.
  llvm::StringMap<TypeId> known_;
};

} // namespace shardtype::oracle

#endif
