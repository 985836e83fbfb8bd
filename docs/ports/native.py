# native.py - does JAX accept a step under its mesh, and with which types?
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""native.py MODULE PLAN: traces MODULE.step on MODULE.arguments() under the Explicit
mesh and the specs of the config file PLAN, and compares the types that JAX gives
the results with those of `shardtype.check`."""

import importlib
import json
import pathlib
import sys

import jax
import shardtype
from jax.sharding import NamedSharding, PartitionSpec
from shardtype import specs, verdict


def main(name: str, plan: str) -> None:
    module = importlib.import_module(name)
    config = json.loads(pathlib.Path(plan).read_text())
    mesh = specs.to_mesh(config["mesh"])
    args = module.arguments()
    wanted = verdict.argument_specs(module.step, args, {}, config["in"], mesh)
    paths = iter(verdict.paths.argument_places(module.step, args, {}))

    def on_mesh(leaf):
        spec = wanted.get(next(paths)[1]) or PartitionSpec()
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(mesh, spec))

    with jax.sharding.use_abstract_mesh(mesh):
        out = jax.eval_shape(module.step, *jax.tree.map(on_mesh, args))
    report = shardtype.check(module.step, *args, mesh=mesh, in_specs=config["in"])
    report.raise_for_errors()
    ours = [t for path, t in report.types.items() if path.startswith("result")]
    native = [jax.typeof(leaf).str_short(short_dtypes=True) for leaf in jax.tree.leaves(out)]
    for x, y in zip(native, ours, strict=True):
        assert x == y, f"JAX: {x}, here: {y}"
    print(f"JAX accepts the step, and its {len(native)} results have the types found here")


if __name__ == "__main__":
    main(*sys.argv[1:])
