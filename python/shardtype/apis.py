# apis.py - which call of the source an equation comes from.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table `apis` (spec 08 section 8).

The innermost user frame of an equation holds the span of the expression that was
running. The file is parsed once, and the node with exactly that span is the call,
operator or subscript that the user wrote.
"""

from __future__ import annotations

import ast
import linecache
from dataclasses import dataclass
from typing import Any

from shardtype.types import JsonObject

Span = tuple[int, int, int, int]

_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.MatMult: "@", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


@dataclass
class _File:
    """A parsed source file: nodes by span, local names by what they import, and the
    line behind which a further import may stand (0: at the top)."""

    nodes: dict[Span, ast.AST]
    imports: dict[str, str]
    lines: list[bytes]
    imports_end: int


class ApiTable:
    """Calls seen so far, each span once, in order of first use."""

    def __init__(self) -> None:
        self.apis: list[JsonObject] = []
        self._files: dict[str, _File | None] = {}
        self._by_place: dict[tuple[str, Span], int | None] = {}
        self._names: dict[str, str] = {}

    def add(self, path: str, frame: JsonObject) -> int | None:
        """Index of the call at a frame of the file `path`; None if it is not
        known (no source, or no node with that span)."""
        span = (frame["line"], frame["col"], frame["eline"], frame["ecol"])
        key = (path, span)
        if key not in self._by_place:
            self._by_place[key] = self._describe(path, frame["file"], span)
        return self._by_place[key]

    def imports(self) -> dict[str, dict[str, str]]:
        """Of each file with calls: how it names what it imports from JAX, as
        {"jax.numpy": "jnp"}; the shortest name, if there are several."""
        out = {}
        for path, name in self._names.items():
            file = self._files.get(path)
            if file is not None:
                by_length = sorted(file.imports.items(), key=lambda kv: (-len(kv[0]), kv[0]))
                names = {full: local for local, full in by_length if full.split(".")[0] == "jax"}
                out[name] = dict(sorted(names.items()))
        return dict(sorted(out.items()))

    def imports_end(self) -> dict[str, int]:
        """Of each file with calls: the line behind which a further import may stand."""
        known = ((name, self._files.get(path)) for path, name in self._names.items())
        return dict(sorted((name, f.imports_end) for name, f in known if f is not None))

    def _describe(self, path: str, name: str, span: Span) -> int | None:
        file = self._file(path)
        node = None if file is None else file.nodes.get(span)
        if file is None or node is None:
            return None
        entry = _Describer(file).entry(node)
        if entry is None:
            return None
        self._names[path] = name
        index = len(self.apis)
        self.apis.append({**entry, "file": name, "span": list(span)})
        return index

    def _file(self, path: str) -> _File | None:
        if path not in self._files:
            linecache.checkcache(path)  # It may have been edited since.
            self._files[path] = _parse("".join(linecache.getlines(path)))
        return self._files[path]


def _parse(text: str) -> _File | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    nodes: dict[Span, ast.AST] = {}
    imports: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports.update(_imported(node))
        elif isinstance(node, (ast.expr, ast.AugAssign)) and _is_described(node):
            # Outer nodes come first; `(x)` and `x` have different spans.
            nodes.setdefault(span_of(node), node)
    return _File(nodes, imports, text.encode().splitlines(keepends=True), _imports_end(tree))


def _imports_end(tree: ast.Module) -> int:
    """The last line of the docstring and the imports that a file begins with."""
    end = 0
    for i, node in enumerate(tree.body):
        docstring = (
            i == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )
        if not docstring and not isinstance(node, (ast.Import, ast.ImportFrom)):
            break
        end = node.end_lineno or end
    return end


def _imported(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """Local names and the dotted names they stand for."""
    if isinstance(node, ast.Import):
        return {
            a.asname or a.name.split(".")[0]: a.name if a.asname else a.name.split(".")[0]
            for a in node.names
        }
    if node.level or node.module is None:
        return {}
    return {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names if a.name != "*"}


def span_of(node: Any) -> Span:
    """Line, column, end line, end column; columns in bytes of UTF-8."""
    return (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


def _is_described(node: ast.AST) -> bool:
    operators = (ast.BinOp, ast.AugAssign, ast.Compare, ast.UnaryOp)
    return isinstance(node, (ast.Call, ast.Subscript, ast.Attribute, *operators))


class _Describer:
    """Entries for the nodes of one file."""

    def __init__(self, file: _File) -> None:
        self._file = file

    def entry(self, node: ast.AST) -> JsonObject | None:
        """The entry of a node, without its place."""
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, (ast.BinOp, ast.AugAssign)):
            sides = [node.left, node.right] if isinstance(node, ast.BinOp) else (
                [node.target, node.value]
            )
            return self._entry("operator", _OPERATORS[type(node.op)], None, sides)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            operator = _OPERATORS.get(type(node.ops[0]))
            sides = [node.left, *node.comparators]
            return None if operator is None else self._entry("operator", operator, None, sides)
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATORS:
            return self._entry("operator", _OPERATORS[type(node.op)], None, [node.operand])
        if isinstance(node, ast.Subscript):
            return self._entry("index", "[]", None, [node.value, node.slice])
        if isinstance(node, ast.Attribute):
            return self._entry("attr", node.attr, None, [node.value])
        return None

    def _call(self, node: ast.Call) -> JsonObject:
        func = node.func
        if isinstance(func, ast.Call):  # jax.grad(f)(x)
            made = self._dotted(func.func)
            name = f"{made or self._text(func.func)}(...)"
            return self._entry("call", name, None, node.args, node)
        full = self._dotted(func)
        if full is not None or not isinstance(func, ast.Attribute):
            text = self._text(func)
            return self._entry("call", full or text, text, node.args, node)
        at = func.value
        if (
            isinstance(at, ast.Subscript)
            and isinstance(at.value, ast.Attribute)
            and at.value.attr == "at"
        ):
            operands = [at.value.value, at.slice, *node.args]
            return self._entry("at", func.attr, None, operands, node)
        return self._entry("method", func.attr, None, [func.value, *node.args], node)

    def _entry(
        self,
        kind: str,
        name: str,
        text: str | None,
        operands: list[ast.expr],
        call: ast.Call | None = None,
    ) -> JsonObject:
        out: JsonObject = {"kind": kind, "name": name}
        if text is not None:
            out["text"] = text
        out["args"] = [list(span_of(a)) for a in operands]
        lists = {
            str(i): [list(span_of(e)) for e in a.elts]
            for i, a in enumerate(operands)
            if call is not None and isinstance(a, (ast.List, ast.Tuple)) and a.elts
        }
        if lists:
            out["items"] = lists
        if call is not None:
            keywords = {k.arg: k.value for k in call.keywords if k.arg is not None}
            out["kw"] = {k: list(span_of(v)) for k, v in keywords.items()}
        return out

    def _dotted(self, node: ast.AST) -> str | None:
        """The full name of `jnp.dot`; None if its root is not imported."""
        if isinstance(node, ast.Name):
            return self._file.imports.get(node.id)
        if isinstance(node, ast.Attribute):
            base = self._dotted(node.value)
            return None if base is None else f"{base}.{node.attr}"
        return None

    def _text(self, node: ast.expr) -> str:
        line, col, eline, ecol = span_of(node)
        lines = self._file.lines[line - 1 : eline]
        lines[-1] = lines[-1][:ecol]
        lines[0] = lines[0][col:]
        return b"".join(lines).decode()
