# outer_values.py - functions whose regions use a value that did not enter them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recorded by `tools/dev/export_record.py`. On Explicit axes JAX refuses each of them."""

import functions
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P
from jax.sharding import auto_axes


def captured(w, x):
    def body(x):
        return jnp.sum(w * x, 1)

    return jax.shard_map(body, in_specs=P("i", None), out_specs=P("i"))(x)


def captured_result(x):
    w = 2 * jnp.ones(3)
    return jax.shard_map(lambda x: x @ w, in_specs=P("i", None), out_specs=P("i"))(x)


def captured_beside(w, x):
    """An axis stays Explicit: JAX moves a captured value by the cast that a product needs."""
    return jax.shard_map(lambda x: x @ w, in_specs=P("i"), out_specs=P("i"), axis_names={"i"})(x)


def captured_first(w, x):
    """It is used by itself before that."""
    w = w * 2

    def body(x):
        return x + jnp.sum(w)

    return jax.shard_map(body, in_specs=P("i"), out_specs=P("i"), axis_names={"i"})(x)


def uncast_index(x, n):
    return auto_axes(lambda x: x.at[n].get(mode="clip"), out_sharding=P("i"), axes="i")(x)


def uncast_in_call(x, n):
    return auto_axes(lambda x: jnp.take(x, n, axis=0), out_sharding=P("i"), axes="i")(x)


def seed_without_variation(w, x):
    """The results of the function that is differentiated vary over i, the seed does not."""

    def body(w, x):
        _, pull = jax.vjp(lambda w, x: jnp.sum(x @ w, 1), w, x)
        return pull(jnp.ones(5))

    return jax.shard_map(body, in_specs=(P(), P("i")), out_specs=(P(), P("i")))(w, x)


BESIDE = (captured_beside, captured_first)
PROGRAMS = {
    f.__name__: functions.Program(f, args, "i=4,j=2" if f in BESIDE else "i=4")
    for f, args in (
        (captured, (functions.f32(3), functions.f32(4, 3))),
        (captured_result, (functions.f32(4, 3),)),
        (captured_beside, (functions.f32(4, 4), functions.f32(8, 4))),
        (captured_first, (functions.f32(4, 4), functions.f32(8, 4))),
        (uncast_index, (functions.f32(8, 3), functions.i32(8))),
        (uncast_in_call, (functions.f32(8, 3), functions.i32(8))),
        (seed_without_variation, (functions.f32(6, 8), functions.f32(20, 6))),
    )
}
