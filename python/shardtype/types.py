# types.py - meshes, partition specs and types in the exchange format.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Interned tables of meshes and types (spec 04 sections 1.4 to 1.6 and 6.2)."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np

from shardtype import compat
from shardtype.recording import PLACEHOLDER, tag_of
from shardtype.sources import mask_addresses

JsonObject = dict[str, Any]


def dtype_name(dtype: Any) -> str:
    """Name of a dtype: NumPy's, `key<fry>` and the like, or `float0`."""
    if isinstance(dtype, np.dtype) and dtype.kind == "V" and dtype.itemsize == 0:
        return "float0"
    return str(dtype.name)


def is_extended(dtype: Any) -> bool:
    """Whether elements of `dtype` are made of others (key types)."""
    return not isinstance(dtype, np.dtype) and hasattr(dtype, "_rules")


def axis_name(name: Any) -> Any:
    """A mesh axis name: a string, or the text of any other hashable value."""
    return name if isinstance(name, str) else {"repr": mask_addresses(repr(name))}


def dim(size: Any) -> Any:
    """A size of a shape: a number or a symbolic dimension."""
    try:
        return int(size)
    except Exception:  # JAX raises its own error for a symbolic dimension.
        return {"sym": str(size)}


class TypeTable:
    """Meshes and types seen so far, each once, in order of first use."""

    def __init__(self, warnings: Counter[str]) -> None:
        self.meshes: list[JsonObject] = []
        self.types: list[JsonObject] = []
        self._warnings = warnings
        self._mesh_by_text: dict[str, int] = {}
        self._type_by_text: dict[str, int] = {}
        # By object, to skip building the JSON; the objects are kept alive.
        self._mesh_by_id: dict[int, tuple[Any, int]] = {}
        self._type_by_id: dict[int, tuple[Any, int]] = {}

    # Meshes and specs.

    def mesh(self, mesh: Any) -> int:
        """Index of an AbstractMesh or a Mesh."""
        known = self._mesh_by_id.get(id(mesh))
        if known is not None:
            return known[1]
        obj = self._mesh_object(mesh)
        text = json.dumps(obj)
        index = self._mesh_by_text.get(text)
        if index is None:
            index = self._mesh_by_text[text] = len(self.meshes)
            self.meshes.append(obj)
        self._mesh_by_id[id(mesh)] = (mesh, index)
        return index

    def _mesh_object(self, mesh: Any) -> JsonObject:
        if tag_of(mesh) is not None:
            return _recording_mesh(mesh)
        names = tuple(mesh.axis_names)
        sizes = tuple(mesh.shape[n] for n in names)
        kinds = getattr(mesh, "axis_types", None) or ()
        axes = [
            {
                "name": axis_name(n),
                "size": int(s),
                "type": kinds[i].name if i < len(kinds) else "Auto",
            }
            for i, (n, s) in enumerate(zip(names, sizes, strict=True))
        ]
        concrete = type(mesh).__name__ != "AbstractMesh"
        devices = None
        if concrete and names:  # The empty mesh holds no device at all.
            ids = [int(d.id) for d in mesh.devices.flat]
            devices = {"shape": [int(n) for n in mesh.devices.shape], "ids": ids}
        # A concrete mesh has its devices; only an abstract one may have a kind.
        device = None if concrete else getattr(mesh, "abstract_device", None)
        if device is not None:
            device = {
                "kind": getattr(device, "device_kind", None),
                "num_cores": getattr(device, "num_cores", None),
                "platform": getattr(device, "platform", None),
            }
        return {
            "kind": "concrete" if concrete else "abstract",
            "axes": axes,
            "device": device,
            "devices": devices,
        }

    def spec(self, spec: Any, mesh: Any = None) -> JsonObject:
        """A PartitionSpec; its sets are sorted in the order of `mesh`."""
        # A spec with U or R must not be iterated; `partitions` always can be.
        parts = compat.partitions(spec)
        tag = tag_of(mesh)
        inherit = tag.inherit if tag is not None else ()
        kind = getattr(spec, "unreduced_kind", None)
        unreduced = getattr(spec, "unreduced", None) or ()
        name: str | None
        if kind is None and unreduced:
            name = "sum"  # The only kind that releases without kinds have.
        else:
            name = kind if kind is None or isinstance(kind, str) else kind.name.lower()
        return {
            "p": ["inherit" if i in inherit else self._entry(e) for i, e in enumerate(parts)],
            "u": self._axis_set(unreduced, mesh),
            "r": self._axis_set(getattr(spec, "reduced", None) or (), mesh),
            "k": name,
        }

    @staticmethod
    def _entry(entry: Any) -> Any:
        if entry is None:
            return None
        if type(entry).__name__ == "UnconstrainedSingleton":
            return "unconstrained"
        if isinstance(entry, tuple):
            return [axis_name(n) for n in entry]
        return [axis_name(entry)]

    @staticmethod
    def _axis_set(names: Any, mesh: Any) -> list[Any]:
        order = {n: i for i, n in enumerate(getattr(mesh, "axis_names", ()))}
        ranked = sorted(names, key=lambda n: (order.get(n, len(order)), str(n)))
        return [axis_name(n) for n in ranked]

    # Types.

    def type(self, aval: Any) -> int:
        """Index of a type."""
        known = self._type_by_id.get(id(aval))
        if known is not None:
            return known[1]
        obj = self._type_object(aval)
        text = json.dumps(obj)
        index = self._type_by_text.get(text)
        if index is None:
            index = self._type_by_text[text] = len(self.types)
            self.types.append(obj)
        self._type_by_id[id(aval)] = (aval, index)
        return index

    def _type_object(self, aval: Any) -> JsonObject:
        name = type(aval).__name__
        if name == "ShapedArray":
            return self._array(aval)
        if name == "AbstractToken":
            return {"t": "token"}
        if name == "AbstractRef":
            return self._ref(aval)
        if name == "AbstractFuture":
            return {"t": "future", "inner": self.type(aval.inner_aval)}
        self._warnings[f"opaque type {type(aval).__module__}.{name}"] += 1
        out = {
            "t": "opaque",
            "class": f"{type(aval).__module__}.{name}",
            "repr": mask_addresses(repr(aval)),
        }
        try:
            out["short"] = mask_addresses(aval.str_short(short_dtypes=True))
        except Exception:  # A class of some library; its print is optional.
            self._warnings[f"no short print of {name}"] += 1
        return out

    def _ref(self, aval: Any) -> JsonObject:
        out: JsonObject = {"t": "ref", "inner": self.type(aval.inner_aval)}
        if getattr(aval, "memory_space", None) is not None:
            out["mem"] = self._memory(aval.memory_space)
        if getattr(aval, "kind", None) is not None:
            out["kind"] = mask_addresses(str(aval.kind))
        return out

    def _array(self, aval: Any) -> JsonObject:
        out: JsonObject = {
            "t": "array",
            "shape": [dim(n) for n in aval.shape],
            "dtype": dtype_name(aval.dtype),
        }
        if is_extended(aval.dtype):
            self._add_physical(out, aval.dtype)
        if getattr(aval, "weak_type", False):
            out["weak"] = True
        sharding = getattr(aval, "sharding", None)
        mesh = getattr(sharding, "mesh", None)
        if not compat.is_empty_mesh(mesh):
            out["mesh"] = self.mesh(mesh)
        spec = getattr(sharding, "spec", None)
        if spec is not None:
            obj = self.spec(spec, mesh)
            if any(obj["p"]) or obj["u"] or obj["r"]:
                out["spec"] = obj
        mat = self._manual(aval, mesh)
        if mat is not None:
            out["mat"] = mat
        space = getattr(aval, "memory_space", None)
        if space is not None and self._memory(space) != "device":
            out["mem"] = self._memory(space)
        layout = getattr(aval, "layout", None)
        if layout is not None and str(layout) != "AutoLayout":
            out["layout"] = mask_addresses(str(layout))
        return out

    def closed_over(self, aval: Any, mesh: Any, sharding: Any) -> int:
        """Index of the type of a closed-over array: its own spec on `mesh`."""
        obj = dict(self.types[self.type(aval)])
        obj["mesh"] = self.mesh(mesh)
        obj["spec"] = self.spec(sharding.spec, sharding.mesh)
        obj["spec"]["p"] += [None] * (len(aval.shape) - len(obj["spec"]["p"]))
        text = json.dumps(obj)
        index = self._type_by_text.setdefault(text, len(self.types))
        if index == len(self.types):
            self.types.append(obj)
        return index

    def _add_physical(self, out: JsonObject, dtype: Any) -> None:
        try:
            element = dtype._rules.physical_element_aval(dtype)
        except Exception:  # Private; without it only the name is known.
            self._warnings[f"no physical type of {dtype_name(dtype)}"] += 1
            return
        out["phys"] = {
            "shape": [dim(n) for n in element.shape],
            "dtype": dtype_name(element.dtype),
        }

    def _manual(self, aval: Any, mesh: Any) -> JsonObject | None:
        mat = getattr(aval, "manual_axis_type", None)
        if mat is None:  # Releases before manual axis types: varying only.
            varying, unreduced, reduced, kind = getattr(aval, "vma", None) or (), (), (), None
        else:
            varying, unreduced, reduced = mat.varying, mat.unreduced, mat.reduced
            kind = getattr(mat, "unreduced_kind", None)
        if not (varying or unreduced or reduced):
            return None
        if kind is None:
            name = "sum" if unreduced else None
        else:
            name = kind if isinstance(kind, str) else kind.name.lower()
        return {
            "v": self._axis_set(varying, mesh),
            "u": self._axis_set(unreduced, mesh),
            "r": self._axis_set(reduced, mesh),
            "k": name,
        }

    @staticmethod
    def _memory(space: Any) -> str:
        name = getattr(space, "name", None)
        return name.lower() if isinstance(name, str) else mask_addresses(str(space))


def _recording_mesh(mesh: Any) -> JsonObject:
    """A mesh relative to the program's (spec 08 section 3): the conversions, and
    the kinds they give if every axis of the program's mesh is Explicit."""
    tag = tag_of(mesh)
    assert tag is not None
    names = [n for n in mesh.axis_names if n != PLACEHOLDER]
    manual = {n for n, k in zip(mesh.axis_names, mesh.axis_types) if k.name == "Manual"}
    kinds = dict.fromkeys(names, "Explicit")
    for kind, which in tag.rel:
        for name in names:
            if which == "all" or (which is None and kinds[name] == "Explicit") or (
                isinstance(which, tuple) and name in which
            ):
                kinds[name] = kind
    axes = [
        {
            "name": axis_name(n),
            "size": int(mesh.shape[n]),
            "type": "Manual" if n in manual else kinds[n],
        }
        for n in names
    ]
    rel = [
        [kind, [axis_name(n) for n in which] if isinstance(which, tuple) else which]
        for kind, which in tag.rel
    ]
    return {"kind": "abstract", "axes": axes, "device": None, "devices": None, "rel": rel}
