#!/usr/bin/env python3
# check_layers.py - each library includes what its row allows, nothing else.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads `#include "shardtype/X/..."` below lib and include and compares with
the layers of docs/ARCHITECTURE.md. Exit 1 on a breach."""
import pathlib
import re
import sys

# library -> what it may include besides itself; indirect ones are added.
LAYERS = {
    "Support": [],
    "Types": ["Support"],
    "IR": ["Types"],
    "Tensor": ["Types"],
    "Kernels": ["Tensor"],
    "Rules": ["IR", "Kernels"],
    "Primitives": ["Rules"],
    "Json": ["Rules"],
    "Check": ["Rules"],
    "Report": ["Rules"],
    "Interp": ["Rules"],
    "Driver": ["Primitives", "Json", "Check", "Report", "Interp"],
}
# header -> the only folder that may include it.
ONLY = {"rapidjson/": "lib/Json", "CLI/": "lib/Driver"}


def allowed(layer):
    found = {layer}
    for below in LAYERS[layer]:
        found |= allowed(below)
    return found


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    bad = 0
    for path in sorted([*root.glob("lib/**/*"), *root.glob("include/**/*")]):
        if path.suffix not in {".h", ".cpp", ".def"}:
            continue
        where = path.relative_to(root)
        layer = where.parts[1] if where.parts[0] == "lib" else where.parts[2]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            ours = re.match(r'#include "shardtype/(\w+)/', line)
            if ours and ours[1] not in allowed(layer):
                print(f"{where}:{number}: {layer} may not include {ours[1]}")
                bad += 1
            for prefix, folder in ONLY.items():
                if re.match(rf"#include [<\"]{prefix}", line) and not str(
                    where
                ).startswith(folder):
                    print(f"{where}:{number}: only {folder} includes {prefix}")
                    bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
