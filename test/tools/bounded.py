# bounded.py - runs a command and fails if it needed more memory than allowed.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bounded.py MEGABYTES COMMAND...   ends as the command does, 99 if over."""

import resource
import subprocess
import sys

status = subprocess.run(sys.argv[2:]).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
if peak > int(sys.argv[1]):
  print(f"bounded: {peak} MB were needed, {sys.argv[1]} are allowed",
        file=sys.stderr)
  sys.exit(99)
sys.exit(status if status >= 0 else 128 - status)
