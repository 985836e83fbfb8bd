// Generate.cpp - programs of any size for the benchmarks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Generate.h"
#include "shardtype/IR/Builder.h"
#include "shardtype/Types/Text.h"
#include "llvm/ADT/Twine.h"

using namespace shardtype;
using namespace shardtype::bench;

namespace {

// Every dim that a spec shards is a multiple of 64.
constexpr int64_t Batch = 64, Length = 128, Heads = 64, HeadDim = 16;
constexpr int64_t Model = Heads * HeadDim, Hidden = 4 * Model;

using Sizes = ArrayRef<int64_t>;

class Generator {
public:
  Generator(Context &context, const PrimitiveSet &primitives,
            const GenerateOptions &options)
      : context_(context), primitives_(primitives), options_(options),
        program_(context), builder_(program_) {}

  Program run();

private:
  struct Layer {
    Atom scale1, q, k, v, o, scale2, up, bias, down;
  };

  // Values of parameters.
  ValueId none() { return make(Value::None); }
  ValueId make(Value::Kind kind, int64_t integer = 0, StringRef text = "");
  ValueId list(ArrayRef<ValueId> elements, Value::Kind kind = Value::Tuple);
  ValueId ints(Sizes values);
  ValueId dtype(DType type) { return make(Value::DType, 0, longName(type)); }
  ValueId flatTree(Sizes counts, StringRef text);
  static StringRef longName(DType type) {
    return type == DType::F32 ? "float32" : "bfloat16";
  }

  Atom literal(StringRef repr, StringRef bits);
  TypeId type(Sizes shape, DType dtype = DType::F32) {
    return context_.array(dtype, shape);
  }
  EqnInfoId nextInfo();

  bool full() const {
    return !options_.scan && program_.eqns.size() >= options_.equations;
  }
  /// One equation with one result; an invalid type names the first operand's.
  Atom op(StringRef primitive, ArrayRef<Atom> operands, Sizes shape,
          std::initializer_list<std::pair<StringRef, ValueId>> params = {},
          DType dtype = DType::F32);
  Atom dot(Atom lhs, Atom rhs, Sizes shape, Sizes lhsContract,
           Sizes rhsContract, Sizes batch = {});
  Atom broadcast(Atom a, Sizes shape, Sizes dims);
  Atom reduce(StringRef primitive, Atom a, Sizes shape, int64_t axis);
  Atom reshape(Atom a, Sizes shape);
  Atom transpose(Atom a, Sizes shape, Sizes permutation);
  Atom unary(StringRef primitive, Atom a, Sizes shape) {
    return op(primitive, {a}, shape, {{"accuracy", none()}});
  }
  Atom mul(Atom a, Atom b, Sizes shape) {
    return op("mul", {a, b}, shape, {{"out_dtype", none()}});
  }
  Atom convert(Atom a, Sizes shape, DType to);

  Layer addLayerInputs(StringRef prefix, ArrayRef<int64_t> leading, bool named);
  Atom norm(Atom x, Atom scale);
  Atom heads(Atom x, Atom weight);
  Atom attention(Atom x, const Layer &layer);
  Atom perceptron(Atom x, const Layer &layer);
  Atom layer(Atom x, const Layer &layer);
  Atom scanned();

  Context &context_;
  const PrimitiveSet &primitives_;
  GenerateOptions options_;
  Program program_;
  Builder builder_;
  unsigned line_ = 0; // Equations since the layer began.
  std::vector<EqnInfoId> infos_;
};

const int64_t X[] = {Batch, Length, Model};
const int64_t Rows[] = {Batch, Length};
const int64_t RowsKept[] = {Batch, Length, 1};
const int64_t PerHead[] = {Batch, Length, Heads, HeadDim};
const int64_t HeadFirst[] = {Batch, Heads, Length, HeadDim};
const int64_t Scores[] = {Batch, Heads, Length, Length};
const int64_t ScoreRows[] = {Batch, Heads, Length};
const int64_t ScoreRowsKept[] = {Batch, Heads, Length, 1};
const int64_t Up[] = {Batch, Length, Hidden};

} // namespace

//===--- Parts ------------------------------------------------------------===//

ValueId Generator::make(Value::Kind kind, int64_t integer, StringRef text) {
  Value value;
  value.kind = kind;
  value.integer = integer;
  if (!text.empty())
    value.text = context_.intern(text);
  return program_.intern(value);
}

ValueId Generator::list(ArrayRef<ValueId> elements, Value::Kind kind) {
  Value value;
  value.kind = kind;
  value.elements.assign(elements.begin(), elements.end());
  return program_.intern(value);
}

ValueId Generator::ints(Sizes values) {
  SmallVector<ValueId, 4> elements;
  for (int64_t value : values)
    elements.push_back(make(Value::Int, value));
  return list(elements);
}

ValueId Generator::flatTree(Sizes counts, StringRef text) {
  Value value;
  value.kind = Value::FlatTree;
  value.elements.push_back(ints(counts));
  value.text = context_.intern(text);
  return program_.intern(value);
}

Atom Generator::literal(StringRef repr, StringRef bits) {
  Literal literal;
  literal.kind = Literal::Bits;
  literal.type = context_.withWeak(type({}), true);
  literal.repr = context_.intern(repr);
  literal.bits = context_.intern(bits);
  return program_.intern(literal);
}

/// Layers share their lines: each equation of one has a stack of two frames.
EqnInfoId Generator::nextInfo() {
  if (!options_.sources)
    return EqnInfoId();
  if (line_ < infos_.size())
    return infos_[line_++];
  Frame own, caller;
  own.file = caller.file = context_.intern("models/transformer.py");
  own.function = context_.intern("layer");
  caller.function = context_.intern("forward");
  own.line = own.endLine = 20 + line_ / 2;
  own.column = 8 + 4 * (line_ % 2);
  own.endColumn = own.column + 20;
  caller.line = caller.endLine = 90;
  caller.column = 12;
  caller.endColumn = 30;
  FrameId first(program_.frames.size());
  program_.frames.push_back(own);
  program_.frames.push_back(caller);
  EqnInfo info;
  info.stack = program_.internStack({first, FrameId(first.index() + 1)});
  if (line_ % 8 == 0)
    info.nameStack = context_.intern("bld,de->ble");
  infos_.push_back(program_.intern(info));
  ++line_;
  return infos_.back();
}

Atom Generator::op(StringRef primitive, ArrayRef<Atom> operands, Sizes shape,
                   std::initializer_list<std::pair<StringRef, ValueId>> params,
                   DType dtype) {
  if (full())
    return operands.front();
  SmallVector<Param, 4> list;
  for (auto [key, value] : params) // Given in order of their keys.
    list.push_back({context_.intern(key), value});
  auto name = program_.primitive(primitive, primitives_.info(primitive));
  EqnId id = builder_.addEqn(*name, operands, program_.internParams(list),
                             type(shape, dtype), nextInfo());
  return program_.result(program_.eqn(id), 0);
}

Atom Generator::dot(Atom lhs, Atom rhs, Sizes shape, Sizes lhsContract,
                    Sizes rhsContract, Sizes batch) {
  ValueId numbers = list({list({ints(lhsContract), ints(rhsContract)}),
                          list({ints(batch), ints(batch)})});
  return op("dot_general", {lhs, rhs}, shape,
            {{"dimension_numbers", numbers},
             {"out_sharding", none()},
             {"precision", none()},
             {"preferred_element_type", dtype(DType::F32)}});
}

Atom Generator::broadcast(Atom a, Sizes shape, Sizes dims) {
  return op("broadcast_in_dim", {a}, shape,
            {{"broadcast_dimensions", ints(dims)},
             {"shape", ints(shape)},
             {"sharding", none()}});
}

Atom Generator::reduce(StringRef primitive, Atom a, Sizes shape, int64_t axis) {
  return op(primitive, {a}, shape,
            {{"axes", ints({axis})}, {"out_sharding", none()}});
}

Atom Generator::reshape(Atom a, Sizes shape) {
  return op("reshape", {a}, shape,
            {{"dimensions", none()},
             {"new_sizes", ints(shape)},
             {"sharding", none()}});
}

Atom Generator::transpose(Atom a, Sizes shape, Sizes permutation) {
  return op("transpose", {a}, shape, {{"permutation", ints(permutation)}});
}

Atom Generator::convert(Atom a, Sizes shape, DType to) {
  return op("convert_element_type", {a}, shape,
            {{"new_dtype", dtype(to)},
             {"sharding", none()},
             {"weak_type", make(Value::Bool, 0)}},
            to);
}

//===--- A layer ----------------------------------------------------------===//

Generator::Layer Generator::addLayerInputs(StringRef prefix, Sizes leading,
                                           bool named) {
  auto add = [&](StringRef name, Sizes own) -> Atom {
    SmallVector<int64_t, 4> shape(leading.begin(), leading.end());
    shape.append(own.begin(), own.end());
    VarId var = builder_.addInput(type(shape));
    if (named) {
      std::string path = (llvm::Twine(prefix) + "/" + name).str();
      program_.entry.argNames.push_back(context_.intern(path));
      program_.entry.argPaths.push_back(context_.intern(path));
    }
    return var;
  };
  Layer layer;
  layer.scale1 = add("scale1", {Model});
  layer.q = add("q", {Model, Model});
  layer.k = add("k", {Model, Model});
  layer.v = add("v", {Model, Model});
  layer.o = add("o", {Model, Model});
  layer.scale2 = add("scale2", {Model});
  layer.up = add("up", {Model, Hidden});
  layer.bias = add("bias", {Hidden});
  layer.down = add("down", {Hidden, Model});
  return layer;
}

Atom Generator::norm(Atom x, Atom scale) {
  Atom square = op("square", {x}, X);
  Atom sum = broadcast(reduce("reduce_sum", square, Rows, 2), RowsKept, {0, 1});
  Atom mean = op("div", {sum, literal("1024.0", "44800000")}, RowsKept);
  Atom positive =
      op("add", {mean, literal("9.999999974752427e-07", "358637bd")}, RowsKept);
  Atom scaled = mul(x, unary("rsqrt", positive, RowsKept), X);
  return mul(scaled, broadcast(scale, {1, 1, Model}, {2}), X);
}

Atom Generator::heads(Atom x, Atom weight) {
  Atom flat = dot(x, weight, X, {2}, {0});
  return transpose(reshape(flat, PerHead), HeadFirst, {0, 2, 1, 3});
}

Atom Generator::attention(Atom x, const Layer &layer) {
  Atom q = heads(x, layer.q), k = heads(x, layer.k), v = heads(x, layer.v);
  Atom scores = dot(q, k, Scores, {3}, {3}, {0, 1});
  scores = op("div", {scores, literal("4.0", "40800000")}, Scores);
  Atom most = reduce("reduce_max", scores, ScoreRows, 3);
  most = op("max", {literal("-inf", "ff800000"), most}, ScoreRows);
  most = op("stop_gradient", {broadcast(most, ScoreRowsKept, {0, 1, 2})},
            ScoreRowsKept);
  Atom weights = unary("exp", op("sub", {scores, most}, Scores), Scores);
  Atom sum = reduce("reduce_sum", weights, ScoreRows, 3);
  weights =
      op("div", {weights, broadcast(sum, ScoreRowsKept, {0, 1, 2})}, Scores);
  Atom mixed = dot(weights, v, HeadFirst, {3}, {2}, {0, 1});
  Atom flat = reshape(transpose(mixed, PerHead, {0, 2, 1, 3}), X);
  return dot(flat, layer.o, X, {2}, {0});
}

Atom Generator::perceptron(Atom x, const Layer &layer) {
  Atom up = dot(x, layer.up, Up, {2}, {0});
  up = op("add", {up, broadcast(layer.bias, {1, 1, Hidden}, {2})}, Up);
  Atom cube = op("integer_pow", {up}, Up, {{"y", make(Value::Int, 3)}});
  Atom inner = mul(literal("0.044714998453855515", "3d372713"), cube, Up);
  inner = op("add", {up, inner}, Up);
  inner = mul(literal("0.7978845834732056", "3f4c422a"), inner, Up);
  inner = op("add", {literal("1.0", "3f800000"), unary("tanh", inner, Up)}, Up);
  Atom half = mul(literal("0.5", "3f000000"), inner, Up);
  Atom gelu = mul(up, half, Up);
  gelu = convert(convert(gelu, Up, DType::BF16), Up, DType::F32);
  return dot(gelu, layer.down, X, {2}, {0});
}

Atom Generator::layer(Atom x, const Layer &layer) {
  line_ = 0;
  x = op("add", {x, attention(norm(x, layer.scale1), layer)}, X);
  return op("add", {x, perceptron(norm(x, layer.scale2), layer)}, X);
}

//===--- Programs ---------------------------------------------------------===//

static constexpr uint64_t LayerEquations = 55;

Atom Generator::scanned() {
  int64_t trips = std::max<uint64_t>(1, options_.equations / LayerEquations);
  builder_.begin();
  Atom carry = builder_.addInput(type(X));
  Layer one = addLayerInputs("", {}, /*named=*/false);
  JaxprId body = builder_.finish({layer(carry, one)});
  builder_.begin();
  Atom x = builder_.addInput(type(X));
  program_.entry.argNames.push_back(context_.intern("x"));
  program_.entry.argPaths.push_back(context_.intern("x"));
  Layer all = addLayerInputs("layers", {trips}, /*named=*/true);
  return op("scan",
            {x, all.scale1, all.q, all.k, all.v, all.o, all.scale2, all.up,
             all.bias, all.down},
            X,
            {{"ft_in", flatTree({0, 1, 9},
                                "((), (None,), (None, None, None, None, None, "
                                "None, None, None, None))")},
             {"ft_out", flatTree({1, 0}, "((None,), ())")},
             {"jaxpr", make(Value::Jaxpr, body.index())},
             {"length", make(Value::Int, trips)},
             {"reverse", make(Value::Bool, 0)},
             {"unroll", make(Value::Int, 1)}});
}

Program Generator::run() {
  Atom result;
  if (options_.scan) {
    result = scanned();
  } else {
    builder_.begin();
    result = builder_.addInput(type(X));
    program_.entry.argNames.push_back(context_.intern("x"));
    program_.entry.argPaths.push_back(context_.intern("x"));
    // A shallow program has parameters of its own in every layer; deep ones
    // take them in turn, so that arguments do not outgrow equations.
    std::vector<Layer> layers;
    uint64_t wanted = options_.equations / LayerEquations + 1;
    for (uint64_t i = 0; i < std::min<uint64_t>(wanted, 64); ++i)
      layers.push_back(addLayerInputs("layers/" + std::to_string(i), {}, true));
    for (uint64_t i = 0; !full(); ++i) {
      Atom next = layer(result, layers[i % layers.size()]);
      result = next;
    }
  }
  program_.entry.jaxpr = builder_.finish({result});
  program_.entry.name = context_.intern("forward");
  program_.entry.resultPaths.push_back(context_.intern("result"));
  program_.entry.outPaths.push_back(context_.intern("result"));
  return std::move(program_);
}

Program bench::generate(Context &context, const PrimitiveSet &primitives,
                        const GenerateOptions &options) {
  return Generator(context, primitives, options).run();
}

CheckOptions bench::shardedOptions(Context &context, int64_t data,
                                   int64_t model, bool scan,
                                   unsigned furtherAxes) {
  std::string mesh =
      "data=" + std::to_string(data) + ",model=" + std::to_string(model);
  for (unsigned i = 0; i < furtherAxes; ++i)
    mesh += ",other" + std::to_string(i) + "=2";
  CheckOptions options;
  options.mesh = *parseMesh(context, mesh).value;
  auto put = [&](StringRef pattern, StringRef spec) {
    ArgumentSpec in;
    in.pattern = pattern.str();
    in.spec = *parseSpec(context, spec).value;
    options.in.push_back(in);
  };
  put("x", "P(data)");
  for (StringRef name : {"q", "k", "v", "up"})
    put((llvm::Twine("layers/**/") + name).str(),
        scan ? "P(None, None, model)" : "P(None, model)");
  return options;
}

void bench::recordTypes(Program &program, const CheckedProgram &checked) {
  for (const Instance &instance : checked.instances) {
    Jaxpr &jaxpr = program.jaxprs[instance.jaxpr.index()];
    for (uint32_t i = 0; i < jaxpr.numVars; ++i)
      program.vars[jaxpr.firstVar + i].type = instance.types[i];
    jaxpr.mesh = instance.mesh;
  }
  program.contextMeshAtTop = checked.mesh;
}
