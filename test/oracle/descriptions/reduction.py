# reduction.py - reductions, cumulative primitives, sorting, top_k.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from agreement import form
from typetext import parse_dtype

_FORMS = [((8, 8), (0,)), ((8, 8), (1,)), ((8, 8), (0, 1)), ((8,), (0,)), ((), ()),
          ((8, 8), ()), ((1, 8), (0,)), ((1, 8), (1,)), ((6, 4), (1,)), ((3,), (0,)),
          ((0, 8), (0,)), ((8, 4, 2), (1,)), ((8, 4, 2), (0, 2)),
          ((4, 2, 2, 3), (0, 3)), ((4, 2, 2, 3), (1,)), ((8, 8), (2,))]
_ALONG = [((8, 8), 0), ((8, 8), 1), ((8,), 0), ((1, 8), 0), ((1, 8), 1), ((6, 4), 0),
          ((3,), 0), ((0, 8), 0), ((8, 4, 2), 1), ((4, 2, 2, 3), 2), ((8, 8), 2)]


def describe():
  table = {}
  share = lambda i: 0.6 if i < 4 else 0.25
  for name in ("reduce_sum", "reduce_max", "reduce_min"):
    table[name] = [form({"axes": a}, s, out=("out_sharding", max(0, len(s) - len(a))),
                        share=share(i)) for i, (s, a) in enumerate(_FORMS)]
  for name in ("reduce_prod", "reduce_and", "reduce_or", "reduce_xor"):
    table[name] = [form({"axes": a}, s, share=share(i),
                        dtype="f32" if name == "reduce_prod" else "bool")
                   for i, (s, a) in enumerate(_FORMS)]
  for name in ("argmax", "argmin"):
    table[name] = [form({"axes": (a,), "index_dtype": parse_dtype("i32")}, s,
                        share=share(i)) for i, (s, a) in enumerate(_ALONG)]
  for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
    table[name] = [form({"axis": a, "reverse": False}, s, share=share(i))
                   for i, (s, a) in enumerate(_ALONG)]
  table["sort"] = [
      form({"dimension": a, "is_stable": True, "num_keys": 1}, *[s] * n,
           share=share(i) / n ** 2) for n in (1, 2, 3) for i, (s, a) in enumerate(_ALONG)]
  table["top_k"] = [
      form({"k": min(k, s[a] if a < len(s) else k), "axis": a, "is_stable": True}, s,
           share=share(i)) for k in (2, 8) for i, (s, a) in enumerate(_ALONG)]
  return table
