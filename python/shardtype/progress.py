# progress.py - says that something takes long.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A line on standard error for what takes longer than a second."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

# Seconds of silence.
PATIENCE = 1.0


@contextlib.contextmanager
def progress(what: str) -> Iterator[None]:
    """Print `what`, if the block takes longer than `PATIENCE`, and how long it took."""
    shown = threading.Event()

    def show() -> None:
        shown.set()
        print(f"{what} ...", file=sys.stderr, flush=True)

    timer = threading.Timer(PATIENCE, show)
    timer.daemon = True
    start = time.monotonic()
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            seconds = time.monotonic() - start
            print(f"{what}: {seconds:.1f} s", file=sys.stderr, flush=True)
