# cli.py - `python -m shardtype export|check module:function`.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The command line. Standard output carries the program or the report and nothing
else.

Exit codes: 0 exported, nothing found; 1 errors in the program, or JAX rejects it
(mode native); 2 the work could not be done; 130 interrupted. Whatever the user's code
does while it is imported or traced, 0 means that the work was done.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TextIO

from shardtype import checkcli, compat, specs, usercode
from shardtype.errors import ExportError
from shardtype.export import Exported, export, write_atomically
from shardtype.progress import progress
from shardtype.trace import MODES


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
    """Run the command line and return its exit code. Without `argv` it is that of the
    process, which has nothing to print afterwards."""
    options = _parse(argv)
    try:
        with usercode.own_stdout(keep=argv is None) as out:
            return _run(options, out)
    except ExportError as e:
        print(f"error: {e}", file=sys.stderr)
        return e.exit_code
    except usercode.UserCodeFailed as e:
        usercode.print_traceback(e.error)
    except KeyboardInterrupt:
        print("interrupted: nothing was decided", file=sys.stderr)
        return 130  # As a shell has it.
    except BrokenPipeError:
        pass
    except OSError as e:  # Of standard output, or of a temporary folder.
        print(f"error: cannot write: {e.strerror or e}", file=sys.stderr)
    except Exception:
        traceback.print_exc()
        print("error: this is a fault of shardtype's own; nothing was decided", file=sys.stderr)
    return 2


def _run(options: argparse.Namespace, out: TextIO) -> int:
    """Do what the verb says; `out` gets the program or the report."""
    options.root = _existing(options.root)
    table = getattr(options, "infer", None)
    options.infer = None if table is None else checkcli.read_json(table)
    if options.verb == "check":
        return _check(options, out)
    output = options.output if options.output == "-" else os.path.abspath(options.output)
    text = options.text and os.path.abspath(options.text)  # The user's code may go elsewhere.
    exported = _export(options)
    if text is not None:
        _save(options.text, lambda: write_atomically(text, exported.text + "\n"))
    if output == "-":
        out.write(exported.to_json())
        out.flush()
    else:
        _save(options.output, lambda: exported.save(output))
    for note in exported.notes:
        print(f"note: {note}", file=sys.stderr)
    print(exported.summary(), file=sys.stderr)
    return 0


def _existing(root: str | None) -> str:
    if root is not None and not os.path.isdir(root):
        raise ExportError(f"--root {root}: no such directory")
    return os.path.abspath(root or os.getcwd())


def _save(name: str, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as e:
        raise ExportError(f"cannot write {name}: {e.strerror}") from None


def _export(options: argparse.Namespace) -> Exported:
    in_specs = _given_specs(options)
    if options.mesh is not None:
        specs.parse_mesh(options.mesh)
    fn, args, kwargs = _call(options)
    return _traced(options, fn, args, kwargs, options.mesh, in_specs)


def _check(options: argparse.Namespace, out: TextIO) -> int:
    _given_specs(options)
    run = checkcli.Check(options, out)
    fn, args, kwargs = _call(options)

    def exported(mode: str, table: Mapping[str, Any]) -> Exported:
        mesh = None if mode == "plain" else run.mesh
        in_specs = run.specs() if mode == "native" else None
        options.mode, options.infer = mode, table
        return _traced(options, fn, args, kwargs, mesh, in_specs)

    return run.run(exported, fn, args, kwargs)


def _given_specs(options: argparse.Namespace) -> list[tuple[str | None, Any]] | None:
    """The specs of `--in`; a typing error shows before the user's code runs."""
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
    fn = usercode.load(options.function)
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    if options.args is not None:
        args = specs.parse_args(options.args)
    elif options.args_from is not None:
        args, kwargs = usercode.arguments_from(options.args_from)
    usercode.check_call(options.function, fn, args, kwargs)
    return fn, args, kwargs


def _traced(
    options: argparse.Namespace,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    mesh: Any,
    in_specs: Any,
) -> Exported:
    with usercode.guarded("it was traced"), progress(f"tracing {options.function}"):
        return export(
            fn,
            *args,
            mode=options.mode,
            mesh=mesh,
            in_specs=in_specs,
            include_constants=getattr(options, "include_constants", False),
            root=options.root,
            infer=options.infer,
            **kwargs,
        )
