# compare.py - walks a file and the live jaxpr side by side.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Does the file say what the live jaxpr says?

Reads both independently of the exporter: types are compared as JAX prints them
(`str_short`), operands by who bound them, parameters by rebuilding the Python
value and comparing with `==`.
"""

from __future__ import annotations

import base64
import enum
import struct
from typing import Any

import jax
import numpy as np
from jax.sharding import PartitionSpec as P

SHORT = {
    "float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c",
}  # fmt: skip


def inner(jaxpr: Any) -> Any:
    """The object with equations."""
    return getattr(jaxpr, "jaxpr", None) or jaxpr


def short_dtype(name: str) -> str:
    if name == "float0":
        return name
    if name.startswith("float8") or name.startswith("float4"):
        return "f" + name[5:]
    head = name.rstrip("0123456789")
    return SHORT[head] + name[len(head) :] if head in SHORT else name


def type_text(data: dict[str, Any], index: int) -> str:
    """A type as JAX prints it in a binder."""
    t = data["types"][index]
    if t["t"] == "ref":
        return f"Ref{{{type_text(data, t['inner'])}}}"
    if t["t"] == "token":
        return "Tok"
    if t["t"] != "array":
        return t["short"]
    spec = t.get("spec", {"p": [None] * len(t["shape"]), "u": [], "r": []})
    dims = []
    for n, e in zip(t["shape"], spec["p"], strict=True):
        n = n if isinstance(n, int) else n["sym"]
        names = "" if not e else "@" + (e[0] if len(e) == 1 else f"({','.join(e)})")
        dims.append(f"{n}{names}")
    mat = t.get("mat", {"v": [], "u": [], "r": []})
    sets = []
    for letter, names in (
        ("V", mat["v"]),
        ("U", spec["u"] + mat["u"]),
        ("R", spec["r"] + mat["r"]),
    ):
        if names:
            sets.append(f"{letter}:{names[0] if len(names) == 1 else '(' + ','.join(names) + ')'}")
    memory = f"<{t['mem']}>" if "mem" in t else ""
    text = f"{short_dtype(t['dtype'])}{memory}[{','.join(dims)}]"
    return text + ("{" + ", ".join(sets) + "}" if sets else "")


class Walk:
    """One comparison; `check` raises AssertionError with the place."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.pairs: dict[int, Any] = {}  # Index in the file -> live jaxpr.
        self.equations = 0

    def jaxpr(self, index: int, live: Any) -> None:
        live_inner = inner(live)
        if index in self.pairs:
            # Sharing in the file must be sharing in JAX.
            assert self.pairs[index] is live_inner, f"jaxpr {index} stands for two"
            return
        assert all(other is not live_inner for other in self.pairs.values()), (
            f"jaxpr {index} was shared in JAX and is not in the file"
        )
        self.pairs[index] = live_inner
        j = self.data["jaxprs"][index]
        env: dict[Any, int] = {}
        self.binders(j["constvars"], live_inner.constvars, env)
        self.binders(j["invars"], live_inner.invars, env)
        assert len(j["eqns"]) == len(live_inner.eqns)
        for e, live_eqn in zip(j["eqns"], live_inner.eqns, strict=True):
            self.equations += 1
            self.eqn(e, live_eqn, env)
            self.context(e, j, live_eqn)
        self.atoms(j["outs"], live_inner.outvars, env)
        assert len(j["effects"]) == len(live_inner.effects)
        # An open jaxpr (before 0.11) has no constants of its own.
        consts = getattr(live, "consts", None) or [None] * len(j["constvars"])
        for a, c in zip(j.get("consts", []), list(consts), strict=True):
            if a is not None:
                self.array(self.data["arrays"][a], c)

    def binders(self, ours: Any, theirs: Any, env: dict[Any, int]) -> None:
        assert len(ours) == len(theirs)
        for (i, t), v in zip(ours, theirs, strict=True):
            assert (i is None) == (type(v).__name__ == "DropVar")
            self.type(t, v.aval)
            if i is not None:
                env[v] = i

    def atoms(self, ours: Any, theirs: Any, env: dict[Any, int]) -> None:
        assert len(ours) == len(theirs)
        for a, v in zip(ours, theirs, strict=True):
            if isinstance(a, int):
                assert env[v] == a
            else:
                self.type(a["t"], v.aval)
                self.literal(a, v)

    def type(self, index: int, aval: Any) -> None:
        assert type_text(self.data, index) == aval.str_short(short_dtypes=True)
        t = self.data["types"][index]
        if t["t"] == "array":
            assert t.get("weak", False) == aval.weak_type
            mesh = aval.sharding.mesh
            assert ("mesh" in t) == (not mesh.empty)
            if "mesh" in t:
                self.mesh(t["mesh"], mesh)

    def mesh(self, index: int, mesh: Any) -> None:
        m = self.data["meshes"][index]
        assert [a["name"] for a in m["axes"]] == list(mesh.axis_names)
        assert [a["size"] for a in m["axes"]] == [mesh.shape[n] for n in mesh.axis_names]
        assert [a["type"] for a in m["axes"]] == [k.name for k in mesh.axis_types]

    def literal(self, atom: Any, live: Any) -> None:
        s, dtype = atom["lit"], live.aval.dtype
        value = np.asarray(live.val)
        if "array" in s:
            self.array(self.data["arrays"][s["array"]], live.val)
        elif "bool" in s:
            assert s["bool"] == bool(value)
        elif "int" in s:
            assert int(s["int"]) == int(value)
        elif "bits" in s:
            raw = bytes.fromhex(s["bits"])[::-1]
            assert raw == value.astype(dtype).tobytes()
            # JAX prints the literal as str of the value, then a colon.
            assert str(live).startswith(s["repr"] + ":") or s["repr"] == str(value.item())
        else:
            assert s == {"float0": True}

    def array(self, a: Any, live: Any) -> None:
        if jax.dtypes.issubdtype(live.dtype, jax.dtypes.prng_key):
            live = jax.random.key_data(live)
        value = np.asarray(live)
        if "b64" in a:
            assert base64.b64decode(a["b64"]) == value.tobytes()
        else:
            assert a["omitted"] and value.nbytes > 1024

    def eqn(self, e: Any, live: Any, env: dict[Any, int]) -> None:
        assert e["p"] == live.primitive.name
        self.atoms(e["in"], live.invars, env)
        self.binders(e["out"], live.outvars, env)
        assert sorted(e["params"]) == sorted(live.params)
        for k, v in e["params"].items():
            self.value(v, live.params[k], f"{e['p']}.{k}")
        assert len(e.get("eff", [])) == len(live.effects)
        assert e.get("ns", "") == str(live.source_info.name_stack)
        self.derived(e, live.params)

    def context(self, e: Any, j: Any, live: Any) -> None:
        """The mesh a reader arrives at, and the fields that are not default."""
        mesh = e.get("ctx", {}).get("mesh", j.get("mesh"))
        if mesh is None:
            assert live.ctx.cur_abstract_mesh.empty
        else:
            self.mesh(mesh, live.ctx.cur_abstract_mesh)
        others = {k: v for k, v in e.get("ctx", {}).items() if k != "mesh"}
        ctx = live.ctx
        expected: dict[str, Any] = {}
        if not ctx.threefry_partitionable:
            expected["threefry_partitionable"] = False
        if ctx.remove_size_one_mesh_axis:
            expected["remove_size_one_mesh_axis"] = True
        if ctx.compute_type is not None:
            expected["compute_type"] = ctx.compute_type
        if ctx.xla_metadata:
            expected["xla_metadata"] = {"dict": [[k, v] for k, v in ctx.xla_metadata.items()]}
        assert others == expected

    def derived(self, e: Any, params: dict[str, Any]) -> None:
        d = e.get("derived", {})
        if e["p"] == "cond":
            assert d == {"num_branches": len(params["branches"])}
        elif e["p"] == "while":
            assert d == {k: params[k] for k in ("cond_nconsts", "body_nconsts")}
        elif e["p"] == "shard_map":
            mesh = params["mesh"]
            mesh = getattr(mesh, "abstract_mesh", mesh)
            manual = jax.sharding.AxisType.Manual
            axes = params["newly_manual_axes"]
            self.mesh(d["body_mesh"], mesh.update_axis_types({n: manual for n in axes}))
        elif e["p"] not in ("scan", "get", "swap", "addupdate"):
            assert d == {}

    def value(self, ours: Any, theirs: Any, where: str) -> None:
        """Raise unless the JSON value stands for the live one."""
        assert isinstance(theirs, enum.Enum) == (isinstance(ours, dict) and "enum" in ours), where
        if isinstance(ours, dict):
            tag = next(iter(ours))
            getattr(self, f"_v_{tag}")(ours, theirs, where)
        elif isinstance(ours, list):
            assert isinstance(theirs, tuple) and len(ours) == len(theirs), where
            for a, b in zip(ours, theirs, strict=True):
                self.value(a, b, where)
        elif type(ours) is int:
            assert int(theirs) == ours and not isinstance(theirs, bool), where
        else:
            assert type(ours) is type(theirs) and ours == theirs, where

    def _v_int(self, ours: Any, theirs: Any, where: str) -> None:
        assert int(ours["int"]) == theirs, where

    def _v_float(self, ours: Any, theirs: Any, where: str) -> None:
        assert bytes.fromhex(ours["bits"]) == struct.pack(">d", float(theirs)), where

    def _v_complex(self, ours: Any, theirs: Any, where: str) -> None:
        self.value(ours["complex"][0], theirs.real, where)
        self.value(ours["complex"][1], theirs.imag, where)

    def _v_list(self, ours: Any, theirs: Any, where: str) -> None:
        assert isinstance(theirs, list)
        self.value(ours["list"], tuple(theirs), where)

    def _v_dict(self, ours: Any, theirs: Any, where: str) -> None:
        self.value(ours["dict"], tuple(theirs.items()), where)

    def _v_set(self, ours: Any, theirs: Any, where: str) -> None:
        assert isinstance(theirs, (set, frozenset)) and set(ours["set"]) == set(theirs), where

    def _v_dtype(self, ours: Any, theirs: Any, where: str) -> None:
        assert ours["dtype"] == ("float0" if theirs == jax.dtypes.float0 else theirs.name), where

    def _v_enum(self, ours: Any, theirs: Any, where: str) -> None:
        assert isinstance(theirs, enum.Enum), where
        assert (ours["enum"], ours["name"]) == (type(theirs).__name__, theirs.name), where

    def _v_struct(self, ours: Any, theirs: Any, where: str) -> None:
        assert ours["struct"] == type(theirs).__name__, where
        for k, v in ours["fields"].items():
            self.value(v, getattr(theirs, k), f"{where}.{k}")

    def _v_jaxpr(self, ours: Any, theirs: Any, where: str) -> None:
        self.jaxpr(ours["jaxpr"], theirs)

    def spec(self, s: Any) -> Any:
        entries = [
            P.UNCONSTRAINED if e == "unconstrained" else e if e is None else tuple(e)
            for e in s["p"]
        ]
        return P(*entries, unreduced=set(s["u"]), reduced=set(s["r"]))

    def _v_spec(self, ours: Any, theirs: Any, where: str) -> None:
        assert self.spec(ours["spec"]) == theirs, where

    def _v_sharding(self, ours: Any, theirs: Any, where: str) -> None:
        s = ours["sharding"]
        if "opaque" in s:
            return
        assert self.spec(s["spec"]) == theirs.spec, where
        self.mesh(s["mesh"], theirs.mesh)

    def _v_unspecified(self, ours: Any, theirs: Any, where: str) -> None:
        assert type(theirs).__name__ == "UnspecifiedValue", where

    def _v_mesh(self, ours: Any, theirs: Any, where: str) -> None:
        self.mesh(ours["mesh"], theirs)

    def _v_type(self, ours: Any, theirs: Any, where: str) -> None:
        self.type(ours["type"], theirs)

    def _v_array(self, ours: Any, theirs: Any, where: str) -> None:
        self.array(self.data["arrays"][ours["array"]], theirs)

    def _v_flattree(self, ours: Any, theirs: Any, where: str) -> None:
        assert sum(ours["flattree"]["counts"]) == len(list(theirs)), where
        assert ours["flattree"]["repr"] == str(theirs), where

    def _v_treedef(self, ours: Any, theirs: Any, where: str) -> None:
        assert ours["leaves"] == theirs.num_leaves, where

    def _v_sym(self, ours: Any, theirs: Any, where: str) -> None:
        assert ours["sym"] == str(theirs), where

    def _v_prng(self, ours: Any, theirs: Any, where: str) -> None:
        assert ours["prng"] == str(theirs) and tuple(ours["key_shape"]) == theirs.key_shape, where

    def _v_hiprim(self, ours: Any, theirs: Any, where: str) -> None:
        h = ours["hiprim"]
        assert h["name"] == type(theirs).__name__, where
        for (k, v), (live_key, live) in zip(h["params"], theirs.pp_params().items(), strict=True):
            assert k == live_key
            self.value(v, live, f"{where}.{k}")
        for i, aval in zip(h["in"] + h["out"], [*theirs.in_avals_flat, *theirs.out_avals_flat]):
            self.type(i, aval)

    def _v_callable(self, ours: Any, theirs: Any, where: str) -> None:
        assert callable(theirs) or hasattr(theirs, "debug_info"), where
        assert isinstance(ours["callable"]["name"], str)

    def _v_opaque(self, ours: Any, theirs: Any, where: str) -> None:
        o = self.data["opaques"][ours["opaque"]]
        assert o["class"].rpartition(".")[2] == type(theirs).__name__, where


def count(live: Any) -> int:
    """Equations of a live jaxpr and of all distinct jaxprs below it."""
    seen: dict[int, Any] = {}

    def visit(value: Any) -> None:
        if type(value).__name__ in ("Jaxpr", "ClosedJaxpr"):
            j = inner(value)
            if id(j) not in seen:
                seen[id(j)] = j
                for e in j.eqns:
                    for v in e.params.values():
                        visit(v)
        elif isinstance(value, (tuple, list)):
            for v in value:
                visit(v)
        elif hasattr(value, "pp_params"):
            for v in value.pp_params().values():
                visit(v)

    visit(live)
    return sum(len(j.eqns) for j in seen.values())
