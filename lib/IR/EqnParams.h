// EqnParams.h - which parameters of an equation print, and in which order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef SHARDTYPE_LIB_IR_EQNPARAMS_H
#define SHARDTYPE_LIB_IR_EQNPARAMS_H

#include "shardtype/IR/Primitive.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>

namespace shardtype {

/// A parameter that prints: a value under a key, or (custom_jvp_call's `name`)
/// a mere text.
struct ShownParam {
  StringRef key; // As printed.
  ValueId value; // Invalid: `text` prints.
  const ParamField *field = nullptr;
  StringRef text;
};

/// The jaxprs an equation holds.
struct JaxprRefs {
  /// Those printed in place, in printing order.
  SmallVector<JaxprId, 2> printed;
  /// Those that count for sharing, in the order of JAX's walk, with the name
  /// that the equation proposes (may be empty).
  struct Ref {
    JaxprId jaxpr;
    StringRef name;
  };
  SmallVector<Ref, 2> walk;
};

/// One `key=value`, ready to print but for its jaxprs.
struct PrintedParam {
  enum Kind : uint8_t {
    Text,   // `text`
    Jaxprs, // `jaxprs` as `( ... )`
    Jaxpr,  // jaxprs[0]
    HiPrim, // `text[params]`: a high-level primitive inside another
    Whole   // `value`, in which each jaxpr is a program of its own
  } kind = Text;
  std::string key, text;
  ValueId value;
  SmallVector<JaxprId, 2> jaxprs;
  std::vector<PrintedParam> params;
};

/// Answers for all equations of one program, cached by primitive and
/// parameters, since equations share these.
class EqnParams {
public:
  explicit EqnParams(const Program &program) : program_(program) {}

  /// What is known of an equation's primitive; null: nothing.
  const PrimitiveInfo *info(const Eqn &eqn);
  PrintStyle style(const Eqn &eqn) {
    const PrimitiveInfo *known = info(eqn);
    return known ? known->style : PrintStyle::Plain;
  }
  /// The printed name, which for high-level primitives is that of the class.
  std::string name(const Eqn &eqn);
  bool holdsJaxprs(const Eqn &eqn);
  const JaxprRefs &refs(const Eqn &eqn);
  const std::vector<PrintedParam> &printed(const Eqn &eqn);

private:
  SmallVector<ShownParam, 8> shown(const Eqn &eqn);
  SmallVector<ShownParam, 8> shownOfClass(const Eqn &eqn);
  void addHidden(const Eqn &eqn, SmallVectorImpl<ShownParam> &params);
  const Value *hiPrim(const Eqn &eqn);
  bool valueHoldsJaxprs(ValueId id);
  void addPrinted(ValueId id, bool inClass, JaxprRefs &refs);
  void addWalk(ValueId id, StringRef name, JaxprRefs &refs);
  void addWalkOfClass(const Value &hiPrim, JaxprRefs &refs);
  PrintedParam print(const ShownParam &param, bool inClass);

  const Program &program_;
  std::vector<const PrimitiveInfo *> infos_; // By primitive, once asked for.
  std::vector<int8_t> holds_; // By ParamsId: 0 unknown, 1 yes, -1 no.
  llvm::DenseMap<uint64_t, JaxprRefs *> refsOf_;
  llvm::DenseMap<uint64_t, std::vector<PrintedParam> *> printedOf_;
  std::deque<JaxprRefs> refs_;
  std::deque<std::vector<PrintedParam>> printed_;
};

/// The jaxprs of a tuple that holds nothing else; nothing for other values.
std::optional<SmallVector<JaxprId, 2>> jaxprTuple(const Program &program,
                                                  const Value &value);

} // namespace shardtype

#endif
