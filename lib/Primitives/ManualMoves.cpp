// ManualMoves.cpp - collectives that move values between devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Families.h"
#include "Manual.h"
#include "ManualEval.h"
#include "Shapes.h"
#include "shardtype/Rules/Communication.h"
#include "shardtype/Rules/SpecDiagnostics.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/MathExtras.h"

using namespace shardtype;

namespace {
struct Permute {
  const Value *axes = nullptr, *pairs = nullptr;
  static constexpr auto fields =
      std::tuple(valueField("axis_name", &Permute::axes, form::axes),
                 valueField("perm", &Permute::pairs, form::pairs));
};
struct Broadcast {
  const Value *axes = nullptr;
  static constexpr auto fields =
      std::tuple(valueField("axis_name", &Broadcast::axes, form::axes),
                 ignored("source", form::integer));
};
struct DynamicBroadcast {
  const Value *axes = nullptr;
  static constexpr auto fields =
      std::tuple(valueField("axis_name", &DynamicBroadcast::axes, form::axes));
};
struct Gather {
  int64_t dim = 0, size = 1;
  Groups groups;
  const Value *axes = nullptr;
  bool tiled = false;
  static constexpr auto fields = std::tuple(
      field("all_gather_dimension", &Gather::dim),
      optionalField("axis_index_groups", &Gather::groups),
      valueField("axis_name", &Gather::axes, form::axes),
      field("axis_size", &Gather::size), field("tiled", &Gather::tiled));
};
struct GatherAll {
  int64_t dim = 0, size = 1;
  const Value *axes = nullptr;
  bool tiled = false;
  static constexpr auto fields = std::tuple(
      field("all_gather_dimension", &GatherAll::dim),
      valueField("axis_name", &GatherAll::axes, form::axes),
      field("axis_size", &GatherAll::size), field("tiled", &GatherAll::tiled));
};
struct Scatter {
  Groups groups;
  const Value *axes = nullptr;
  int64_t size = 1, dim = 0;
  bool tiled = false;
  static constexpr auto fields =
      std::tuple(optionalField("axis_index_groups", &Scatter::groups),
                 valueField("axis_name", &Scatter::axes, form::axes),
                 field("axis_size", &Scatter::size),
                 field("scatter_dimension", &Scatter::dim),
                 field("tiled", &Scatter::tiled));
};
struct ScatterAll {
  const Value *axes = nullptr;
  int64_t size = 1, dim = 0;
  bool tiled = false;
  static constexpr auto fields =
      std::tuple(valueField("axis_name", &ScatterAll::axes, form::axes),
                 field("axis_size", &ScatterAll::size),
                 field("scatter_dimension", &ScatterAll::dim),
                 field("tiled", &ScatterAll::tiled));
};
struct Exchange {
  Groups groups;
  const Value *axes = nullptr;
  int64_t concat = 0, split = 0;
  static constexpr auto fields = std::tuple(
      optionalField("axis_index_groups", &Exchange::groups),
      valueField("axis_name", &Exchange::axes, form::axes),
      field("concat_axis", &Exchange::concat),
      field("split_axis", &Exchange::split), ignored("tiled", form::flag));
};
struct Ragged {
  Groups groups;
  const Value *axes = nullptr;
  static constexpr auto fields =
      std::tuple(optionalField("axis_index_groups", &Ragged::groups),
                 valueField("axis_name", &Ragged::axes, form::axes));
};
struct Index {
  const Value *axis = nullptr;
  static constexpr auto fields =
      std::tuple(valueField("axis_name", &Index::axis, form::axes));
};
} // namespace

static FailureOr<NamedAxes> axesOf(TypingContext &cx, const Value &value) {
  if (failed(arraysOnly(cx)))
    return failure();
  FailureOr<NamedAxes> axes = namedAxes(cx, value, "axis_name");
  if (succeeded(axes) && !axes->dims.empty())
    return cx
        .error(diag::CollectiveArgument, cx.name(), "it takes no dims as axes")
        .markParam("axis_name");
  return axes;
}

//===--- ppermute and pbroadcast ------------------------------------------===//

/// Warns of pairs that JAX refuses when it compiles (manual/ppermute.2); true
/// if every device receives something.
static bool checkPairs(TypingContext &cx, const NamedAxes &axes) {
  const Program &program = cx.program();
  const Value &list = *cx.params<Permute>().pairs;
  int64_t n = cx.context().meshOrEmpty(cx.mesh()).size(axes.set);
  llvm::SmallSet<int64_t, 16> sources, targets;
  std::string wrong;
  for (ValueId id : list.elements) {
    SmallVector<int64_t, 2> pair;
    if (!readParam(program, program.value(id), pair) || pair.size() != 2)
      wrong = "perm must be pairs of numbers";
    else if (llvm::any_of(pair, [&](int64_t i) { return i < 0 || i >= n; }))
      wrong = "perm names a device outside of 0 to " + std::to_string(n - 1);
    else if (!sources.insert(pair[0]).second)
      wrong = "perm has device " + std::to_string(pair[0]) + " send twice";
    else if (!targets.insert(pair[1]).second)
      wrong = "perm has device " + std::to_string(pair[1]) + " receive twice";
  }
  if (wrong.empty() && !llvm::is_sorted(axes.list))
    wrong = "the axes are not in the order of the mesh";
  if (!wrong.empty())
    cx.error(diag::PermutationInvalid, wrong).markParam("perm");
  return static_cast<int64_t>(targets.size()) == n;
}

/// manual/ppermute.1: the operand's type.
static LogicalResult moved(TypingContext &cx, const NamedAxes &axes) {
  if (failed(collectiveVarying(cx, axes)) || failed(refuseSets(cx, axes)))
    return failure();
  return setManualResult(cx, cx.operand(0), cx.operand(0).manual);
}

static LogicalResult ppermute(TypingContext &cx) {
  FailureOr<NamedAxes> axes = axesOf(cx, *cx.params<Permute>().axes);
  if (failed(axes) || failed(moved(cx, *axes)))
    return failure();
  bool reachesAll = checkPairs(cx, *axes);
  if (cx.options().vma != Vma::Infer || reachesAll)
    return success();
  ManualAxisType to = cx.operand(0).manual; // manual/infer.2
  to.varying |= axes->set;
  return setManualResult(cx, cx.operand(0), to);
}

template <typename P> static LogicalResult pbroadcast(TypingContext &cx) {
  if (cx.numOperands() == 2 && (cx.operand(1).dtype != DType::I32))
    return cx
        .error(diag::DTypeMismatch, "the source of 'pbroadcast_dynamic' is " +
                                        cx.arg(cx.operandId(1)) + ", not i32[]")
        .mark(1);
  if (cx.numOperands() == 2 && cx.operand(1).rank() != 0)
    return cx
        .error(diag::CollectiveArgument, cx.name(),
               "the source is " + cx.arg(cx.operandId(1)) + ", not i32[]")
        .mark(1);
  FailureOr<NamedAxes> axes = axesOf(cx, *cx.params<P>().axes);
  if (failed(axes) || failed(moved(cx, *axes)))
    return failure();
  if (cx.options().vma != Vma::Infer)
    return success();
  ManualAxisType to = cx.operand(0).manual; // manual/infer.2
  to.varying = to.varying - axes->set;
  return setManualResult(cx, cx.operand(0), to);
}

//===--- all_gather -------------------------------------------------------===//

/// The size of the group as a parameter repeats it, which JAX goes by
/// (manual/all_gather.2).
static FailureOr<int64_t> statedSize(TypingContext &cx, const NamedAxes &axes,
                                     const Groups &groups, int64_t stated) {
  int64_t size = groupSize(cx, axes, groups);
  if (size == stated || cx.options().retyped)
    return size;
  if (stated < 1)
    return cx
        .error(diag::ParamInvalid, "axis_size",
               "is " + std::to_string(stated) + ", not above 0")
        .markParam("axis_size");
  cx.error(diag::GroupsInvalid, cx.name(),
           "axis_size is " + std::to_string(stated) + ", but there are " +
               std::to_string(size) + " devices along the axes")
      .markParam("axis_size");
  return stated;
}

/// The type of the pieces of `size` devices side by side, or stacked. JAX keeps
/// entries of other axes where they are when a dim comes in before them.
static FailureOr<Type> gathered(TypingContext &cx, int64_t at, bool tiled,
                                int64_t size) {
  Type type = cx.operand(0);
  FailureOr<unsigned> dim = collectiveDim(cx, at, type.rank() + (tiled ? 0 : 1),
                                          "all_gather_dimension");
  if (failed(dim))
    return failure();
  if (!tiled) { // manual/all_gather.1
    type.shape.insert(type.shape.begin() + *dim, size);
    type.sharding.dims.emplace_back();
    for (unsigned d = *dim; d + 1 < type.rank(); ++d)
      if (const AxisList &entry = type.sharding.dims[d]; !entry.empty())
        cx.error(diag::GatherMovesEntry, entry, d, cx.name(), d + 1)
            .mark(0, d); // manual/all_gather.3
    return type;
  }
  if (Dim::isSymbolic(type.shape[*dim]) ||
      llvm::MulOverflow(type.shape[*dim], size, type.shape[*dim]))
    return cx
        .error(diag::ShapeMismatch, "dim " + std::to_string(*dim) + " of " +
                                        cx.arg(cx.operandId(0)) +
                                        " cannot be gathered from " +
                                        std::to_string(size) + " devices")
        .mark(0, *dim);
  return type;
}

/// manual/all_gather.1
static LogicalResult allGather(TypingContext &cx) {
  const auto &p = cx.params<Gather>();
  FailureOr<NamedAxes> axes = axesOf(cx, *p.axes);
  if (failed(axes) || failed(refuseSets(cx, *axes)))
    return failure();
  FailureOr<int64_t> size = statedSize(cx, *axes, p.groups, p.size);
  if (failed(size))
    return failure();
  FailureOr<Type> type = gathered(cx, p.dim, p.tiled, *size);
  FailureOr<AxisSet> varying = failure();
  if (failed(type) || failed(varying = collectiveVarying(cx, *axes)))
    return failure();
  ManualAxisType to = type->manual;
  to.varying = *varying;
  if (cx.options().vma == Vma::Infer && !p.groups.given())
    to.varying = to.varying - axes->set; // manual/infer.2
  return setManualResult(cx, *type, to);
}

/// manual/all_gather_invariant.1
static LogicalResult allGatherInvariant(TypingContext &cx) {
  const auto &p = cx.params<GatherAll>();
  FailureOr<NamedAxes> axes = axesOf(cx, *p.axes);
  if (failed(axes) || failed(refuseSets(cx, *axes)))
    return failure();
  FailureOr<int64_t> size = statedSize(cx, *axes, {}, p.size);
  if (failed(size))
    return failure();
  FailureOr<Type> type = gathered(cx, p.dim, p.tiled, *size);
  if (failed(type))
    return failure();
  ManualAxisType to = type->manual;
  if (cx.options().vma == Vma::On)
    warnPartly(cx, axes->set, to.varying, "varying");
  to.varying = to.varying - axes->set;
  return setManualResult(cx, *type, to);
}

/// manual/all_gather_reduced.1
static LogicalResult allGatherReduced(TypingContext &cx) {
  const auto &p = cx.params<GatherAll>();
  FailureOr<NamedAxes> axes = axesOf(cx, *p.axes);
  if (failed(axes))
    return failure();
  ManualAxisType to = cx.operand(0).manual;
  if (!to.varying.intersects(axes->set)) {
    ManualAxisType cast = to;
    cast.varying |= axes->set;
    return cx
        .error(diag::CastNeedsVarying, cx.name(), axes->set,
               orNothing(cx, to.varying))
        .mark(0)
        .castOperand(0, cast);
  }
  if (AxisSet both = to.reduced & axes->set; !both.empty())
    return cx.error(diag::CastReduced, cx.name(), axes->set, both).mark(0);
  FailureOr<int64_t> size = statedSize(cx, *axes, {}, p.size);
  if (failed(size))
    return failure();
  FailureOr<Type> type = gathered(cx, p.dim, p.tiled, *size);
  if (failed(type) || failed(sumsOnly(cx)))
    return failure();
  warnPartly(cx, axes->set, to.varying, "varying");
  to.varying = to.varying - axes->set;
  to.reduced |= axes->set;
  return setManualResult(cx, *type, to);
}

//===--- reduce_scatter ---------------------------------------------------===//

/// The type of one of `size` parts (manual/reduce_scatter.2).
static FailureOr<Type> scattered(TypingContext &cx, int64_t at, bool tiled,
                                 int64_t size) {
  Type type = cx.operand(0);
  FailureOr<unsigned> dim =
      collectiveDim(cx, at, type.rank(), "scatter_dimension");
  if (failed(dim))
    return failure();
  int64_t whole = type.shape[*dim];
  if (Dim::isSymbolic(whole) || (tiled ? whole % size : whole - size) != 0)
    return cx.error(diag::CollectiveIndivisible, cx.name(), *dim, whole, size)
        .mark(0, *dim);
  if (tiled) {
    type.shape[*dim] = whole / size;
    return type;
  }
  type.shape.erase(type.shape.begin() + *dim);
  // manual/reduce_scatter.3: setManualResult refuses what is left.
  if (!cx.context().meshOrEmpty(type.sharding.mesh).anyExplicit())
    type.sharding.dims.erase(type.sharding.dims.begin() + *dim);
  return type;
}

/// manual/reduce_scatter.1
static LogicalResult reduceScatter(TypingContext &cx) {
  const auto &p = cx.params<Scatter>();
  FailureOr<NamedAxes> axes = axesOf(cx, *p.axes);
  if (failed(axes) || failed(refuseSets(cx, *axes)))
    return failure();
  FailureOr<int64_t> size = statedSize(cx, *axes, p.groups, p.size);
  if (failed(size))
    return failure();
  FailureOr<Type> type = scattered(cx, p.dim, p.tiled, *size);
  FailureOr<AxisSet> varying = failure();
  if (failed(type) || failed(varying = collectiveVarying(cx, *axes)))
    return failure();
  warnEqual(cx, *axes,
            "the result is a part of the value times the number of devices");
  ManualAxisType to = type->manual;
  to.varying = *varying;
  if (cx.options().vma == Vma::Infer)
    to.varying |= axes->set; // manual/infer.2
  return setManualResult(cx, *type, to);
}

/// manual/unreduced_reduce_scatter.1
static LogicalResult unreducedReduceScatter(TypingContext &cx) {
  const auto &p = cx.params<ScatterAll>();
  FailureOr<NamedAxes> axes = axesOf(cx, *p.axes);
  if (failed(axes))
    return failure();
  ManualAxisType to = cx.operand(0).manual;
  if (!to.unreduced.intersects(axes->set))
    return cx
        .error(diag::CastNeedsUnreduced, cx.name(), axes->set,
               orNothing(cx, to.unreduced))
        .mark(0);
  if (failed(refuseVarying(cx, axes->set)))
    return failure();
  FailureOr<int64_t> size = statedSize(cx, *axes, {}, p.size);
  if (failed(size))
    return failure();
  FailureOr<Type> type = scattered(cx, p.dim, p.tiled, *size);
  if (failed(type) || failed(sumsOnly(cx)))
    return failure();
  warnPartly(cx, axes->set, to.unreduced, "unreduced");
  to.unreduced = to.unreduced - axes->set;
  to.varying |= axes->set;
  return setManualResult(cx, *type, to);
}

//===--- all_to_all -------------------------------------------------------===//

/// manual/all_to_all.1
static LogicalResult allToAll(TypingContext &cx) {
  const auto &p = cx.params<Exchange>();
  FailureOr<NamedAxes> axes = axesOf(cx, *p.axes);
  if (failed(axes) || failed(refuseSets(cx, *axes)))
    return failure();
  Type type = cx.operand(0);
  int64_t size = groupSize(cx, *axes, p.groups);
  FailureOr<unsigned> split =
      collectiveDim(cx, p.split, type.rank(), "split_axis");
  FailureOr<unsigned> concat =
      collectiveDim(cx, p.concat, type.rank(), "concat_axis");
  if (failed(split) || failed(concat))
    return failure();
  int64_t whole = type.shape[*split];
  if (Dim::isSymbolic(whole) || whole % size != 0) // manual/all_to_all.2
    return cx.error(diag::CollectiveSplit, cx.name(), *split, whole, size)
        .mark(0, *split);
  type.shape[*split] = whole / size;
  if (Dim::isSymbolic(type.shape[*concat]) ||
      llvm::MulOverflow(type.shape[*concat], size, type.shape[*concat]))
    return cx
        .error(diag::ShapeMismatch, "dim " + std::to_string(*concat) + " of " +
                                        cx.arg(cx.operandId(0)) +
                                        " cannot be put together from " +
                                        std::to_string(size) + " devices")
        .mark(0, *concat);
  FailureOr<AxisSet> varying = collectiveVarying(cx, *axes);
  if (failed(varying))
    return failure();
  type.weak = false;
  ManualAxisType to = type.manual;
  to.varying = *varying;
  if (cx.options().vma == Vma::Infer)
    to.varying |= axes->set; // manual/infer.2
  return setManualResult(cx, type, to);
}

/// manual/ragged_all_to_all.1: offsets and sizes are lists of integers.
static LogicalResult checkRaggedLists(TypingContext &cx) {
  constexpr StringRef Names[] = {"input_offsets", "send_sizes",
                                 "output_offsets", "recv_sizes"};
  for (unsigned i = 2; i < 6; ++i)
    if (!isInteger(cx.operand(i).dtype))
      return cx
          .error(diag::CollectiveArgument, cx.name(),
                 Names[i - 2].str() + " must be integers, but are " +
                     cx.arg(cx.operandId(i)))
          .mark(i);
  for (unsigned i = 2; i < 6; ++i)
    if (cx.operand(i).rank() != 1 || cx.shape(i)[0] == 0)
      return cx
          .error(diag::CollectiveArgument, cx.name(),
                 Names[i - 2].str() +
                     " must have one dim that is not empty, but are " +
                     cx.arg(cx.operandId(i)))
          .mark(i);
  return success();
}

/// manual/ragged_all_to_all.2: the type of the array that is written to. JAX
/// has no rule for states.
static LogicalResult raggedAllToAll(TypingContext &cx) {
  if (failed(checkRaggedLists(cx)))
    return failure();
  FailureOr<NamedAxes> axes = axesOf(cx, *cx.params<Ragged>().axes);
  if (failed(axes))
    return failure();
  AxisSet all = axes->set;
  for (unsigned i = 0; i < cx.numOperands(); ++i)
    all |= cx.operand(i).manual.varying;
  Type type = cx.operand(1);
  type.weak = false;
  ManualAxisType to = type.manual;
  if (cx.options().vma == Vma::Infer)
    to.varying = all;
  else if (AxisSet lost = all - to.varying;
           !lost.empty() && cx.options().vma == Vma::On) // manual/lost.4
    warnVariationLost(cx, lost, "JAX gives it the variation of 'output' only");
  return setManualResult(cx, type, to);
}

//===--- axis_index -------------------------------------------------------===//

/// manual/axis_index.1
static LogicalResult axisIndex(TypingContext &cx) {
  FailureOr<NamedAxes> axes = axesOf(cx, *cx.params<Index>().axis);
  if (failed(axes))
    return failure();
  Type type;
  type.dtype = DType::I32;
  type.sharding = replicated(cx.mesh(), 0);
  ManualAxisType to;
  if (cx.options().vma != Vma::Off)
    to.varying = axes->set;
  return setManualResult(cx, type, to);
}

//===--- Futures ----------------------------------------------------------===//

/// manual/future.1: what is waited for.
static LogicalResult done(TypingContext &cx) {
  const Type &type = cx.operand(0);
  if (type.kind != Type::Future)
    return cx
        .error(diag::DTypeMismatch, "'" + cx.name().str() +
                                        "' takes what was started, not " +
                                        cx.arg(cx.operandId(0)))
        .mark(0);
  return setResults(cx, type.inner);
}

//===--- Rows -------------------------------------------------------------===//

static constexpr NoRule NoDims = {NoRule::NotApplicable,
                                  "pieces of several devices meet in a dim"};
static DimMap operandDims(TypingContext &cx) {
  return sameDims(cx, {}, FactorRole::Pass);
}

template <auto Type, typename P, unsigned Count = 1>
static constexpr Primitive
row(StringRef name, Rule<DimMap(TypingContext &)> dims,
    decltype(Primitive::communication) communication, EvalRule eval,
    Linearity linearity = {Linearity::Jointly, 1}) {
  return {.info = {.name = name,
                   .params = schemaOf<P>,
                   .collective = static_cast<bool>(communication)},
          .decode = decodeFor<P, Count>,
          .dims = dims,
          .linearity = linearity,
          .open = OpenRule::Pointwise,
          .type = Custom{Type},
          .communication = communication,
          .eval = eval};
}

static constexpr NoRule Nothing = {NoRule::NotApplicable,
                                   "nothing moves in it"};

/// The other half of a collective; the devices meet in the first.
static constexpr Primitive doneRow(StringRef name) {
  return row<done, NoParams>(name, NoDims, Nothing, eval::pass);
}

static constexpr auto Gathers = collective<CommStep::AllGather>;
static constexpr auto Scatters = collective<CommStep::ReduceScatter>;
static constexpr auto Exchanges = collective<CommStep::AllToAll>;
static constexpr auto Permutes = collective<CommStep::Permute>;
static constexpr auto Broadcasts = collective<CommStep::Broadcast>;
static constexpr auto RaggedExchanges = collective<CommStep::RaggedAllToAll>;

static const Primitive Rows[] = {
    row<ppermute, Permute>("ppermute", operandDims, Permutes, permuteEval),
    row<started<ppermute>, Permute>("ppermute_start", NoDims, Permutes,
                                    permuteEval),
    row<pbroadcast<Broadcast>, Broadcast>("pbroadcast", operandDims, Broadcasts,
                                          broadcastEval),
    row<pbroadcast<DynamicBroadcast>, DynamicBroadcast, 2>(
        "pbroadcast_dynamic", NoDims, Broadcasts, broadcastEval),
    row<allGather, Gather>("all_gather", NoDims, Gathers, gatherEval),
    row<started<allGather>, Gather>("all_gather_start", NoDims, Gathers,
                                    gatherEval),
    row<allGatherInvariant, GatherAll>("all_gather_invariant", NoDims, Gathers,
                                       gatherEval),
    row<allGatherReduced, GatherAll>("all_gather_reduced", NoDims, Gathers,
                                     gatherEval),
    row<started<allGatherReduced>, GatherAll>("all_gather_reduced_start",
                                              NoDims, Gathers, gatherEval),
    row<reduceScatter, Scatter>("reduce_scatter", NoDims, Scatters,
                                reduceScatterEval),
    row<started<reduceScatter>, Scatter>("reduce_scatter_start", NoDims,
                                         Scatters, reduceScatterEval),
    row<unreducedReduceScatter, ScatterAll>("unreduced_reduce_scatter", NoDims,
                                            Scatters, reduceScatterEval),
    row<allToAll, Exchange>("all_to_all", NoDims, Exchanges, allToAllEval),
    row<started<allToAll>, Exchange>("all_to_all_start", NoDims, Exchanges,
                                     allToAllEval),
    row<raggedAllToAll, Ragged, 6>("ragged_all_to_all", NoDims, RaggedExchanges,
                                   raggedEval, {Linearity::Jointly, 2}),
    row<axisIndex, Index, 0>("axis_index", NoDims, Nothing, axisIndexEval, {}),
    doneRow("all_gather_done"),
    doneRow("psum_done"),
    doneRow("reduce_scatter_done"),
    doneRow("all_to_all_done"),
    doneRow("ppermute_done")};

ArrayRef<Primitive> shardtype::manualMoves() { return Rows; }
