# arrays.py - constants and literal values, bit for bit.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays and scalars of the exchange format (spec 04 section 6.2)."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from typing import Any

import numpy as np

from shardtype import compat
from shardtype.types import JsonObject, dtype_name, is_extended

# A constant up to this size is always written.
MAX_INLINE_BYTES = 1024


def _bits(value: np.ndarray[Any, Any]) -> str:
    """Bit pattern of one element as a hexadecimal number, fixed width."""
    raw = value.astype(value.dtype.newbyteorder("<"), copy=False).tobytes()
    return raw[::-1].hex()


def scalar(value: Any, dtype: Any = None) -> JsonObject:
    """One element as JSON.

    `value` is a Python or NumPy scalar, or an array of shape (). `dtype` is the
    type it is read as (its own if None). The text keeps the digits of a Python
    double behind a weak literal, the bits are those of the rounded value.
    """
    array = np.asarray(value)
    target = array.dtype if dtype is None else dtype
    if dtype_name(target) == "float0":
        return {"float0": True}
    if target == np.bool_:
        return {"bool": bool(array)}
    cast = array.astype(target)
    item = cast.item()
    if isinstance(item, int):
        return {"int": str(item)}
    if isinstance(item, bool):
        return {"bool": item}
    if not isinstance(item, (float, complex)):
        # int4 and int2 have no Python item of their own in some releases.
        kind = getattr(target, "name", "")
        if kind.startswith(("int", "uint")):
            return {"int": str(int(cast))}
        item = float(cast)
    text = str(array.item()) if array.dtype.kind != "V" else str(item)
    return {"bits": _bits(cast), "repr": text}


class ArrayTable:
    """Constants of the program and array parameters, each object once."""

    def __init__(self, include_constants: bool, warnings: Counter[str]) -> None:
        self.arrays: list[JsonObject] = []
        self._include = include_constants
        self._warnings = warnings
        self._by_id: dict[int, tuple[Any, int]] = {}

    def add(self, value: Any) -> int | None:
        """Index of an array; None, with a warning, if it has no value to write."""
        known = self._by_id.get(id(value))
        if known is not None:
            return known[1]
        data = self._data(value)
        if data is None:
            self._warnings[f"constant of {type(value).__name__} without a value"] += 1
            return None
        index = len(self.arrays)
        self.arrays.append(self._object(data, value))
        self._by_id[id(value)] = (value, index)
        return index

    @staticmethod
    def _data(value: Any) -> np.ndarray[Any, Any] | None:
        if type(value).__name__ in ("Ref", "MutableArray", "ArrayRef", "AbstractRef"):
            return None
        dtype = getattr(value, "dtype", None)
        if dtype is not None and is_extended(dtype):
            if not dtype_name(dtype).startswith("key<"):
                return None
            return np.asarray(compat.require_jax().random.key_data(value))
        try:
            data = np.asarray(value)
        except Exception:  # A tracer or an array that lives on other hosts.
            return None
        return None if data.dtype == object else data

    def _object(self, data: np.ndarray[Any, Any], value: Any) -> JsonObject:
        dtype = getattr(value, "dtype", data.dtype)
        name = dtype_name(dtype)
        shape = [int(n) for n in getattr(value, "shape", data.shape)]
        out: JsonObject = {"shape": shape, "dtype": name}
        if name == "float0":
            raw = b""
        else:
            flat = np.ascontiguousarray(data)
            raw = flat.astype(flat.dtype.newbyteorder("<"), copy=False).tobytes()
        if self._include or len(raw) <= MAX_INLINE_BYTES:
            out["b64"] = base64.b64encode(raw).decode("ascii")
            return out
        out["omitted"] = True
        out["hash"] = "sha256:" + hashlib.sha256(raw).hexdigest()
        width = data.dtype.itemsize
        if not is_extended(dtype) and raw == raw[:width] * (len(raw) // width):
            out["splat"] = scalar(data.reshape(-1)[0])
        return out
