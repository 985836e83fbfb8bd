# binary.py - functions of several operands, element by element.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import itertools

import numpy as np

import arrays
from cases import EXACT, one

_ARITHMETIC = ("add", "sub", "mul", "div", "max", "min", "rem")
_COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
_TOTAL = ("eq_to", "lt_to", "le_to")
_BITS = ("and", "or", "xor", "shift_left", "shift_right_arithmetic", "shift_right_logical")
_SHAPES = ((0,), (3,), (2, 3), (37,))


def _draws(family, function, kind, name, rule, scale=3.0):
  for shape in _SHAPES:
    family.case(function, [arrays.normal(kind, shape, name, i, scale=scale) for i in (0, 1)],
                rule)


def _small(kind):
  """Few edge values of a float type: 18, so 324 pairs."""
  keep = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 0.1, 2.5, -1e-3, 100.0, -3e4, np.inf, -np.inf,
          np.nan]
  most, least = arrays.limits(kind)
  values = np.array(keep + [most, -most, least], np.float64).astype(arrays.dtype(kind))
  return values


def _floats(family):
  for kind in arrays.FLOATS:
    a, b = arrays.pairs(_small(kind))
    # The flushed product of two normal numbers is not what is asked for here.
    with np.errstate(all="ignore"):
      least = arrays.limits(kind)[1]
      quiet = {n: np.abs(f(a.astype(np.float64), b.astype(np.float64)))
               for n, f in (("mul", np.multiply), ("div", np.divide))}
    for name in (*_ARITHMETIC, *_COMPARE, *_TOTAL, "nextafter"):
      x, y = a, b
      if name in quiet:
        fine = ~((quiet[name] > 0) & (quiet[name] < least))
        x, y = a[fine], b[fine]
      rule = "ulp 2" if name == "div" else EXACT
      family.case(one(name), [x, y], EXACT)
      _draws(family, one(name), kind, name, EXACT)
      family.case(one(name), [arrays.normal(kind, (), name, i) for i in (0, 1)], rule)
    for name in ("pow", "atan2"):
      rule = "ulp 3"
      family.case(one(name), [a, b], rule)
      _draws(family, one(name), kind, name, rule)
      if name == "pow":
        family.case(one(name), [abs(arrays.normal(kind, (60,), name)),
                                arrays.normal(kind, (60,), name, 2)], rule)
    exponents = np.array([-3, -2, -1, 0, 1, 2, 5, 9], np.int32)
    base = arrays.floats(kind)[:24]
    grid = [np.repeat(base, len(exponents)), np.tile(exponents, len(base))]
    family.case(one("pow"), grid, "ulp 16")


def _integers(family):
  for kind in (*arrays.INTS, *arrays.NARROW, "bool"):
    a, b = arrays.pairs(arrays.edges(kind))
    names = [*_COMPARE, "max", "min", "and", "or", "xor"]
    if kind != "bool":
      names += ["add", "sub", "mul", "div", "rem", *_BITS[3:]]
    for name in names:
      family.case(one(name), [a, b])
      for shape in ((), *_SHAPES[:3]):
        family.case(one(name), [arrays.normal(kind, shape, name, i) for i in (0, 1)])
  for kind in arrays.INTS:
    a, b = arrays.pairs(arrays.edges(kind))
    family.case(one("mulhi"), [a, b])


def _complexes(family):
  for kind in arrays.COMPLEX:
    for name in ("add", "sub", "mul", "div", "pow"):
      rule = EXACT if name in ("add", "sub") else "modulus 16" if name != "pow" else "modulus 64"
      for shape in ((), *_SHAPES):
        family.case(one(name), [arrays.normal(kind, shape, name, i) for i in (0, 1)], rule)
    a, b = arrays.pairs(arrays.complexes(kind), 60)
    for name in ("add", "sub", "eq", "ne"):
      family.case(one(name), [a, b])
    part = np.dtype(kind).type(0).real.dtype.name
    family.case(one("complex"), list(arrays.pairs(arrays.floats(part), 12)))
    _draws(family, one("complex"), part, "complex", EXACT)
    a, b = arrays.pairs(arrays.complexes(kind, simple=True))
    for name in ("max", "min"):
      family.case(one(name), [a, b])


def _select(family):
  kinds = (*arrays.FLOATS, *arrays.COMPLEX, *arrays.INTS, *arrays.NARROW, "bool", *arrays.F8)
  for kind in kinds:
    for shape in ((), (0,), (5,), (3, 4)):
      which = arrays.normal("bool", shape, "select", kind)
      draws = [arrays.normal(kind, shape, "select", i) for i in (0, 1)]
      family.case(one("select_n"), [which, *draws])
  for kind in ("float32", "int8"):
    which = np.array([-1, 0, 1, 2, 7, 2], np.int32)
    draws = [arrays.normal(kind, (6,), "select", i) for i in range(3)]
    family.case(one("select_n"), [which, *draws])
    family.case(one("select_n"), [np.array(True), *draws[:2]])
    family.case(one("select_n"), [np.int32(2), *draws])
  for kind in (*arrays.FLOATS, *arrays.INTS, "float8_e5m2"):
    values = _small(kind) if kind in arrays.FLOATS else arrays.edges(kind)
    grid = [np.array(v) for v in zip(*itertools.product(values[::3], values[::2], values[::3]))]
    family.case(one("clamp"), grid)
    low, high = arrays.normal(kind, (), "lo"), arrays.normal(kind, (), "hi")
    for shape in ((), (0,), (7,), (2, 3)):
      family.case(one("clamp"), [low, arrays.normal(kind, shape, "clamp"), high])


def _special(family):
  positive = lambda kind, i, size=40: abs(arrays.normal(kind, (size,), "special", i)) + \
      arrays.dtype(kind).type(0.1)
  near = {"float32": "abs 1e-6", "float64": "abs 1e-13", "bfloat16": "abs 1e-2",
          "float16": "abs 2e-3"}
  for kind in arrays.FLOATS:
    x, y, z = (positive(kind, i) for i in range(3))
    unit = (x / (x + y)).astype(arrays.dtype(kind))
    rule = f"ulp {120 if kind == 'float64' else 20} {near[kind]}"
    for name in ("igamma", "igammac"):
      family.case(one(name), [x, y], rule)
    family.case(one("igamma_grad_a"), [x, y], rule + " rel 1e-5")
    family.case(one("zeta"), [x + arrays.dtype(kind).type(1.25), y], rule)
    orders = np.array([0, 1, 2, 3] * 10).astype(arrays.dtype(kind))
    family.case(one("polygamma"), [orders, z], rule + " rel 1e-5")
    family.case(one("regularized_incomplete_beta"), [x, y, unit], rule + " ulp 60")
    edge = np.array([0, -1, 2, np.inf, np.nan, -0.5], np.float64).astype(arrays.dtype(kind))
    for name in ("igamma", "igammac", "zeta"):
      family.case(one(name), list(arrays.pairs(edge)), rule, "edge")
    family.case(one("regularized_incomplete_beta"),
                [np.repeat(edge, 6), np.tile(edge, 6), np.full(36, 0.5, edge.dtype)], rule, "edge")
    for shape in ((), (4,), (2, 3)):
      terms = [arrays.normal(kind, shape, "polynomial", i) for i in range(4)]
      # Steps are fused, and f16 keeps f32 between them (spec 09, 2.5).
      loose = {"float32": "ulp 8 abs 1e-5", "float64": "ulp 8 abs 1e-14",
               "float16": "ulp 8 abs 4e-3", "bfloat16": EXACT}
      family.case(one("polynomial"), terms, loose[kind])


def _sums(family):
  for kind in (*arrays.FLOATS, "int32"):
    family.case(lambda a, b: one("add_any")(a, b),
                [arrays.normal(kind, (9,), "any", i) for i in (0, 1)])


def _denormals(family):
  for kind in ("float32", "float64"):
    _, least = arrays.limits(kind)
    tiny = np.array([0.5, -0.25, 1, -1, 0, -0.0, 1.5], kind) * least
    a, b = arrays.pairs(np.concatenate([tiny, np.array([1, -3, 1e30], kind)]))
    for name in ("add", "sub", "mul", "div", "max", "min", *_COMPARE):
      family.case(one(name), [a, b], EXACT, "flush")


def _narrow_floats(family):
  for kind in arrays.F8[:-1]:
    values = np.arange(0, 256, 11).astype(np.uint8).view(arrays.dtype(kind))
    a, b = arrays.pairs(values)
    for name in ("add", "sub", "mul", "div", "max", "min", "lt", "eq"):
      family.case(one(name), [a, b])


def record(family):
  _floats(family)
  _integers(family)
  _complexes(family)
  _select(family)
  _special(family)
  _sums(family)
  _denormals(family)
  _narrow_floats(family)
