# sources.py - the user's frames behind each equation, without machine paths.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Source frames, stacks and file hashes (spec 04 sections 6.1 and 6.2)."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
import sys
from collections.abc import Callable
from typing import Any

from shardtype import compat

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# Where the trace starts: frames outside it say nothing about the program.
TRACER = _HERE + "trace.py"


def is_users(file: str) -> bool:
    """Whether a frame of this file is neither JAX's nor ours."""
    return not file.startswith((*compat.jax_dirs(), _HERE))
# The same mask as JAX's printer: one X for each hexadecimal digit.
_ADDRESS = re.compile(r" at 0x([0-9a-fA-F]+)")


def mask_addresses(text: str) -> str:
    """Replace the digits of memory addresses, which differ from run to run."""
    return _ADDRESS.sub(lambda m: " at 0x" + "X" * len(m.group(1)), text)


def _takes_out_sharding(file: str, qualname: str) -> bool:
    """Whether the function of a frame has a parameter `out_sharding`."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) != file:
            continue
        found: Any = module
        for part in qualname.split("."):
            found = getattr(found, part, None)
        try:
            return "out_sharding" in inspect.signature(found).parameters
        except (TypeError, ValueError):
            return False
    return False


class SourceTable:
    """Interned frames and stacks; paths are written relative to a root.

    A file outside the root is written relative to the entry of `sys.path` that
    holds it (so a library reads `flax/linen/module.py`), else by its bare name.
    """

    def __init__(self, root: str | None) -> None:
        self.frames: list[dict[str, Any]] = []
        self.stacks: list[list[int]] = []
        self._root = os.path.join(os.path.realpath(root or os.getcwd()), "")
        roots = [os.path.realpath(p or os.getcwd()) for p in sys.path]
        self._others = sorted({os.path.join(p, "") for p in roots}, key=len, reverse=True)
        self._frame_ids: dict[tuple[Any, ...], int] = {}
        self._stack_ids: dict[tuple[int, ...], int] = {}
        self._by_traceback: dict[int, tuple[Any, int | None]] = {}
        self._names: dict[str, str] = {}
        self._real: dict[str, str] = {}

    def relative(self, file: str) -> str:
        """The name under which a file is written."""
        name = self._names.get(file)
        if name is None:
            name = self._names[file] = self._relative(file)
        return name

    def _relative(self, file: str) -> str:
        if file.startswith("<"):  # "<stdin>" and the like are no paths.
            return file
        real = os.path.realpath(file)
        for prefix in (self._root, *self._others):
            # A root of "/" would keep the whole machine path.
            if len(prefix) > 1 and real.startswith(prefix):
                name = real[len(prefix) :].replace(os.sep, "/")
                self._real[name] = real
                return name
        name = os.path.basename(real)
        self._real[name] = real
        return name

    def scrub(self, text: str) -> str:
        """`text` without memory addresses and without known directories.

        Paths are cut at the start of a word only: `layer/attn` is not one.
        """
        text = mask_addresses(text)
        if os.sep not in text:
            return text

        def cut(m: re.Match[str]) -> str:
            return m.group(1) + self.relative(m.group(2))

        return re.sub(r"(^|[\s('\"=<\[{,])(/[^\s'\"():,\]}>]+)", cut, text)

    def frame(self, file: str, func: str, line: int, col: int, eline: int, ecol: int) -> int:
        """Index of a frame; columns are Python's (bytes, from 0)."""
        key = (file, func, line, col, eline, ecol)
        index = self._frame_ids.get(key)
        if index is None:
            index = self._frame_ids[key] = len(self.frames)
            frame: dict[str, Any] = {
                "file": self.relative(file),
                "func": func,
                "line": line,
                "col": col,
                "eline": eline,
                "ecol": ecol,
            }
            if self._is_library(file):
                frame["lib"] = True
                if _takes_out_sharding(file, func):
                    frame["takes"] = ["out_sharding"]
            self.frames.append(frame)
        return index

    def _is_library(self, file: str) -> bool:
        """Whether a file is of an installed package, and not below the root."""
        real = os.path.realpath(file)
        parts = real.split(os.sep)
        installed = "site-packages" in parts or "dist-packages" in parts
        return installed and not (len(self._root) > 1 and real.startswith(self._root))

    def stack(self, traceback: Any) -> int | None:
        """Index of the user's frames of a traceback, None if there are none.

        Frames outside the call of the exporter say nothing about the program
        and are left out.
        """
        known = self._by_traceback.get(id(traceback))
        if known is not None:
            return known[1]
        ids: list[int] = []
        for f in compat.user_frames(traceback):
            if f.file_name == TRACER:
                break
            if f.file_name.startswith(_HERE):
                continue  # A replacement of a part of JAX.
            ids.append(
                self.frame(
                    f.file_name,
                    f.function_name,
                    f.start_line,
                    f.start_column,
                    f.end_line,
                    f.end_column,
                )
            )
        index = self._intern(tuple(ids)) if ids else None
        # The traceback is kept alive: its id must not be given out again.
        self._by_traceback[id(traceback)] = (traceback, index)
        return index

    def line(self, file: str, line: int) -> int:
        """Index of a stack of one line, of which nothing else is known."""
        return self._intern((self.frame(file, "", line, 0, line, 0),))

    def innermost(
        self, stack: int, ask: Callable[[str, dict[str, Any]], int | None]
    ) -> int | None:
        """What `ask` answers for the file and the innermost frame of a stack that is of
        the user's own code, of a library's if there is none."""
        frames = [self.frames[i] for i in self.stacks[stack]]
        frame = next((f for f in frames if "lib" not in f), frames[0])
        name = frame["file"]
        return ask(self._real.get(name, name), frame)

    def _intern(self, ids: tuple[int, ...]) -> int:
        index = self._stack_ids.get(ids)
        if index is None:
            index = self._stack_ids[ids] = len(self.stacks)
            self.stacks.append(list(ids))
        return index

    def of_function(self, fn: Callable[..., Any]) -> int | None:
        """Frame of a function's definition; None if it is not the user's."""
        fn = getattr(fn, "__wrapped__", fn)
        code = getattr(getattr(fn, "__func__", fn), "__code__", None)
        if code is None or not is_users(code.co_filename):
            return None
        line = code.co_firstlineno
        return self.frame(code.co_filename, code.co_qualname, line, 0, line, 0)

    def files(self) -> dict[str, str]:
        """`sha256:...` of every source file named in a frame that can be read."""
        out: dict[str, str] = {}
        for name in sorted({f["file"] for f in self.frames}):
            try:
                with open(self._real.get(name, ""), "rb") as f:
                    out[name] = "sha256:" + hashlib.sha256(f.read()).hexdigest()
            except OSError:
                continue
        return out
