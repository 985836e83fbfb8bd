// Devices.cpp - the plain evaluator's collectives and regions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Plain.h"
#include "llvm/ADT/StringMap.h"

using namespace shardtype;
using namespace shardtype::plain;

namespace {
/// What a collective sees: its name, its parameters.
struct Meeting {
  StringRef name;
  std::function<Setting(StringRef)> param;
};
} // namespace
/// Operands by number and then by member; results by member.
using Values = std::vector<Column>;
using Collective = Column (*)(const Meeting &, const Values &);
//===--- Collectives ------------------------------------------------------===//

/// Of all members' values at each position. Sums of floats below 16 bits and of
/// bf16 are kept in f32.
static Tensor combine(StringRef how, ArrayRef<Tensor> members) {
  DType dtype = members[0].dtype(), kept = dtype;
  bool sum = how.contains("sum") || how.contains("scatter");
  if (sum && isFloat(dtype) && dtype != DType::F16 && dtype != DType::F64)
    kept = DType::F32;
  Tensor result = Tensor::zeros(dtype, members[0].shape());
  for (int64_t at = 0; at < result.size(); ++at) {
    Number total = sum ? Number() : load(members[0], at);
    for (const Tensor &member : members) {
      Number x = load(member, at);
      total = sum ? rounded(kept, binaryNamed("add")(dtype, total, x))
              : how.contains("max") ? larger(dtype, total, x)
                                    : smaller(dtype, total, x);
    }
    store(result, at, total);
  }
  return result;
}

/// Copies a block of a shape between places of two arrays.
static void copyBlock(Tensor &to, ArrayRef<int64_t> toStart, const Tensor &from,
                      ArrayRef<int64_t> fromStart, ArrayRef<int64_t> shape) {
  forEachIndex(shape, [&](const Index &index) {
    Index a = index, b = index;
    for (size_t d = 0; d < index.size(); ++d) {
      a[d] += toStart[d];
      b[d] += fromStart[d];
    }
    move(to, position(to.shape(), a), from, position(from.shape(), b));
  });
}
static Index shapeOf(const Tensor &tensor) {
  return Index(tensor.shape().begin(), tensor.shape().end());
}

static Column reduceAll(const Meeting &m, const Values &in) {
  return Column(in[0].size(), combine(m.name, in[0]));
}
static Column gatherAll(const Meeting &m, const Values &in) {
  size_t dim = m.param("all_gather_dimension").number();
  Index piece = shapeOf(in[0][0]);
  Index out = piece;
  if (!m.param("tiled").number()) {
    piece.insert(piece.begin() + dim, 1);
    out = piece;
  }
  out[dim] *= in[0].size();
  Tensor whole = Tensor::zeros(in[0][0].dtype(), out);
  Index start(out.size());
  for (const Tensor &member : in[0]) {
    copyBlock(whole, start, member.reshaped(piece), Index(out.size()), piece);
    start[dim] += piece[dim];
  }
  return Column(in[0].size(), whole);
}
static Column scatterAll(const Meeting &m, const Values &in) {
  size_t dim = m.param("scatter_dimension").number();
  Tensor sum = combine("sum", in[0]);
  Index piece = shapeOf(sum), start(piece.size());
  piece[dim] /= in[0].size();
  Column outs;
  for (size_t k = 0; k < in[0].size(); ++k) {
    Tensor part = Tensor::zeros(sum.dtype(), piece);
    copyBlock(part, Index(piece.size()), sum, start, piece);
    start[dim] += piece[dim];
    Index shape = piece;
    if (!m.param("tiled").number())
      shape.erase(shape.begin() + dim);
    outs.push_back(part.reshaped(shape));
  }
  return outs;
}
static Column exchangeAll(const Meeting &m, const Values &in) {
  size_t split = m.param("split_axis").number(),
         concat = m.param("concat_axis").number(), n = in[0].size();
  Index chunk = shapeOf(in[0][0]);
  chunk[split] /= n;
  Index whole = chunk;
  whole[concat] *= n;
  Column outs;
  for (size_t k = 0; k < n; ++k) {
    Tensor out = Tensor::zeros(in[0][0].dtype(), whole);
    for (size_t j = 0; j < n; ++j) {
      Index from(chunk.size()), to(chunk.size());
      from[split] = k * chunk[split];
      to[concat] = j * chunk[concat];
      copyBlock(out, to, in[0][j], from, chunk);
    }
    outs.push_back(out);
  }
  return outs;
}
static Column permuteAll(const Meeting &m, const Values &in) {
  Column outs;
  for (const Tensor &member : in[0])
    outs.push_back(Tensor::zeros(member.dtype(), member.shape()));
  Setting pairs = m.param("perm");
  for (size_t i = 0; i < pairs.size(); ++i)
    outs[pairs[i][1].number()] = in[0][pairs[i][0].number()];
  return outs;
}
static Column broadcastAll(const Meeting &m, const Values &in) {
  int64_t source = m.param("source").number();
  if (in.size() > 1)
    source = static_cast<int64_t>(load(in[1][0], 0).i);
  return Column(in[0].size(), in[0][source]);
}
/// Each sender writes its rows into each receiver's output.
static Column raggedAll(const Meeting &, const Values &in) {
  Column outs;
  for (const Tensor &output : in[1]) {
    outs.push_back(Tensor::zeros(output.dtype(), output.shape()));
    copyBlock(outs.back(), Index(output.rank()), output, Index(output.rank()),
              output.shape());
  }
  for (size_t sender = 0; sender < outs.size(); ++sender)
    for (size_t k = 0; k < outs.size(); ++k) {
      auto entry = [&](size_t operand) {
        return static_cast<int64_t>(load(in[operand][sender], k).i);
      };
      Index from(outs[k].rank()), to = from, rows = shapeOf(in[0][sender]);
      from[0] = entry(2);
      rows[0] = entry(3);
      to[0] = entry(4);
      copyBlock(outs[k], to, in[0][sender], from, rows);
    }
  return outs;
}

static Collective collectiveNamed(StringRef name) {
  name.consume_back("_start");
  static const llvm::StringMap<Collective> table = {
      {"psum", reduceAll},
      {"pmax", reduceAll},
      {"pmin", reduceAll},
      {"psum_invariant", reduceAll},
      {"unreduced_psum", reduceAll},
      {"unreduced_pmax", reduceAll},
      {"unreduced_pmin", reduceAll},
      {"all_gather", gatherAll},
      {"all_gather_invariant", gatherAll},
      {"all_gather_reduced", gatherAll},
      {"reduce_scatter", scatterAll},
      {"unreduced_reduce_scatter", scatterAll},
      {"all_to_all", exchangeAll},
      {"ppermute", permuteAll},
      {"pbroadcast", broadcastAll},
      {"pbroadcast_dynamic", broadcastAll},
      {"ragged_all_to_all", raggedAll}};
  return table.lookup(name);
}

bool plain::isCollective(StringRef name) { return collectiveNamed(name); }

/// The axes that a parameter names, in its order.
AxisList Evaluator::axes(const Setting &names, const World &world) const {
  AxisList list;
  if (names && names.value->kind == Value::Str && world.mesh)
    if (auto axis = world.mesh->find(names.value->text))
      list.push_back(*axis);
  for (size_t i = 0; names && i < names.size(); ++i)
    list.append(axes(names[i], world));
  return list;
}

static int64_t coordinate(const World &world, size_t device,
                          const AxisList &axes) {
  int64_t at = 0;
  for (uint8_t axis : axes)
    at = at * world.mesh->axes[axis].size + world.places[device][axis];
  return at;
}

Column Evaluator::axisIndex(const Eqn &eqn, const World &world) {
  AxisList names = axes(param(eqn, "axis_name"), world);
  Column outs;
  for (size_t device = 0; device < world.places.size(); ++device) {
    outs.push_back(Tensor::zeros(DType::I32, {}));
    store(outs.back(), 0, integer(coordinate(world, device, names)));
  }
  return outs;
}

/// Each device's own sum (or so) over dims that a collective names.
static Tensor overDims(StringRef how, const Tensor &x, ArrayRef<int64_t> dims) {
  Index shape;
  for (unsigned d = 0; d < x.rank(); ++d)
    if (!llvm::is_contained(dims, d))
      shape.push_back(x.dim(d));
  Tensor result = Tensor::zeros(x.dtype(), shape);
  bool sum = how.contains("sum");
  for (int64_t at = 0; !sum && at < result.size(); ++at)
    store(result, at,
          how.contains("max") ? lowest(x.dtype()) : highest(x.dtype()));
  forEachIndex(x.shape(), [&](const Index &index) {
    Index kept;
    for (unsigned d = 0; d < x.rank(); ++d)
      if (!llvm::is_contained(dims, d))
        kept.push_back(index[d]);
    int64_t at = position(shape, kept);
    Number a = load(result, at), b = load(x, position(x.shape(), index));
    store(result, at,
          sum                   ? binaryNamed("add")(x.dtype(), a, b)
          : how.contains("max") ? larger(x.dtype(), a, b)
                                : smaller(x.dtype(), a, b));
  });
  return result;
}

Evaluator::Columns Evaluator::collective(const Eqn &eqn, StringRef name,
                                         Columns in, const World &world) {
  Setting names =
              param(eqn, "axes") ? param(eqn, "axes") : param(eqn, "axis_name"),
          groups = param(eqn, "axis_index_groups");
  SmallVector<int64_t, 4> dims;
  for (size_t i = 0; names && i < names.size(); ++i)
    if (names[i].value->kind == Value::Int)
      dims.push_back(names[i].number());
  if (!dims.empty())
    for (Tensor &x : in[0])
      x = overDims(name, x, dims);
  AxisList list = axes(names, world);
  if (list.empty())
    return in;
  // Who is in a group: along other axes and, of those named, in which part.
  std::map<std::pair<SmallVector<int64_t, 4>, size_t>, std::map<size_t, size_t>>
      meetings; // Member to device.
  for (size_t device = 0; device < world.places.size(); ++device) {
    SmallVector<int64_t, 4> others = world.places[device];
    for (uint8_t axis : list)
      others[axis] = 0;
    size_t place = coordinate(world, device, list), part = 0;
    for (size_t g = 0; groups && g < groups.size(); ++g) {
      auto members = groups[g].list();
      auto found = llvm::find(members, static_cast<int64_t>(place));
      if (found == members.end())
        continue;
      place = found - members.begin();
      part = g;
      break;
    }
    meetings[{others, part}][place] = device;
  }
  Meeting meeting{name, [&](StringRef key) { return param(eqn, key); }};
  Columns outs(1, Column(world.places.size()));
  for (auto &[key, members] : meetings) {
    size_t wanted = groups ? groups[key.second].size()
                           : static_cast<size_t>(world.mesh->size(list));
    if (members.size() != wanted) {
      error = "deadlock";
      return outs;
    }
    SmallVector<size_t> devices;
    for (auto &[place, device] : members)
      devices.push_back(device);
    Column results = collectiveNamed(name)(meeting, some(in, devices));
    for (size_t k = 0; k < devices.size(); ++k)
      outs[0][devices[k]] = results[k];
  }
  return outs;
}

//===--- Regions ----------------------------------------------------------===//

namespace {
struct BlockSpec {
  std::vector<AxisList> dims;
  AxisSet split, unreduced;
  ReductionKind kind;
};
} // namespace

static BlockSpec specOf(const Program &program, const Setting &value,
                        const Mesh &mesh, unsigned rank) {
  const PartitionSpec &spec = program.spec(*value.value);
  BlockSpec result{std::vector<AxisList>(rank), {}, {}, spec.kind};
  for (size_t d = 0; d < spec.partitions.size(); ++d)
    for (StringId name : spec.partitions[d].axes)
      if (auto axis = mesh.find(name)) {
        result.dims[d].push_back(*axis);
        result.split.insert(*axis);
      }
  for (StringId name : spec.unreduced)
    if (auto axis = mesh.find(name))
      result.unreduced.insert(*axis);
  return result;
}

/// Is it at 0 along all of these axes?
static bool isFirst(ArrayRef<int64_t> place, AxisSet axes) {
  return llvm::all_of(axes.list(), [&](uint8_t a) { return place[a] == 0; });
}

/// Where the block of a device begins.
static Index blockStart(const World &world, size_t device,
                        const BlockSpec &spec, ArrayRef<int64_t> block) {
  Index start;
  for (size_t d = 0; d < block.size(); ++d)
    start.push_back(coordinate(world, device, spec.dims[d]) * block[d]);
  return start;
}

/// Every device of the world becomes those of the region at its place.
Evaluator::Columns Evaluator::region(EqnId id, const Eqn &eqn,
                                     InstanceId instance, Columns in,
                                     const World &world) {
  const Mesh &mesh = program_.context().mesh(
      MeshId(static_cast<uint32_t>(param(eqn, "mesh").value->integer)));
  World inner{&mesh, world.manual, {}};
  AxisSet fresh;
  Setting names = param(eqn, "newly_manual_axes");
  for (size_t i = 0; i < names.size(); ++i)
    fresh.insert(*mesh.find(names[i].value->text));
  inner.manual |= fresh;
  Index sizes;
  for (uint8_t axis : fresh.list())
    sizes.push_back(mesh.axes[axis].size);
  SmallVector<size_t> parent;
  for (size_t outer = 0; outer < world.places.size(); ++outer)
    forEachIndex(sizes, [&](const Index &index) {
      SmallVector<int64_t, 4> place = world.places[outer];
      place.resize(mesh.rank());
      for (size_t k = 0; k < index.size(); ++k)
        place[fresh.list()[k]] = index[k];
      inner.places.push_back(place);
      parent.push_back(outer);
    });
  Columns inputs;
  for (size_t i = 0; i < in.size(); ++i) {
    BlockSpec spec =
        specOf(program_, param(eqn, "in_specs")[i], mesh, in[i][0].rank());
    Column column;
    for (size_t device = 0; device < parent.size(); ++device) {
      const Tensor &whole = in[i][parent[device]];
      Index block = shapeOf(whole);
      for (size_t d = 0; d < block.size(); ++d)
        block[d] /= mesh.size(spec.dims[d]);
      Tensor own = Tensor::zeros(whole.dtype(), block);
      if (spec.kind != ReductionKind::Sum ||
          isFirst(inner.places[device], spec.unreduced))
        copyBlock(own, Index(block.size()), whole,
                  blockStart(inner, device, spec, block), block);
      column.push_back(own);
    }
    inputs.push_back(column);
  }
  Columns results =
      run(id, instance, param(eqn, "jaxpr").jaxpr(), std::move(inputs), inner);
  Columns outs(eqn.numResults);
  for (uint32_t i = 0; error.empty() && i < eqn.numResults; ++i) {
    BlockSpec spec = specOf(program_, param(eqn, "out_specs")[i], mesh,
                            results[i][0].rank());
    Tensor like = zeros(instance, program_.result(eqn, i));
    for (size_t outer = 0; outer < world.places.size(); ++outer)
      outs[i].push_back(Tensor::zeros(like.dtype(), like.shape()));
    for (size_t device = 0; device < parent.size(); ++device) {
      if (!isFirst(inner.places[device], fresh - spec.split))
        continue; // Another device gives that block.
      Column parts;
      for (size_t other = 0; other < parent.size(); ++other) {
        bool part = true;
        for (uint8_t axis : (inner.manual - spec.unreduced).list())
          part &= inner.places[other][axis] == inner.places[device][axis];
        if (part)
          parts.push_back(results[i][other]);
      }
      Tensor block = parts.size() == 1
                         ? parts[0]
                         : combine(spec.kind == ReductionKind::Max   ? "max"
                                   : spec.kind == ReductionKind::Min ? "min"
                                                                     : "sum",
                                   parts);
      copyBlock(outs[i][parent[device]],
                blockStart(inner, device, spec, block.shape()), block,
                Index(block.rank()), block.shape());
    }
  }
  return outs;
}
