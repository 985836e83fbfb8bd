# functions.py - small annotated functions, recorded in the files beside this one.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One function for each thing that a recording (mode `record`) can hold.

`python tools/dev/export_record.py` writes `NAME.json` for each entry of
`PROGRAMS`, `--check` compares. `mesh` are the sizes given to the exporter.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P
from jax.sharding import auto_axes, explicit_axes, reshard


@dataclass
class Program:
    """A function, its argument types, and the mesh to record under."""

    fn: Callable[..., Any]
    args: tuple[Any, ...]
    mesh: str | None = None


PROGRAMS: dict[str, Program] = {}


def program(*args: Any, mesh: str | None = None) -> Callable[[Any], Any]:
    """Register a function under its own name."""

    def register(fn: Any) -> Any:
        PROGRAMS[fn.__name__] = Program(fn, args, mesh)
        return fn

    return register


def f32(*shape: int) -> Any:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def i32(*shape: int) -> Any:
    return jax.ShapeDtypeStruct(shape, jnp.int32)


# Annotations.


@program(f32(8, 4), f32(4, 6), f32(8, 6))
def two_errors(x, w, y):
    """With x=P(data,model), w=P(model,None), y=P(None,data): the contraction is
    over a sharded dim and says nothing of it, and the sum meets a conflict."""
    h = jnp.dot(x, w)
    z = reshard(y, P("data", None))
    return jnp.tanh(h), z + y


@program(f32(8, 4), f32(4, 6))
def out_shardings(x, w):
    h = jnp.dot(x, w, out_sharding=P("data", "model"))
    u = jnp.dot(x, w, out_sharding=P(None, None, unreduced={"model"}))
    e = jnp.einsum("ij,kj->ki", h, h, out_sharding=P("model", None))
    r = jnp.reshape(x, (4, 8), out_sharding=P("data", None))
    return h, reshard(u, P()), e, r


@program(f32(8, 4))
def constraint(x):
    y = lax.with_sharding_constraint(x, P("data", P.UNCONSTRAINED))
    return y * 2


@program(f32(8, 4), i32(4))
def regions(x, i):
    rows = x.at[i].get(out_sharding=P("data", None))

    @functools.partial(auto_axes, out_sharding=P("data", "model"))
    def automatic(v):
        return jnp.sin(v)

    @functools.partial(auto_axes, axes="model", out_sharding=P("data", None))
    def partly(v):
        w = explicit_axes(jnp.cos, axes=("model",), in_sharding=P(None, "model"))(v)
        return w + 1

    return rows, automatic(x), partly(x)


@program(f32(8, 4), f32(4, 6))
def under_vmap(x, w):
    def row(v):
        v = reshard(v, P("model"))
        return jnp.dot(v, w, out_sharding=P("model"))

    return jax.vmap(row)(x)


@program(f32(8, 4), f32(4))
def copied_by_jax(x, m):
    return jnp.where(m > 0, x, 0.0), jnp.broadcast_arrays(x, m)[1]


@program(f32(8, 4))
def inner_jit(x):
    return jax.jit(jnp.sin, in_shardings=P("data"), out_shardings=P("data", "model"))(x)


@program(i32(8))
def classes(i):
    return jax.nn.one_hot(i, 6, out_sharding=P("data", "model"))


@program(f32(8, 4))
def dropped(x):
    return reshard(x, P("data", "data")) * 2


@program(f32(8, 4), mesh="data=4,model=2")
def mapped(x):
    def body(a):
        return a + lax.psum(a.sum(), "data")

    return jax.shard_map(body, in_specs=P("data"), out_specs=P("data"), axis_names={"data"})(x)


@program(f32(8, 4), mesh="data=4,model=2")
def mapped_without_in_specs(x):
    return jax.shard_map(lambda a: a * lax.axis_size("data"), out_specs=P("data", None))(x)


@program(f32(8, 4), mesh="data=4,model=2")
def mapped_against_the_rules(x):
    """The result varies over data, and out_specs says that it does not."""
    return jax.shard_map(lambda a: a.sum(), in_specs=P("data"), out_specs=P())(x)
