# regions.py - whole shard_maps, with bodies that are made up, as JAX judges them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A case is a program of one `shard_map` with a body of up to six equations.

A body grows inside a trace of `jax.shard_map`: an equation is drawn and bound,
and where JAX refuses it, most often another is drawn instead. The region is then
traced again with several out_specs, with and without check_vma. All draws are by
hash, so they are the same in every run. README.md says how cases are written.
"""

import functools
import itertools
import json

import jax
from jax.sharding import PartitionSpec

import errors
import jaxprtext
import textprograms
from agreement import Draw
from descriptions import manual
from matrix import specs, types
from typetext import inside, parse_mesh, parse_type, print_spec, print_type

# (mesh around the region, the axes that become Manual). In the last rows the region
# stands in another one.
REGIONS = (
    ("i=2", "i"), ("i=2:Auto", "i"), ("i=2,j=2", "ij"), ("i=2,j=2", "i"),
    ("j=2,i=2", "i"), ("i=2:Auto,j=2:Auto", "ij"), ("i=2:Auto,j=2:Auto", "i"),
    ("i=2,j=2:Auto", "i"), ("i=2:Auto,j=2", "i"), ("i=2,j=2:Auto", "ij"),
    ("i=4,j=1", "ij"), ("i=2,j=2,k=2", "ijk"), ("i=2,j=2,k=2", "ij"),
    ("i=2:Manual,j=2", "j"), ("i=2:Manual,j=2:Auto", "j"),
    ("i=2:Manual,j=2,k=2", "j"))
BODIES = 120  # for each
SHAPES = ((8, 4), (4, 8), (8,), (4, 4), ())
LONGEST = 6


class _Stop(Exception):
  """The body is as long as it is to be."""


def _pick(draw, items):
  items = list(items)
  return items[draw.below(len(items))]


# Equations: `PRIMITIVE[PARAMETERS]` for operands of these shapes.

def _tuple(items):
  items = list(items)
  return "(" + ", ".join(map(str, items)) + ("," if len(items) == 1 else "") + ")"


def _axes(draw, mesh):
  """Axes to name: nearly always Manual ones."""
  names = mesh.manual_axes if draw.below(12) else mesh.axis_names
  out = [_pick(draw, names)]
  if len(names) > 1 and not draw.below(4):
    out = [a for a in names if a in out + [_pick(draw, names)]]
  return out


def _size(mesh, axes):
  size = 1
  for axis in axes:
    size *= mesh.shape[axis]
  return size


def _ordinary(draw, shape):
  kind = draw.below(8)
  if kind == 0:
    return _pick(draw, ("neg", "sin", "abs", "integer_pow[y=2]", "copy")), 1
  if kind == 1 and shape:
    axis = draw.below(len(shape))
    which = _pick(draw, ("sum", "max", "sum"))
    return f"reduce_{which}[axes=({axis},) out_sharding=None]", 1
  if kind == 2 and len(shape) == 2:
    return "transpose[permutation=(1, 0)]", 1
  if kind == 3 and len(shape) == 2:
    sizes = (shape[0] * shape[1],) if draw.below(2) else (*shape, 1)
    return f"reshape[dimensions=None new_sizes={_tuple(sizes)} sharding=None]", 1
  if kind == 4 and len(shape) == 2:
    dims = "(([1], [0]), ([], []))" if draw.below(2) else "(([0], [0]), ([], []))"
    return (f"dot_general[dimension_numbers={dims} out_sharding=None "
            "precision=None preferred_element_type=None]"), 2
  return _pick(draw, ("add", "mul", "sub", "max", "add", "mul", "div")), 2


def _cast(draw, mesh):
  name = _pick(draw, ("pvary", "pvary", "preduced", "vary_unreduced_cast",
                      "reduced_vary_cast"))
  return f"{name}[axes={tuple(_axes(draw, mesh))}]", 1


def _sum(draw, mesh):
  axes = tuple(_axes(draw, mesh))
  name = _pick(draw, ("psum_invariant", "psum_invariant", "unreduced_psum", "pmax",
                      "psum"))
  groups = "" if name.endswith(("invariant", "psum")) and name != "psum" else \
      " axis_index_groups=None"
  return f"{name}[axes={axes}{groups}]", 1


def _move(draw, mesh, shape):
  axes = tuple(_axes(draw, mesh))
  size = _size(mesh, axes)
  dim = draw.below(max(len(shape), 1))
  tiled = bool(draw.below(4))
  kind = draw.below(6)
  if kind == 0:
    ring = _tuple((k, (k + 1) % size) for k in range(size))
    return f"ppermute[axis_name={axes} perm={ring}]", 1
  if kind < 3:
    name = _pick(draw, ("all_gather", "all_gather_invariant", "all_gather_reduced"))
    groups = " axis_index_groups=None" if name == "all_gather" else ""
    return (f"{name}[all_gather_dimension={dim}{groups} axis_name={axes} "
            f"axis_size={size} tiled={tiled}]"), 1
  if kind < 5:
    name = _pick(draw, ("reduce_scatter", "unreduced_reduce_scatter"))
    groups = "axis_index_groups=None " if name == "reduce_scatter" else ""
    return (f"{name}[{groups}axis_name={axes} axis_size={size} "
            f"scatter_dimension={dim} tiled={tiled}]"), 1
  other = draw.below(max(len(shape), 1))
  return (f"all_to_all[axis_index_groups=None axis_name={axes} concat_axis={other} "
          f"split_axis={dim} tiled=True]"), 1


def _loop(draw, mesh, shape):
  """A loop whose carry is what it was, or one that a sum makes equal."""
  step = _pick(draw, ("neg", "sin", _sum(draw, mesh)[0], _cast(draw, mesh)[0]))
  return ("scan[ft_in=((), (None,), ()) ft_out=((None,), ()) jaxpr={ lambda ; "
          f"x. let y = {step} x in (y,) }} length=3 reverse=False unroll=1]"), 1


def _branch(draw, mesh, shape):
  one = _pick(draw, ("neg", _cast(draw, mesh)[0]))
  other = _pick(draw, ("sin", "neg", _sum(draw, mesh)[0]))
  return ("cond[branches=({ lambda ; x. let y = " + one + " x in (y,) } { lambda ; "
          f"x. let y = {other} x in (y,) }})]"), 1


def _equation(draw, mesh, values):
  """(text of the right side, names of its operands)."""
  name = _pick(draw, list(values)[-3:])
  shape = values[name].shape
  kind = draw.below(20)
  if kind < 8:
    text, count = _ordinary(draw, shape)
  elif kind < 12:
    text, count = _cast(draw, mesh)
  elif kind < 15:
    text, count = _sum(draw, mesh)
  elif kind < 18:
    text, count = _move(draw, mesh, shape)
  elif kind == 18:
    text, count = _loop(draw, mesh, shape)
  else:
    text, count = _branch(draw, mesh, shape)
    return text, ["0:i32[]", name]
  operands = [name]
  if count == 2:
    same = [k for k, v in values.items() if v.shape == shape]
    other = _pick(draw, same) if draw.below(8) else _pick(draw, values)
    operands.append(other if draw.below(10) or text.startswith("dot") else "2.0:f32[]")
  return text, operands


# Regions.

def _program(case, body, outs, out_specs, check_vma):
  """The text of a case; what oracle_regions puts together is the same."""
  names = [chr(ord("a") + k) for k in range(len(case["in"]))]
  inner = [n + n for n in names]
  binders = " ".join(f"{n}:{t}" for n, t in zip(names, case["in"]))
  sizes = [a.partition(":")[0].split("=") for a in case["mesh"].split(",")]
  kinds = [a.partition(":")[2] or "Explicit" for a in case["mesh"].split(",")]
  mesh = ", ".join(f"'{n}': {s}" for n, s in sizes)
  return "\n".join([
      "#! mesh " + case["mesh"].replace(",", " "),
      "{ lambda ; " + binders + ". let",
      " ".join("r" + chr(ord("a") + k) for k in range(len(outs))) + " = shard_map[",
      f"check_vma={bool(check_vma)}",
      f"in_specs={_tuple(case['specs'])}",
      "jaxpr={ lambda ; " + " ".join(inner) + ". let",
      *body,
      f"in {_tuple(outs)} }}",
      f"mesh=AbstractMesh({mesh}, axis_types={_tuple(kinds)})",
      "newly_manual_axes=frozenset({"
      + ", ".join(f"'{a}'" for a in case["axes"]) + "})",
      f"out_specs={_tuple(out_specs)}",
      "] " + " ".join(names),
      "in (" + ", ".join("r" + chr(ord("a") + k) for k in range(len(outs))) + ",) }",
      ""])


_FIRST_LINE = 7  # Of the body.


class _Asked:
  """What textprograms tells of: the refusal, if there is one."""

  def __init__(self):
    self.line, self.err = 0, None

  def refused(self, line, err):
    self.line, self.err = line, err

  def typed(self, line, written, is_type):
    raise AssertionError("nothing is written")


def judge(text, length):
  """([type of each result], None), or (`!CLASS id`, equation of the body or -1)."""
  section = jaxprtext.sections(text)[0]
  asked = _Asked()
  run = textprograms.Run(section, asked)
  run.run(section.program)
  if asked.err is None:
    return [run.text(run.vars[name]) for name in section.program.outs], None
  at = asked.line - _FIRST_LINE
  return errors.verdict_of(asked.err), at if 0 <= at < length else -1


@functools.cache
def _types(mesh_text, shape):
  """Types around a region, without kinds of partial results."""
  out = [t for t in manual._types(mesh_text, shape, "f32").values()
         if "U_m" not in t and not t.startswith("np:")]
  if "Manual" not in mesh_text:
    out += types(mesh_text, shape, ur=False)
  return list(dict.fromkeys(out))


@functools.cache
def _all_specs(mesh_text, axes, rank):
  """All specs over these axes, whatever their kind."""
  plain = [a.partition(":")[0] for a in mesh_text.split(",")]
  return specs(",".join(a for a in plain if a.partition("=")[0] in axes), rank)


def _spec(draw, mesh_text, axes, rank):
  """Any spec over the region's axes, or seldom over others or too long."""
  if not draw.below(6):
    axes = "ijk"
  return _pick(draw, _all_specs(mesh_text, axes, rank if draw.below(12) else rank + 1))


def _fitting(aval, axes):
  """The spec that says where an operand is, as far as the region is concerned."""
  spec = aval.sharding.spec
  entries = []
  for entry in spec.partitions:
    names = entry if isinstance(entry, tuple) else (entry,)
    kept = tuple(a for a in names if a and a in axes)
    entries.append(kept[0] if len(kept) == 1 else kept or None)
  return PartitionSpec(*entries, unreduced=spec.unreduced & set(axes),
                       reduced=spec.reduced & set(axes))


def _leaving(aval, mesh, axes, draw):
  """A spec that a result of the body may leave with."""
  state = aval.manual_axis_type
  varying = [a for a in mesh.axis_names if a in state.varying and a in axes]
  rank = len(aval.shape)
  entries = [()] * rank
  for axis in varying if rank else []:
    at = draw.below(rank) if not draw.below(3) else 0
    entries[at] += (axis,)
  return PartitionSpec(
      *[e[0] if len(e) == 1 else e or None for e in entries],
      unreduced=state.unreduced & set(axes),
      reduced=(state.reduced - state.unreduced) & set(axes))


def _grow(case, draw, mesh, region):
  """The equations of a body and the types of its values; None: JAX refuses the
  operands."""
  body, found = [], {}
  length = draw.below(LONGEST + 1)

  def function(*args):
    values = {chr(ord("a") + k) * 2: a for k, a in enumerate(args)}
    found.update({n: jax.typeof(v) for n, v in values.items()})
    while len(body) < length:
      text, operands = _equation(draw, region, values)
      name = "v" + chr(ord("a") + len(body))
      line = f"{name} = {text} {' '.join(operands)}"
      try:
        out = _bind(case["mesh"], line, operands, values)
      except Exception:  # pylint: disable=broad-except
        if draw.below(10):
          continue
        body.append(line)
        raise _Stop() from None
      body.append(line)
      values[name] = out
      found[name] = jax.typeof(out)
    raise _Stop()

  in_specs = tuple(case["in_specs"])
  try:
    with inside(mesh):
      jax.make_jaxpr(lambda *a: jax.shard_map(
          function, mesh=mesh, in_specs=in_specs, out_specs=PartitionSpec(),
          axis_names=frozenset(case["axes"]))(*a))(*case["avals"])
  except _Stop:
    return body, found
  except Exception:  # pylint: disable=broad-except
    return None
  return None


def _bind(mesh_text, line, operands, values):
  """Binds one equation, which is a line of a body."""
  inputs = [n for n in dict.fromkeys(operands) if n in values]
  text = (f"#! mesh {mesh_text.replace(',', ' ')}\n{{ lambda ; {' '.join(inputs)}. "
          f"let\n{line}\nin ({line.split()[0]},) }}\n")
  section = jaxprtext.sections(text)[0]
  run = textprograms.Run(section, _Asked())
  out, = run.body(section.program)(*[values[n] for n in inputs])
  return out


def _case(mesh_text, axes, number):
  draw = Draw(f"{mesh_text}|{axes}|{number}")
  mesh = parse_mesh(mesh_text)
  case = {"mesh": mesh_text, "axes": list(axes), "in": [], "avals": [],
          "in_specs": []}
  first = _pick(draw, SHAPES)
  for _ in range(1 + draw.below(3) // 2):
    shape = first if draw.below(4) else _pick(draw, SHAPES)
    text = _pick(draw, _types(mesh_text, shape))
    aval = parse_type(text, mesh)
    free = any(k != jax.sharding.AxisType.Explicit
               for n, k in zip(mesh.axis_names, mesh.axis_types) if n in axes)
    spec = _fitting(aval, axes)
    if not draw.below(3 if free else 12):
      spec = _spec(draw, mesh_text, axes, len(shape))
    case["in"].append(text)
    case["avals"].append(aval)
    case["in_specs"].append(spec)
  case["specs"] = [print_spec(s, mesh) for s in case["in_specs"]]
  return case, draw, mesh


def _out_specs(case, draw, mesh, avals):
  """Some out_specs for results of these types; the first most likely fit."""
  axes = case["axes"]
  fitting = [_leaving(a, mesh, axes, draw) for a in avals]
  yield fitting
  for _ in range(2):
    other = list(fitting)
    at = draw.below(len(other))
    other[at] = _spec(draw, case["mesh"], "".join(axes), len(avals[at].shape))
    yield other
  yield [PartitionSpec() for _ in avals]


def _results(draw, body, found):
  """Names of one or two values that the body gives back, the last among them."""
  names = list(found)
  outs = [names[-1]]
  if not draw.below(3):
    outs.append(_pick(draw, names))
  if len(found) < len(body):  # The last equation is refused.
    outs = outs[:1]
  return outs


def cases(mesh_text, axes, number):
  """The lines of one body."""
  case, draw, mesh = _case(mesh_text, axes, number)
  kinds = tuple(jax.sharding.AxisType.Manual if n in axes else k
                for n, k in zip(mesh.axis_names, mesh.axis_types))
  region = jax.sharding.AbstractMesh(mesh.axis_sizes, mesh.axis_names, axis_types=kinds)
  grown = _grow(case, draw, mesh, region)
  body, found = grown or ([], {})
  if grown:
    outs = _results(draw, body, found)
    ways = list(_out_specs(case, draw, mesh, [found[n] for n in outs]))
  else:
    outs, ways = ["aa"], [[case["in_specs"][0]]]
  seen = set()
  for check_vma, way in itertools.product((1, 0), ways):
    printed = [print_spec(s, mesh) for s in way]
    key = (check_vma, *printed)
    if key in seen:
      continue
    seen.add(key)
    verdict, at = judge(_program(case, body, outs, printed, check_vma), len(body))
    yield {"mesh": mesh_text, "axes": case["axes"], "in": case["in"],
           "specs": case["specs"], "vma": check_vma, "body": body, "outs": outs,
           "to": printed, "verdict": verdict, **({} if at is None else {"at": at})}


def verdicts():
  """(text of the file, (verdicts, accepted), messages)."""
  lines, accepted = [], 0
  for mesh_text, axes in REGIONS:
    for number in range(BODIES):
      for line in cases(mesh_text, axes, number):
        accepted += isinstance(line["verdict"], list)
        lines.append(json.dumps(line, separators=(",", ":")))
  return "".join(l + "\n" for l in lines), (len(lines), accepted)
