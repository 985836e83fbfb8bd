# transforms.py - Fourier transforms and linear algebra.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import numpy as np
from jax._src.lax import linalg as la
from jax._src.lax.fft import FftType

import arrays
from cases import EXACT, dtype, one, seeded

_KINDS = ("float32", "float64", "complex64", "complex128")
_REL = {"float32": "rel 2e-5", "complex64": "rel 2e-5", "float64": "rel 1e-12", "complex128": "rel 1e-12"}
_FFT = {"complex64": "rel 2e-6", "complex128": "rel 1e-14", "float32": "rel 2e-6", "float64": "rel 1e-14"}


def _draw(kind, shape, *seed):
  """Few bits, so that files stay small."""
  draw = seeded("transforms", shape, *seed)
  values = np.round(draw.standard_normal(shape) * 32) / 32
  if kind in arrays.COMPLEX:
    values = values + 1j * np.round(draw.standard_normal(shape) * 32) / 32
  return np.asarray(values).astype(dtype(kind))


def _real(kind):
  return {"complex64": "float32", "complex128": "float64"}.get(kind, kind)


def _complex(kind):
  return {"float32": "complex64", "float64": "complex128"}.get(kind, kind)


def _ffts(family):
  for kind in ("complex64", "complex128"):
    for lengths, shape in (((1,), (1,)), ((2,), (2,)), ((5,), (5,)), ((8,), (2, 8)), ((17,), (17,)), ((30,), (30,)),
                           ((3, 4), (3, 4)), ((4, 5), (2, 4, 5)), ((2, 3, 4), (2, 3, 4)), ((6,), (0, 6))):
      for fft_type in (FftType.FFT, FftType.IFFT):
        family.case(one("fft", fft_type=fft_type, fft_lengths=lengths), [_draw(kind, shape, 1)], _FFT[kind])
  for kind in ("float32", "float64"):
    for lengths, shape in (((1,), (1,)), ((2,), (2,)), ((5,), (5,)), ((8,), (2, 8)), ((17,), (17,)), ((3, 4), (3, 4)),
                           ((4, 5), (2, 4, 5)), ((2, 3, 4), (2, 3, 4)), ((6,), (0, 6))):
      family.case(one("fft", fft_type=FftType.RFFT, fft_lengths=lengths), [_draw(kind, shape, 2)], _FFT[kind])
      half = (*shape[:-1], lengths[-1] // 2 + 1)
      family.case(one("fft", fft_type=FftType.IRFFT, fft_lengths=lengths),
                  [_draw(_complex(kind), half, 3)], _FFT[kind])


def _square(kind, n, *seed, batch=()):
  return _draw(kind, (*batch, n, n), *seed)


def _definite(kind, n, batch=()):
  a = _square(kind, n, "definite", batch=batch)
  return (a @ np.conj(np.swapaxes(a, -1, -2)) + 2 * np.eye(n)).astype(dtype(kind))


def _hermitian(kind, n, batch=()):
  a = _square(kind, n, "hermitian", batch=batch)
  return ((a + np.conj(np.swapaxes(a, -1, -2))) / 2).astype(dtype(kind))


def _factors(family):
  for kind in _KINDS:
    rel = _REL[kind]
    for n, batch in ((1, ()), (3, ()), (6, ()), (4, (2,)), (2, (2, 2))):
      family.case(one("cholesky"), [_definite(kind, n, batch)], rel)
    mixed = np.stack([_definite(kind, 3), -_definite(kind, 3), _definite(kind, 3) * 2])
    family.case(one("cholesky"), [mixed], rel)
    upper = _definite(kind, 4)
    upper[np.triu_indices(4, 1)] = 77
    family.case(one("cholesky"), [upper], rel)
    for shape in ((1, 1), (3, 3), (5, 3), (3, 5), (2, 4, 4), (9, 9)):  # Of empty ones JAX's compiler dies.
      a = _draw(kind, shape, "lu")
      family.case(one("lu"), [a], [rel, EXACT, EXACT])
      family.case(one("geqrf"), [a], rel)
      jpvt = np.zeros(shape[:-2] + shape[-1:], np.int32)
      family.case(one("geqp3", use_magma=None), [a, jpvt], [rel, EXACT, rel])
      for full in (False, True):
        family.case(one("qr", full_matrices=full, pivoting=False, use_magma=None), [a],
                    ["any" if full and shape[-2] > shape[-1] else rel, rel])
      family.case(one("qr", full_matrices=False, pivoting=True, use_magma=None), [a], [rel, rel, EXACT])
    family.case(one("lu"), [np.zeros((3, 3), dtype(kind))], [rel, EXACT, EXACT])
    family.case(one("lu"), [np.ones((4, 3), dtype(kind))], [rel, EXACT, EXACT])
    family.case(one("qr", full_matrices=False, pivoting=False, use_magma=None), [np.zeros((3, 2), dtype(kind))], rel)
    pivots = np.array([0, 1, 2, 0], np.int32)
    family.case(one("geqp3", use_magma=None), [_draw(kind, (5, 4), "pivots"), pivots], [rel, EXACT, rel])
    for shape, k in (((4, 4), 4), ((5, 3), 3), ((5, 3), 2), ((2, 4, 2), 2)):
      family.case(one("householder_product"),
                  [_draw(kind, shape, "reflect"), _draw(kind, (*shape[:-2], k), "tau")], rel)
    for left in (True, False):
      for transpose in (True, False):
        a = _draw(kind, (4, 3), "ormqr")
        c = _draw(kind, (4, 5) if left else (5, 4), "c")
        family.case(one("ormqr", left=left, transpose=transpose), [a, _draw(kind, (3,), "tau"), c], rel)
  for pivots, size in (([0, 1, 2], 3), ([2, 2, 2], 3), ([1, 3, 3], 5), ([], 4), ([[1, 1], [0, 1]], 2)):
    p = np.array(pivots, np.int32).reshape(np.shape(pivots))
    family.case(one("lu_pivots_to_permutation", permutation_size=size), [p])


def _spectra(family):
  for kind in _KINDS:
    rel = _REL[kind]
    for shape in ((1, 1), (3, 3), (5, 3), (3, 5), (2, 4, 4), (8, 8), (12, 5)):
      a = _draw(kind, shape, "svd")
      for algorithm in (None, la.SvdAlgorithm.QR):
        family.case(one("svd", full_matrices=False, compute_uv=False, subset_by_index=None, algorithm=algorithm),
                    [a], rel)
        family.case(one("svd", full_matrices=False, compute_uv=True, subset_by_index=None, algorithm=algorithm),
                    [a], rel)
      wide = ["any" if shape[-2] > shape[-1] else rel, "any" if shape[-2] < shape[-1] else rel]
      family.case(one("svd", full_matrices=True, compute_uv=True, subset_by_index=None, algorithm=None),
                  [a], [rel, *wide])
    bad = _draw(kind, (2, 3, 3), "nan")
    bad[0, 1, 1] = np.nan
    family.case(one("svd", full_matrices=False, compute_uv=True, subset_by_index=None, algorithm=None), [bad], rel)
    family.case(one("svd", full_matrices=False, compute_uv=False, subset_by_index=(0, 2), algorithm=None),
                [_draw(kind, (4, 3), "subset")], rel)
    for n, batch in ((1, ()), (3, ()), (6, ()), (4, (2,)), (10, ())):
      a = _hermitian(kind, n, batch)
      for lower in (True, False):
        family.case(one("eigh", lower=lower, sort_eigenvalues=True, subset_by_index=None, algorithm=None), [a], rel)
      half = a.copy()
      if n == 3:
        half[np.triu_indices(3, 1)] = 55
        family.case(one("eigh", lower=True, sort_eigenvalues=True, subset_by_index=None, algorithm=None), [half], rel)
      if n:
        family.case(one("tridiagonal", lower=True), [a], rel)
        family.case(one("tridiagonal", lower=False), [a], rel)
    bad = _hermitian(kind, 3, (2,))
    bad[1, 0, 0] = np.nan
    family.case(one("eigh", lower=True, sort_eigenvalues=True, subset_by_index=None, algorithm=None), [bad], rel)
    for n, batch in ((1, ()), (2, ()), (3, ()), (6, ()), (4, (2,))):
      a = _square(kind, n, "eig", batch=batch)
      for left, right in ((False, False), (True, True), (False, True), (True, False)):
        family.case(one("eig", compute_left_eigenvectors=left, compute_right_eigenvectors=right,
                        implementation=None, enable_eigvec_derivs=False), [a],
                    [rel] + [rel + " columns"] * (left + right))
      # Unique up to the phases of the vectors.
      family.case(one("schur", compute_schur_vectors=True, sort_eig_vals=False, select_callable=None), [a],
                  [rel + " size", rel + " columns"])
      family.case(one("schur", compute_schur_vectors=False, sort_eig_vals=False, select_callable=None), [a],
                  [rel + " size"])
      if n:
        family.case(one("hessenberg"), [a], rel)


def _solvers(family):
  for kind in _KINDS:
    rel = _REL[kind]
    for left in (True, False):
      for lower in (True, False):
        for transpose, conjugate, unit in ((False, False, False), (True, False, False), (True, True, False),
                                           (False, False, True), (True, False, True)):
          a = _definite(kind, 4)
          b = _draw(kind, (4, 3) if left else (3, 4), "b")
          function = one("triangular_solve", left_side=left, lower=lower, transpose_a=transpose,
                         conjugate_a=conjugate, unit_diagonal=unit)
          family.case(function, [a / (8 if unit else 1), b], rel)
    function = one("triangular_solve", left_side=True, lower=True, transpose_a=False, conjugate_a=False,
                   unit_diagonal=False)
    for n, columns, batch in ((1, 1, ()), (3, 2, (2,)), (12, 5, ())):
      family.case(function, [_definite(kind, n, batch), _draw(kind, (*batch, n, columns), "b")], rel)
    for n, columns, batch in ((3, 2, ()), (6, 1, ()), (4, 3, (2,)), (1, 2, ())):
      try:
        family.case(one("tridiagonal_solve", perturb_singular=False),
                    [_draw(kind, (*batch, n), "dl"), _draw(kind, (*batch, n), "d") + 4,
                     _draw(kind, (*batch, n), "du"), _draw(kind, (*batch, n, columns), "b")], rel)
      except ValueError:
        pass
  for kind in ("float32", "float64"):
    rel = _REL[kind]
    for n in (1, 2, 5):
      r = np.linalg.cholesky(_definite("float64", n)).T.astype(dtype(kind))
      family.case(one("cholesky_update"), [r, _draw(kind, (n,), "w")], rel)
    for shape in ((3, 2), (2, 3), (2, 3, 4)):
      n = shape[-2]
      c = _hermitian(kind, n, shape[:-2])
      family.case(one("symmetric_product", alpha=1.5, beta=-0.5), [_draw(kind, shape, "sym"), c], rel)
      family.case(one("symmetric_product", alpha=1.0, beta=0.0), [_draw(kind, shape, "sym"), c], rel)


def record(family):
  _ffts(family)
  _factors(family)
  _spectra(family)
  _solvers(family)
