#!/usr/bin/env python3
# exits.py - runs a command that has to end with a given exit code.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""exits.py CODE COMMAND...: lit's own shell only tells success from failure."""

import subprocess
import sys

code = subprocess.run(sys.argv[2:]).returncode
if code != int(sys.argv[1]):
    sys.exit(f"exit code {code}, not {sys.argv[1]}")
