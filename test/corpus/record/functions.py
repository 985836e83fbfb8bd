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


@program(f32(8, 4), f32(4, 8), f32(8, 8))
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


@program(f32(8, 4), mesh="data=4,model=2")
def mapped_with_another_carry(x):
    """The carry starts equal on all devices, and each adds what it holds."""

    def body(a):
        return lax.scan(lambda c, _: (c + a.sum(), None), jnp.zeros(()), None, length=2)[0][None]

    return jax.shard_map(body, in_specs=P("data"), out_specs=P("data"))(x)


# Derivatives.


def loss(w, x):
    return jnp.sum(jnp.tanh(jnp.dot(x, w)))


@program(f32(4, 6), f32(8, 4))
def gradient(w, x):
    return jax.value_and_grad(loss)(w, x)


@program(f32(4, 6), f32(8, 4))
def pullback_later(w, x):
    y, pull = jax.vjp(lambda w: jnp.dot(x, w), w)
    return lax.scan(lambda c, _: (c + pull(y)[0], None), w, None, length=3)[0]


@program(f32(4, 6), f32(8, 4))
def forward_mode(w, x):
    return jax.jvp(lambda w: jnp.sin(jnp.dot(x, w)), (w,), (2 * w,))


@program(f32(4, 6), f32(5, 8, 4))
def microbatches(w, xs):
    def step(total, x):
        return total + jax.grad(loss)(w, x), None

    return lax.scan(step, jnp.zeros_like(w), xs)[0]


@program(f32(4, 6), f32(8, 4))
def per_example(w, x):
    return jax.vmap(jax.grad(loss), in_axes=(None, 0))(w, x)


@program(f32(4))
def second_order(x):
    return jax.hessian(lambda v: jnp.sum(jnp.sin(v)))(x)


@jax.custom_vjp
def clipped(x, limit):
    return jnp.sin(x) * limit


clipped.defvjp(
    lambda x, limit: (clipped(x, limit), (x, jnp.cos(x))),
    lambda res, ct: (jnp.clip(ct, -1, 1) * res[1] + res[0], None),
)


@program(f32(8, 4), f32(4))
def custom_rules(x, limit):
    return jax.grad(lambda v: (clipped(v, limit) + jax.nn.relu(v)).sum())(x)


@program(f32(4, 6), f32(8, 4))
def remat(w, x):
    policy = jax.checkpoint_policies.dots_saveable
    return jax.grad(jax.checkpoint(loss, policy=policy))(w, x)


@program(f32(4, 6), f32(6, 4), f32(8, 4))
def annotated_step(w1, w2, x):
    """A step of gradient descent, annotated for data=4,model=2."""

    def f(params, x):
        w1, w2 = params
        h = jnp.tanh(jnp.dot(x, w1, out_sharding=P("data", "model")))
        y = jnp.dot(h, w2, out_sharding=P("data", None))
        return jnp.mean(y * y)

    value, g = jax.value_and_grad(f)((w1, w2), x)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, (w1, w2), g)


@program(f32(8, 4), mesh="data=4")
def gradient_inside_shard_map(x):
    def body(a):
        return jax.grad(lambda a: jnp.sin(a).sum() + lax.psum(a.sum(), "data"))(a)

    return jax.shard_map(body, in_specs=P("data"), out_specs=P("data"))(x)


@program(f32(3, 4))
def unmarked(x):
    return jax.vmap(jax.grad(lambda v: (v * lax.psum(v, "i")).sum()), axis_name="i")(x)
