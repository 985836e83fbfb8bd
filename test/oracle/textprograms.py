# textprograms.py - asks JAX for the types of a program that is a text.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Equations are typed one by one, by the primitive's own typing under the mesh.

Primitives with bodies are asked through the function of jax.lax that makes
them, with the body evaluated by `bind`, since JAX's checks of loops and branches
stand in those functions.
"""

import re

import jax
from jax import lax
from jax._src import sharding_impls
from jax._src.lax import lax as lax_internal
from jax._src.lax.convolution import ConvDimensionNumbers
from jax._src.partition_spec import UnreducedKind
from jax._src.random import threefry2x32
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec
import numpy as np

import prims
from recorder import by_abstract_eval
from typetext import inside, parse_dtype, parse_mesh, parse_type, print_type

_ACCURACY = ("exp exp2 log log2 expm1 log1p tanh logistic sin cos tan sqrt rsqrt "
             "cbrt erfc").split()
_HIDDEN = {
    "dot_general": {"precision": None, "preferred_element_type": None,
                    "out_sharding": None},
    "mul": {"out_dtype": None},
    "convert_element_type": {"sharding": None},
    "broadcast_in_dim": {"broadcast_dimensions": (), "sharding": None},
    "psum": {"axis_index_groups": None}, "pmax": {"axis_index_groups": None},
    "reshard": {"concrete_mesh": None},
    **{name: {"accuracy": None} for name in _ACCURACY},
}
_DTYPES = ("float32 float16 bfloat16 int32 int8 uint8 uint32 int16 uint16 int64 "
           "float64 complex64").split()
_WORDS = {
    "P": PartitionSpec, "NamedSharding": NamedSharding, "np": np,
    "UNCONSTRAINED": PartitionSpec.UNCONSTRAINED,
    "GatherDimensionNumbers": lax.GatherDimensionNumbers,
    "ScatterDimensionNumbers": lax.ScatterDimensionNumbers,
    "GatherScatterMode": lax.GatherScatterMode,
    "ConvDimensionNumbers": ConvDimensionNumbers,
    "RaggedDotDimensionNumbers": lax.RaggedDotDimensionNumbers,
    "sum": UnreducedKind.sum, "max": UnreducedKind.max, "min": UnreducedKind.min,
    "bool": np.dtype(bool), "fry": threefry2x32.threefry_prng_impl,
    "RNG_DEFAULT": lax.RandomAlgorithm.RNG_DEFAULT,
    "frozenset": frozenset, "ge": lax_internal.ge_p, "le": lax_internal.le_p,
    **{name: parse_dtype(re.sub("float|uint|int|complex",
                                lambda m: {"float": "f", "uint": "u", "int": "i",
                                           "complex": "c"}[m[0]],
                                "bf16" if name == "bfloat16" else name))
       for name in _DTYPES},
}


def _mesh_text(match):
  axes = dict(re.findall(r"'(\w+)': (\d+)", match[1]))
  kinds = re.findall(r"\w+", match[2])
  if len(kinds) != len(axes):
    raise ValueError(match[0])
  return f"_mesh({tuple(axes)}, {tuple(map(int, axes.values()))}, {tuple(kinds)})"


def _mesh(names, sizes, kinds):
  return AbstractMesh(sizes, names,
                      axis_types=tuple(AxisType[k] for k in kinds))


def _value(text, key, mesh):
  """A printed parameter; specs become shardings on the mesh."""
  text = re.sub(r"AbstractMesh\(\(\), axis_types=\(\)\)", "_mesh((), (), ())", text)
  text = re.sub(r"AbstractMesh\((.*?), axis_types=\(([^)]*)\)\)", _mesh_text, text)
  if key == "axis_name" and re.fullmatch(r"\w+", text):
    return text  # a name stands without quotes
  value = eval(text, {**_WORDS, "_mesh": _mesh})  # pylint: disable=eval-used
  if isinstance(value, PartitionSpec) and key.endswith("sharding"):
    value = NamedSharding(mesh, value)
  if key == "dimension_numbers" and type(value) is tuple:
    value = tuple(tuple(tuple(d) for d in pair) for pair in value)
  return value


def _literal(text, mesh):
  value, _, type_text = text.partition(":")
  del value
  return parse_type("np:" + type_text, mesh)


class Run:
  """One program: variables have avals, or None after a refusal."""

  def __init__(self, section, asked):
    self.mesh = parse_mesh(section.mesh)
    self.asked = asked
    self.vars = {}

  def run(self, jaxpr):
    for name, text in jaxpr.consts:
      mark = "" if re.search("[@{]", text) else "np:"
      self.vars[name] = parse_type((mark if not self.mesh.empty else "") + text,
                                   self.mesh)
    for name, text in jaxpr.inputs:
      self.vars[name] = parse_type(text, self.mesh) if text else None
    for eqn in jaxpr.eqns:
      self.eqn(eqn)

  def operand(self, text):
    return _literal(text, self.mesh) if ":" in text else self.vars[text]

  def eqn(self, eqn):
    avals = [self.operand(text) for text in eqn.operands]
    results = [None] * len(eqn.results)
    known = eqn.primitive in _BODIES or prims.is_known(eqn.primitive)
    if known and all(aval is not None for aval in avals):
      try:
        results = self.type(eqn, avals)
        results = [self.bound(eqn.line, text, aval)
                   for (_, text), aval in zip(eqn.results, results)]
      except Exception as err:  # pylint: disable=broad-except
        self.asked.refused(getattr(err, "line", eqn.line), err)
    for (name, text), aval in zip(eqn.results, results):
      if aval is None and text:
        aval = parse_type(text, self.mesh)
      self.vars[name] = aval

  def bound(self, line, written, aval):
    """A result by the type that is written, as check_jaxpr goes on; a result
    without a mesh fits any sharding (spec 01, 2.8)."""
    if written is None:
      return aval
    is_text = self.text(aval)
    if aval.sharding.mesh.empty:
      self.asked.typed(line, re.sub("@[^,\\]]*|{.*}", "", written), is_text)
    else:
      self.asked.typed(line, written, is_text)
    return aval if written == is_text else parse_type(written, self.mesh)

  def text(self, aval):
    try:
      return print_type(aval, self.mesh, kinds=False).removeprefix("np:").removeprefix("~")
    except ValueError:  # on another mesh
      return aval.str_short(short_dtypes=True)

  def params(self, eqn):
    params = dict(_HIDDEN.get(eqn.primitive, {}))
    for key, text in eqn.params.items():
      params[key] = None if not isinstance(text, str) else \
          _value(text, key, self.mesh)
    written = [text for _, text in eqn.results if text]
    if eqn.primitive == "broadcast_in_dim" and "shape" not in params:
      params["shape"] = parse_type(written[0], self.mesh).shape
    if eqn.primitive == "reshard" and "dst_sharding" not in params:
      params["dst_sharding"] = parse_type(written[0], self.mesh).sharding
    return params

  def type(self, eqn, avals):
    with inside(self.mesh):
      if eqn.primitive in _BODIES:
        out = jax.make_jaxpr(lambda *args: _BODIES[eqn.primitive](self, eqn, args))(
            *avals)
        return [v.aval for v in out.jaxpr.outvars]
      params = self.params(eqn)
      if eqn.primitive != "reshard":
        for key, value in params.items():
          if key.endswith("sharding") and value is not None:
            params[key] = sharding_impls.canonicalize_sharding(
                value, eqn.primitive)
      return by_abstract_eval(prims.prim(eqn.primitive), avals, params)

  def bind(self, eqn, args):
    """The results of an equation in a trace."""
    if eqn.primitive in _BODIES:
      return _BODIES[eqn.primitive](self, eqn, args)
    prim = prims.prim(eqn.primitive)
    out = prim.bind(*args, **self.params(eqn))
    return out if prim.multiple_results else [out]

  def body(self, jaxpr):
    """A jaxpr as a function of arrays."""
    def function(*args):
      values = dict(zip((name for name, _ in jaxpr.inputs), args, strict=True))
      def read(text):
        if ":" not in text:
          return values[text]
        value, _, kind = text.partition(":")
        return np.asarray(eval(value), parse_dtype(kind.removesuffix("[]")))  # pylint: disable=eval-used
      for eqn in jaxpr.eqns:
        try:
          out = self.bind(eqn, [read(text) for text in eqn.operands])
        except Exception as err:
          err.line = getattr(err, "line", eqn.line)
          raise
        values.update(zip((name for name, _ in eqn.results), out, strict=True))
      return tuple(read(text) for text in jaxpr.outs)
    return function


def _count(text):
  """Leaves of each part of a printed flat tree."""
  parts = eval(text, {"RightsOnly": lambda x: (None,) * bool(x),  # pylint: disable=eval-used
                      "Right": lambda x: True, "Left": lambda x: False})
  return [len(part) for part in parts]


def _scan(run, eqn, args):
  consts, carry, _ = _count(eqn.params["ft_in"])
  body = run.body(eqn.params["jaxpr"])
  def step(state, xs):
    out = body(*args[:consts], *state, *xs)
    return out[:carry], out[carry:]
  init, xs = args[consts:consts + carry], args[consts + carry:]
  state, ys = lax.scan(step, tuple(init), tuple(xs),
                       length=int(eqn.params["length"]))
  return (*state, *ys)


def _while(run, eqn, args):
  cond, body = (int(eqn.params[key]) for key in ("cond_nconsts", "body_nconsts"))
  test, step = run.body(eqn.params["cond_jaxpr"]), run.body(eqn.params["body_jaxpr"])
  return lax.while_loop(lambda state: test(*args[:cond], *state)[0],
                        lambda state: step(*args[cond:cond + body], *state),
                        tuple(args[cond + body:]))


def _cond(run, eqn, args):
  branches = [run.body(branch) for branch in eqn.params["branches"]]
  return lax.switch(args[0], branches, *args[1:])


def _jit(run, eqn, args):
  options = {}
  for key in ("in_shardings", "out_shardings"):
    if key in eqn.params:
      options[key] = _value(eqn.params[key], key, run.mesh)
  if len(options.get("in_shardings", ())) == 1:
    options["in_shardings"], = options["in_shardings"]
  return jax.jit(run.body(eqn.params["jaxpr"]), **options)(*args)


def _constraint(run, eqn, args):
  sharding = _value(eqn.params["sharding"], "sharding", run.mesh)
  return (lax.with_sharding_constraint(args[0], sharding),)


def _shard_map(run, eqn, args):
  """By the function, whose checks of specs no equation repeats."""
  params = {key: _value(text, key, run.mesh) for key, text in eqn.params.items()
            if isinstance(text, str)}
  body = run.body(eqn.params["jaxpr"])
  return jax.shard_map(body, mesh=params["mesh"], in_specs=params["in_specs"],
                       out_specs=params["out_specs"],
                       axis_names=params["newly_manual_axes"],
                       check_vma=params["check_vma"])(*args)


_BODIES = {"shard_map": _shard_map, "scan": _scan, "while": _while, "cond": _cond, "jit": _jit,
           "sharding_constraint": _constraint}


def run(section, asked):
  Run(section, asked).run(section.program)
