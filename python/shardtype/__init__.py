# __init__.py - the Python side of Shardtype: writes JAX programs to files.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Write a JAX program to a file that Shardtype checks without JAX.

    import jax, jax.numpy as jnp, shardtype
    x = jax.ShapeDtypeStruct((8, 4), jnp.float32)
    shardtype.export(lambda x: jnp.tanh(x).sum(), x).save("program.json")

JAX is imported on the first export only.
"""

from shardtype.errors import ExportError, NeedsMesh, Rejected
from shardtype.export import Exported, export

__version__ = "0.1.0"
__all__ = ["ExportError", "Exported", "NeedsMesh", "Rejected", "export"]
