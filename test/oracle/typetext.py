# typetext.py - meshes and array types as text, read and printed both ways.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The notation of the verdict files (README.md, "Notation").

A mesh is `X=2,Y=2:Auto` (Explicit when no kind is given, empty text: no mesh);
` unchecked` behind it says that types over its Manual axes are not checked.
A type is what JAX prints as the short type, with `~` in front when it is weak
and `np:` in front of everything when the value has no mesh. The kind of partial
sums over Manual axes, which JAX does not print, is written as over others.
"""

import contextlib
import functools
import re

import jax
from jax._src import config, core, dtypes
from jax._src.partition_spec import UnreducedKind
from jax._src.state.types import AbstractRef
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec
import numpy as np

KINDS = {"": UnreducedKind.sum, "max": UnreducedKind.max, "min": UnreducedKind.min}

UNCHECKED = " unchecked"  # Behind a mesh: in a region with check_vma=False.

_LONG = {
    "f": "float", "i": "int", "u": "uint", "c": "complex",
}
_TYPE = re.compile(
    r"(?P<np>np:)?(?P<weak>~)?(?P<dtype>key<\w+>|\w+)(?:<(?P<space>\w+)>)?"
    r"\[(?P<dims>[^\]]*)\](?:\{(?P<sets>[^}]*)\})?$")


class TypeTextError(Exception):
  """The text is not a type on this mesh (JAX refuses to build it)."""


@functools.cache
def parse_mesh(text):
  """`X=2,Y=2:Auto` -> AbstractMesh; the empty text is the empty mesh."""
  text = text.removesuffix(UNCHECKED)
  if not text:
    return AbstractMesh((), ())
  names, sizes, kinds = [], [], []
  for axis in text.split(","):
    name, rest = axis.split("=")
    size, _, kind = rest.partition(":")
    names.append(name)
    sizes.append(int(size))
    kinds.append(AxisType[kind or "Explicit"])
  return AbstractMesh(tuple(sizes), tuple(names), axis_types=tuple(kinds))


@contextlib.contextmanager
def inside(mesh, check_vma=None):
  """Where an equation on this mesh stands: its Manual axes are bound, and types
  are checked over them (unless told otherwise)."""
  manual = [(name, mesh.shape[name]) for name in mesh.manual_axes]
  checked = bool(manual) if check_vma is None else check_vma
  with jax.sharding.use_abstract_mesh(mesh), core.extend_axis_env_nd(manual), \
      config._check_vma(checked):
    yield


def explicit_axes(mesh):
  return [n for n, t in zip(mesh.axis_names, mesh.axis_types)
          if t == AxisType.Explicit]


@functools.cache
def parse_dtype(text):
  if text.startswith("key<"):
    impls = {"fry": "threefry2x32", "rbg": "rbg", "urbg": "unsafe_rbg"}
    impl = impls[text[4:-1]]
    return jax.eval_shape(lambda: jax.random.key(0, impl=impl)).dtype
  if text == "float0":
    return dtypes.float0
  if text == "bool":
    return np.dtype(bool)
  if text == "bf16":
    return np.dtype(dtypes.bfloat16)
  match = re.match(r"([fiuc])(\d.*)$", text)
  name = _LONG[match[1]] + match[2]
  custom = getattr(jax.numpy, name, None)
  return np.dtype(custom.dtype if hasattr(custom, "dtype") else name)


def _names(text):
  return tuple(text.strip("()").split(","))


def _entry(text):
  names = _names(text)
  return names if len(names) > 1 else names[0]


def _parse_sets(text):
  varying, unreduced, reduced, kind = (frozenset(),) * 3 + (None,)
  for item in re.split(r", (?=[VUR])", text) if text else []:
    head, _, axes = item.partition(":")
    if head == "V":
      varying = frozenset(_names(axes))
    elif head == "R":
      reduced = frozenset(_names(axes))
    else:
      kind = KINDS[head[1:].lstrip("_")]
      unreduced = frozenset(_names(axes))
  return varying, unreduced, reduced, kind


@functools.cache
def parse_type(text, mesh):
  """Text -> ShapedArray on `mesh`; TypeTextError when JAX refuses the type.

  `Tok` is a token, `Ref{f32[8]}` a Ref.
  """
  if text == "Tok":
    return core.abstract_token
  ref = re.match(r"(np:)?Ref(?:<([\w.]+)>)?\{(.*)\}$", text)
  if ref:
    inner = parse_type((ref[1] or "") + ref[3], mesh)
    space = ref[2] and core.MemorySpace[ref[2].removeprefix("MemorySpace.")]
    return AbstractRef(inner, memory_space=space)
  match = _TYPE.match(text)
  if not match:
    raise TypeTextError(text)
  shape, entries = [], []
  for dim in re.findall(r"\d+(?:@(?:\([^)]*\)|\w+))?", match["dims"]):
    size, _, axes = dim.partition("@")
    shape.append(int(size))
    entries.append(_entry(axes) if axes else None)
  varying, unreduced, reduced, kind = _parse_sets(match["sets"])
  manual = frozenset(mesh.manual_axes)
  over_manual = unreduced & manual
  try:
    state = core.ManualAxisType(
        varying=varying, unreduced=over_manual, reduced=reduced & manual,
        unreduced_kind=kind if over_manual else None)
  except ValueError as err:
    raise TypeTextError(text) from err
  unreduced, reduced = unreduced - manual, reduced - manual
  spec = PartitionSpec(*entries, unreduced=unreduced, reduced=reduced,
                       unreduced_kind=kind if unreduced else None)
  sharding = None if match["np"] else NamedSharding(mesh, spec)
  space = core.MemorySpace[match["space"].capitalize()] if match["space"] \
      else core.MemorySpace.Device
  try:
    return core.ShapedArray(tuple(shape), parse_dtype(match["dtype"]),
                            weak_type=bool(match["weak"]), sharding=sharding,
                            manual_axis_type=state, memory_space=space)
  except ValueError as err:
    raise TypeTextError(text) from err


def print_type(aval, mesh, kinds=True):
  """ShapedArray -> text; `mesh` is the context mesh that goes without saying.

  kinds: those of partial results over Manual axes are written, which is not what
  JAX prints; a type that then has no text is a ValueError.
  """
  if aval is core.abstract_token:
    return "Tok"
  own = aval.sharding.mesh
  if not own.empty and own != mesh:
    raise ValueError(f"{aval} is on the mesh {own}, the context is {mesh}")
  prefix = "np:" if own.empty and not mesh.empty else ""
  weak = "~" if getattr(aval, "weak_type", False) else ""
  text = aval.str_short(short_dtypes=True)
  state = getattr(aval, "manual_axis_type", None) if kinds else None
  if state is not None and state.unreduced & state.reduced:
    raise ValueError(f"{aval} has no text: it is unreduced and reduced over an axis")
  if state is not None and state.unreduced_kind not in (None, UnreducedKind.sum):
    if aval.sharding.spec.unreduced:
      raise ValueError(f"{aval} has two kinds of partial results")
    text = text.replace("U:", f"U_{state.unreduced_kind.name}:")
  return prefix + weak + text


def print_spec(spec, mesh):
  """A PartitionSpec as JAX prints it, the names in its sets in mesh order."""
  def names(axes):
    return "{" + ", ".join(repr(n) for n in mesh.axis_names if n in axes) + "}"
  parts = repr(tuple(spec.partitions))[1:-1]
  sets = []
  if spec.unreduced:
    sets.append(f"unreduced={names(spec.unreduced)}")
  if spec.reduced:
    sets.append(f"reduced={names(spec.reduced)}")
  if spec.unreduced_kind:
    sets.append(f"unreduced_kind={spec.unreduced_kind.name}")
  if sets and parts:
    parts += " " if parts.endswith(",") else ", "
  return f"P({parts}{', '.join(sets)})"


def print_param(value, mesh):
  """A parameter's value as it stands in a printed jaxpr."""
  if isinstance(value, NamedSharding):
    return print_spec(value.spec, mesh)
  if isinstance(value, PartitionSpec):
    return print_spec(value, mesh)
  if isinstance(value, (tuple, list)) and any(
      isinstance(v, NamedSharding) for v in value):
    inner = ", ".join(print_param(v, mesh) for v in value)
    return f"({inner},)" if len(value) == 1 else f"({inner})"
  if isinstance(value, frozenset):
    return "frozenset({" + ", ".join(map(repr, sorted(value))) + "})"
  return str(value)
