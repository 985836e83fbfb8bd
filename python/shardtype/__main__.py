# __main__.py - `python -m shardtype`.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run the command line."""

import sys

from shardtype.cli import main

if __name__ == "__main__":
    sys.exit(main())
