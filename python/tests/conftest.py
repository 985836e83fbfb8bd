# conftest.py - makes the package importable without installing it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Test configuration."""

import os
import pathlib
import sys

import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Two devices, so that concrete meshes with axes can be made.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]


@pytest.fixture(autouse=True)
def be_patient(monkeypatch):
    """A machine that is busy shows no progress where a test reads all that is said."""
    from shardtype import progress

    monkeypatch.setattr(progress, "PATIENCE", 600.0)


@pytest.fixture(autouse=True)
def use_program(monkeypatch):
    """The package runs the program that the tests have found (test_check.py)."""
    from test_check import PROGRAM

    if PROGRAM is not None:
        monkeypatch.setenv("SHARDTYPE_PROGRAM", PROGRAM)
