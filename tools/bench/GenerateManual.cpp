// GenerateManual.cpp - one large region of shard_map for the benchmarks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Generate.h"
#include "shardtype/Driver/Load.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

using namespace shardtype;

/// `a`, `b`, ..., `ba`: a number in letters, as JAX names values.
static std::string letters(uint64_t number) {
  std::string text;
  do {
    text.insert(text.begin(), static_cast<char>('a' + number % 26));
    number /= 26;
  } while (number != 0);
  return text;
}

namespace {
/// Writes equations that each define the next value.
class Body {
public:
  Body(llvm::raw_ostream &os, uint64_t first) : os_(os), next_(first) {}
  std::string add(StringRef right, StringRef type) {
    std::string name = letters(next_++);
    os_ << name << ':' << type << " = " << right << '\n';
    return name;
  }

private:
  llvm::raw_ostream &os_;
  uint64_t next_;
};
} // namespace

/// A layer whose weights are split over both axes: gathered over `d` before
/// use, products added up over `t`, and the result mixed around a ring.
static std::string addLayer(Body &body, const std::string &x,
                            const std::string &up, const std::string &down) {
  StringRef dot = "dot_general[dimension_numbers=(([1], [0]), ([], []))] ";
  auto gather = [&](StringRef dim, const std::string &w) {
    return body.add("all_gather[all_gather_dimension=" + dim.str() +
                        " axis_index_groups=None axis_name=('d',) "
                        "axis_size=4 tiled=True] " +
                        w,
                    "f32[64,64]{V:(d,t)}");
  };
  std::string all = gather("0", up);
  std::string in = body.add("pvary[axes=('t',)] " + x, "f32[8,64]{V:(d,t)}");
  std::string h = body.add(dot.str() + in + " " + all, "f32[8,64]{V:(d,t)}");
  std::string s = body.add("tanh " + h, "f32[8,64]{V:(d,t)}");
  std::string back = gather("1", down);
  std::string y = body.add(dot.str() + s + " " + back, "f32[8,64]{V:(d,t)}");
  std::string z =
      body.add("psum_invariant[axes=('t',)] " + y, "f32[8,64]{V:d}");
  std::string sum = body.add("add " + x + " " + z, "f32[8,64]{V:d}");
  std::string next = body.add("ppermute[axis_name=('d',) perm=((0, 1), (1, 2), "
                              "(2, 3), (3, 0))] " +
                                  sum,
                              "f32[8,64]{V:d}");
  return body.add("mul " + sum + " " + next, "f32[8,64]{V:d}");
}

Program bench::generateManual(Context &context, const PrimitiveSet &primitives,
                              uint64_t equations) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "#! mesh d=4:Auto t=2:Auto\n"
        "{ lambda ; a:f32[32,64] b:f32[64,128] c:f32[128,64]. let\n"
        "d:f32[32,64] = shard_map[\ncheck_vma=True\n"
        "in_specs=(P('d', None), P('d', 't'), P('t', 'd'))\n"
        "jaxpr={ lambda ; e:f32[8,64]{V:d} f:f32[16,64]{V:(d,t)} "
        "g:f32[64,16]{V:(d,t)}. let\n";
  Body body(os, /*first=*/26);
  std::string x = "e";
  for (uint64_t made = 0; made < equations; made += 10)
    x = addLayer(body, x, "f", "g");
  os << "in (" << x
     << ",) }\nmesh=AbstractMesh('d': 4, 't': 2, axis_types=(Auto, Auto))\n"
        "newly_manual_axes=frozenset({'d', 't'})\n"
        "out_specs=(P('d', None),)\n] a b c\nin (d,) }\n";
  DiagnosticList errors;
  std::optional<Program> program =
      loadProgram(context, text, "manual", primitives, errors);
  if (!program)
    llvm::report_fatal_error("the generated region cannot be read: " +
                             llvm::Twine(errors.all().front().message));
  return std::move(*program);
}
