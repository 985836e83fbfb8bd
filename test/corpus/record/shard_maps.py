# shard_maps.py - more shard_maps, recorded in the files beside this one.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bodies that JAX refuses, in_specs that come from types, regions under vmap.

`tools/dev/export_record.py` writes `NAME.json` for each entry of `PROGRAMS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from functions import Program, f32
from jax import lax
from jax.sharding import PartitionSpec as P


@dataclass
class Mapped(Program):
    """A program with in_specs for its shard_maps that have none."""

    infer: Any = None


PROGRAMS: dict[str, Program] = {}


def program(*args: Any, infer: Any = None) -> Callable[[Any], Any]:
    """Register a function under its own name."""

    def register(fn: Any) -> Any:
        PROGRAMS[fn.__name__] = Mapped(fn, args, "data=4,model=2", infer)
        return fn

    return register


@program(f32(8, 4))
def mapped_with_two_faults(x):
    """One region's carry, another's result, and a third that is right: JAX stops at the
    first."""

    def loop(a):
        return lax.scan(lambda c, _: (c + a.sum(), None), jnp.zeros(()), None, length=2)[0][None]

    first = jax.shard_map(loop, in_specs=P("data"), out_specs=P("data"))(x)
    second = jax.shard_map(lambda a: a, in_specs=P("data"), out_specs=P())(x)
    third = jax.shard_map(lambda a: lax.psum(a, "data"), in_specs=P("data"), out_specs=P())(x)
    return first, second, third


@program(f32(8, 4))
def mapped_as_jax_cannot(x):
    """A cast to what the value is already: the body is recorded without its check.
    Beside it a region whose result differs."""

    def cast(a):
        return lax.pcast(a, "data", to="varying")

    first = jax.shard_map(cast, in_specs=P("data"), out_specs=P("data"))(x)
    return first, jax.shard_map(lambda a: a, in_specs=P("data"), out_specs=P())(x)


def _halves(a):
    return a[:2]


@program(f32(8, 4))
def mapped_by_types(x):
    """What comes out of the first region decides the in_specs of the second."""
    first = jax.shard_map(_halves, out_specs=P("data", None))
    second = jax.shard_map(lambda a: lax.psum(a, "data"), out_specs=P())
    return second(first(x) * 2)


@program(f32(8, 4), infer={0: [P("data", None)], 1: [P("data", None)]})
def mapped_by_types_again(x):
    """The same with the in_specs that were found for x over data."""
    return mapped_by_types(x)


def _double(a):
    return jax.shard_map(lambda b: b * 2, in_specs=P("model"), out_specs=P("model"))(a)


@program(f32(4, 8, 4))
def mapped_under_vmap(x):
    """Of a dim that vmap maps over, regions inside leave the axes alone."""

    return jax.vmap(_double)(x)


@program(f32(4, 8, 4))
def spmd_vmap(x):
    """vmap says itself over what its dim lies."""
    return jax.vmap(_double, spmd_axis_name="data")(x)


@program(f32(4, 8, 4))
def named_under_vmap(x):
    """A region that names the axis of the mapped dim itself."""

    def total(a):
        body = lambda b: lax.psum(b, "data")  # noqa: E731
        return jax.shard_map(body, in_specs=P(), out_specs=P(), axis_names={"data"})(a)

    return jax.vmap(total)(x)


# Axes where there is no region, and a line that is written more than once.


@program(f32(8, 4))
def sized_outside(x):
    """The size of an axis that is not Manual here: no equation says it."""
    return x * lax.axis_size("data")


@program(f32(8, 4))
def summed_outside(x):
    return lax.psum(x, "data") * lax.axis_size("data")


@program(f32(8, 4))
def branches_under_vmap(x):
    """vmap writes the branches, which JAX refuses, as a selection, which it does not."""

    def body(a):
        return lax.cond(a.sum() > 0, lambda: a, lambda: jnp.zeros(a.shape))

    def row(a):
        return jax.shard_map(body, in_specs=P("model"), out_specs=P("model"))(a)

    return jax.vmap(row)(x)


@program(f32(4, 8), f32(16, 4))
def curvature(w, x):
    """One product, which the derivatives of derivatives write again."""

    def loss(v):
        return jnp.sum(jnp.tanh(x @ v))

    return jax.hessian(loss)(w)


@program(f32(4, 8), f32(8))
def unmapped_under_vmap(x, y):
    """A region under vmap that is given nothing of what the vmap maps."""

    def double(a):
        return jax.shard_map(lambda b: b * 2, in_specs=P("data"), out_specs=P("data"))(a)

    return jax.vmap(lambda r: r + double(y))(x)
