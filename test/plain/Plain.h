// Plain.h - a slow, plain evaluator, the reference of the fast one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread, loops over indices, one boxed element at a time. The devices of a
// region go in lockstep, equation by equation, so that a collective is a
// function of the list of its members' values. It shares no code with Kernels
// and Interp but the storage of tensors and the rounding of elements. Every
// result must have the type that the checker gave it.
#ifndef SHARDTYPE_TEST_PLAIN_PLAIN_H
#define SHARDTYPE_TEST_PLAIN_PLAIN_H

#include "Number.h"
#include "shardtype/Rules/CheckedProgram.h"
#include <map>

namespace shardtype::plain {

struct Outcome {
  std::vector<Tensor> results;
  std::string error;        // Empty: it ran.
  bool unsupported = false; // The error is that we do not know a primitive.
};

Outcome evaluate(const CheckedProgram &checked, std::vector<Tensor> arguments);
/// Does it know a primitive of this name?
bool knows(StringRef primitive);

//===--- For its own files ------------------------------------------------===//

/// A parameter's value; absent ones give what is asked for otherwise.
struct Setting {
  const Program *program = nullptr;
  const Value *value = nullptr;
  explicit operator bool() const {
    return value && value->kind != Value::None && value->kind != Value::Hidden;
  }
  size_t size() const { return value ? value->elements.size() : 0; }
  Setting operator[](size_t i) const {
    return {program, &program->value(value->elements[i])};
  }
  Setting field(StringRef name) const;
  int64_t number(int64_t otherwise = 0) const;
  double real(double otherwise = 0) const;
  SmallVector<int64_t, 6> list() const;
  std::string word() const; // A string, or the member of an enum.
  JaxprId jaxpr() const;
};

/// Where each device is; all are in one region.
struct World {
  const Mesh *mesh = nullptr;
  AxisSet manual;
  std::vector<SmallVector<int64_t, 4>> places; // By axis of the mesh.
};

using Column = std::vector<Tensor>; // One value, by device.
using Index = SmallVector<int64_t, 6>;

class Evaluator;

/// An equation on one device.
struct Operation {
  Evaluator &evaluator;
  const Program &program;
  const Eqn &eqn;
  StringRef name;
  std::vector<Tensor> in, out; // `out`: zeros of the result types.

  Setting operator[](StringRef key) const;
  /// The body `key` on scalars of these dtypes, one each.
  std::vector<Number> call(StringRef key, ArrayRef<DType> dtypes,
                           ArrayRef<Number> values);
  void fail(const llvm::Twine &message);
};

class Evaluator {
public:
  explicit Evaluator(const CheckedProgram &checked)
      : checked_(checked), program_(*checked.program) {}
  std::vector<Column> body(JaxprId id, InstanceId instance,
                           std::vector<Column> inputs, const World &world);
  std::string error;
  bool unsupported = false;
  InstanceId current; // Of the body whose equation is evaluated.
  EqnId at;
  const CheckedProgram &checked() const { return checked_; }

private:
  using Columns = std::vector<Column>;
  Columns equation(EqnId id, const Eqn &eqn, InstanceId instance, Columns in,
                   const World &world);
  Columns run(EqnId id, InstanceId instance, JaxprId body, Columns in,
              const World &world);
  Columns scan(EqnId id, const Eqn &eqn, InstanceId instance, Columns in,
               const World &world);
  Columns loop(EqnId id, const Eqn &eqn, InstanceId instance, Columns in,
               const World &world);
  Columns cond(EqnId id, const Eqn &eqn, InstanceId instance, Columns in,
               const World &world);
  Columns region(EqnId id, const Eqn &eqn, InstanceId instance, Columns in,
                 const World &world);
  Columns collective(const Eqn &eqn, StringRef name, Columns in,
                     const World &world);
  Column axisIndex(const Eqn &eqn, const World &world);
  AxisList axes(const Setting &names, const World &world) const;
  Tensor literal(const Literal &literal);
  Setting param(const Eqn &eqn, StringRef key) const;
  Tensor zeros(InstanceId instance, VarId var);

  const CheckedProgram &checked_;
  const Program &program_;
};

using Function = void (*)(Operation &);
/// Of equations that each device computes for itself; null: none.
Function functionNamed(StringRef name);

bool isCollective(StringRef name);
/// What belongs to some of the devices.
std::vector<Column> some(ArrayRef<Column> columns, ArrayRef<size_t> devices);

/// Calls `f` with every index of a shape, row-major.
template <typename F> void forEachIndex(ArrayRef<int64_t> shape, F &&f) {
  Index index(shape.size());
  for (int64_t size : shape)
    if (size == 0)
      return;
  while (true) {
    f(static_cast<const Index &>(index));
    size_t d = shape.size();
    for (; d > 0; index[--d] = 0)
      if (++index[d - 1] < shape[d - 1])
        break;
    if (d == 0)
      return;
  }
}
int64_t position(ArrayRef<int64_t> shape, ArrayRef<int64_t> index);
/// Moves one element, of any dtype.
void move(Tensor &to, int64_t at, const Tensor &from, int64_t from_at);

} // namespace shardtype::plain

#endif
