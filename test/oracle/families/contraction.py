# contraction.py - dot_general.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax import lax
from jax.sharding import PartitionSpec as P

from matrix import (ALL_KINDS, M22, M222, MAIN, MALLAUTO, MNONE,
                    sample, specs, types)
from prims import prim
from typetext import parse_dtype

_MATMUL = (((1,), (0,)), ((), ()))
# (lhs shape, rhs shape, dimension numbers)
_FORMS = [
    ((8, 4), (4, 8), _MATMUL),
    ((8, 4), (8, 4), (((1,), (1,)), ((), ()))),
    ((8, 4), (8, 2), (((0,), (0,)), ((), ()))),
    ((4,), (4,), (((0,), (0,)), ((), ()))),
    ((8, 4), (4,), (((1,), (0,)), ((), ()))),
    ((4,), (4, 8), (((0,), (0,)), ((), ()))),
    ((8,), (4,), (((), ()), ((), ()))),
    ((4, 8, 2), (4, 2, 8), (((2,), (1,)), ((0,), (0,)))),
    ((4, 8, 2), (8, 4), (((2,), (1,)), ((1,), (0,)))),
    ((2, 8, 4), (4, 2), (((0, 2), (1, 0)), ((), ()))),
    ((8, 4), (8, 4), (((0, 1), (0, 1)), ((), ()))),
    ((8, 4), (8, 4), (((), ()), ((0,), (0,)))),
    ((8, 4), (8, 4), (((), ()), ((0, 1), (0, 1)))),
    ((4, 8, 2), (8, 4, 2), (((2,), (2,)), ((0, 1), (1, 0)))),
]
_WRONG = [
    ((8, 4), (8, 4), _MATMUL), ((8, 4), (4, 8), (((1,), (0, 1)), ((), ()))),
    ((8, 4), (4, 8), (((1,), (0,)), ((0,), (1,)))),
    ((8, 4), (4, 8), (((2,), (0,)), ((), ()))),
    ((8, 4), (4, 8), (((1, 1), (0, 0)), ((), ()))),
    ((8, 4), (8, 4), (((1,), (1,)), ((1,), (1,)))),
    ((8, 4), (6, 4), (((1,), (1,)), ((0,), (0,)))),
]


def _params(numbers, out=None, preferred="f32", precision=None):
  return {"dimension_numbers": numbers, "out_sharding": out,
          "precision": precision,
          "preferred_element_type": preferred and parse_dtype(preferred)}


def _rank(lhs, rhs, numbers):
  (contract, _), (batch, _) = numbers
  return len(lhs) + len(rhs) - 2 * len(contract) - len(batch)


def _plain(f):
  p = prim("dot_general")
  for i, (lhs, rhs, numbers) in enumerate(_FORMS):
    for mesh in MAIN:
      a = types(mesh, lhs, numpy=True, kinds=ALL_KINDS if i == 0 else ("",))
      b = types(mesh, rhs, numpy=True, kinds=ALL_KINDS if i == 0 else ("",))
      f.add(mesh, p, _params(numbers), a, b,
            limit=(200 if mesh == M22 else 80) if i == 0 else
            (50 if mesh == M22 else 24))
      plain_a = types(mesh, lhs, ur=False, numpy=True)
      plain_b = types(mesh, rhs, ur=False, numpy=True)
      f.add(mesh, p, _params(numbers), plain_a, plain_b,
            limit=100 if i == 0 else 36)
  for mesh in (MALLAUTO, MNONE):
    f.add(mesh, p, _params(_MATMUL), types(mesh, (8, 4), numpy=True),
          types(mesh, (4, 8), numpy=True))
  for lhs, rhs, numbers in _WRONG:
    f.add(M22, p, _params(numbers), types(M22, lhs, ur=False),
          types(M22, rhs, ur=False), limit=5)


def _out_sharding(f):
  p = prim("dot_general")
  for i, (lhs, rhs, numbers) in enumerate(_FORMS):
    rank = _rank(lhs, rhs, numbers)
    for mesh in MAIN:
      if mesh == M222 and i not in (0, 2, 7, 9):
        continue
      a = types(mesh, lhs, numpy=True)
      b = types(mesh, rhs, numpy=True)
      # operands that can carry U: the contracting entries are equal
      choices = specs(mesh, rank, kinds=ALL_KINDS, tuples=rank < 3)
      choices += [P("X"), P(), P(*([None] * (rank + 1)))]
      count = (50 if i == 0 else 10) if mesh == M22 else 12 if i == 0 else 4
      for spec in sample(choices, count, f"dot{i}"):
        f.add(mesh, p, _params(numbers, spec), a, b, limit=7)
      for spec in [s for s in choices if s.unreduced][:8 if i == 0 else 3]:
        f.add(mesh, p, _params(numbers, spec),
              cases=_aligned(a, b, numbers), limit=7)


def _aligned(lhs, rhs, numbers):
  """Operand pairs whose contracting dims all have the same, non-empty entry."""
  (lc, rc), _ = numbers
  def entries(text, dims):
    body = text[text.index("[") + 1:text.index("]")]
    parts, depth, item = [], 0, ""
    for ch in body + ",":
      if ch == "," and not depth:
        parts.append(item.partition("@")[2])
        item = ""
        continue
      depth += {"(": 1, ")": -1}.get(ch, 0)
      item += ch
    return [parts[d] for d in dims]
  out = []
  for a in lhs:
    ea = entries(a, lc)
    if not any(ea):
      continue
    out += [(a, b) for b in rhs if entries(b, rc) == ea]
  return out


def _dtypes(f):
  p = prim("dot_general")
  names = ["f32", "bf16", "f16", "i32", "i8", "u8", "c64", "bool", "f8_e4m3fn", "u32"]
  a = [f"{d}[8@X,4]" for d in names]
  b = [f"{d}[4,8@Y]" for d in names]
  f.add(M22, p, _params(_MATMUL, None, None), a, b, limit=70)
  for preferred in ("f32", "bf16", "i32", "f64", "i8", "c64"):
    f.add(M22, p, _params(_MATMUL, None, preferred), a, b, limit=24)
  precision = (lax.Precision.HIGHEST, lax.Precision.HIGHEST)
  f.add(M22, p, _params(_MATMUL, None, "f32", precision), a[:3], b[:3])
  f.add(M22, p, _params(_MATMUL), ["f32<host>[8@X,4]", "f32[8@X,4]", "~f32[8,4]"],
        ["f32<host>[4,8]", "f32[4,8@Y]", "~f32[4,8]", "np:~f32[4,8]"])
  zero = [((0, 4), (4, 8)), ((8, 0), (0, 8)), ((6, 3), (3, 6)), ((1, 4), (4, 1))]
  for lhs, rhs in zero:
    f.add(M22, p, _params(_MATMUL), types(M22, lhs, ur=False),
          types(M22, rhs, ur=False), limit=24)


def record(f):
  _plain(f)
  _out_sharding(f)
  _dtypes(f)
