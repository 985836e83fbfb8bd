# lit.cfg.py - the seed examples (spec 00): one test a row, named after it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

here = os.path.dirname(__file__)
lit_config.load_config(config, os.path.join(here, "..", "test", "lit.cfg.py"))
config.name = "spec-examples"
config.test_source_root = here
config.test_exec_root = os.path.join(lit_config.params["build"], "spec-examples")
config.excludes = ["golden"]
