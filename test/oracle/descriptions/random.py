# random.py - keys, and the hashes of their data.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

from jax._src.random import prng, threefry2x32

from agreement import form

_IMPLS = {"fry": threefry2x32.threefry_prng_impl, "rbg": prng.prngs["rbg"]}
_SHAPES = ((8, 8), (8,), (), (1, 8), (6, 4), (0,), (8, 4, 2), (4, 2, 2, 3))


def describe():
  table = {}
  each = [(tag, impl) for tag, impl in _IMPLS.items()]
  table["random_seed"] = [form({"impl": impl}, s, dtype="i32", share=0.3)
                          for _, impl in each for s in _SHAPES]
  table["random_wrap"] = [form({"impl": impl}, s, dtype="u32", share=0.3)
                          for tag, impl in each for s in (
                              (2,), (4,), (8, 2), (8, 4), (4, 2, 2), (4, 2, 4),
                              (2, 2, 2, 2), (3, 2))]
  table["random_unwrap"] = [form({}, s, dtype=f"key<{tag}>", share=0.3)
                            for tag, _ in each for s in _SHAPES]
  table["random_clone"] = table["random_unwrap"]
  table["random_split"] = [form({"shape": n}, s, dtype=f"key<{tag}>", share=0.2)
                           for tag, _ in each for s in _SHAPES[:6]
                           for n in ((4,), (2, 3))]
  table["random_bits"] = [form({"bit_width": w, "shape": n}, s, dtype="key<fry>",
                               share=0.2)
                          for s in _SHAPES[:6] for w, n in ((32, (4,)), (8, (2, 3)),
                                                            (32, ()))]
  pairs = [((8, 8), (8, 8)), ((8,), (8,)), ((), ()), ((8,), ()), ((), (8, 8)),
           ((8, 1), (8, 4)), ((6, 4), (6, 4)), ((8, 4, 2), (8, 4, 2))]
  table["random_fold_in"] = [form({}, (a, "key<fry>"), (b, "u32"), share=0.3)
                             for a, b in pairs]
  for name, count in (("threefry2x32", 4), ("threefry4x32", 8), ("philox2x32", 3),
                      ("philox4x32", 6)):
    rows = [[(8, 8)] * count, [(8,)] * count, [()] * count,
            [()] * (count // 2) + [(8, 8)] * (count - count // 2),
            [(1, 8)] + [(8, 8)] * (count - 1), [(8, 4, 2)] * count,
            [(4, 2, 2, 3)] * count]
    table[name] = [form({}, *row, dtype="u32", share=0.08) for row in rows]
  return table
