// EditOperands.cpp - which argument of an expression an operand comes from.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EditsImpl.h"
#include "shardtype/Rules/Helpers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include <numeric>

using namespace shardtype;

std::optional<EqnId> Edits::Impl::definition(JaxprId id, VarId var) const {
  const Jaxpr &jaxpr = program.jaxpr(id);
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    const Eqn &eqn = program.eqn(jaxpr.eqn(i));
    if (var.raw() - eqn.firstResult.raw() < eqn.numResults)
      return jaxpr.eqn(i);
  }
  return std::nullopt;
}

/// Follows an operand back to what the outermost equation of the expression is
/// given. A broadcast on the way leaves the dims that it did not add.
std::optional<Edits::Impl::Given> Edits::Impl::given(const Failing &f,
                                                     unsigned operand) {
  size_t level = f.places.size() - 1;
  ArrayRef<Atom> operands = program.operandsOf(f.places[level].eqn);
  if (operand >= operands.size() || operands[operand].isLiteral())
    return std::nullopt;
  Given result;
  result.operand = result.failing = operand;
  TypeId type = program.var(operands[operand].var()).type;
  if (!type.valid() || !cx.type(type).isArray())
    return std::nullopt;
  result.rank = cx.type(type).rank();
  for (unsigned i = 0; i < result.rank; ++i)
    result.dims.push_back(i);
  VarId var = operands[operand].var();
  for (unsigned steps = 0; steps < 64; ++steps) {
    std::optional<EqnId> made = definition(f.places[level].jaxpr, var);
    if (made && within(*f.call, *made) && frameOf(program, *made)) {
      const Eqn &eqn = program.eqn(*made);
      StringRef primitive = program.name(eqn);
      Atom from = eqn.numOperands ? program.operandsOf(eqn)[0] : Atom();
      if (eqn.numOperands == 0 || from.isLiteral())
        return std::nullopt;
      if (primitive == "broadcast_in_dim") {
        SmallVector<int64_t, 6> dims;
        ValueId value = program.param(eqn.params, "broadcast_dimensions");
        if (!value.valid() || !readParam(program, program.value(value), dims))
          return std::nullopt;
        std::vector<int64_t> kept;
        for (int64_t dim : dims) {
          if (dim < 0 || static_cast<size_t>(dim) >= result.dims.size())
            return std::nullopt;
          kept.push_back(result.dims[dim]);
        }
        result.dims = kept;
      } else if (primitive == "transpose") {
        SmallVector<int64_t, 6> dims;
        ValueId value = program.param(eqn.params, "permutation");
        if (!value.valid() || !readParam(program, program.value(value), dims) ||
            dims.size() != result.dims.size())
          return std::nullopt;
        std::vector<int64_t> moved(dims.size());
        for (size_t i = 0; i < dims.size(); ++i) {
          if (dims[i] < 0 || static_cast<size_t>(dims[i]) >= dims.size())
            return std::nullopt;
          moved[dims[i]] = result.dims[i];
        }
        result.dims = moved;
      } else if (primitive != "convert_element_type" && primitive != "copy") {
        return std::nullopt;
      }
      var = from.var();
      continue;
    }
    if (level == f.outer)
      return result;
    // An input of a body of the expression's own.
    const Jaxpr &jaxpr = program.jaxpr(f.places[level].jaxpr);
    uint32_t input = var.raw() - jaxpr.firstVar - jaxpr.numConsts;
    const Eqn &holder = program.eqn(f.places[--level].eqn);
    if (input >= jaxpr.numInputs || !isPlainCall(program.name(holder)) ||
        input >= holder.numOperands)
      return std::nullopt;
    Atom outer = program.operandsOf(holder)[input];
    result.operand = input;
    if (outer.isLiteral())
      return std::nullopt;
    var = outer.var();
  }
  return std::nullopt;
}

/// Do these dims of the two operands have the same letters, all of which are in
/// the output or none?
static bool sameLetters(StringRef lhs, ArrayRef<int64_t> lhsDims, StringRef rhs,
                        ArrayRef<int64_t> rhsDims, StringRef output,
                        bool inOutput) {
  auto isIn = [](int64_t dim, StringRef letters) {
    return dim >= 0 && static_cast<size_t>(dim) < letters.size();
  };
  return llvm::all_of(llvm::zip_equal(lhsDims, rhsDims), [&](auto pair) {
    auto [l, r] = pair;
    return isIn(l, lhs) && isIn(r, rhs) && lhs[l] == rhs[r] &&
           output.contains(lhs[l]) == inOutput;
  });
}

/// Of an einsum of two arrays that is a product itself: the number of the
/// argument that is the product's left side. einsum may turn them round.
std::optional<unsigned> Edits::Impl::einsumFirst(const Failing &f) {
  const Eqn &eqn = program.eqn(f.places[f.outer].eqn);
  ValueId value = program.param(eqn.params, "dimension_numbers");
  DotDims dims;
  if (program.name(eqn) != "dot_general" || f.call->args.size() != 3 ||
      !value.valid() || !readParam(program, program.value(value), dims) ||
      dims.lhsContract.size() != dims.rhsContract.size() ||
      dims.lhsBatch.size() != dims.rhsBatch.size())
    return std::nullopt;
  // What the product gets must be what einsum got.
  for (Atom atom : program.operandsOf(eqn)) {
    if (atom.isLiteral())
      return std::nullopt;
    std::optional<EqnId> made = definition(f.places[f.outer].jaxpr, atom.var());
    if (made && within(*f.call, *made) && frameOf(program, *made) &&
        program.name(program.eqn(*made)) != "convert_element_type")
      return std::nullopt;
  }
  Sources *from = state(f.call->file) == FileState::Same ? sources : nullptr;
  std::optional<std::string> text =
      Rewriter(calls, from, *f.call).source(f.call->args[0]);
  if (!text || text->size() < 2 || !StringRef("'\"").contains(text->front()) ||
      text->back() != text->front())
    return std::nullopt;
  StringRef subscripts = StringRef(*text).drop_front().drop_back();
  auto [inputs, output] = subscripts.split("->");
  auto [x, y] = inputs.split(',');
  auto isLetters = [](StringRef s) { return llvm::all_of(s, llvm::isAlpha); };
  if (!subscripts.contains("->") || !isLetters(x) || !isLetters(y) ||
      !isLetters(output))
    return std::nullopt;
  auto fits = [&](StringRef lhs, StringRef rhs) {
    return sameLetters(lhs, dims.lhsContract, rhs, dims.rhsContract, output,
                       false) &&
           sameLetters(lhs, dims.lhsBatch, rhs, dims.rhsBatch, output, true);
  };
  bool asWritten = fits(x, y), turned = fits(y, x);
  if (asWritten == turned)
    return std::nullopt;
  return asWritten ? 1 : 2;
}

/// Functions of jax.numpy and jax.lax that are one equation with the same
/// operands.
static bool isBinary(StringRef function) {
  return llvm::is_contained({"add",
                             "subtract",
                             "multiply",
                             "divide",
                             "true_divide",
                             "power",
                             "pow",
                             "maximum",
                             "minimum",
                             "arctan2",
                             "logical_and",
                             "logical_or",
                             "logical_xor",
                             "bitwise_or",
                             "bitwise_and",
                             "bitwise_xor",
                             "equal",
                             "not_equal",
                             "greater",
                             "greater_equal",
                             "less",
                             "less_equal",
                             "sub",
                             "mul",
                             "div",
                             "max",
                             "min",
                             "rem",
                             "atan2",
                             "eq",
                             "ne",
                             "gt",
                             "ge",
                             "lt",
                             "le",
                             "clamp",
                             "complex",
                             "nextafter",
                             "bitwise_right_shift"},
                            function);
}

/// Functions of jax.numpy and jax.lax whose first argument is the array that
/// they work on, and the others no arrays.
static bool worksOnFirst(StringRef function) {
  return llvm::is_contained({"cumsum", "cumprod", "cummax", "cummin",
                             "cumlogsumexp", "sort", "argsort", "roll", "tile",
                             "flip", "rev", "unstack", "top_k", "approx_max_k",
                             "approx_min_k", "split", "array_split", "median",
                             "reduce_window"},
                            function);
}

/// Of `scan` and `map`: which argument an operand that is gone through is, as
/// the counts in `derived` have it (spec 04, 6.2).
std::optional<std::pair<unsigned, int>>
Edits::Impl::scanned(const Call &call, EqnId id, unsigned operand) {
  StringRef function = StringRef(call.name).rsplit('.').second;
  unsigned number = function == "scan" ? 2 : function == "map" ? 1 : 0;
  EqnInfoId info = program.eqn(id).info;
  StringId derived = info.valid() ? program.info(info).derived : StringId();
  if (!number || number >= call.args.size() || !derived.valid())
    return std::nullopt;
  auto parsed = llvm::json::parse(cx.str(derived));
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = parsed->getAsObject();
  auto count = [&](StringRef key) {
    return object ? object->getInteger(key).value_or(-1) : -1;
  };
  int64_t consts = count("num_consts"), carry = count("num_carry");
  int64_t index = static_cast<int64_t>(operand) - consts - carry;
  if (consts < 0 || carry < 0 || index < 0)
    return std::nullopt;
  auto list = call.items.find(number);
  if (list == call.items.end())
    return count("num_xs") == 1 ? std::optional(std::pair(number, -1))
                                : std::nullopt;
  if (count("num_xs") != static_cast<int64_t>(list->second.size()))
    return std::nullopt;
  return std::pair(number, static_cast<int>(index));
}

/// Primitives whose operand 0 is the array of `x[...]` and `x.at[...]`.
static bool movesByIndex(StringRef primitive) {
  return primitive == "gather" || primitive.starts_with("scatter") ||
         primitive.starts_with("dynamic_") || primitive == "slice" ||
         primitive == "rev";
}

/// Does an expression move elements to or from places that are values?
bool Edits::Impl::indexesByValues(const Failing &f) const {
  const Jaxpr &jaxpr = program.jaxpr(f.places[f.outer].jaxpr);
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    StringRef primitive = program.name(program.eqn(jaxpr.eqn(i)));
    if (primitive != "slice" && primitive != "rev" && movesByIndex(primitive) &&
        within(*f.call, jaxpr.eqn(i)))
      return true;
  }
  return false;
}

/// Do the outermost equations of an expression use one value only that is not
/// its own?
bool Edits::Impl::takesOneValue(const Failing &f) const {
  JaxprId id = f.places[f.outer].jaxpr;
  const Jaxpr &jaxpr = program.jaxpr(id);
  std::optional<VarId> taken;
  for (uint32_t i = 0; i < jaxpr.numEqns; ++i) {
    EqnId eqn = jaxpr.eqn(i);
    if (!frameOf(program, eqn) || !within(*f.call, eqn))
      continue;
    for (Atom atom : program.operandsOf(eqn)) {
      if (atom.isLiteral())
        continue;
      std::optional<EqnId> made = definition(id, atom.var());
      if (made && frameOf(program, *made) && within(*f.call, *made))
        continue;
      if (taken && *taken != atom.var())
        return false;
      taken = atom.var();
    }
  }
  return true;
}

/// Is an argument written as a name, so that a call can be put around it?
bool Edits::Impl::isName(const Failing &f, unsigned argument) {
  if (argument >= f.call->args.size())
    return false;
  if (state(f.call->file) != FileState::Same)
    return true; // Its text is not shown.
  std::optional<std::string> text =
      Rewriter(calls, sources, *f.call).source(f.call->args[argument]);
  return text && llvm::all_of(*text, [](char c) {
           return llvm::isAlnum(c) || c == '_' || c == '.';
         });
}

/// Which argument of the expression an operand of its outermost equation is,
/// and which element of a list.
std::optional<std::pair<unsigned, int>>
Edits::Impl::argument(const Failing &f, unsigned operand) {
  const Call &call = *f.call;
  const Eqn &eqn = program.eqn(f.places[f.outer].eqn);
  StringRef primitive = program.name(eqn);
  StringRef function = StringRef(call.name).rsplit('.').second;
  if (function.empty())
    function = call.name;
  auto at = [](unsigned number, int item = -1) {
    return std::pair(number, item);
  };
  if (call.kind == Call::Operator) {
    if (call.args.size() != eqn.numOperands)
      return std::nullopt;
    // Python turns a comparison round where the array is on the right.
    constexpr std::pair<StringRef, StringRef> Comparisons[] = {
        {"<", "lt"},  {"<=", "le"}, {">", "gt"},
        {">=", "ge"}, {"==", "eq"}, {"!=", "ne"}};
    for (auto [sign, name] : Comparisons)
      if (call.name == sign && !isPlainCall(primitive))
        return primitive == name ? at(operand) : at(1 - operand);
    return at(operand);
  }
  if (call.kind == Call::Index || call.kind == Call::At) {
    // What is done with an index by itself says nothing of the array.
    bool isIndexing = movesByIndex(primitive) || isPlainCall(primitive);
    if (operand == 0 && (isIndexing || !indexesByValues(f)))
      return at(0);
    bool isIndex = !isIndexing || primitive == "gather";
    return operand <= 1 && isIndex && isName(f, 1) ? std::optional(at(1))
                                                   : std::nullopt;
  }
  if (call.kind == Call::Method) {
    bool isReceiver = operand == 0 && takesOneValue(f);
    return isReceiver || call.args.size() == eqn.numOperands
               ? std::optional(at(operand))
               : std::nullopt;
  }
  if (call.kind != Call::Function || !StringRef(call.name).starts_with("jax."))
    return std::nullopt;
  if (function == "einsum") {
    // Behind the subscripts; in a jit as written.
    if (isPlainCall(primitive) && operand + 1 < call.args.size())
      return at(operand + 1);
    std::optional<unsigned> first = einsumFirst(f);
    return first ? std::optional(at(operand == 0 ? *first : 3 - *first))
                 : std::nullopt;
  }
  auto list = call.items.find(0);
  if (primitive == "concatenate" || function == "stack" ||
      function == "concatenate")
    return list != call.items.end() && list->second.size() == eqn.numOperands
               ? std::optional(at(0, static_cast<int>(operand)))
               : std::nullopt;
  if (primitive == "scan")
    return scanned(call, f.places[f.outer].eqn, operand);
  if (function == "sort" && list != call.items.end())
    return list->second.size() == eqn.numOperands
               ? std::optional(at(0, static_cast<int>(operand)))
               : std::nullopt;
  if (worksOnFirst(function) && !call.args.empty() && list == call.items.end())
    return operand == 0 ? std::optional(at(0)) : std::nullopt;
  if (primitive == "select_n" && call.args.size() == 3)
    return at(operand == 0 ? 0 : 3 - operand);
  if (primitive == "dot_general" || primitive == "dynamic_update_slice" ||
      primitive == "conv_general_dilated")
    return operand < 2 ? std::optional(at(operand)) : std::nullopt;
  // Other functions that bind several equations may turn their arguments round.
  bool inOrder = isPlainCall(primitive) || isBinary(function);
  return inOrder && call.args.size() == eqn.numOperands &&
                 !call.items.count(operand)
             ? std::optional(at(operand))
             : std::nullopt;
}

/// The dims that vmap added to what the expression is given, if `wanted` leaves
/// the axes there as they are: JAX keeps them.
BatchDims::Dims Edits::Impl::addedToOperand(const Failing &f, const Given &from,
                                            const Sharding &wanted) {
  const BatchDims::Dims &here = f.batch.operand(from.failing);
  TypeId type = from.failing < f.operandTypes.size()
                    ? f.operandTypes[from.failing]
                    : TypeId();
  if (!here || !type.valid() || !cx.type(type).isArray())
    return std::nullopt;
  const Sharding &is = cx.type(type).sharding;
  BatchDims::Dims added(std::in_place);
  for (int64_t dim : *here) {
    bool isDim = dim >= 0 && static_cast<size_t>(dim) < wanted.dims.size();
    if (!isDim || wanted.dims[dim] != is.dims[dim])
      return std::nullopt;
    auto at = llvm::find(from.dims, dim);
    if (at != from.dims.end())
      added->push_back(at - from.dims.begin());
    else if (!wanted.dims[dim].empty())
      return std::nullopt; // A broadcast added it.
  }
  return added;
}

std::optional<SourceEdit> Edits::Impl::ofOperand(const Failing &f,
                                                 const Fix &fix) {
  if (!StringRef(fix.code).contains("{0}") || !fix.type.valid() ||
      !cx.type(fix.type).isArray())
    return std::nullopt;
  std::optional<Given> from = given(f, static_cast<unsigned>(fix.operand));
  if (!from)
    return std::nullopt;
  std::optional<std::pair<unsigned, int>> where = argument(f, from->operand);
  if (!where)
    return std::nullopt;
  std::string code = fix.code;
  const Sharding &sharding = cx.type(fix.type).sharding;
  if (sharding.dims.size() != from->rank)
    return std::nullopt;
  std::vector<int64_t> same(from->rank);
  std::iota(same.begin(), same.end(), 0);
  BatchDims::Dims added;
  if (f.vmapped) {
    added = addedToOperand(f, *from, sharding);
    if (!added)
      return std::nullopt;
  }
  if (from->dims != same || (added && !added->empty())) {
    // What a broadcast added must be whole.
    Sharding own = sharding;
    own.dims.clear();
    for (size_t i = 0; i < sharding.dims.size(); ++i)
      if (!sharding.dims[i].empty() &&
          !llvm::is_contained(from->dims, static_cast<int64_t>(i)))
        return std::nullopt;
    for (auto [i, dim] : llvm::enumerate(from->dims))
      if (!added || !llvm::is_contained(*added, static_cast<int64_t>(i)))
        own.dims.push_back(sharding.dims[dim]);
    size_t spec = code.find(fix.spec);
    if (fix.spec.empty() || spec == std::string::npos)
      return std::nullopt;
    code.replace(spec, fix.spec.size(), pasteable(cx, own));
  }
  Sources *source = state(f.call->file) == FileState::Same ? sources : nullptr;
  return Rewriter(calls, source, *f.call)
      .withOperand(where->first, where->second, code);
}
