# linalg.py - linear algebra: batch dims pass, core dims are whole.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import itertools

from matrix import (ALL_KINDS, M22, MAIN, MALLAUTO, MNONE, sample, types)
from prims import prim

# name -> (core ranks, parameter sets, [core shapes of the operands])
_SQUARE = [((4, 4),)]
_TALL = [((4, 4),), ((6, 4),), ((4, 6),)]
_EIG = [{"compute_left_eigenvectors": l, "compute_right_eigenvectors": r,
         "enable_eigvec_derivs": False, "implementation": None}
        for l in (False, True) for r in (False, True)]
_EIGH = [{"lower": True, "sort_eigenvalues": True, "subset_by_index": s,
          "algorithm": None} for s in (None, (1, 3), (0, 4))]
_QR = [{"full_matrices": f, "pivoting": p, "use_magma": None}
       for f in (False, True) for p in (False, True)]
_SVD = [{"full_matrices": f, "compute_uv": u, "subset_by_index": s, "algorithm": None}
        for f in (False, True) for u in (False, True) for s in (None, (0, 2), (0, 4))]
_TRI = [{"left_side": l, "lower": True, "transpose_a": t, "conjugate_a": False,
         "unit_diagonal": False} for l in (False, True) for t in (False, True)]
_ONE = {
    "cholesky": ([{}], _SQUARE),
    "eig": (_EIG, _SQUARE),
    "eigh": (_EIGH, _SQUARE),
    "geqrf": ([{}], _TALL),
    "hessenberg": ([{}], _SQUARE + [((1, 1),)]),
    "lu": ([{}], _TALL),
    "qr": (_QR, _TALL),
    "schur": ([{"compute_schur_vectors": v, "sort_eig_vals": False,
                "select_callable": None} for v in (False, True)], _SQUARE),
    "svd": (_SVD, _TALL),
    "tridiagonal": ([{"lower": True}], _SQUARE + [((1, 1),)]),
    "lu_pivots_to_permutation": (
        [{"permutation_size": n} for n in (4, 6, 2)], [((4,),)]),
}
_SEVERAL = {
    "geqp3": ([{"use_magma": None}], [((4, 4), (4,)), ((6, 4), (4,))]),
    "householder_product": ([{}], [((4, 4), (4,)), ((6, 4), (2,)), ((4, 6), (4,)),
                                   ((4, 4), (6,))]),
    "ormqr": ([{"left": l, "transpose": False} for l in (False, True)],
              [((4, 4), (4,), (4, 6)), ((4, 4), (4,), (6, 4)), ((4, 2), (2,), (4, 4))]),
    "symmetric_product": ([{"alpha": 1.0, "beta": 0.5}],
                          [((4, 2), (4, 4)), ((4, 6), (6, 6))]),
    "triangular_solve": (_TRI, [((4, 4), (4, 6)), ((4, 4), (6, 4)), ((4, 4), (4, 4))]),
    "tridiagonal_solve": ([{"perturb_singular": False}],
                          [((4,), (4,), (4,), (4, 6)), ((4,), (4,), (4,), (6, 4)),
                           ((4,), (4,), (6,), (4, 4))]),
    "cholesky_update": ([{}], [((4, 4), (4,)), ((4, 4), (6,))]),
}
_DTYPE = {"lu_pivots_to_permutation": ("i32",), "geqp3": ("f32", "i32")}


def _dtype(name, i):
  given = _DTYPE.get(name, ("f32",))
  return given[min(i, len(given) - 1)]


def _one(f):
  for name, (choices, shapes) in _ONE.items():
    p = prim(name)
    for params in choices:
      for (core,) in shapes:
        for mesh in MAIN + (MALLAUTO, MNONE):
          kinds = ALL_KINDS if params is choices[0] else ("",)
          plain = types(mesh, core, _dtype(name, 0), kinds=kinds, numpy=True)
          f.add(mesh, p, params, plain, limit=24 if mesh == M22 else 5)
          if mesh in (M22, MNONE) or params is choices[0]:
            f.add(mesh, p, params,
                  types(mesh, (2,) + core, _dtype(name, 0), kinds=kinds,
                        numpy=True, tuples=False),
                  limit=24 if mesh == M22 else 6)


def _batched(mesh, name, cores, batch, ur):
  return [types(mesh, batch + core, _dtype(name, i), ur=ur, numpy=True)
          for i, core in enumerate(cores)]


def _several(f):
  for name, (choices, shapes) in _SEVERAL.items():
    p = prim(name)
    for params in choices:
      for cores in shapes:
        for mesh in MAIN + (MALLAUTO, MNONE):
          lists = _batched(mesh, name, cores, (), False)
          f.add(mesh, p, params, *lists, limit=24 if mesh == M22 else 6)
          if params is choices[0] or mesh == M22:
            f.add(mesh, p, params, *_batched(mesh, name, cores, (2,), False),
                  limit=40 if mesh == M22 else 8)
          # All sharded alike in the batch dims, so that more is accepted.
          alike = list(zip(*_batched(mesh, name, cores, (2,), True)))
          if len({len(l) for l in _batched(mesh, name, cores, (2,), True)}) == 1:
            f.add(mesh, p, params, cases=alike, limit=16)
          sets = _batched(mesh, name, cores, (), True)
          f.add(mesh, p, params, *[sample(l, 8, name) for l in sets], limit=12)


def _dtypes(f):
  names = ("f32", "f64", "c64", "c128", "bf16", "f16", "i32", "u8", "bool")
  for name, (choices, shapes) in _ONE.items():
    core = ",".join(map(str, shapes[0][0]))
    f.add(M22, prim(name), choices[-1], [f"{d}[{core}]" for d in names]
          + [f"~f32[{core}]", f"f32<host>[{core}]", "f32[]", "f32[4]"], limit=20)
  for name, (choices, shapes) in _SEVERAL.items():
    for params in choices[:2]:
      lists = [[f"{d}[{','.join(map(str, core))}]" for d in ("f32", "f64", "c64", "bf16", "i32")]
               for core in shapes[0]]
      f.add(M22, prim(name), params, *lists, limit=30)
      ranks = [[f"{'~' if i else ''}f32{s}[{b}{','.join(map(str, core))}]"
                for b in ("", "2,", "3,2,") for s in ("", "<host>")]
               for i, core in enumerate(shapes[0])]
      f.add(M22, prim(name), params, *ranks, limit=30)


def _whole(f):
  """Every combination of specs on two matrices, where the most is decided."""
  for params in _TRI:
    for a, b in (((4, 4), (4, 4)), ((2, 4, 4), (2, 4, 4))):
      for x, y in itertools.islice([(a, b)], 1):
        lists = [types(M22, s, ur=False, tuples=len(s) == 2) for s in (x, y)]
        f.add(M22, prim("triangular_solve"), params, *lists, limit=180)


def record(f):
  _one(f)
  _several(f)
  _dtypes(f)
  _whole(f)
