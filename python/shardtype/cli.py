# cli.py - `python -m shardtype export|check module:function`.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line. Standard output carries the program or the report and nothing
else.

Exit codes: 0 exported, nothing found; 1 errors in the program, or JAX rejects it
(mode native); 2 the work could not be done.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shardtype import checkcli, compat, specs
from shardtype.errors import ExportError
from shardtype.export import Exported, export, write_atomically
from shardtype.progress import progress
from shardtype.trace import MODES

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class _UserCodeFailed(Exception):
    """Carries an exception of the user's code to the place that prints it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The options; a word that is none leaves as argparse does, with the nearest one."""
    parser, verbs = _parsers()
    options, extra = parser.parse_known_args(argv)
    if not extra:
        return options
    verb = verbs[options.verb]
    word = extra[0].split("=")[0]
    if not word.startswith("-"):
        verb.error(f"'{word}' is one word too many")
    near = difflib.get_close_matches(word, list(verb._option_string_actions), 1)
    verb.error(f"unknown option '{word}'" + (f": did you mean {near[0]}?" if near else ""))


def _parsers() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    """The parser, and that of each verb."""
    parser = argparse.ArgumentParser(
        prog="python -m shardtype",
        description="Write JAX programs to files for the shardtype program, or check them"
        " with it.",
        epilog="Exit codes: 0 exported, nothing found; 1 errors in the program, or JAX"
        " rejects it (--mode native); 2 the work could not be done.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    p = verbs.add_parser(
        "export",
        help="trace a JAX function once and write the program",
        description="Trace a JAX function and write the program for `shardtype check`.",
    )
    _add_common(p)
    p.add_argument("-o", "--output", metavar="FILE", default="-", help="default: standard output")
    p.add_argument(
        "--include-constants", action="store_true", help="write constants of more than 1 KiB too"
    )
    p.add_argument(
        "--infer", metavar="FILE", help="JSON table of in_specs for shard_maps without any"
    )
    p.add_argument("--text", metavar="FILE", help="also write the program as JAX prints it")
    p = verbs.add_parser(
        "check",
        help="trace a JAX function and check it",
        description="Trace a JAX function and check its shardings, in one command.",
    )
    _add_common(p)
    checkcli.add_options(p)
    return parser, verbs.choices


def _add_common(p: argparse.ArgumentParser) -> None:
    p.add_argument("function", metavar="MODULE:FUNCTION", help="also FILE.py:FUNCTION")
    types = p.add_mutually_exclusive_group()
    types.add_argument("--args", metavar="TYPES", help="argument types, as 'f32[8,4] i32[8]'")
    types.add_argument(
        "--args-from",
        metavar="MODULE:FUNCTION",
        help="a function without parameters that returns the arguments: a tuple of them,"
        " a dict of keyword arguments, or the only argument",
    )
    p.add_argument("--mode", choices=MODES, default="auto", help="default: auto")
    p.add_argument("--mesh", metavar="X=4,Y=2", help="kinds as X=4:Auto")
    p.add_argument(
        "--in",
        dest="specs",
        action="append",
        metavar="SPEC",
        help="P(X,None) for the next leaf of the flattened arguments, or NAME=P(X,None) for"
        " a path or pattern",
    )
    p.add_argument("--root", metavar="DIR", help="source paths are relative to it (default: .)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    options = _parse(argv)
    try:
        if options.verb == "check":
            return _check(options)
        exported = _export(options)
        _write(options, exported)
    except ExportError as e:
        print(f"error: {e}", file=sys.stderr)
        return e.exit_code
    except _UserCodeFailed as e:
        _print_user_traceback(e.error)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    for note in exported.notes:
        print(f"note: {note}", file=sys.stderr)
    print(exported.summary(), file=sys.stderr)
    return 0


def _export(options: argparse.Namespace) -> Exported:
    in_specs = _given_specs(options)
    if options.mesh is not None:
        specs.parse_mesh(options.mesh)
    fn, args, kwargs = _call(options)
    return _traced(options, fn, args, kwargs, options.mesh, in_specs)


def _check(options: argparse.Namespace) -> int:
    _given_specs(options)
    run = checkcli.Check(options)
    fn, args, kwargs = _call(options)

    def exported() -> Exported:
        mesh = None if options.mode == "plain" else run.mesh
        in_specs = _given_specs(options) if options.mode == "native" else None
        return _traced(options, fn, args, kwargs, mesh, in_specs)

    return run.run(exported, fn, args, kwargs)


def _given_specs(options: argparse.Namespace) -> list[tuple[str | None, Any]] | None:
    """The specs of `--in`; a typing error shows before the user's code runs."""
    if options.root is not None and not os.path.isdir(options.root):
        raise ExportError(f"--root {options.root}: no such directory")
    if not options.specs:
        return None
    pairs: list[tuple[str | None, Any]] = [specs.split_in(s) for s in options.specs]
    for _, spec in pairs:
        specs.parse_spec(spec)
    return pairs


def _call(
    options: argparse.Namespace,
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """The function and its arguments."""
    compat.require_jax()
    fn = load(options.function)
    args, kwargs = _arguments(options)
    _check_call(options.function, fn, args, kwargs)
    return fn, args, kwargs


def _traced(
    options: argparse.Namespace,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    mesh: Any,
    in_specs: Any,
) -> Exported:
    table = getattr(options, "infer", None)
    infer = None if table is None else checkcli.read_json(table)
    try:
        with progress(f"tracing {options.function}"):
            return export(
                fn,
                *args,
                mode=options.mode,
                mesh=mesh,
                in_specs=in_specs,
                include_constants=getattr(options, "include_constants", False),
                root=options.root,
                infer=infer,
                **kwargs,
            )
    except ExportError:
        raise
    except Exception as e:
        raise _UserCodeFailed(e) from None


def _arguments(options: argparse.Namespace) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if options.args is not None:
        return specs.parse_args(options.args), {}
    if options.args_from is None:
        return (), {}
    make = load(options.args_from)
    try:
        inspect.signature(make).bind()
    except TypeError as e:
        raise ExportError(
            f"--args-from {options.args_from}{inspect.signature(make)}: {e}; it names a"
            " function without parameters that returns the arguments"
        ) from None
    except ValueError:  # Some callables do not tell.
        pass
    try:
        made = make()
    except Exception as e:
        raise _UserCodeFailed(e) from None
    if isinstance(made, dict):
        if not all(isinstance(k, str) for k in made):
            raise ExportError(f"{options.args_from} returned a dict whose keys are not names")
        return (), made
    if isinstance(made, tuple) and not hasattr(made, "_fields"):
        return made, {}
    return (made,), {}


def _check_call(
    name: str, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Say that arguments do not fit before JAX says so in its own words."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # Some callables do not tell.
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as e:
        raise ExportError(
            f"{name}{signature} does not take {len(args) + len(kwargs)} arguments: {e}"
            " (give them with --args or --args-from)"
        ) from None


def load(name: str) -> Callable[..., Any]:
    """The function behind `module:function` or `file.py:function`."""
    module_name, colon, attribute = name.rpartition(":")
    if not colon or not module_name or not attribute:
        raise ExportError(_no_function(name))
    module = _load_module(module_name)
    value: Any = module
    found: Callable[..., Any]
    for part in attribute.split("."):
        if not hasattr(value, part):
            names = [n for n in dir(value) if not n.startswith("_")]
            near = difflib.get_close_matches(part, names, 3)
            hint = f": did you mean {', '.join(near)}?" if near else ""
            raise ExportError(f"'{module_name}' has no '{attribute}'{hint}")
        value = getattr(value, part)
    if not callable(value):
        raise ExportError(f"'{name}' is a {type(value).__name__}, not a function")
    found = value
    return found


def _no_function(name: str) -> str:
    """What to say of a word that does not name a function."""
    if name.endswith(".py") and os.path.isfile(name):
        return f"'{name}' is a file: name a function in it, as {name}:FUNCTION"
    if os.path.isfile(name):
        return (
            f"'{name}' is a file, and no Python module; what is wanted is module:function,"
            f" which is traced. A program that was exported before is checked by the program"
            f" itself: shardtype check {name}"
        )
    return f"cannot read '{name}': write it as module:function"


def _load_module(name: str) -> Any:
    try:
        if name.endswith(".py"):
            return _load_file(name)
        if os.getcwd() not in sys.path and "" not in sys.path:
            sys.path.insert(0, os.getcwd())
        return importlib.import_module(name)
    except ModuleNotFoundError as e:
        # A missing module inside the user's module is the user's affair.
        if e.name is not None and (name == e.name or name.startswith(e.name + ".")):
            raise ExportError(f"no module named '{e.name}' (looked in . and sys.path)") from None
        raise _UserCodeFailed(e) from None
    except ExportError:
        raise
    except Exception as e:
        raise _UserCodeFailed(e) from None


def _load_file(path: str) -> Any:
    if not os.path.isfile(path):
        raise ExportError(f"no file '{path}'")
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = os.path.basename(path)[: -len(".py")]
    known = sys.modules.get(name)
    if known is not None and os.path.realpath(getattr(known, "__file__", None) or "") == (
        os.path.realpath(path)
    ):
        return known
    spec = importlib.util.spec_from_file_location(name, os.path.abspath(path))
    if spec is None or spec.loader is None:
        raise ExportError(f"cannot import '{path}'")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _write(options: argparse.Namespace, exported: Exported) -> None:
    try:
        if options.text is not None:
            write_atomically(options.text, exported.text + "\n")
        if options.output == "-":
            sys.stdout.write(exported.to_json())
            sys.stdout.flush()
        else:
            exported.save(options.output)
    except BrokenPipeError:
        raise
    except OSError as e:
        raise ExportError(f"cannot write {options.output}: {e.strerror}") from None


def _print_user_traceback(error: BaseException) -> None:
    """The traceback of the user's code: no frame of ours, JAX's or Python's
    import machinery, unless nothing else is left."""
    skip = (_HERE, *compat.jax_dirs())
    frames = traceback.extract_tb(error.__traceback__)
    kept = [
        f
        for f in frames
        if not os.path.abspath(f.filename).startswith(skip)
        and not f.filename.startswith("<frozen")
        and not f.filename.endswith(os.path.join("importlib", "__init__.py"))
    ]
    if kept:
        print("Traceback (most recent call last):", file=sys.stderr)
        sys.stderr.writelines(traceback.format_list(kept))
    sys.stderr.writelines(traceback.format_exception_only(type(error), error))
