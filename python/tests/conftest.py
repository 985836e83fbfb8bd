# conftest.py - makes the package importable without installing it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Test configuration."""

import os
import pathlib
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# Two devices, so that concrete meshes with axes can be made.
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
