# linalg.py - decompositions, solvers, fft.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax import lax

from agreement import form

# Batch dims in front of every operand's own.
_BATCHES = ((8,), (), (8, 4), (1,), (3,))


def _each(params, *cores, dtypes=None):
  """One form a batch; cores are the operands' own dims."""
  dtypes = dtypes or ("f32",) * len(cores)
  return [form(params, *[(b + c, d) for c, d in zip(cores, dtypes)], share=0.05)
          for b in _BATCHES if len(b) + max(map(len, cores)) <= 4]


def _square(params, *more):
  forms = []
  for core in ((8, 8), (1, 1), (3, 3)) + more:
    forms += _each(params, core)
  return forms


def _svd():
  forms = []
  for full, vectors in ((True, True), (False, True), (False, False)):
    forms += _square({"full_matrices": full, "compute_uv": vectors,
                      "subset_by_index": None, "algorithm": None}, (8, 4), (4, 8))
  return forms


def _qr():
  forms = []
  for full in (True, False):
    for pivoting in (False, True):
      forms += _square({"pivoting": pivoting, "full_matrices": full,
                        "use_magma": None}, (8, 4), (4, 8))
  return forms


def _triangular():
  forms = []
  for left in (True, False):
    for transpose in (False, True):
      params = {"left_side": left, "lower": True, "transpose_a": transpose,
                "conjugate_a": False, "unit_diagonal": False}
      other = (8, 4) if left else (4, 8)
      forms += _each(params, (8, 8), other)
      forms.append(form(params, (8, 8), (8, 8), share=0.05))
  return forms


def _fft():
  rows = []
  kinds = lax.FftType
  for shape in ((8, 8), (8,), (1, 8), (6, 4), (3,), (8, 4, 2), (4, 2, 2, 8)):
    last = shape[-1:]
    rows += [(kinds.FFT, last, shape, "c64"), (kinds.IFFT, last, shape, "c64"),
             (kinds.RFFT, last, shape, "f32"),
             (kinds.IRFFT, (2 * (last[0] - 1) or 1,), shape, "c64")]
    if len(shape) > 1:
      rows += [(kinds.FFT, shape[-2:], shape, "c64"),
               (kinds.RFFT, shape[-2:], shape, "f32")]
  return [form({"fft_type": k, "fft_lengths": n}, s, dtype=d, share=0.05)
          for k, n, s, d in rows]


def describe():
  table = {
      "cholesky": _square({}), "cholesky_update": _each({}, (8, 8), (8,)),
      "hessenberg": _square({}), "lu": _square({}, (8, 4), (4, 8)),
      "geqrf": _square({}, (8, 4), (4, 8)), "tridiagonal": _square({"lower": True}),
      "symmetric_product": _each({"alpha": 1.0, "beta": 0.0}, (8, 4), (8, 8)),
      "householder_product": _each({}, (8, 8), (8,)) + _each({}, (8, 4), (4,)),
      "tridiagonal_solve": _each({"perturb_singular": False}, (8,), (8,), (8,), (8, 4)),
      "geqp3": _each({"use_magma": None}, (8, 4), (4,), dtypes=("f32", "i32")),
      "svd": _svd(), "qr": _qr(), "triangular_solve": _triangular(), "fft": _fft()}
  table["eig"] = [f for left in (True, False) for right in (True, False)
                  for f in _square({"compute_left_eigenvectors": left,
                                    "compute_right_eigenvectors": right,
                                    "enable_eigvec_derivs": False,
                                    "implementation": None})]
  table["eigh"] = [f for subset in (None, (0, 2)) for f in _square(
      {"lower": True, "sort_eigenvalues": True, "subset_by_index": subset,
       "algorithm": None})]
  table["schur"] = [f for vectors in (True, False) for f in _square(
      {"compute_schur_vectors": vectors, "sort_eig_vals": False,
       "select_callable": None})]
  table["ormqr"] = [f for left in (True, False) for f in _each(
      {"left": left, "transpose": False}, (8, 8), (8,), (8, 8))]
  table["lu_pivots_to_permutation"] = _each({"permutation_size": 8}, (8,),
                                            dtypes=("i32",)) + [
      form({"permutation_size": 8}, (8, 4, 2, 4), dtype="i32", share=0.05)]
  return table
