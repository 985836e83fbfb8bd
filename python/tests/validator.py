# validator.py - checks a file against the format's text, not against our code.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An independent reader of the exchange format (spec 04 section 6).

It shares nothing with the exporter. `validate` returns a list of complaints.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

TOP = {
    "format", "version", "producer", "meshes", "types", "sources", "stacks", "files",
    "arrays", "opaques", "jaxprs", "entry", "context",
}  # fmt: skip
TAGS = {
    frozenset(t.split())
    for t in (
        "int|float bits|complex|list|dict|set|dtype|enum name value|struct fields|jaxpr|spec|"
        "sharding|unspecified|mesh|type|array|flattree|treedef leaves|sym|"
        "prng name key_shape|hiprim|callable opaque|opaque|repr"
    ).split("|")
}
WIDTH = {
    "float32": 8, "float64": 16, "float16": 4, "bfloat16": 4, "complex64": 16,
    "complex128": 32,
}  # fmt: skip


FIELDS_OF_API = {"kind", "name", "text", "args", "items", "kw", "file", "span"}


class Validator:
    """Collects complaints about one file."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.errors: list[str] = []
        self.used_jaxprs: list[int] = []
        self.seen_ids: list[int] = []

    def need(self, condition: bool, where: str, what: str) -> None:
        if not condition:
            self.errors.append(f"{where}: {what}")

    def index(self, i: Any, table: str, where: str) -> None:
        ok = type(i) is int and 0 <= i < len(self.data[table])
        self.need(ok, where, f"{i!r} is no index into {table}")

    def run(self) -> list[str]:
        d = self.data
        fields = TOP | ({"apis", "imports", "imports_end"} if d["context"]["mode"] == "record" else set())
        self.need(set(d) == fields, "file", f"fields {sorted(set(d) ^ fields)}")
        for i, a in enumerate(d.get("apis", ())):
            self.api(a, f"apis/{i}")
        self.need(d["format"] == "shardtype-jaxpr", "format", d["format"])
        self.need(d["version"] == [1, 2], "version", d["version"])
        self.need({"name", "version", "exporter"} <= set(d["producer"]), "producer", "fields")
        for name, check in self._tables().items():
            for i, item in enumerate(d[name]):
                check(item, f"{name}/{i}")
        self._unique()
        for name, digest in d["files"].items():
            self.need(bool(re.fullmatch(r"sha256:[0-9a-f]{64}", digest)), f"files/{name}", digest)
            self.need(name in {s["file"] for s in d["sources"]}, "files", f"{name} unused")
        for i, j in enumerate(d["jaxprs"]):
            if i == d["entry"].get("plain"):
                self.used_jaxprs.append(i)
            self.jaxpr(j, f"jaxprs/{i}")
        ids = self.seen_ids
        self.need(ids == list(range(len(ids))), "ids", "not dense in binding order")
        self._entry()
        self.need(set(self.used_jaxprs) == set(range(len(d["jaxprs"]))), "jaxprs", "unused ones")
        first_uses = list(dict.fromkeys(self.used_jaxprs))
        self.need(sorted(first_uses) == first_uses, "jaxprs", "not in order of first use")
        return self.errors

    def _tables(self) -> dict[str, Callable[[Any, str], None]]:
        return {
            "meshes": self.mesh,
            "types": self.type,
            "sources": self.frame,
            "stacks": lambda s, w: [self.index(i, "sources", w) for i in s],
            "arrays": self.array,
            "opaques": lambda o, w: self.need(
                {"class", "repr"} <= set(o) <= {"class", "repr", "str", "hash"}, w, "fields"
            ),
        }

    def _unique(self) -> None:
        for name in ("meshes", "types", "sources", "stacks"):
            texts = [repr(x) for x in self.data[name]]
            self.need(len(set(texts)) == len(texts), name, "an entry stands twice")

    def _entry(self) -> None:
        entry = self.data["entry"]
        self.need(entry["jaxpr"] == 0, "entry", "not the first jaxpr")
        self.used_jaxprs.insert(0, entry["jaxpr"])
        if "plain" in entry:
            names = {x["p"] for x in self.data["jaxprs"][entry["plain"]]["eqns"]}
            self.need(not names & {"ad_vjp", "ad_vjp_apply", "ad_jvp"}, "entry/plain", "markers")
        for u in entry.get("unmarked", ()):
            self.need(set(u) == {"src", "api", "why"}, "entry/unmarked", f"fields {sorted(u)}")
        top = self.data["jaxprs"][entry["jaxpr"]]
        for key in ("arg_names", "arg_paths"):
            self.need(len(entry[key]) == len(top["invars"]), f"entry/{key}", "length")
        self.need(len(entry["result_paths"]) == len(top["outs"]), "entry/result_paths", "length")
        for key in ("arg_paths", "result_paths"):
            ok = all(isinstance(p, str) and p for p in entry[key])
            self.need(ok, f"entry/{key}", "not all are names")
            self.need(len(set(entry[key])) == len(entry[key]), f"entry/{key}", "a name twice")
        mesh = self.data["context"]["mesh"]
        if mesh is not None:
            self.index(mesh, "meshes", "context/mesh")
        self.need(self.data["context"]["mode"] in ("plain", "native", "record"), "context", "mode")
        recorded = "record" in self.data["context"]
        self.need(recorded == (self.data["context"]["mode"] == "record"), "context", "record")

    # Tables.

    def mesh(self, m: Any, w: str) -> None:
        self.need(set(m) - {"rel"} == {"kind", "axes", "device", "devices"}, w, "fields")
        for kind, axes in m.get("rel", ()):
            self.need(kind in ("Auto", "Explicit"), w, f"conversion to {kind}")
            self.need(axes in (None, "all") or isinstance(axes, list), w, f"of {axes}")
        self.need(m["kind"] in ("abstract", "concrete"), w, m["kind"])
        for a in m["axes"]:
            self.need(set(a) == {"name", "size", "type"}, w, "axis fields")
            self.need(type(a["size"]) is int and a["size"] > 0, w, "axis size")
            self.need(a["type"] in ("Auto", "Explicit", "Manual"), w, a["type"])
        if m["devices"] is not None:
            shape = m["devices"]["shape"]
            self.need(shape == [a["size"] for a in m["axes"]], w, "device shape")

    def spec(self, s: Any, w: str) -> None:
        self.need(set(s) == {"p", "u", "r", "k"}, w, "spec fields")
        for e in s["p"]:
            ok = e in (None, "unconstrained", "inherit") or (isinstance(e, list))
            self.need(ok, w, f"spec entry {e!r}")
            self.need(e != [], w, "empty spec entry")
        self.need(s["k"] in (None, "sum", "max", "min"), w, f"kind {s['k']!r}")
        self.need((s["k"] is None) == (s["u"] == []), w, "kind without unreduced axes")

    def type(self, t: Any, w: str) -> None:
        kind = t["t"]
        if kind in ("ref", "future"):
            self.index(t["inner"], "types", w)
            return
        if kind == "opaque":
            self.need({"class", "repr"} <= set(t), w, "fields")
            return
        if kind == "token":
            return
        allowed = {
            "t", "shape", "dtype", "phys", "weak", "mesh", "spec", "mat", "mem", "layout"
        }  # fmt: skip
        self.need(kind == "array" and set(t) <= allowed, w, f"fields {sorted(t)}")
        for n in t["shape"]:
            self.need(type(n) is int or set(n) == {"sym"}, w, f"dim {n!r}")
        if "mesh" in t:
            self.index(t["mesh"], "meshes", w)
            names = {str(a["name"]) for a in self.data["meshes"][t["mesh"]]["axes"]}
            used = [n for e in t.get("spec", {"p": []})["p"] if e for n in e]
            self.need({str(n) for n in used} <= names, w, "an axis that the mesh lacks")
        if "spec" in t:
            self.spec(t["spec"], w)
            self.need(len(t["spec"]["p"]) == len(t["shape"]), w, "spec rank")
        if "mat" in t:
            self.need(set(t["mat"]) == {"v", "u", "r", "k"}, w, "mat fields")

    def frame(self, f: Any, w: str) -> None:
        fields = ["file", "func", "line", "col", "eline", "ecol"]
        fields += [k for k in ("lib", "takes") if k in f]
        self.need(list(f) == fields, w, "fields")
        self.need(f.get("lib", True) is True, w, "lib")
        self.need("takes" not in f or "lib" in f and f["takes"] == ["out_sharding"], w, "takes")
        self.need(not f["file"].startswith(("/", "..")), w, f"machine path {f['file']}")
        self.need(f["line"] > 0 and f["eline"] >= f["line"], w, "lines")

    def array(self, a: Any, w: str) -> None:
        if "b64" in a:
            base64.b64decode(a["b64"], validate=True)
        else:
            self.need(a.get("omitted") is True, w, "neither data nor omitted")
            self.need(bool(re.fullmatch("sha256:[0-9a-f]{64}", a["hash"])), w, "hash")

    # Programs.

    def binder(self, b: Any, ids: set[int], w: str) -> None:
        self.need(isinstance(b, list) and len(b) == 2, w, f"binder {b!r}")
        self.index(b[1], "types", w)
        if b[0] is not None:
            self.need(b[0] not in self.seen_ids[-1:] and b[0] not in ids, w, "bound twice")
            ids.add(b[0])
            self.seen_ids.append(b[0])

    def atom(self, a: Any, ids: set[int], w: str) -> None:
        if type(a) is int:
            self.need(a in ids, w, f"variable {a} is not defined here")
            return
        self.need(set(a) == {"lit", "t"}, w, f"atom {a!r}")
        self.index(a["t"], "types", w)
        self.scalar(a["lit"], self.data["types"][a["t"]], w)

    def scalar(self, s: Any, t: Any, w: str) -> None:
        dtype = t["dtype"]
        if "array" in s:
            self.index(s["array"], "arrays", w)
        elif dtype == "bool":
            self.need(type(s["bool"]) is bool, w, "bool")
        elif dtype == "float0":
            self.need(s == {"float0": True}, w, "float0")
        elif dtype.startswith(("int", "uint")):
            self.need(bool(re.fullmatch(r"-?\d+", s["int"])), w, "int")
        else:
            self.need(set(s) == {"bits", "repr"}, w, f"scalar {s!r}")
            width = WIDTH.get(dtype, 2)
            self.need(bool(re.fullmatch(f"[0-9a-f]{{{width}}}", s["bits"])), w, s["bits"])

    def effect(self, e: Any, ids: set[int], w: str) -> None:
        kinds = set(e) & {"axis", "read", "write", "accum", "opaque"}
        self.need(len(kinds) == 1, w, f"effect {e!r}")
        for k in kinds & {"read", "write", "accum"}:
            self.need(e[k] in ids, w, "effect on an unknown variable")

    def jaxpr(self, j: Any, w: str) -> None:
        allowed = {
            "consts", "constvars", "invars", "mesh", "eqns", "outs", "effects", "debug", "high"
        }  # fmt: skip
        self.need(set(j) <= allowed, w, f"fields {sorted(set(j) - allowed)}")
        ids: set[int] = set()
        if j["constvars"]:
            self.need(len(j["consts"]) == len(j["constvars"]), w, "consts")
            for c in j["consts"]:
                if c is not None:
                    self.index(c, "arrays", w)
        for b in j["constvars"] + j["invars"]:
            self.binder(b, ids, w)
        if "mesh" in j:
            self.index(j["mesh"], "meshes", w)
        for i, e in enumerate(j["eqns"]):
            self.eqn(e, ids, f"{w}/eqns/{i} {e['p']}")
        for a in j["outs"]:
            self.atom(a, ids, f"{w}/outs")
        for e in j["effects"]:
            self.effect(e, ids, w)

    def eqn(self, e: Any, ids: set[int], w: str) -> None:
        allowed = {"p", "in", "params", "out", "ctx", "eff", "src", "ns", "derived", "api"}
        if "api" in e:
            self.index(e["api"], "apis", w)
            frames = [self.data["sources"][i] for i in self.data["stacks"][e["src"]]]
            innermost = next((f for f in frames if "lib" not in f), frames[0])
            span = [innermost[k] for k in ("line", "col", "eline", "ecol")]
            self.need(self.data["apis"][e["api"]]["span"] == span, w, "span of another call")
        self.need(set(e) <= allowed, w, "fields")
        for a in e["in"]:
            self.atom(a, ids, w)
        self.need(list(e["params"]) == sorted(e["params"]), w, "params not sorted")
        for k, v in e["params"].items():
            self.value(v, f"{w}/params/{k}")
        for b in e["out"]:
            self.binder(b, ids, w)
        for f in e.get("eff", []):
            self.effect(f, ids, w)
        if "src" in e:
            self.index(e["src"], "stacks", w)
        if "mesh" in e.get("ctx", {}):
            self.index(e["ctx"]["mesh"], "meshes", w)
        self.need(e.get("derived") != {} and e.get("ctx") != {}, w, "an empty field")
        if e["p"] == "scan":
            n = e["derived"]
            body = self.data["jaxprs"][e["params"]["jaxpr"]["jaxpr"]]
            ins = n["num_consts"] + n["num_carry"] + n["num_xs"]
            self.need(len(e["in"]) == ins == len(body["invars"]), w, "scan operands")
            outs = n["num_carry"] + n["num_ys"]
            self.need(len(e["out"]) == outs == len(body["outs"]), w, "scan results")
        if e["p"].startswith("ad_"):
            self.marker(e, w)
        if "rule" in e.get("derived", {}):
            self.rule(e, e["derived"]["rule"], ids, w)

    def api(self, a: Any, w: str) -> None:
        kinds = ("call", "method", "at", "operator", "index", "attr")
        self.need(a["kind"] in kinds and isinstance(a["name"], str), w, "kind and name")
        self.need(set(a) <= FIELDS_OF_API, w, "fields")
        self.need(a["file"] in self.data["imports"], w, "a file without imports")
        items = [span for spans in a.get("items", {}).values() for span in spans]
        for span in (a["span"], *a["args"], *a.get("kw", {}).values(), *items):
            self.need(len(span) == 4 and span[:2] <= span[2:], w, f"span {span}")

    def marker(self, e: Any, w: str) -> None:
        p = e["params"]
        names = {"api", "batched", "jaxpr", "nc", "nout"}
        self.need(set(p) - {"id"} == names and ("id" in p) == ("vjp" in e["p"]), w, "params")
        body = self.data["jaxprs"][p["jaxpr"]["jaxpr"]]
        primals = len(body["invars"]) - p["nc"]
        extra = {"ad_vjp": 0, "ad_vjp_apply": p["nout"], "ad_jvp": primals}[e["p"]]
        outs = {"ad_vjp": 0, "ad_vjp_apply": primals, "ad_jvp": p["nout"]}[e["p"]]
        values = 0 if e["p"] == "ad_vjp_apply" else len(body["outs"])
        self.need(len(e["in"]) == len(body["invars"]) + extra, w, "operands")
        self.need(len(e["out"]) == values + outs, w, "results")
        self.need(body["constvars"] == [], w, "constants in a marker's jaxpr")

    def rule(self, e: Any, r: Any, ids: set[int], w: str) -> None:
        perturbed = e["derived"]["perturbed"]
        self.need(len(perturbed) == len(e["in"]), w, "perturbed")
        count = len(e["in"]) - e["params"]["num_consts"]
        parts = [("jvp", "consts")] if "jvp" in r else [("fwd", "fwd_consts"), ("bwd", "bwd_consts")]
        for part, consts in parts:
            self.used_jaxprs.append(r[part])
            j = self.data["jaxprs"][r[part]]
            self.need(len(r[consts]) == len(j["constvars"]), w, consts)
            for atom, array in zip(r[consts], j.get("consts", []), strict=True):
                self.need(atom is None or array is None, w, "a constant from two places")
                if atom is not None:
                    self.atom(atom, ids, w)
        js = {part: self.data["jaxprs"][r[part]] for part, _ in parts}
        if "jvp" in r:
            self.need(len(js["jvp"]["invars"]) == count + sum(perturbed[-count:]), w, "jvp ins")
            outs = len(e["out"]) + r["out_zeros"].count(False)
            self.need(len(js["jvp"]["outs"]) == outs, w, "jvp outs")
        else:
            self.need(len(js["fwd"]["invars"]) == count, w, "fwd ins")
            self.need(len(js["fwd"]["outs"]) == r["nres"] + len(e["out"]), w, "fwd outs")
            self.need(r["res_from"].count(None) == r["nres"], w, "res_from")
            self.need(len(js["bwd"]["invars"]) == len(r["res_from"]) + len(e["out"]), w, "bwd ins")
            self.need(len(r["bwd_zeros"]) == count, w, "bwd_zeros")
            self.need(len(js["bwd"]["outs"]) == r["bwd_zeros"].count(False), w, "bwd outs")

    def value(self, v: Any, w: str) -> None:
        if v is None or isinstance(v, (bool, str)):
            return
        if isinstance(v, int):
            self.need(abs(v) < 2**53, w, "large int as a number")
            return
        if isinstance(v, list):
            for x in v:
                self.value(x, w)
            return
        if not isinstance(v, dict):
            self.errors.append(f"{w}: {v!r}")
            return
        self.need(frozenset(v) in TAGS, w, f"unknown tag {sorted(v)}")
        self._tagged(v, w)

    def _tagged(self, v: Any, w: str) -> None:
        for table, tag in (("meshes", "mesh"), ("types", "type"), ("arrays", "array")):
            if tag in v:
                self.index(v[tag], table, w)
        if "opaque" in v:
            self.index(v["opaque"], "opaques", w)
        if "jaxpr" in v:
            self.index(v["jaxpr"], "jaxprs", w)
            self.used_jaxprs.append(v["jaxpr"])
        if "spec" in v:
            self.spec(v["spec"], w)
        if "sharding" in v and "mesh" in v["sharding"]:
            self.index(v["sharding"]["mesh"], "meshes", w)
            self.spec(v["sharding"]["spec"], w)
        for inner in v.get("list", []), v.get("set", []), v.get("fields", {}).values():
            for x in inner:
                self.value(x, w)
        for pair in v.get("dict", []):
            self.value(pair, w)
        for _, x in v.get("hiprim", {}).get("params", []):
            self.value(x, w)


def validate(data: dict[str, Any]) -> list[str]:
    """Everything that is wrong with a file, in words."""
    return Validator(data).run()
