# program.py - finds and runs the `shardtype` program.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The checker is a program of its own; this runs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from shardtype.errors import ExportError


def find(program: str | os.PathLike[str] | None = None) -> str:
    """Path of the program: as given, from `SHARDTYPE_PROGRAM`, beside the running
    Python (where a wheel puts it), or from the search path.

    Raises `ExportError` if there is none.
    """
    given = os.fspath(program) if program is not None else os.environ.get("SHARDTYPE_PROGRAM")
    if given:
        found = shutil.which(given)
        if found is None:
            raise ExportError(f"'{given}' is not a program that can be run")
        return found
    installed = os.path.join(os.path.dirname(sys.executable), "shardtype")
    found = installed if os.access(installed, os.X_OK) else shutil.which("shardtype")
    if found is None:
        raise ExportError(
            "the shardtype program is not found: put it on PATH, or its path into"
            " SHARDTYPE_PROGRAM"
        )
    return found


def verified(program: str) -> str:
    """`program`, if it says that it is the checker. Another one might end with 0."""
    _, out, _ = run(program, ["--version"])
    if not out.startswith("shardtype "):
        raise ExportError(f"'{program}' is not the shardtype program")
    return program


def run(program: str, arguments: Sequence[str], cwd: str | None = None) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of one call.

    Raises `ExportError` for a program that cannot run or did not end by itself.
    """
    try:
        done = subprocess.run(
            [program, *arguments],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as e:
        raise ExportError(f"cannot run {program}: {e.strerror}") from None
    if done.returncode not in (0, 1, 2):
        ended = f"signal {-done.returncode}" if done.returncode < 0 else f"code {done.returncode}"
        last = (done.stderr.strip().splitlines() or [""])[-1]
        raise ExportError(f"{program} ended with {ended}" + (f": {last}" if last else ""))
    return done.returncode, done.stdout, done.stderr
