# products.py - fft, ragged and scaled products, generic windows and reductions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax import lax
from jax.lax import FftType, RaggedDotDimensionNumbers
from jax.sharding import PartitionSpec as P
import numpy as np

from matrix import (ALL_KINDS, M22, MAIN, MALLAUTO, MNONE, sample, specs, types)
from prims import prim
from typetext import parse_dtype

_MESHES = MAIN + (MALLAUTO, MNONE)


def _fft(f):
  p = prim("fft")
  forms = [(FftType.FFT, (8, 4), (4,), "c64"), (FftType.IFFT, (8, 4), (8, 4), "c64"),
           (FftType.RFFT, (8, 4), (4,), "f32"), (FftType.RFFT, (8, 6), (6,), "f32"),
           (FftType.RFFT, (6, 4), (6, 4), "f32"), (FftType.IRFFT, (8, 4), (6,), "c64"),
           (FftType.IRFFT, (8, 4), (8, 7), "c64"), (FftType.FFT, (2, 4, 4), (4, 4), "c64"),
           (FftType.FFT, (8,), (8,), "c128"), (FftType.FFT, (8, 4), (4, 8), "c64"),
           (FftType.FFT, (8,), (8, 8), "c64"), (FftType.IRFFT, (8, 4), (4, 4), "c64")]
  for kind, shape, lengths, dtype in forms:
    for mesh in _MESHES:
      f.add(mesh, p, {"fft_type": kind, "fft_lengths": lengths},
            types(mesh, shape, dtype, kinds=ALL_KINDS, numpy=True, weak=True),
            limit=40 if mesh == M22 else 8)
  for kind in FftType:
    f.add(M22, p, {"fft_type": kind, "fft_lengths": (4,)},
          [f"{d}[8,4]" for d in ("f32", "f64", "c64", "c128", "bf16", "i32")])


def _approx(f):
  p = prim("approx_top_k")
  def params(k, dim, agg=True, recall=0.95, over=-1):
    return {"k": k, "reduction_dimension": dim, "recall_target": recall,
            "is_max_k": True, "reduction_input_size_override": over,
            "aggregate_to_topk": agg}
  for shape, k, dim in (((8, 4), 2, 1), ((8, 4), 2, 0), ((8,), 3, 0), ((8, 4), 3, -1),
                        ((8, 4), 5, 1), ((8, 4), 0, 1), ((2, 4, 4), 2, 2)):
    for mesh in _MESHES:
      f.add(mesh, p, params(k, dim), types(mesh, shape, kinds=ALL_KINDS, numpy=True,
                                           weak=True),
            limit=30 if mesh == M22 else 6)
  for size in (8, 200, 256, 300, 1000, 1024, 4096):
    for k in (1, 2, 10):
      for recall in (0.5, 0.95, 0.999):
        if k <= size:
          f.add(M22, p, params(k, 1, False, recall), [f"f32[8@X,{size}]"])
          f.add(M22, p, params(k, 0, False, recall, size), [f"f32[{size}]"])
  f.add(M22, p, params(2, 1), ["f32[]", "i32[8,4]", "bf16[8,4]", "c64[8,4]",
                               "f32<host>[8@X,4]"])


def _reduce(f):
  p = prim("reduce")
  for shape, dims in (((8, 4), (0,)), ((8, 4), (1,)), ((8, 4), (0, 1)), ((8,), (0,)),
                      ((2, 4, 4), (1,)), ((8, 4), ())):
    params = {"computation": None, "jaxpr": None, "dimensions": dims}
    for mesh in _MESHES:
      one = types(mesh, shape, kinds=ALL_KINDS, numpy=True, weak=True)
      init = types(mesh, (), numpy=True, weak=True, ur=False)
      f.add(mesh, p, params, one, init, limit=40 if mesh == M22 else 8)
      plain = types(mesh, shape, ur=False, numpy=True)
      f.add(mesh, p, params, sample(plain, 8, "a"), sample(plain, 8, "b"), init[:1],
            init[-1:], limit=30 if mesh == M22 else 6)
  params = {"computation": None, "jaxpr": None, "dimensions": (0,)}
  f.add(M22, p, params, ["f32[8@X,4]", "i32[8,4]", "f32<host>[8,4]"],
        ["f32[]", "i32[]", "f32[4]", "f32<host>[]"])


def _reduce_window(f):
  p = prim("reduce_window")
  def params(window, strides, padding=None, base=None, dilation=None):
    n = len(window)
    return {"jaxpr": None, "consts": (), "window_dimensions": window,
            "window_strides": strides, "padding": padding or ((0, 0),) * n,
            "base_dilation": base or (1,) * n, "window_dilation": dilation or (1,) * n}
  forms = [((8, 4), params((1, 2), (1, 2))), ((8, 4), params((2, 1), (2, 1))),
           ((8, 4), params((3, 1), (1, 1), ((1, 1), (0, 0)))),
           ((8, 4), params((8, 4), (1, 1))), ((8,), params((2,), (2,), None, (2,))),
           ((8,), params((3,), (1,), ((1, 1),), None, (2,)))]
  for shape, pars in forms:
    for mesh in _MESHES:
      one = types(mesh, shape, kinds=ALL_KINDS, numpy=True, weak=True)
      init = types(mesh, (), numpy=True, ur=False)
      f.add(mesh, p, pars, one, init, limit=40 if mesh == M22 else 8)
      two = types(mesh, shape, numpy=True)
      f.add(mesh, p, pars, sample(two, 9, "a"), sample(two, 9, "b"), init[:1], init[-1:],
            limit=30 if mesh == M22 else 6)
  f.add(M22, p, forms[0][1], ["f32[8@X,4]", "i32[8,4]", "f32<host>[8,4]"],
        ["f32[]", "i32[]", "f32[4]"])
  f.add(M22, p, params((2,), (2,)), ["f32[8,4]"], ["f32[]"])
  for name, bad in (("reduce_window_min", params((1, 2), (1, 2))),):
    bad = {k: v for k, v in bad.items() if k not in ("jaxpr", "consts")}
    for mesh in MAIN:
      f.add(mesh, prim(name), bad, types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True),
            limit=30 if mesh == M22 else 8)


def _select_scatter(f):
  p = prim("select_and_scatter")
  params = {"select_jaxpr": None, "select_consts": (), "scatter_jaxpr": None,
            "scatter_consts": (), "window_dimensions": (1, 2),
            "window_strides": (1, 2), "padding": ((0, 0), (0, 0))}
  for mesh in _MESHES:
    plain = types(mesh, (8, 4), ur=False, numpy=True)
    source = types(mesh, (8, 2), ur=False, numpy=True)
    f.add(mesh, p, params, plain, source, ["f32[]"], limit=40 if mesh == M22 else 8)
    f.add(mesh, p, params, types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True),
          source[:1], ["f32[]"], limit=20)
    f.add(mesh, p, params, plain[:2], types(mesh, (8, 2), numpy=True), ["f32[]"],
          limit=10)
  f.add(M22, p, dict(params, window_strides=(1,)), ["f32[8,4]"], ["f32[8,2]"], ["f32[]"])
  f.add(M22, p, params, ["i32[8@X,4]", "f32<host>[8,4]", "~f32[8,4]"],
        ["f32[8,2]", "i32[8,2]", "~f32[8,2]"], ["f32[]", "~f32[]"])


def _ragged(f):
  p = prim("ragged_dot_general")
  def numbers(dot, ragged, group):
    return RaggedDotDimensionNumbers(dot_dimension_numbers=dot,
                                     lhs_ragged_dimensions=ragged,
                                     rhs_group_dimensions=group)
  def params(n, out=None, preferred="f32"):
    return {"ragged_dot_dimension_numbers": n, "precision": None,
            "preferred_element_type": preferred and parse_dtype(preferred),
            "group_offset": None, "out_sharding": out}
  basic = numbers((((1,), (1,)), ((), ())), [0], [0])
  contract = numbers((((1,), (0,)), ((), ())), [1], [])
  batch = numbers((((2,), (1,)), ((0,), (0,))), [0], [])
  both = numbers((((2,), (2,)), ((0,), (1,))), [1], [0])
  forms = [(basic, (8, 4), (2, 4, 6), (2,), 2), (contract, (8, 4), (4, 6), (2,), 3),
           (batch, (4, 8, 2), (4, 2, 6), (2,), 3), (both, (4, 8, 2), (2, 4, 2, 6), (4, 2), 3)]
  for n, lhs, rhs, sizes, rank in forms:
    for mesh in _MESHES:
      a, b = types(mesh, lhs, ur=False, numpy=True), types(mesh, rhs, ur=False, numpy=True)
      g = types(mesh, sizes, "i32", ur=False, numpy=True)
      f.add(mesh, p, params(n), sample(a, 12, "a"), sample(b, 12, "b"), g,
            limit=24 if mesh == M22 else 6)
      if mesh == MNONE:
        continue
      for spec in sample(specs(mesh, rank, tuples=False), 8, "s") + [P(), P("X")]:
        f.add(mesh, p, params(n, spec), sample(a, 6, "a"), sample(b, 6, "b"), g[:1],
              limit=5)
      f.add(mesh, p, params(n, P()), sample(types(mesh, lhs), 8, "u"), b[:1], g[:1],
            limit=6)
  wrong = [(numbers((((1,), (1,)), ((), ())), [0, 1], [0]), (8, 4), (2, 4, 6), (2,)),
           (numbers((((1,), (1,)), ((), ())), [3], [0]), (8, 4), (2, 4, 6), (2,)),
           (numbers((((1,), (1,)), ((), ())), [0], []), (8, 4), (2, 4, 6), (2,)),
           (numbers((((1,), (1,)), ((), ())), [0], [1]), (8, 4), (2, 4, 6), (2,)),
           (contract, (8, 4), (6, 4), (2,)), (basic, (8, 4), (3, 4, 6), (2,)),
           (numbers((((1,), (0,)), ((), ())), [1], [0]), (8, 4), (4, 6), (2,)),
           (basic, (8, 4), (2, 4, 6), ()), (both, (4, 8, 2), (2, 4, 2, 6), (3, 2))]
  for n, lhs, rhs, sizes in wrong:
    text = lambda shape, d="f32": f"{d}[{','.join(map(str, shape))}]"
    f.add(M22, p, params(n), [text(lhs)], [text(rhs)], [text(sizes, "i32")])
  f.add(M22, p, params(basic, P(), None), ["f32[8@X,4]", "bf16[8,4]", "i8[8,4]"],
        ["f32[2,4,6]", "bf16[2,4,6]"], ["i32[2]", "f32[2]", "u8[2]"])


def _scaled(f):
  p = prim("scaled_dot")
  plain = (((1,), (1,)), ((), ()))
  batched = (((2,), (2,)), ((0,), (0,)))
  def params(n, preferred="f32"):
    return {"dimension_numbers": n, "preferred_element_type":
            preferred and parse_dtype(preferred)}
  for n, lhs, rhs, ls, rs in ((plain, (8, 4), (6, 4), (8, 2), (6, 1)),
                              (batched, (2, 8, 4), (2, 6, 4), (2, 8, 2), (2, 6, 2)),
                              (plain, (8, 4), (6, 4), (8, 4), (6, 1)),
                              (plain, (8, 4), (6, 4), (4, 2), (6, 1)),
                              (plain, (8, 4), (6, 2), (8, 2), (6, 1))):
    for mesh in (M22, "X=2,Y=2:Auto", MALLAUTO, MNONE):
      lists = [types(mesh, s, d, numpy=True, kinds=("", "max")) for s, d in (
          (lhs, "f8_e4m3fn"), (rhs, "f8_e4m3fn"), (ls, "f8_e8m0fnu"), (rs, "f8_e8m0fnu"))]
      f.add(mesh, p, params(n), *[sample(l, 6, "s") for l in lists], limit=20)
  f.add(M22, p, params(plain, None), ["bf16[8@X,4]", "f8_e5m2[8,4]"], ["bf16[6,4]"],
        ["bf16[8,2]", "bf16[8]"], ["bf16[6,2]"])
  for name in ("scaled_matmul", "scaled_matmul_wrapper"):
    f.add(M22, prim(name), {"preferred_element_type": parse_dtype("f32")},
          sample(types(M22, (2, 8, 4), "f8_e4m3fn"), 10, "a"),
          sample(types(M22, (2, 6, 4), "f8_e4m3fn"), 10, "b"), ["f8_e8m0fnu[2,8,2]"],
          ["f8_e8m0fnu[2,6,2]"], limit=30)


def _dots(f):
  """Products of narrow floats through dot_general."""
  names = ("f8_e4m3fn", "f8_e5m2", "f8_e4m3b11fnuz", "f4_e2m1fn", "i4", "bf16", "f32")
  for preferred in (None, "f32", "bf16"):
    f.add(M22, prim("dot_general"),
          {"dimension_numbers": (((1,), (0,)), ((), ())), "out_sharding": None,
           "precision": None,
           "preferred_element_type": preferred and parse_dtype(preferred)},
          [f"{d}[8@X,4]" for d in names], [f"{d}[4,8@Y]" for d in names], limit=60)


def _random(f):
  for mesh in _MESHES:
    keys = types(mesh, (8,), "key<fry>", kinds=ALL_KINDS, numpy=True)
    f.add(mesh, prim("random_clone"), {}, keys, limit=16)
    f.add(mesh, prim("random_gamma"), {"log_space": True}, sample(keys, 6, "k"),
          types(mesh, (8,), kinds=ALL_KINDS, numpy=True, weak=True), limit=30)
    for shape in ((8,), (2, 4), ()):
      f.add(mesh, prim("iota_2x32_shape"), {"shape": shape}, cases=[()])
      f.add(mesh, prim("rng_uniform"), {"shape": shape},
            types(mesh, (), numpy=True, weak=True) + ["i32[]", "f32[8]"],
            types(mesh, (), numpy=True, weak=True)[:4] + ["f32<host>[]"], limit=20)
    outs = [None] + (specs(mesh, 2, kinds=ALL_KINDS)[:24] + [P("X"), P(None, None, None)]
                     if mesh else [])
    for out in outs:
      for dtype in ("u32", "u8"):
        f.add(mesh, prim("rng_bit_generator"),
              {"shape": (8, 4), "dtype": parse_dtype(dtype), "out_sharding": out,
               "algorithm": lax.RandomAlgorithm.RNG_DEFAULT},
              sample(types(mesh, (4,), "u32", kinds=ALL_KINDS, numpy=True, weak=True), 9,
                     "k"), limit=8 if dtype == "u32" else 2)


def _values(f):
  from jax._src.lax import lax as lax_internal
  for mesh in _MESHES:
    ops = types(mesh, (8, 4), kinds=ALL_KINDS, numpy=True, weak=True)
    f.add(mesh, prim("dce_sink"), {"prevent_mlir_dce": False}, ops, limit=6)
    f.add(mesh, prim("xla_metadata_value"), {"xla_metadata_kvs": ()}, ops, limit=12)
    f.add(mesh, prim("platform_index"), {"platforms": None}, cases=[()])
    f.add(mesh, prim("dimension_size"), {"dimension": 1}, ops, limit=6)
  del lax_internal


def record(f):
  _fft(f)
  _approx(f)
  _reduce(f)
  _reduce_window(f)
  _select_scatter(f)
  _ragged(f)
  _scaled(f)
  _dots(f)
  _random(f)
  _values(f)
