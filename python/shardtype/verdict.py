# verdict.py - from a Python function to a verdict.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`check` and what it returns."""

from __future__ import annotations

import html
import json
import os
import re
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardtype import compat, passes, paths, program, specs
from shardtype.errors import ExportError, IllTyped
from shardtype.export import Exported, export
from shardtype.types import JsonObject


@dataclass(frozen=True)
class Finding:
    """One error or warning. `file`, `line` and `column` are those of the user's
    call (None if it has none); `fixes` are as in the program's JSON."""

    code: str
    severity: str
    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    function: str | None = None
    notes: tuple[str, ...] = ()
    fixes: tuple[JsonObject, ...] = ()

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        return f"{place}{self.severity}[{self.code}]: {self.message}"


@dataclass
class Report:
    """What the checker says of a function.

    `str()` is the report as the program prints it. `types` are the types of
    arguments and results by path, as `f32[8@data,4]`. `data` is the report in
    JSON, `exported` the program that was checked.
    """

    text: str
    data: JsonObject
    exported: Exported
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return bool(self.data["ok"])

    @property
    def findings(self) -> list[Finding]:
        """Errors and warnings, in the order of the report."""
        return [_finding(d) for d in self.data["diagnostics"]]

    @property
    def errors(self) -> list[Finding]:
        """The errors alone."""
        return [f for f in self.findings if f.severity == "error"]

    @property
    def warnings(self) -> list[Finding]:
        """The warnings alone."""
        return [f for f in self.findings if f.severity == "warning"]

    @property
    def types(self) -> dict[str, str]:
        """The type of every argument and result, by its path."""
        both = [*self.data.get("arguments", ()), *self.data.get("results", ())]
        return {v["path"]: v["type"] for v in both}

    def raise_for_errors(self) -> Report:
        """Raise `IllTyped` with the report if there are errors; else return it."""
        if not self.ok:
            raise IllTyped(self)
        return self

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        name = self.exported.data["entry"].get("name") or "function"
        count = len(self.errors)
        verdict = "ok" if self.ok else f"{count} error{'' if count == 1 else 's'}"
        return f"<shardtype.Report of {name}: {verdict}>"

    def _repr_html_(self) -> str:
        """The report for a notebook."""
        color = "#2e7d32" if self.ok else "#b71c1c"
        return (
            f'<pre style="border-left: 4px solid {color}; padding-left: 8px">'
            f"{html.escape(self.text)}</pre>"
        )


def check(
    fn: Callable[..., Any],
    *args: Any,
    mesh: Any,
    in_specs: Any = None,
    out_specs: Any = None,
    choose: Mapping[str, Any] | None = None,
    logical: Sequence[Sequence[Any]] | None = None,
    constraints: str | None = None,
    allow: Sequence[str] = (),
    warn: Sequence[str] = (),
    deny: Sequence[str] = (),
    mode: str = "auto",
    root: str | os.PathLike[str] | None = None,
    program: str | os.PathLike[str] | None = None,
    **kwargs: Any,
) -> Report:
    """Trace `fn` on `args` and `kwargs` and check the program under a mesh.

    Arguments are arrays, `jax.ShapeDtypeStruct`s, or trees of them; nothing is
    computed and no device is needed. `mesh` is "X=4,Y=2:Auto", a dict of sizes, an
    AbstractMesh or a Mesh.

    `in_specs` says how the arguments are sharded: a dict from argument paths or
    patterns (`params/**/w`) to specs; a list or tuple with a spec, or a tree of
    specs, for each positional argument; or one spec for all of these. A spec is a
    PartitionSpec, its text, a NamedSharding, or an array that has one. Arguments
    without a spec have the one that they carry, else they are replicated. `out_specs`: a dict from paths of
    results (`result/0`) to specs that they must have.

    `logical` are rules from logical names, which specs may use, to mesh axes:
    [("batch", "data"), ("embed", None), ("mlp", ["model", "seq"])]; the first that fits
    wins. `choose`, `constraints` and the codes to `allow`, `warn` of or `deny` are as on
    the command line of the program; `mode` and `root` as in `export`. `program` is the
    path of the shardtype program.

        def test_step_is_well_typed():
            shardtype.check(step, params, batch, mesh="data=4,model=2",
                            in_specs={"batch": P("data")}).raise_for_errors()

    Raises `ExportError` for wrong uses, with what to write instead. What the user's
    code raises while it is traced passes through.
    """
    from shardtype import program as runner

    executable = runner.verified(runner.find(program))
    abstract = specs.to_mesh(mesh)
    rules = _rules(logical)
    wanted = argument_specs(
        fn, args, kwargs, in_specs, abstract, {str(name) for name, _ in rules}
    )

    def traced(how: str, table: Mapping[str, Any]) -> Exported:
        native = {"in_specs": in_specs} if how == "native" else {}
        sizes = {} if how == "plain" else {"mesh": abstract}
        return export(fn, *args, mode=how, root=root, infer=table, **sizes, **native, **kwargs)

    config: JsonObject = {"mesh": specs.mesh_text(abstract)}
    if rules:
        config["logical"] = rules
    if out_specs is not None:
        _check_mapping("out_specs", out_specs, "result")
        config["out"] = {
            path: specs.spec_text(_the_spec(spec, path)) for path, spec in out_specs.items()
        }
    if choose is not None:
        _check_mapping("choose", choose, "model.py:41")
        config["choose"] = {
            place: specs.spec_text(_the_spec(s, place)) for place, s in choose.items()
        }
    if constraints is not None:
        config["constraints"] = constraints
    for key, codes in (("allow", allow), ("warn", warn), ("deny", deny)):
        if codes:
            config[key] = [codes] if isinstance(codes, str) else list(codes)

    def full(exported: Exported) -> JsonObject:
        return {**config, "in": positional(wanted, exported.data["entry"]["arg_paths"])}

    def judged(exported: Exported) -> JsonObject:
        return run_checker(executable, exported, full(exported), root).data

    exported = passes.settled(traced, judged, mode)
    return run_checker(executable, exported, full(exported), root)


def argument_specs(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    in_specs: Any,
    mesh: Any,
    logical: Collection[str] = (),
) -> dict[str, Any]:
    """The spec of each argument by path: as given, else as the argument carries.
    Names in `logical` may stand for axes.

    Raises `ExportError` for a pattern without a match and for an axis that `mesh`
    lacks.
    """
    places = [path for _, path in paths.argument_places(fn, args, kwargs)]
    given = specs.assign(in_specs, places, args)
    leaves = compat.require_jax().tree_util.tree_leaves((args, kwargs))
    out: dict[str, Any] = {}
    for i, (path, spec) in enumerate(zip(places, given, strict=True)):
        if spec is None and len(leaves) == len(places):
            spec = specs.carried_spec(leaves[i])
        if spec is not None:
            specs.check_axes(spec, mesh, f"argument '{path}'", logical)
            out[path] = spec
    return out


def positional(wanted: dict[str, Any], arguments: list[str]) -> list[str]:
    """Specs in the order of the program's arguments (static ones are not there)."""
    return [specs.spec_text(wanted.get(path)) for path in arguments]


def _rules(logical: Sequence[Sequence[Any]] | None) -> list[list[Any]]:
    """Rules as the program reads them, which says more of what is wrong with one."""
    out = []
    for rule in logical or ():
        if isinstance(rule, str) or not isinstance(rule, Sequence) or len(rule) != 2:
            raise ExportError(f"logical has the rule {rule!r}: write ('batch', 'data')")
        axes = rule[1]
        out.append([rule[0], list(axes) if isinstance(axes, (tuple, list)) else axes])
    return out


def _check_mapping(name: str, value: Any, key: str) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(k, str) for k in value):
        raise ExportError(f"{name} is a dict such as {{{key!r}: P()}}, not {value!r}")


def _the_spec(value: Any, where: str) -> Any:
    spec = specs.to_spec(value)
    if spec is None:
        raise ExportError(f"'{where}' has no spec: write P() for a replicated value")
    return spec


def file_name(exported: Exported) -> str:
    """A file name for a program, which its report names."""
    name = exported.data["entry"].get("name") or "function"
    return "".join(c if c.isalnum() or c in "_.-" else "_" for c in name) + ".json"


def run_checker(
    executable: str,
    exported: Exported,
    config: JsonObject,
    root: str | os.PathLike[str] | None = None,
) -> Report:
    """Run the program on an export, once for the text and once for the JSON."""
    name = file_name(exported)
    source_root = os.path.abspath(os.fspath(root) if root is not None else os.getcwd())
    with tempfile.TemporaryDirectory(prefix="shardtype-") as folder:
        exported.save(os.path.join(folder, name))
        # Findings say where a spec is from, by the name of this file.
        with open(os.path.join(folder, "shardtype.check"), "w", encoding="utf-8") as f:
            json.dump(config, f)
        call = ["check", name, "--config", "shardtype.check", "--source-root", source_root]
        code, data, error = program.run(executable, [*call, "--format", "json"], folder)
        data = _named(data, exported, escape=True)
        if code == 2 and not _is_unchecked(data):
            error = _named(error, exported)
            words = _refusal(data) or error.strip() or "no reason was given"
            raise ExportError(f"the checker could not check {name}: {words}")
        _, text, _ = program.run(executable, [*call, "--color", "never"], folder)
    text = _named(text, exported)
    return Report(text.rstrip("\n"), json.loads(data), exported, list(exported.notes))


def _named(text: str, exported: Exported, escape: bool = False) -> str:
    """A report in which the places of the config are the parameters of `check`."""
    arguments = exported.data["entry"]["arg_paths"]

    def name(m: re.Match[str]) -> str:
        key, place = m[1], m[2] or ""
        if key == "in" and place[1:].isdigit() and int(place[1:]) < len(arguments):
            path = json.dumps(arguments[int(place[1:])])[1:-1] if escape else arguments[int(place[1:])]
            return f"in_specs of '{path}'"
        return {"in": "in_specs", "out": "out_specs"}.get(key, key)

    return re.sub(r"shardtype\.check: /(\w+)(/[^\s,;:\"']+)?", name, text)


def _is_unchecked(data: str) -> bool:
    """Whether the program has been looked at, but not all of it."""
    try:
        found = json.loads(data)["diagnostics"]
        return any(d["code"] == "region-unchecked" for d in found)
    except (ValueError, KeyError, TypeError):
        return False


def _refusal(data: str) -> str:
    """What a report in JSON says of an input that could not be checked: a line for
    each finding."""
    try:
        found = json.loads(data)["diagnostics"]
    except (ValueError, KeyError, TypeError):
        return ""
    return "\n".join(f"{d['message']} [{d['code']}]" for d in found)


def _finding(d: JsonObject) -> Finding:
    source = d.get("source") or {}
    return Finding(
        code=d["code"],
        severity=d["severity"],
        message=d["message"],
        file=source.get("file"),
        line=source.get("line"),
        column=source.get("column"),
        function=source.get("function"),
        notes=tuple(n["message"] for n in d.get("notes", ())),
        fixes=tuple(d.get("fixes", ())),
    )
