# lit.cfg.py - tests that are one file each (style.md, section 6).
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os

import lit.formats

config.name = "shardtype"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".jaxpr", ".test"]
config.excludes = ["unit", "oracle", "corpus", "install", "fuzz", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
root = os.path.dirname(config.test_source_root)
build = lit_config.params["build"]
config.test_exec_root = os.path.join(build, "test", "lit")
config.environment["PATH"] = os.pathsep.join(
    [lit_config.params["llvm_tools"], os.environ["PATH"]]
)
config.substitutions.append(("%shardtype", os.path.join(build, "bin/shardtype")))
config.substitutions.append(("%root", root))
config.substitutions.append(("%python", lit_config.params["python"]))
