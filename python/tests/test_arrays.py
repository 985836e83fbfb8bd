# test_arrays.py - constants and literals, bit for bit.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values come from tables of the number formats, not from our own output."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections import Counter

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import shardtype
from shardtype.arrays import MAX_INLINE_BYTES, ArrayTable, scalar

X = jax.ShapeDtypeStruct((), jnp.float32)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (1.0, np.float32, {"bits": "3f800000", "repr": "1.0"}),
        (-2.0, np.float64, {"bits": "c000000000000000", "repr": "-2.0"}),
        (0.1, np.float32, {"bits": "3dcccccd", "repr": "0.1"}),
        (np.float32(0.1), np.float32, {"bits": "3dcccccd", "repr": "0.10000000149011612"}),
        (-0.0, np.float16, {"bits": "8000", "repr": "-0.0"}),
        (1.0, ml_dtypes.bfloat16, {"bits": "3f80", "repr": "1.0"}),
        (1.0, ml_dtypes.float8_e4m3fn, {"bits": "38", "repr": "1.0"}),
        (float("inf"), np.float32, {"bits": "7f800000", "repr": "inf"}),
        (float("nan"), np.float32, {"bits": "7fc00000", "repr": "nan"}),
        (-1e30, np.float32, {"bits": "f149f2ca", "repr": "-1e+30"}),
        (1 + 2j, np.complex64, {"bits": "400000003f800000", "repr": "(1+2j)"}),
        (2, np.float32, {"bits": "40000000", "repr": "2"}),
        (-128, np.int8, {"int": "-128"}),
        (2**64 - 1, np.uint64, {"int": "18446744073709551615"}),
        (-8, ml_dtypes.int4, {"int": "-8"}),
        (True, np.bool_, {"bool": True}),
        (False, jax.dtypes.float0, {"float0": True}),
    ],
)
def test_scalars(value, dtype, expected):
    assert scalar(value, np.dtype(dtype)) == expected


def constants(fn, **options):
    data = shardtype.export(fn, X, **options).data
    top = data["jaxprs"][0]
    return [data["arrays"][i] for i in top.get("consts", [])], data


def test_limit_of_constants():
    edge = jnp.arange(MAX_INLINE_BYTES // 4, dtype=jnp.float32)
    over = jnp.arange(MAX_INLINE_BYTES // 4 + 1, dtype=jnp.float32)
    [inside], _ = constants(lambda x: edge * x)
    assert base64.b64decode(inside["b64"]) == struct.pack("<256f", *range(256))
    [outside], _ = constants(lambda x: over * x)
    raw = struct.pack("<257f", *range(257))
    assert outside == {
        "shape": [257], "dtype": "float32", "omitted": True,
        "hash": "sha256:" + hashlib.sha256(raw).hexdigest(),
    }  # fmt: skip
    [written], _ = constants(lambda x: over * x, include_constants=True)
    assert base64.b64decode(written["b64"]) == raw and "omitted" not in written


def test_equal_elements_are_noted():
    same = jnp.full((20, 20), 2.5, jnp.bfloat16)
    for value, splat in (
        (jnp.full((400,), 2.5, jnp.bfloat16), {"bits": "4020", "repr": "2.5"}),
        (jnp.full((2000,), True), {"bool": True}),
        (jnp.full((2000,), 7, jnp.int8), {"int": "7"}),
        # Equal as numbers, not as bits.
        (jnp.zeros((999,)).at[3].set(-0.0), None),
    ):
        table = ArrayTable(False, Counter())
        table.add(same)
        table.add(value)
        table.add(value)
        assert len(table.arrays) == 2
        array = table.arrays[1]
        if value.nbytes > MAX_INLINE_BYTES:
            assert array.get("splat") == splat
        else:
            assert "b64" in array


def test_keys_store_their_data():
    key = jax.random.key(7)
    [array], data = constants(lambda x: jax.random.uniform(key) * x)
    assert array["dtype"] == "key<fry>" and array["shape"] == []
    assert base64.b64decode(array["b64"]) == struct.pack("<2I", 0, 7)
    [t] = [t for t in data["types"] if t.get("dtype") == "key<fry>"]
    assert t["phys"] == {"shape": [2], "dtype": "uint32"}


def test_a_constant_without_a_value():
    warnings: Counter[str] = Counter()
    table = ArrayTable(False, warnings)
    assert table.add(object()) is None and table.arrays == []
    assert list(warnings) == ["constant of object without a value"]


def test_symbolic_dimensions():
    from jax import export as jax_export

    b, n = jax_export.symbolic_shape("b, n")
    x = jax.ShapeDtypeStruct((b, 2 * n), jnp.float32)
    data = shardtype.export(lambda x: jnp.concatenate([x, x], 1).reshape(-1), x).data
    shapes = [t["shape"] for t in data["types"]]
    assert shapes[0] == [{"sym": "b"}, {"sym": "2*n"}]
    assert [{"sym": "4*b*n"}] in shapes
    [reshape] = [e for e in data["jaxprs"][0]["eqns"] if e["p"] == "reshape"]
    assert reshape["params"]["new_sizes"] == [{"sym": "4*b*n"}]
