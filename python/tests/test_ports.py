# test_ports.py - the ports of docs/ports from one device to a mesh.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The console blocks of the documents are run, with JAX and the program."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import jax
import pytest
from test_check import PROGRAM, ROOT, needs_program

REFERENCE = "0.12.0.1"
DOCUMENTS = {"gpt.md": "optax", "mlp.md": "equinox", "transformer.md": "flax", "micro.md": "jax"}


def test_all_documents_are_run():
    assert {p.name for p in (ROOT / "docs" / "ports").glob("*.md")} == set(DOCUMENTS)


@needs_program
@pytest.mark.skipif(jax.__version__ != REFERENCE, reason=f"the documents show JAX {REFERENCE}")
@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_a_port_shows(name):
    pytest.importorskip(DOCUMENTS[name])
    build = pathlib.Path(PROGRAM).resolve().parents[1]
    if not (build / "bin" / "shardtype").exists():
        pytest.skip("the program is in no build folder")
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "dev" / "check_docs.py", "--build", build,
         "--jax-python", sys.executable, f"docs/ports/{name}"],
        cwd=ROOT, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 skipped, 0 problems" in done.stdout
