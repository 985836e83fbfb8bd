# errors.py - what an export can fail with.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exceptions of the exporter.

A failure of the user's own code is none of these: it passes through unchanged.
"""


class ExportError(Exception):
    """The export could not be made; the message says what to change."""

    exit_code = 2


class NeedsMesh(ExportError):
    """The function has sharding annotations and no mesh was given."""


class Rejected(ExportError):
    """JAX itself refuses the program under the given mesh and specs."""

    exit_code = 1
