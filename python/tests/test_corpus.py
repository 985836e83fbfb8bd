# test_corpus.py - the recorded corpus is valid and what JAX gives today.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files under test/corpus, and the script that writes them."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import jax
import pytest
from compare import type_text
from validator import validate

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORPUS = ROOT / "test" / "corpus"
MODES = {"programs": "plain", "native": "native", "manual": "native"}
FILES = [p for folder in MODES for p in sorted(CORPUS.glob(f"{folder}/*.json"))]
VERSION = "0.12.0.1"


def test_there_is_a_corpus():
    assert len(FILES) >= 70


@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_file(path):
    data = json.loads(path.read_text())
    assert validate(data) == []
    assert data["producer"]["version"] == VERSION
    assert "warnings" not in data["producer"]
    assert data["context"]["mode"] == MODES[path.parent.name]
    assert all(f.startswith("test/corpus/models/") for f in data["files"])
    text = path.with_suffix(".txt").read_text()
    top = text[text.rindex("\n{ lambda") :] if "\n{ lambda" in text else text
    # The signature in JAX's print has the types of the file, in order.
    head = top[: top.index(". let")]
    printed = re.findall(r"[a-z]+:(\S+)", head)
    j = data["jaxprs"][data["entry"]["jaxpr"]]
    assert printed == [type_text(data, t) for _, t in j["constvars"] + j["invars"]]


@pytest.mark.skipif(jax.__version__ != VERSION, reason=f"the corpus is of JAX {VERSION}")
def test_script_gives_the_recorded_files():
    env = dict(os.environ)
    env.pop("XLA_FLAGS", None)
    r = subprocess.run(
        [sys.executable, str(ROOT / "tools/dev/export_corpus.py"), "--check"],
        cwd="/", env=env, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert r.returncode == 0, r.stderr


RECORDED = sorted(CORPUS.glob("record/*.json"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda p: p.stem)
def test_recorded_file(path):
    data = json.loads(path.read_text())
    assert validate(data) == []
    assert data["producer"]["version"] == VERSION and data["context"]["mode"] == "record"


@pytest.mark.skipif(jax.__version__ != VERSION, reason=f"the corpus is of JAX {VERSION}")
def test_script_gives_the_recorded_annotations():
    r = subprocess.run(
        [sys.executable, str(ROOT / "tools/dev/export_record.py"), "--check"],
        cwd="/", capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert r.returncode == 0, r.stderr
    assert r.stderr.count("record/") == len(RECORDED)
