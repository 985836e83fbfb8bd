# __init__.py - the Python side of Shardtype: writes JAX programs to files.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check the shardings of a JAX program, or write it to a file for the checker.

    import jax, jax.numpy as jnp, shardtype
    x = jax.ShapeDtypeStruct((8, 4), jnp.float32)
    print(shardtype.check(jnp.tanh, x, mesh="data=4", in_specs=["P(data)"]))
    shardtype.export(lambda x: jnp.tanh(x).sum(), x).save("program.json")
    print(shardtype.run(jnp.tanh, jnp.ones((8, 4))))

JAX is imported on the first export only.
"""

from shardtype.errors import ExportError, IllTyped, NeedsMesh, Rejected, RunFailed
from shardtype.export import Exported, export
from shardtype.running import run
from shardtype.trace import eval_shape
from shardtype.verdict import Finding, Report, check

__version__ = "0.1.0"
__all__ = [
    "ExportError",
    "Exported",
    "Finding",
    "IllTyped",
    "NeedsMesh",
    "Rejected",
    "Report",
    "RunFailed",
    "check",
    "eval_shape",
    "export",
    "run",
]
