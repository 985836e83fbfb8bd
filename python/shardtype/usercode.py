# usercode.py - imports and calls what the user named on the command line.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The user's code may raise anything, leave the process, print, or change the
working directory. None of that may look like a verdict, or get into one."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import inspect
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from shardtype import compat
from shardtype.errors import ExportError
from shardtype.trace import a_name, exit_text

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class UserCodeFailed(Exception):
    """Carries an exception of the user's code to the place that prints it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(type(error).__name__)
        self.error = error


@contextlib.contextmanager
def guarded(doing: str) -> Iterator[None]:
    """Run code of the user's. What it raises becomes `UserCodeFailed`; its end of the
    process an `ExportError`, which says what it was `doing` ("was imported")."""
    try:
        yield
    except (ExportError, UserCodeFailed, KeyboardInterrupt):
        raise
    except SystemExit as e:
        raise ExportError(exit_text(e, doing)) from None
    except BaseException as e:
        raise UserCodeFailed(e) from None


@contextlib.contextmanager
def own_stdout(keep: bool) -> Iterator[TextIO]:
    """Standard output for the report alone: what anything else prints in the block
    goes to standard error, and so does, with `keep`, what it prints later (a thread,
    a function that runs at the end of the process)."""
    stdout = sys.stdout
    if stdout is None:
        raise ExportError("standard output is closed")
    try:
        at_system = stdout.fileno() == 1
    except (OSError, ValueError):  # One that a test captures, a notebook's.
        at_system = False
    if not at_system:
        with contextlib.redirect_stdout(sys.stderr):
            yield stdout
        return
    stdout.flush()
    out = io.TextIOWrapper(
        os.fdopen(os.dup(1), "wb"), encoding=stdout.encoding, errors=stdout.errors
    )
    _to_standard_error()
    try:
        yield out
        out.flush()
    finally:
        if not keep:
            with contextlib.suppress(OSError, ValueError):
                stdout.flush()
            os.dup2(out.fileno(), 1)
        with contextlib.suppress(OSError):
            out.close()


def _to_standard_error() -> None:
    """Let descriptor 1 be 2, or nothing if that is closed."""
    try:
        os.dup2(2, 1)
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)


def load(name: str) -> Callable[..., Any]:
    """The function behind `module:function` or `file.py:function`."""
    module_name, colon, attribute = name.rpartition(":")
    if not colon or not module_name or not attribute:
        raise ExportError(_no_function(name))
    with guarded(f"'{module_name}' was imported"):
        value: Any = _load_module(module_name)
        for part in attribute.split("."):
            if not hasattr(value, part):
                names = [n for n in dir(value) if not n.startswith("_")]
                near = difflib.get_close_matches(part, names, 3)
                hint = f": did you mean {', '.join(near)}?" if near else ""
                raise ExportError(f"'{module_name}' has no '{attribute}'{hint}")
            value = getattr(value, part)
    if not callable(value):
        raise ExportError(f"'{name}' is {a_name(type(value))}, not a function")
    found: Callable[..., Any] = value
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
        raise


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


def arguments_from(name: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments that the function `name` returns."""
    make = load(name)
    try:
        inspect.signature(make).bind()
    except TypeError as e:
        raise ExportError(
            f"--args-from {name}{inspect.signature(make)}: {e}; it names a"
            " function without parameters that returns the arguments"
        ) from None
    except ValueError:  # Some callables do not tell.
        pass
    with guarded(f"'{name}' made the arguments"):
        made = make()
    if isinstance(made, dict):
        if not all(isinstance(k, str) for k in made):
            raise ExportError(f"{name} returned a dict whose keys are not names")
        return (), made
    if isinstance(made, tuple) and not hasattr(made, "_fields"):
        return made, {}
    return (made,), {}


def check_call(
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


def print_traceback(error: BaseException) -> None:
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
