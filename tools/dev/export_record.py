#!/usr/bin/env python3
# export_record.py - writes test/corpus/record.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Record the functions of test/corpus/record/functions.py, outer_values.py,
unsharded.py and shard_maps.py with real JAX.

    python tools/dev/export_record.py             write all
    python tools/dev/export_record.py --check     compare with the files, write nothing
    python tools/dev/export_record.py two_errors  only this one

JAX must be the release the recorded files were made with.
"""

from __future__ import annotations

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "test" / "corpus" / "record"
sys.path[:0] = [str(ROOT / "python"), str(FOLDER)]

import functions  # noqa: E402
import jax  # noqa: E402
import outer_values  # noqa: E402
import shard_maps  # noqa: E402
import shardtype  # noqa: E402
import unsharded  # noqa: E402

JAX_VERSION = "0.12.0.1"
PROGRAMS = {
    **functions.PROGRAMS,
    **outer_values.PROGRAMS,
    **unsharded.PROGRAMS,
    **shard_maps.PROGRAMS,
}


def export(program: functions.Program) -> shardtype.Exported:
    """Record one program."""
    return shardtype.export(
        program.fn,
        *program.args,
        mode="record",
        mesh=program.mesh,
        root=ROOT,
        infer=getattr(program, "infer", None),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args()
    if jax.__version__ != JAX_VERSION:
        print(f"this is JAX {jax.__version__}; the files need {JAX_VERSION}", file=sys.stderr)
        return 2
    unknown = set(options.names) - set(PROGRAMS)
    if unknown:
        parser.error(f"no program named {', '.join(sorted(unknown))}")
    different = 0
    for name, program in PROGRAMS.items():
        if options.names and name not in options.names:
            continue
        path = FOLDER / f"{name}.json"
        exported = export(program)
        print(f"record/{name}: {exported.summary()}", file=sys.stderr)
        if not options.check:
            path.write_text(exported.to_json())
        elif not path.exists() or path.read_text() != exported.to_json():
            print(f"differs: {path.relative_to(ROOT)}", file=sys.stderr)
            different += 1
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
