# checkcli.py - `python -m shardtype check module:function`.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces a function and runs the checker on it, in one command."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from typing import Any, TextIO

from shardtype import passes, program, specs, verdict
from shardtype.errors import ExportError
from shardtype.export import Exported
from shardtype.types import JsonObject

# Options of the program that are handed on: (name, metavar or None for a flag,
# help).
_HANDED_ON: tuple[tuple[str, str | None, str], ...] = (
    ("out", "[NAME=]SPEC", "what a result must be"),
    ("choose", "PLACE=SPEC", "take this result where several are legal"),
    ("constraints", "assert|reshard", "what with_sharding_constraint means on Explicit axes"),
    ("format", "FORMAT", "text, json, github or sarif"),
    ("allow", "CODE", "do not report findings of this kind"),
    ("warn", "CODE", "report findings of this kind as warnings"),
    ("deny", "CODE", "report findings of this kind as errors"),
    ("max-errors", "N", "show at most so many findings"),
    ("color", "WHEN", "auto, always or never"),
    ("all", None, "show every argument"),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of `check` beyond those of `export`."""
    parser.add_argument("--config", metavar="FILE", help="JSON file with mesh, in, out, ...")
    parser.add_argument("--program", metavar="PATH", help="the shardtype program")
    for name, metavar, text in _HANDED_ON:
        destination = "on_" + name.replace("-", "_")
        if metavar is None:
            parser.add_argument(f"--{name}", dest=destination, action="store_true", help=text)
        else:
            parser.add_argument(
                f"--{name}", dest=destination, action="append", metavar=metavar, help=text
            )


class Check:
    """One run of the command."""

    def __init__(self, options: argparse.Namespace, out: TextIO) -> None:
        self._options = options
        self._out = out
        # Before the user's code runs: is there a program, is the mesh readable?
        self._program = program.verified(program.find(options.program))
        self._config = _config(options.config)
        mesh = options.mesh if options.mesh is not None else self._config.get("mesh")
        if mesh is None:
            raise ExportError("a mesh is missing: write --mesh X=4,Y=2")
        if not isinstance(mesh, str):
            raise ExportError(f"{options.config}: 'mesh' is a string such as \"X=4,Y=2\"")
        specs.parse_mesh(mesh)
        self.mesh: str = mesh

    def run(
        self,
        export: passes.Export,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> int:
        """Export with `export`, check, print the report; the program's exit code."""
        mesh = specs.to_mesh(self.mesh)
        wanted = verdict.argument_specs(
            fn, args, kwargs, self.specs(), mesh, self._logical()
        )

        def judged(exported: Exported) -> JsonObject:
            options = self._handed_on(("format", "color", "max-errors"))
            _, out, _ = self._ask(exported, wanted, [*options, "--format", "json"])
            return json.loads(out) if out else {}

        exported = passes.settled(export, judged, self._options.mode)
        for note in exported.notes:
            print(f"note: {note}", file=sys.stderr)
        code, out, error = self._ask(exported, wanted, self._handed_on())
        self._out.write(out)
        self._out.flush()
        sys.stderr.write(error)
        return code

    def _logical(self) -> set[str]:
        """The names that the config's rules know; the program reads the rules."""
        rules = self._config.get("logical")
        if not isinstance(rules, list):
            return set()
        return {r[0] for r in rules if isinstance(r, list) and r and isinstance(r[0], str)}

    def specs(self) -> list[tuple[str | None, Any]] | None:
        """Specs of the config file, then those of the command line."""
        given = self._config.get("in", [])
        if isinstance(given, dict):
            pairs: list[tuple[str | None, Any]] = list(given.items())
        else:
            pairs = [specs.split_in(text) for text in given]
        pairs += [specs.split_in(text) for text in self._options.specs or ()]
        return pairs or None

    def _ask(
        self, exported: Exported, wanted: dict[str, Any], options: list[str]
    ) -> tuple[int, str, str]:
        """What the program says of an export: (exit code, output, errors)."""
        config = dict(self._config)
        config["mesh"] = self.mesh
        texts = verdict.positional(wanted, exported.data["entry"]["arg_paths"])
        given = [o for text in texts for o in ("--in", text)]  # The report says so.
        if "in" in self._config:
            config["in"], given = texts, []
        name = verdict.file_name(exported)
        with tempfile.TemporaryDirectory(prefix="shardtype-") as folder:
            exported.save(os.path.join(folder, name))
            # It has the name of the user's file, for the report says it.
            file = os.path.basename(self._options.config or "config")
            file = f"config-{file}" if file == name else file
            with open(os.path.join(folder, file), "w", encoding="utf-8") as f:
                json.dump(config, f)
            root = self._options.root
            call = ["check", name, "--config", file, "--source-root", root, *given]
            return program.run(self._program, call + options, folder)

    def _handed_on(self, but: tuple[str, ...] = ()) -> list[str]:
        """The options for the program, those named in `but` left out."""
        out: list[str] = []
        for name, metavar, _ in _HANDED_ON:
            if name in but:
                continue
            value = getattr(self._options, "on_" + name.replace("-", "_"))
            if metavar is None:
                out += [f"--{name}"] * bool(value)
            for item in value if isinstance(value, list) else ():
                out += [f"--{name}", item]
        if "color" not in but and not self._options.on_color and not self._options.on_format and self._out.isatty():
            out += ["--color", "always"]  # The program itself writes to a pipe.
        return out


def _config(path: str | None) -> JsonObject:
    if path is None:
        return {}
    config = read_json(path)
    if not isinstance(config, dict):
        raise ExportError(f"{path}: a config file holds one object")
    return config


def read_json(path: str) -> Any:
    """The content of a JSON file the user named."""
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except OSError as e:
        raise ExportError(f"cannot read {path}: {e.strerror}") from None
    except ValueError as e:
        raise ExportError(f"{path} is not JSON: {e}") from None
