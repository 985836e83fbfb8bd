# replace.py - replaces attributes of modules and puts them back.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Replacements that last as long as a `with` block, whatever ends it.

A function that other modules imported by name is found by identity in their
globals. A module that is imported while the block runs may take over a
replacement; leaving the block finds that by identity too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, MutableMapping, Sequence
from types import ModuleType, TracebackType
from typing import Any

_MISSING = object()


class Replacements:
    """A set of replacements; undone in reverse order by `__exit__`."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], None]] = []
        self._everywhere: list[tuple[Any, Any]] = []

    def attribute(self, owner: Any, name: str, new: Any) -> None:
        """Set one attribute of a module or a class."""
        before = vars(owner).get(name, _MISSING)
        setattr(owner, name, new)

        def undo() -> None:
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

        self._undo.append(undo)

    def item(self, table: MutableMapping[Any, Any], key: Any, new: Any) -> None:
        """Set one entry of a table."""
        before = table.get(key, _MISSING)
        table[key] = new

        def undo() -> None:
            if before is _MISSING:
                table.pop(key, None)
            else:
                table[key] = before

        self._undo.append(undo)

    def everywhere(self, *pairs: tuple[Any, Any]) -> None:
        """Of each (old, new): set every global variable of a loaded module that is
        `old` to `new`."""
        _swap(pairs)
        self._everywhere += pairs

    def at_end(self, call: Callable[[], None]) -> None:
        """Call `call` when the replacements are undone."""
        self._undo.append(call)

    def __enter__(self) -> Replacements:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.undo()

    def undo(self) -> None:
        """Put everything back; a second call does nothing."""
        try:
            while self._undo:
                self._undo.pop()()
        finally:
            pairs, self._everywhere = self._everywhere, []
            if pairs:
                _swap([(new, old) for old, new in pairs])


def _swap(pairs: Sequence[tuple[Any, Any]]) -> None:
    by_id = {id(old): (old, new) for old, new in pairs}
    for module in list(sys.modules.values()):
        # Modules of our own hold the originals on purpose.
        if not isinstance(module, ModuleType) or module.__name__.startswith("shardtype"):
            continue
        names = vars(module)
        hits = [(name, id(value)) for name, value in list(names.items()) if id(value) in by_id]
        for name, key in hits:
            names[name] = by_id[key][1]
