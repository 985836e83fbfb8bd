// InterpStressTest.cpp - many devices, delays, failures, and runs by thousands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests of thousands of devices or runs are tagged [many]; the others are what
// ThreadSanitizer looks at.
#include "InterpFixture.h"
#include "Plain.h"
#include "shardtype/Rules/Params.h"
#include <atomic>
#include <fstream>
#include <random>
#include <thread>
#include <unistd.h>

using namespace shardtype;

/// A region on mesh i=I, j=J, k=K, whose devices hold two floats each.
static std::string onCube(int I, int J, int K, const std::string &body) {
  std::string all = std::to_string(2 * I * J * K), ring, i = std::to_string(I),
              j = std::to_string(J), k = std::to_string(K);
  for (int m = 0; m < J; ++m)
    ring +=
        "(" + std::to_string(m) + ", " + std::to_string((m + 1) % J) + "), ";
  std::string text = "#! mesh i=" + i + ":Auto,j=" + j + ":Auto,k=" + k +
                     ":Auto\n{ lambda ; a:f32[" + all + "]. let\n    b:f32[" +
                     all + R"(] = shard_map[
      check_vma=False
      in_specs=(P(('i', 'j', 'k')),)
      jaxpr={ lambda ; c:f32[2]. let )" +
                     body + R"( in (z,) }
      mesh=AbstractMesh('i': )" +
                     i + ", 'j': " + j + ", 'k': " + k +
                     R"(, axis_types=(Auto, Auto, Auto))
      newly_manual_axes=frozenset({'i', 'j', 'k'})
      out_specs=(P(('i', 'j', 'k')),)
    ] a
  in (b,) })";
  for (size_t at; (at = text.find("RING")) != std::string::npos;)
    text.replace(at, 4, "(" + ring + ")");
  for (size_t at; (at = text.find("SIZE")) != std::string::npos;)
    text.replace(at, 4, k);
  for (size_t at; (at = text.find("DOUBLE")) != std::string::npos;)
    text.replace(at, 6, std::to_string(2 * K));
  return text;
}

/// Sums along i, a ring along j, a branch by the place along k in which sums
/// along i and j go on, everything gathered along k: three times.
static const char *const Busy = R"(
  z:f32[2] = scan[
    ft_in=((), (None,), ())
    ft_out=((None,), ())
    jaxpr={ lambda ; x:f32[2]. let
        s:f32[2] = psum[axes=('i',) axis_index_groups=None] x
        y:f32[2] = mul s 0.0625:f32[]
        r:f32[2] = ppermute[axis_name=('j',) perm=RING] y
        m:i32[] = axis_index[axis_name=k]
        l:i32[] = rem m 2:i32[]
        t:f32[2] = cond[
          branches=(
            { lambda ; p:f32[2]. let q:f32[2] = add p 1.5:f32[] in (q,) }
            { lambda ; p:f32[2]. let
                u:f32[2] = psum[axes=('j', 'i') axis_index_groups=None] p
                q:f32[2] = mul u 0.01:f32[]
              in (q,) }
          )
        ] l r
        g:f32[DOUBLE] = all_gather[all_gather_dimension=0
          axis_index_groups=None axis_name=('k',) axis_size=SIZE tiled=True] t
        h:f32[2] = reduce_scatter[axis_index_groups=None axis_name=('k',)
          axis_size=SIZE scatter_dimension=0 tiled=True] g
        v:f32[2] = add h x
      in (v,) }
    length=3
    reverse=False
    unroll=1
  ] c
)";

/// As many workers as the seed says, which sleep or step aside now and then.
static RunOptions shaken(unsigned seed, MemoryAccount *account = nullptr) {
  RunOptions options = shaken(seed, 1 + std::mt19937(seed)() % 16, 29);
  options.account = account;
  return options;
}

static void sameWhateverTheSchedule(const std::string &text, unsigned seeds) {
  Running program(text);
  int64_t size =
      program.cx.type(program.checked->argumentTypes[0]).shape.front();
  Tensor input = counting(DType::F32, {size}, -0.7f, 0.013f);
  plain::Outcome expected = plain::evaluate(*program.checked, {input});
  REQUIRE(expected.error == "");
  for (unsigned seed = 0; seed < seeds; ++seed) {
    Tensor result = program.values({input}, shaken(seed))[0];
    REQUIRE(result.as<uint32_t>() == expected.results[0].as<uint32_t>());
  }
}

TEST_CASE("4,096 devices, whatever the schedule", "[many]") {
  sameWhateverTheSchedule(onCube(16, 16, 16, Busy), 6);
}
TEST_CASE("48 devices, whatever the schedule") {
  sameWhateverTheSchedule(onCube(4, 3, 4, Busy), 12);
}

//===--- Errors -----------------------------------------------------------===//

static LogicalResult sameType(TypingContext &cx) {
  cx.setResult(0, cx.operandId(0));
  return success();
}
/// Fails on the last device, late.
static LogicalResult failEval(EvalContext &cx) {
  const Mesh &mesh = cx.context().mesh(cx.host().deviceMesh());
  bool last = true;
  for (unsigned axis = 0; axis < mesh.rank(); ++axis)
    last &= cx.coordinate(axis) == mesh.axes[axis].size - 1;
  if (last)
    return cx.fail("does not like it here");
  cx.setResult(0, cx.take(0));
  return success();
}
static const Primitive TestRows[] = {
    {.info = {"fail_there", schemaOf<NoParams>},
     .decode = decodeParams<NoParams>,
     .dims = NoRule{NoRule::NotApplicable, ""},
     .linearity = {},
     .open = OpenRule::Opaque,
     .type = Custom{sameType},
     .eval = failEval}};

static const char *const Fails = R"(
  s:f32[2] = psum[axes=('i', 'k') axis_index_groups=None] c
  d:f32[2] = add s c
  e:f32[2] = fail_there d
  f:f32[2] = psum[axes=('j',) axis_index_groups=None] e
  z:f32[2] = ppermute[axis_name=('j',) perm=RING] f
)";
/// In the loop devices of i=0 make one trip more than the others.
static const char *const Hangs = R"(
  s:f32[2] = psum[axes=('i', 'k') axis_index_groups=None] c
  m:i32[] = axis_index[axis_name=i]
  l:i32[] = min m 1:i32[]
  n:i32[] z:f32[2] = while[
    body_jaxpr={ lambda ; o:i32[] x:f32[2]. let
        p:i32[] = add o 1:i32[]
        y:f32[2] = psum[axes=('i',) axis_index_groups=None] x
      in (p, y) }
    body_nconsts=0
    cond_jaxpr={ lambda ; o:i32[] x:f32[2]. let q:bool[] = lt o 3:i32[] in (q,) }
    cond_nconsts=0
  ] l s
)";

namespace {
/// Counts what runs hold; nothing must be left.
struct Account {
  MemoryAccount *account = MemoryAccount::create();
  ~Account() { account->release(); }
};
} // namespace

static void endsInOneError(const std::string &text, unsigned seeds,
                           StringRef message) {
  Running program(text, TestRows);
  int64_t size =
      program.cx.type(program.checked->argumentTypes[0]).shape.front();
  Account counted;
  std::optional<RunError> first;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    {
      RunResult result = program.run({counting(DType::F32, {size}, 1)},
                                     shaken(seed, counted.account));
      REQUIRE(result.error);
      CHECK(result.error->message == message.str());
      if (!first)
        first = result.error;
      CHECK(result.error->device == first->device);
      CHECK(result.error->notes == first->notes);
    }
    CHECK(counted.account->current() == 0);
  }
}

TEST_CASE("of 4,096 devices one fails, whatever the schedule", "[many]") {
  endsInOneError(onCube(16, 16, 16, Fails), 6,
                 "'fail_there' does not like it here");
}
TEST_CASE("of 48 devices one fails, whatever the schedule") {
  endsInOneError(onCube(4, 3, 4, Fails), 12,
                 "'fail_there' does not like it here");
}
TEST_CASE("4,096 devices wait for each other", "[many]") {
  endsInOneError(onCube(16, 16, 16, Hangs), 4,
                 "deadlock: devices wait for each other");
}
TEST_CASE("48 devices wait for each other") {
  endsInOneError(onCube(4, 3, 4, Hangs), 12,
                 "deadlock: devices wait for each other");
}

TEST_CASE("a deadlock says which trips devices are in") {
  Running program(onCube(2, 1, 1, Hangs));
  RunResult result = program.run({counting(DType::F32, {4}, 1)});
  REQUIRE(result.error);
  REQUIRE(result.error->notes.size() == 2);
  INFO(result.error->notes[0] << '\n' << result.error->notes[1]);
  // Of i=0 there are trips 1, 2 and 3, of i=1 only two.
  CHECK(StringRef(result.error->notes[0])
            .contains("i=0,j=0,k=0 (trip 3) waits for 1 of 2 devices"));
  CHECK(StringRef(result.error->notes[1])
            .contains("i=1,j=0,k=0 never came: it has ended"));
}

TEST_CASE("trips of loops in loops, the outer first") {
  // In the second trip i=1 goes on to a sum that i=0 does not come to.
  std::string text = onCube(2, 1, 1, R"(
  m:i32[] = axis_index[axis_name=i]
  n:i32[] z:f32[2] = scan[
    ft_in=((None,), (None, None), ())
    ft_out=((None, None), ())
    jaxpr={ lambda ; m:i32[] t:i32[] x:f32[2]. let
        u:i32[] = add t 1:i32[]
        l:i32[] = mul m t
        w:i32[] = sub 1:i32[] l
        o:i32[] y:f32[2] = while[
          body_jaxpr={ lambda ; p:i32[] v:f32[2]. let
              q:i32[] = sub p 1:i32[]
              r:f32[2] = psum[axes=('i',) axis_index_groups=None] v
            in (q, r) }
          body_nconsts=0
          cond_jaxpr={ lambda ; p:i32[] v:f32[2]. let s:bool[] = ge p 0:i32[]
            in (s,) }
          cond_nconsts=0
        ] w x
        k:f32[2] = pmax[axes=('i',) axis_index_groups=None] y
      in (u, k) }
    length=3
    reverse=False
    unroll=1
  ] m 0:i32[] c
)");
  Running program(text);
  RunResult result = program.run({counting(DType::F32, {4}, 1)});
  REQUIRE(result.error);
  std::string notes = noteText(*result.error);
  INFO(notes);
  CHECK(StringRef(notes).contains("i=0,j=0,k=0 (trips 2, 2) waits for"));
  CHECK(StringRef(notes).contains("i=1,j=0,k=0 (trip 2) waits for"));
  CHECK(StringRef(notes).contains("i=1,j=0,k=0 never came: it is at 'pmax'"));
}

//===--- Leaks ------------------------------------------------------------===//

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static constexpr bool Sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
static constexpr bool Sanitized = true;
#else
static constexpr bool Sanitized = false;
#endif
#else
static constexpr bool Sanitized = false;
#endif

/// Bytes of this process that are in memory.
static int64_t residentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

/// Runs a program many times, by 1, 2 and 3 workers in turn.
static void keepsNothing(const std::string &text, unsigned runs, bool fails) {
  Running program(text, TestRows);
  int64_t size =
      program.cx.type(program.checked->argumentTypes[0]).shape.front();
  Tensor input = counting(DType::F32, {size}, 1);
  Account counted;
  std::vector<std::unique_ptr<Interpreter>> interpreters;
  for (unsigned workers : {1u, 2u, 3u}) {
    RunOptions options;
    options.workers = workers;
    options.account = counted.account;
    interpreters.push_back(std::make_unique<Interpreter>(
        *program.checked, program.primitives, options));
  }
  int64_t before = 0;
  for (unsigned run = 0; run < runs; ++run) {
    if (run == runs / 5)
      before = residentBytes();
    {
      RunResult result = interpreters[run % 3]->run({input});
      REQUIRE(result.error.has_value() == fails);
    }
    REQUIRE(counted.account->current() == 0);
  }
  REQUIRE(before > 0);
  if (!Sanitized) // Which keep what is freed.
    CHECK(residentBytes() - before < 4 << 20);
}

TEST_CASE("ten thousand runs keep nothing", "[many]") {
  keepsNothing(onCube(2, 1, 2, Busy), 10000, false);
}
TEST_CASE("nor do runs that fail", "[many]") {
  keepsNothing(onCube(2, 1, 2, Fails), 3000, true);
}
TEST_CASE("nor do deadlocks", "[many]") {
  keepsNothing(onCube(2, 1, 2, Hangs), 3000, true);
}
