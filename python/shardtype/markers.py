# markers.py - derivatives as equations that the checker understands.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradient markers (spec 04 section 8.3)."""

from __future__ import annotations

from shardtype.recording import Recorder
from shardtype.replace import Replacements


def install(recorder: Recorder, patches: Replacements) -> None:
    """Replace what differentiates; `patches` undoes it."""
