// InterpDevicesTest.cpp - devices: collectives, schedules, deadlocks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What collectives give is compared with their definitions (spec 02, 6.3),
// written here as loops over all devices.
#include "InterpFixture.h"
#include "shardtype/Rules/Params.h"
#include <atomic>
#include <random>
#include <thread>

using namespace shardtype;

/// A region on mesh i=2, j=3 whose body has one equation or more.
static std::string onSix(const std::string &body, const std::string &in,
                         const std::string &out, const std::string &outSpec) {
  return "#! mesh i=2:Auto,j=3:Auto\n{ lambda ; a:" + in +
         ". let\n    b:" + out + R"( = shard_map[
      check_vma=False
      in_specs=(P(('i', 'j')),)
      jaxpr={ lambda ; )" +
         body + R"( }
      mesh=AbstractMesh('i': 2, 'j': 3, axis_types=(Auto, Auto))
      newly_manual_axes=frozenset({'i', 'j'})
      out_specs=()" +
         outSpec + R"(,)
    ] a
  in (b,) })";
}

/// Options whose schedule differs from run to run.
static RunOptions shaken(unsigned seed) {
  return shaken(seed, 1 + seed % 7, 5);
}

using Blocks = std::vector<std::vector<float>>; // By device, row-major.

/// Runs a body on blocks of `size` floats, with several schedules.
static Blocks runOnSix(const std::string &text, int64_t size) {
  Running program(text);
  Tensor input = counting(DType::F32, {6 * size}, 1);
  Tensor first;
  for (unsigned seed = 0; seed < 8; ++seed) {
    std::vector<Tensor> values = program.values({input}, shaken(seed));
    if (!first)
      first = values[0];
    REQUIRE(values[0].as<float>() == first.as<float>());
  }
  Blocks blocks(6);
  size_t each = first.as<float>().size() / 6;
  for (size_t d = 0; d < 6; ++d)
    blocks[d].assign(first.as<float>().begin() + d * each,
                     first.as<float>().begin() + (d + 1) * each);
  return blocks;
}

static Blocks inputs(int64_t size) {
  Blocks blocks(6);
  for (int64_t d = 0; d < 6; ++d)
    for (int64_t k = 0; k < size; ++k)
      blocks[static_cast<size_t>(d)].push_back(
          static_cast<float>(1 + d * size + k));
  return blocks;
}

/// The members of the group of a device, numbered as the axes say.
static std::vector<size_t> groupOf(size_t device, StringRef axes) {
  size_t i = device / 3, j = device % 3;
  if (axes == "i")
    return {j, 3 + j};
  if (axes == "j")
    return {3 * i, 3 * i + 1, 3 * i + 2};
  if (axes == "ij")
    return {0, 1, 2, 3, 4, 5};
  return {0, 3, 1, 4, 2, 5}; // ji
}
static size_t placeIn(const std::vector<size_t> &group, size_t device) {
  return static_cast<size_t>(llvm::find(group, device) - group.begin());
}
static std::string names(StringRef axes) {
  std::string text = "(";
  for (char axis : axes)
    text += std::string("'") + axis + "', ";
  text.pop_back();
  if (axes.size() > 1)
    text.pop_back();
  return text + ")";
}

TEST_CASE("collectives over dims reduce each device's own") {
  const char *whole = R"({ lambda ; a:f32[2,3]. let
    b:f32[3] = psum[axes=(0,) axis_index_groups=None] a
    c:f32[2] = pmax[axes=(1,) axis_index_groups=None] a
  in (b, c) })";
  auto values = Running(whole).values({counting(DType::F32, {2, 3}, 1)});
  CHECK(values[0].as<float>() == ArrayRef<float>({5, 7, 9}));
  CHECK(values[1].as<float>() == ArrayRef<float>({3, 6}));
  // Both at once: device (i, j) holds 2 numbers of 1 to 12.
  Blocks blocks = runOnSix(onSix("c:f32[2]. let d:f32[] = psum[axes=('j', 0) "
                                 "axis_index_groups=None] c\n"
                                 "e:f32[1] = reshape[dimensions=None "
                                 "new_sizes=(1,) sharding=None] d in (e,)",
                                 "f32[12]", "f32[6]", "P(('i', 'j'))"),
                           2);
  for (size_t device = 0; device < 6; ++device)
    CHECK(blocks[device][0] == (device < 3 ? 21 : 57));
}

TEST_CASE("psum and pmax over every choice of axes") {
  for (StringRef axes : {"i", "j", "ij", "ji"}) {
    INFO(axes.str());
    Blocks in = inputs(4),
           sum = runOnSix(
               onSix("c:f32[4]. let d:f32[4] = psum[axes=" + names(axes) +
                         " axis_index_groups=None] c in (d,)",
                     "f32[24]", "f32[24]", "P(('i', 'j'))"),
               4);
    Blocks most =
        runOnSix(onSix("c:f32[4]. let d:f32[4] = pmax[axes=" + names(axes) +
                           " axis_index_groups=None] c in (d,)",
                       "f32[24]", "f32[24]", "P(('i', 'j'))"),
                 4);
    for (size_t d = 0; d < 6; ++d)
      for (size_t k = 0; k < 4; ++k) {
        float total = 0, top = 0;
        for (size_t member : groupOf(d, axes)) {
          total += in[member][k];
          top = std::max(top, in[member][k]);
        }
        CHECK(sum[d][k] == total);
        CHECK(most[d][k] == top);
      }
  }
}

TEST_CASE("all_gather, reduce_scatter and all_to_all") {
  for (StringRef axes : {"i", "j", "ij", "ji"}) {
    INFO(axes.str());
    size_t n = groupOf(0, axes).size();
    std::string size = std::to_string(n), all = std::to_string(6 * 6 * n);
    Blocks in = inputs(6);
    Blocks gathered = runOnSix(
        onSix("c:f32[6]. let d:f32[" + std::to_string(6 * n) +
                  "] = all_gather[all_gather_dimension=0 "
                  "axis_index_groups=None axis_name=" +
                  names(axes) + " axis_size=" + size + " tiled=True] c in (d,)",
              "f32[36]", "f32[" + all + "]", "P(('i', 'j'))"),
        6);
    Blocks scattered = runOnSix(
        onSix("c:f32[6]. let d:f32[" + std::to_string(6 / n) +
                  "] = reduce_scatter[axis_index_groups=None axis_name=" +
                  names(axes) + " axis_size=" + size +
                  " scatter_dimension=0 tiled=True] c in (d,)",
              "f32[36]", "f32[" + std::to_string(36 / n) + "]",
              "P(('i', 'j'))"),
        6);
    Blocks exchanged = runOnSix(
        onSix("c:f32[6]. let d:f32[6] = all_to_all[axis_index_groups=None "
              "axis_name=" +
                  names(axes) +
                  " concat_axis=0 split_axis=0 tiled=True] c in (d,)",
              "f32[36]", "f32[36]", "P(('i', 'j'))"),
        6);
    for (size_t d = 0; d < 6; ++d) {
      std::vector<size_t> group = groupOf(d, axes);
      size_t place = placeIn(group, d), part = 6 / n;
      std::vector<float> whole, sums, pieces;
      for (size_t member : group)
        whole.insert(whole.end(), in[member].begin(), in[member].end());
      for (size_t k = 0; k < part; ++k) {
        float total = 0;
        for (size_t member : group)
          total += in[member][place * part + k];
        sums.push_back(total);
      }
      for (size_t member : group)
        pieces.insert(pieces.end(), in[member].begin() + place * part,
                      in[member].begin() + (place + 1) * part);
      CHECK(gathered[d] == whole);
      CHECK(scattered[d] == sums);
      CHECK(exchanged[d] == pieces);
    }
  }
}

TEST_CASE("ppermute: members without a source get zeros; axis_index; groups") {
  Blocks in = inputs(2);
  Blocks moved =
      runOnSix(onSix("c:f32[2]. let d:f32[2] = ppermute[axis_name=('j',) "
                     "perm=((0, 1), (2, 0))] c in (d,)",
                     "f32[12]", "f32[12]", "P(('i', 'j'))"),
               2);
  Blocks index = runOnSix(onSix(R"(c:f32[2]. let
          k:i32[] = axis_index[axis_name=j]
          l:i32[] = axis_index[axis_name=i]
          m:i32[] = mul l 10:i32[]
          n:i32[] = add k m
          o:f32[] = convert_element_type[new_dtype=float32 weak_type=False] n
          d:f32[2] = mul c o
        in (d,))",
                                "f32[12]", "f32[12]", "P(('i', 'j'))"),
                          2);
  Blocks parts =
      runOnSix(onSix("c:f32[2]. let d:f32[2] = psum[axes=('i', 'j') "
                     "axis_index_groups=((0, 5), (1, 2), (3, 4))] c in (d,)",
                     "f32[12]", "f32[12]", "P(('i', 'j'))"),
               2);
  const size_t partner[] = {5, 2, 1, 4, 3, 0};
  for (size_t d = 0; d < 6; ++d) {
    std::vector<float> none(2, 0.f);
    CHECK(moved[d] == (d % 3 == 1 ? in[d - 1] : d % 3 == 0 ? in[d + 2] : none));
    for (size_t k = 0; k < 2; ++k) {
      CHECK(index[d][k] == in[d][k] * static_cast<float>(d / 3 * 10 + d % 3));
      CHECK(parts[d][k] == in[d][k] + in[partner[d]][k]);
    }
  }
}

//===--- Many devices -----------------------------------------------------===//

/// On mesh i=32, j=32: eight times a sum over i, a ring over j, and a branch
/// that depends on where the device is.
static const char *const Many = R"(#! mesh i=32:Auto,j=32:Auto
{ lambda ; a:f32[1024]. let
    b:f32[1024] = shard_map[
      check_vma=False
      in_specs=(P(('i', 'j')),)
      jaxpr={ lambda ; c:f32[1]. let
          d:f32[1] = scan[
            ft_in=((), (None,), ())
            ft_out=((None,), ())
            jaxpr={ lambda ; x:f32[1]. let
                y:f32[1] = psum[axes=('i',) axis_index_groups=None] x
                k:i32[] = axis_index[axis_name=j]
                l:i32[] = rem k 2:i32[]
                z:f32[1] = cond[
                  branches=(
                    { lambda ; p:f32[1]. let q:f32[1] = mul p 0.03125:f32[] in (q,) }
                    { lambda ; p:f32[1]. let
                        r:f32[1] = psum[axes=('i',) axis_index_groups=None] p
                        q:f32[1] = mul r 0.001:f32[]
                      in (q,) }
                  )
                ] l y
                w:f32[1] = ppermute[axis_name=('j',) perm=(RING)] z
              in (w,) }
            length=8
            reverse=False
            unroll=1
          ] c
        in (d,) }
      mesh=AbstractMesh('i': 32, 'j': 32, axis_types=(Auto, Auto))
      newly_manual_axes=frozenset({'i', 'j'})
      out_specs=(P(('i', 'j')),)
    ] a
  in (b,) })";

static std::vector<float> manyByHand(const Tensor &input) {
  std::vector<float> x(input.as<float>().begin(), input.as<float>().end());
  auto sums = [](const std::vector<float> &of) {
    std::vector<float> total(32, 0.f);
    for (size_t i = 0; i < 32; ++i)
      for (size_t j = 0; j < 32; ++j)
        total[j] += of[i * 32 + j];
    return total;
  };
  for (int trip = 0; trip < 8; ++trip) {
    std::vector<float> y = sums(x), z(1024);
    for (size_t i = 0; i < 32; ++i)
      for (size_t j = 0; j < 32; ++j)
        z[i * 32 + j] = y[j];
    std::vector<float> again = sums(z);
    for (size_t i = 0; i < 32; ++i)
      for (size_t j = 0; j < 32; ++j) {
        float w = j % 2 ? again[j] * 0.001f : y[j] * 0.03125f;
        x[i * 32 + (j + 1) % 32] = w;
      }
  }
  return x;
}

TEST_CASE("a thousand devices, whatever the schedule", "[stress]") {
  std::string ring, text = Many;
  for (int k = 0; k < 32; ++k)
    ring +=
        "(" + std::to_string(k) + ", " + std::to_string((k + 1) % 32) + "), ";
  text.replace(text.find("RING"), 4, ring.substr(0, ring.size() - 2));
  Running program(text);
  Tensor input = counting(DType::F32, {1024}, 0.5f, 0.001f);
  std::vector<float> expected = manyByHand(input);
  for (unsigned seed = 0; seed < 4; ++seed) {
    Tensor result = program.values({input}, shaken(seed * 3 + 1))[0];
    CHECK(result.as<float>() == ArrayRef<float>(expected));
  }
}

//===--- Deadlocks and errors ---------------------------------------------===//

static RunError failureOf(const std::string &text,
                          ArrayRef<Primitive> rows = {}) {
  Running program(text, rows);
  std::optional<RunError> first;
  for (unsigned seed = 0; seed < 4; ++seed) {
    RunResult result =
        program.run({counting(DType::F32, {12}, 1)}, shaken(seed));
    REQUIRE(result.error);
    if (!first)
      first = result.error;
    CHECK(result.error->message == first->message);
    CHECK(result.error->notes == first->notes);
  }
  return *first;
}

TEST_CASE("a branch that is not taken by all is a deadlock") {
  RunError error = failureOf(onSix(R"(c:f32[2]. let
          k:i32[] = axis_index[axis_name=i]
          d:f32[2] = cond[
            branches=(
              { lambda ; p:f32[2]. let in (p,) }
              { lambda ; p:f32[2]. let
                  r:f32[2] = psum[axes=('i',) axis_index_groups=None] p
                in (r,) }
            )
          ] k c
        in (d,))",
                                   "f32[12]", "f32[12]", "P(('i', 'j'))"));
  CHECK(error.message == "deadlock: devices wait for each other");
  std::string notes = noteText(error);
  INFO(notes);
  CHECK(StringRef(notes).contains("i=1,j=0 waits for 1 of 2 devices"));
  CHECK(StringRef(notes).contains("i=0,j=0 never came: it has ended; it went "
                                  "another way at 'cond' at"));
}

TEST_CASE("collectives in another order are a deadlock") {
  RunError error = failureOf(onSix(R"(c:f32[2]. let
          k:i32[] = axis_index[axis_name=j]
          d:f32[2] = cond[
            branches=(
              { lambda ; p:f32[2]. let
                  q:f32[2] = psum[axes=('i',) axis_index_groups=None] p
                  r:f32[2] = psum[axes=('j',) axis_index_groups=None] q
                in (r,) }
              { lambda ; p:f32[2]. let
                  q:f32[2] = psum[axes=('j',) axis_index_groups=None] p
                  r:f32[2] = psum[axes=('i',) axis_index_groups=None] q
                in (r,) }
            )
          ] k c
        in (d,))",
                                   "f32[12]", "f32[12]", "P(('i', 'j'))"));
  std::string notes = noteText(error);
  INFO(notes);
  CHECK(StringRef(notes).contains("never came: it is at 'psum'"));
  CHECK(StringRef(notes).contains("; it went another way at 'cond' at"));
}

TEST_CASE("trips that not all devices make are a deadlock") {
  RunError error = failureOf(onSix(R"(c:f32[2]. let
          k:i32[] = axis_index[axis_name=i]
          n:i32[] d:f32[2] = while[
            body_jaxpr={ lambda ; m:i32[] x:f32[2]. let
                o:i32[] = add m 1:i32[]
                y:f32[2] = psum[axes=('i',) axis_index_groups=None] x
              in (o, y) }
            body_nconsts=0
            cond_jaxpr={ lambda ; m:i32[] x:f32[2]. let
                p:bool[] = lt m 2:i32[]
              in (p,) }
            cond_nconsts=0
          ] k c
        in (d,))",
                                   "f32[12]", "f32[12]", "P(('i', 'j'))"));
  std::string notes = noteText(error);
  INFO(notes);
  CHECK(StringRef(notes).contains("i=0,j=0 (trip 2) waits for 1 of 2 devices"));
  CHECK(StringRef(notes).contains("i=1,j=0 never came: it has ended; it went "
                                  "another way at 'while' at"));
}

TEST_CASE("an error of a collective is of whom it comes from") {
  RunError error = failureOf(onSix(R"(c:f32[2]. let
          k:i32[] = axis_index[axis_name=j]
          e:bool[] = eq k 2:i32[]
          n:i32[] = select_n e 0:i32[] 99:i32[]
          o:i32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,) sharding=None] n
          z:i32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,) sharding=None] 0:i32[]
          l:i32[3] = broadcast_in_dim[broadcast_dimensions=() shape=(3,) sharding=None] 1:i32[]
          d:f32[2] = ragged_all_to_all[axis_index_groups=None axis_name=('j',)] c c o l z l
        in (d,))",
                                   "f32[12]", "f32[12]", "P(('i', 'j'))"));
  CHECK(error.message ==
        "'ragged_all_to_all' sends rows that are outside of its arrays");
  CHECK(StringRef(error.device).ends_with("j=2"));
}

TEST_CASE("members of groups are named") {
  RunError error = failureOf(onSix(R"(c:f32[2]. let
          k:i32[] = axis_index[axis_name=i]
          d:f32[2] = cond[
            branches=(
              { lambda ; p:f32[2]. let in (p,) }
              { lambda ; p:f32[2]. let
                  r:f32[2] = psum[axes=('i', 'j') axis_index_groups=((0, 4), (1, 5), (2, 3))] p
                in (r,) }
            )
          ] k c
        in (d,))",
                                   "f32[12]", "f32[12]", "P(('i', 'j'))"));
  std::string notes = noteText(error);
  INFO(notes);
  // Of 2 times 3 devices; those with i=1 are 3, 4 and 5.
  CHECK(StringRef(notes).contains("i=1,j=1 waits for 1 of 2 devices"));
  CHECK(StringRef(notes).contains("i=0,j=0 never came: it has ended"));
  CHECK(StringRef(notes).contains("i=0,j=1 never came: it has ended"));
}

static LogicalResult sameType(TypingContext &cx) {
  cx.setResult(0, cx.operandId(0));
  return success();
}
static std::atomic<int> calls;
static LogicalResult countEval(EvalContext &cx) {
  ++calls;
  std::this_thread::yield();
  cx.setResult(0, cx.take(0));
  return success();
}
static LogicalResult failEval(EvalContext &cx) {
  if (cx.coordinate(0) == 1 && cx.coordinate(1) == 2)
    return cx.fail("does not like it here");
  cx.setResult(0, cx.take(0));
  return success();
}
template <auto Eval> static Primitive testRow(StringRef name) {
  return {.info = {name, schemaOf<NoParams>},
          .decode = decodeParams<NoParams>,
          .dims = NoRule{NoRule::NotApplicable, ""},
          .linearity = {},
          .open = OpenRule::Opaque,
          .type = Custom{sameType},
          .eval = Eval};
}
static const Primitive TestRows[] = {testRow<countEval>("count_it"),
                                     testRow<failEval>("fail_there")};

TEST_CASE("a kernel that fails on one device ends the run") {
  RunError error = failureOf(onSix(R"(c:f32[2]. let
          d:f32[2] = fail_there c
          e:f32[2] = psum[axes=('i', 'j') axis_index_groups=None] d
        in (e,))",
                                   "f32[12]", "f32[12]", "P(('i', 'j'))"),
                             TestRows);
  CHECK(error.message == "'fail_there' does not like it here");
  CHECK(error.device == "i=1,j=2");
}

TEST_CASE("what does not vary is computed once") {
  Running program(onSix(R"(c:f32[512]. let
          d:f32[512] = psum[axes=('j',) axis_index_groups=None] c
          e:f32[512] = count_it d
          f:f32[512] = psum[axes=('i',) axis_index_groups=None] e
          g:f32[512] = count_it f
          h:f32[512] = add g c
          k:f32[512] = count_it h
        in (k,))",
                        "f32[3072]", "f32[3072]", "P(('i', 'j'))"),
                  TestRows);
  for (unsigned seed = 0; seed < 8; ++seed) {
    calls = 0;
    program.values({counting(DType::F32, {3072})}, shaken(seed));
    CHECK(calls == 2 + 1 + 6);
  }
}

/// A row that suspends, and leaves it open what its result varies over.
static Task lateEval(EvalContext &cx) {
  cx.setResult(0, cx.take(0));
  co_return success();
}
static const Primitive LateRows[] = {testRow<lateEval>("late"),
                                     testRow<countEval>("count_it")};

TEST_CASE("what suspends varies over what its operands do") {
  Running program(onSix(R"(c:f32[512]. let
          d:f32[512] = late c
          e:f32[512] = count_it d
        in (e,))",
                        "f32[3072]", "f32[3072]", "P(('i', 'j'))"),
                  LateRows);
  calls = 0;
  Tensor input = counting(DType::F32, {3072});
  Tensor result = program.values({input})[0];
  CHECK(calls == 6);
  CHECK(result.as<float>() == input.as<float>());
}

TEST_CASE("copies that a spec takes to be equal are compared") {
  std::string body = R"(c:f32[2]. let
          d:f32[2] = psum[axes=('j',) axis_index_groups=None] c
        in (d,))";
  Running differs(onSix(body, "f32[12]", "f32[2]", "P()"));
  RunResult result = differs.run({counting(DType::F32, {12}, 1)});
  REQUIRE(!result.error);
  REQUIRE(result.notes.size() == 1);
  CHECK(StringRef(result.notes[0].message)
            .contains("first at [0] between i=0,j=0 and i=1,j=0"));
  CHECK(result.results[0].as<float>() == ArrayRef<float>({9, 12}));
  Running equal(onSix(body, "f32[12]", "f32[4]", "P('i')"));
  CHECK(equal.run({counting(DType::F32, {12}, 1)}).notes.empty());
}
