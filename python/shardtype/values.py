# values.py - parameter values as self-describing JSON.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every Python value that JAX puts into an equation (spec 04 sections 3, 6.2)."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import struct
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from shardtype import compat
from shardtype.arrays import ArrayTable
from shardtype.recording import tag_of
from shardtype.sources import SourceTable
from shardtype.types import JsonObject, TypeTable, axis_name, dtype_name, is_extended

# Deeper values are written as opaque; nothing JAX makes comes near.
MAX_DEPTH = 64
_EXACT_INT = 1 << 53


def _class_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _base_names(value: Any) -> set[str]:
    return {c.__name__ for c in type(value).__mro__}


def float_value(value: float) -> JsonObject:
    """A Python float: its text, and its bits as the authority."""
    return {"float": repr(value), "bits": struct.pack(">d", value).hex()}


def int_value(value: int) -> Any:
    """A Python int; large ones as text, for readers that use doubles."""
    return value if abs(value) < _EXACT_INT else {"int": str(value)}


class ValueEncoder:
    """Turns parameter values into JSON, sharing tables with the program."""

    def __init__(
        self,
        types: TypeTable,
        arrays: ArrayTable,
        sources: SourceTable,
        jaxpr_ref: Callable[[Any], int],
        warnings: Counter[str],
        recording: bool = False,
    ) -> None:
        self.recording = recording
        self.annotations = 0  # Shardings that the user wrote.
        self.opaques: list[JsonObject] = []
        self._types = types
        self._arrays = arrays
        self._sources = sources
        self._jaxpr_ref = jaxpr_ref
        self._warnings = warnings
        self._opaque_by_id: dict[int, tuple[Any, int]] = {}
        self._opaque_by_value: dict[Any, int] = {}

    def encode(self, value: Any, depth: int = 0) -> Any:
        """JSON of any value; what is not understood becomes an opaque."""
        if value is None or isinstance(value, (bool, str)):
            return self._enum(value) if isinstance(value, enum.Enum) else value
        if depth > MAX_DEPTH:
            return {"opaque": self.opaque(value)}
        for step in (self._number, self._jax, self._container, self._other):
            out = step(value, depth)
            if out is not None:
                return out
        # A primitive prints as its name, so nothing is lost.
        if type(value).__name__ != "Primitive":
            self._warnings[f"opaque {_class_name(value)}"] += 1
        return {"opaque": self.opaque(value)}

    # Each of the following answers None when the value is not of its kind.

    def _number(self, value: Any, depth: int) -> Any:
        if isinstance(value, enum.Enum):
            return self._enum(value)
        if isinstance(value, int):
            return int_value(value)
        if isinstance(value, float):
            return float_value(value)
        if isinstance(value, complex):
            return {"complex": [float_value(value.real), float_value(value.imag)]}
        if isinstance(value, np.generic):
            item = value.item()
            if isinstance(item, (bool, int, float, complex)):
                return self.encode(item, depth + 1)
        return None

    def _enum(self, value: enum.Enum) -> JsonObject:
        raw = value.value
        plain = raw is None or isinstance(raw, (bool, int, float, str))
        return {
            "enum": type(value).__name__,
            "name": value.name,
            "value": raw if plain else str(raw),
        }

    def _jax(self, value: Any, depth: int) -> Any:
        name = type(value).__name__
        bases = _base_names(value)
        if isinstance(value, np.dtype) or is_extended(value):
            return {"dtype": dtype_name(value)}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"dtype": np.dtype(value).name}
        if type(value).__name__ == "_ScalarMeta":  # jnp.float32 and the like.
            return {"dtype": dtype_name(value.dtype)}
        if compat.is_jaxpr(value):
            return {"jaxpr": self._jaxpr_ref(value)}
        if compat.is_spec(value):
            return {"spec": self._types.spec(value)}
        if name == "UnspecifiedValue":
            return {"unspecified": True}
        if "NamedSharding" in bases:
            return {"sharding": self._named_sharding(value)}
        if "Sharding" in bases:
            return {"sharding": {"opaque": self.opaque(value)}}
        if name in ("Mesh", "AbstractMesh"):
            return {"mesh": self._types.mesh(value)}
        if name == "PRNGImpl":
            shape = [int(n) for n in value.key_shape]
            return {"prng": value.tag, "name": value.name, "key_shape": shape}
        if "HiPrim" in bases and not isinstance(value, type):
            return {"hiprim": self._hi_primitive(value, depth)}
        if "FlatTree" in bases:
            return {"flattree": {"counts": flat_counts(value), "repr": self._text(value)}}
        if name == "PyTreeDef":
            return {"treedef": self._text(value), "leaves": value.num_leaves}
        if name == "_DimExpr":
            return {"sym": str(value)}
        if "AbstractValue" in bases:
            return {"type": self._types.type(value)}
        return None

    def _named_sharding(self, value: Any) -> JsonObject:
        out: JsonObject = {
            "mesh": self._types.mesh(value.mesh),
            "spec": self._types.spec(value.spec, value.mesh),
            "memory_kind": getattr(value, "memory_kind", None),
        }
        if self.recording:
            tag = tag_of(value.mesh)
            out["by"] = "user" if tag is not None and tag.by == "user" else "jax"
            self.annotations += out["by"] == "user"
        devices = getattr(value, "_logical_device_ids", None)
        if devices is not None:
            out["logical_device_ids"] = [int(d) for d in devices]
        return out

    def _hi_primitive(self, value: Any, depth: int) -> JsonObject:
        try:
            params = dict(value.pp_params())
        except Exception:  # A user's class may not know how to print itself.
            self._warnings[f"no printable params of {type(value).__name__}"] += 1
            params = {}
        return {
            "name": type(value).__name__,
            "params": [[k, self.encode(v, depth + 1)] for k, v in params.items()],
            "in": [self._types.type(a) for a in getattr(value, "in_avals_flat", ())],
            "out": [self._types.type(a) for a in getattr(value, "out_avals_flat", ())],
            "opaque": self.opaque(value),
        }

    def _container(self, value: Any, depth: int) -> Any:
        def inner(v: Any) -> Any:
            return self.encode(v, depth + 1)

        if isinstance(value, tuple):
            if hasattr(value, "_fields"):
                fields = {f: inner(getattr(value, f)) for f in value._fields}
                return {"struct": type(value).__name__, "fields": fields}
            return [inner(v) for v in value]
        if isinstance(value, list):
            return {"list": [inner(v) for v in value]}
        if isinstance(value, (set, frozenset)):
            items = [axis_name(v) if isinstance(v, str) else inner(v) for v in value]
            return {"set": sorted(items, key=lambda v: (str(type(v)), json.dumps(v)))}
        if isinstance(value, dict):
            return {"dict": [[inner(k), inner(v)] for k, v in value.items()]}
        return None

    def _other(self, value: Any, depth: int) -> Any:
        # An exported program is a dataclass too, but its insides are bytes.
        is_data = dataclasses.is_dataclass(value) and not isinstance(value, type)
        is_function = callable(value) or hasattr(value, "debug_info")
        if is_data and not is_function and type(value).__name__ != "Exported":
            fields = {
                f.name: self.encode(getattr(value, f.name, None), depth + 1)
                for f in dataclasses.fields(value)
            }
            return {"struct": type(value).__name__, "fields": fields}
        if self._is_array(value):
            index = self._arrays.add(value)
            return None if index is None else {"array": index}
        if is_function:
            return {"callable": self._callable(value), "opaque": self.opaque(value)}
        return None

    @staticmethod
    def _is_array(value: Any) -> bool:
        if isinstance(value, np.ndarray):
            return True
        jax = compat.require_jax()
        if isinstance(value, jax.core.Tracer):
            return False
        return isinstance(value, jax.Array) or type(value).__name__ == "TypedNdArray"

    def _callable(self, value: Any) -> JsonObject:
        debug = getattr(value, "debug_info", None)
        name = getattr(debug, "func_name", None) or getattr(value, "__name__", None)
        if name is None and isinstance(value, functools.partial):
            name = getattr(value.func, "__name__", None)
        out = {
            "name": name or type(value).__name__,
            "qualname": getattr(value, "__qualname__", None),
            "module": getattr(value, "__module__", None),
        }
        frame = self._sources.of_function(value)
        if frame is not None:
            out["src"] = frame
        return out

    def _text(self, value: Any) -> str:
        return self._sources.scrub(str(value))

    def opaque(self, value: Any) -> int:
        """Index of an object we only know by its print; equal ones share it."""
        known = self._opaque_by_id.get(id(value))
        if known is not None:
            return known[1]
        index = self._equal_opaque(value)
        if index is None:
            index = len(self.opaques)
            out: JsonObject = {"class": _class_name(value), "repr": self._repr(value, repr)}
            text = self._repr(value, str)
            if text != out["repr"]:
                out["str"] = text
            self.opaques.append(out)
        self._opaque_by_id[id(value)] = (value, index)
        return index

    def _equal_opaque(self, value: Any) -> int | None:
        try:
            index = self._opaque_by_value.setdefault((type(value), value), len(self.opaques))
        except Exception:  # Not hashable, or an __eq__ that fails.
            return None
        return index if index < len(self.opaques) else None

    def _repr(self, value: Any, how: Callable[[Any], str]) -> str:
        try:
            return self._sources.scrub(how(value))
        except Exception as e:  # The print of a foreign object may fail.
            self._warnings[f"{_class_name(value)} cannot be printed"] += 1
            return f"<{_class_name(value)}: {type(e).__name__} in {how.__name__}>"


def flat_counts(tree: Any) -> list[Any]:
    """Leaf counts of the components of a FlatTree, one level deep."""
    try:
        return [len(c) for c in tree.unpack()]
    except Exception:  # Not a tuple: a single component.
        return [len(tree)]
