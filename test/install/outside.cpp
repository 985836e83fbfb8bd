// outside.cpp - the library from outside: load, check, walk types and findings,
// run on devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <shardtype/Check/Check.h>
#include <shardtype/Driver/Load.h>
#include <shardtype/Interp/Interp.h>
#include <shardtype/Primitives/All.h>
#include <shardtype/Report/Communication.h>

using namespace shardtype;

/// A sum over two devices.
static int runSum(const PrimitiveSet &primitives) {
  Context cx;
  DiagnosticList errors;
  auto program = loadProgram(cx, R"(#! mesh i=2
{ lambda ; a:f32[4@i]. let
    b = shard_map[
      check_vma=True
      in_specs=(P('i'),)
      jaxpr={ lambda ; c. let d = psum_invariant[axes=('i',)] c in (d,) }
      mesh=AbstractMesh('i': 2, axis_types=(Explicit,))
      newly_manual_axes=frozenset({'i'})
      out_specs=(P(),)
    ] a
  in (b,) })",
                             "sum", primitives, errors);
  if (!program)
    return 2;
  CheckedProgram checked = check(*program, primitives);
  Interpreter interpreter(checked, primitives);
  if (!checked.ok() || !interpreter.errors().empty())
    return 2;
  RunResult result =
      interpreter.run({Tensor::of<float>(DType::F32, {4}, {1, 2, 10, 20})});
  if (result.error)
    return 2;
  for (float sum : result.results.front().as<float>())
    std::printf("%g\n", static_cast<double>(sum));
  return 0;
}

int main() {
  Context cx;
  PrimitiveSet primitives = allPrimitives();
  DiagnosticList errors;
  auto program = loadProgram(cx, R"(#! mesh X=2
{ lambda ; a:f32[8,4@X] b:f32[4@X,16]. let
    c = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b
    d = sin c
    e = reshard[concrete_mesh=None dst_sharding=P(None, None)] a
  in (d, e) })",
                             "outside", primitives, errors);
  if (!program)
    return 2;
  CheckedProgram checked = check(*program, primitives);
  const Instance &entry = checked.instances[checked.entryInstance.index()];
  for (TypeId type : entry.types)
    std::printf("%s\n", str(cx, type).c_str());
  for (const Diagnostic &d : checked.diagnostics.all()) {
    std::printf("%s: %s\n", info(d.code).code.str().c_str(), d.message.c_str());
    for (const Fix &fix : d.fixes)
      std::printf("  %s\n", str(cx, fix.type).c_str());
  }
  for (const NamedCollective &found :
       accountFor(checked, primitives).collectives)
    std::printf("%s among %d: %d bytes sent\n",
                str(found.step.kind).str().c_str(),
                static_cast<int>(found.step.devices),
                static_cast<int>(found.step.sentBytes));
  return checked.ok() ? 0 : 1 + runSum(primitives);
}
