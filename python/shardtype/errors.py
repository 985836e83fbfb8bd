# errors.py - what an export can fail with.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions of the exporter, of `check` and of `run`.

A failure of the user's own code is none of these: it passes through unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shardtype.verdict import Report


class ExportError(Exception):
    """The export could not be made; the message says what to change."""

    exit_code = 2


class NeedsMesh(ExportError):
    """The function has sharding annotations and no mesh was given."""


class Rejected(ExportError):
    """JAX itself refuses the program under the given mesh and specs."""

    exit_code = 1


class RunFailed(Exception):
    """A program could not be run to its end; the message says why."""


class IllTyped(AssertionError):
    """The checker found errors; `report` has them, the message is its text."""

    def __init__(self, report: Report) -> None:
        super().__init__("the function is ill-typed\n" + str(report))
        self.report = report
