#!/usr/bin/env python3
# record.py - what JAX prints for the programs of programs.py.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes printed/NAME.txt (JAX's print, under a mesh with a line that declares
it), NAME.source.txt (the same with source comments) and NAME.json (the exchange
format).

    python test/text/record.py            write all
    python test/text/record.py --check    compare, write nothing
    python test/text/record.py --older    with an older JAX: write older/NAME-VERSION.txt
                                          for the programs that print otherwise there
"""

import os
import pathlib
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "python"), str(HERE)]

try:
    import jax
except ImportError:
    print("skipped: this Python has no JAX")
    sys.exit(77)

import programs
import shardtype

JAX_VERSION = "0.12.0.1"
MESH = "X=2,Y=4"


def files_of(name):
    fn, args = programs.PROGRAMS[name], programs.ARGS[name]
    specs = programs.SPECS.get(name)
    if specs is None:
        out = shardtype.export(fn, *args, mode="plain", root=ROOT)
        traced = jax.jit(fn).trace(*args)
        source = traced.jaxpr.pretty_print(source_info=True, use_color=False)
        yield f"{name}.source.txt", source.replace(f"{ROOT}/", "") + "\n"
    else:
        out = shardtype.export(
            fn, *args, mode="native", mesh=MESH, in_specs=specs, root=ROOT)
    header = "" if specs is None else f"#! mesh {MESH}\n"
    yield f"{name}.txt", header + out.text.rstrip("\n") + "\n"
    yield f"{name}.json", out.to_json()


# Programs whose parameters were others before.
OLDER = ("branches", "custom_rules", "enums", "loops", "refs", "remat", "scans",
         "shared_in_shared", "symmetric_solve")


def record_older():
    for name in OLDER:
        text = str(jax.make_jaxpr(programs.PROGRAMS[name])(*programs.ARGS[name]))
        path = HERE / "older" / f"{name}-{jax.__version__}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text + "\n")
    return 0


def main():
    if "--older" in sys.argv[1:]:
        return record_older()
    if jax.__version__ != JAX_VERSION:
        print(f"skipped: recorded with JAX {JAX_VERSION}, this is {jax.__version__}")
        return 77
    check = "--check" in sys.argv[1:]
    bad = 0
    for name in programs.PROGRAMS:
        for file, text in files_of(name):
            path = HERE / "printed" / file
            if not check:
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            elif not path.exists() or path.read_text() != text:
                print(f"differs: {path.relative_to(ROOT)}")
                bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
