# programs.py - small programs that between them use every kind of parameter.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A zoo for the exporter's tests. Each program runs on all supported releases,
or names the attribute of JAX whose absence explains why it does not."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

S = jax.ShapeDtypeStruct
F32 = jnp.float32


def f32(*shape: int) -> Any:
    return S(shape, F32)


def i32(*shape: int) -> Any:
    return S(shape, jnp.int32)


@dataclass
class Case:
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    mesh: str | None = None
    specs: Any = None
    x64: bool = False


CASES: dict[str, Case] = {}


def case(*args: Any, **options: Any) -> Callable[[Any], Any]:
    def register(fn: Any) -> Any:
        CASES[fn.__name__] = Case(fn, args, **options)
        return fn

    return register


# Control flow.


@case(f32(3, 4), f32(5, 4))
def scans(c, xs):
    c, ys = lax.scan(lambda c, x: (jnp.sin(c) * x, c.sum()), c, xs, unroll=2)
    c, _ = lax.scan(lambda c, _: (c + 1, None), c, None, length=3, reverse=True)
    return c, ys


@case(f32(3, 4), f32(5, 4))
def scan_grad(c, xs):
    def loss(c, xs):
        c, ys = lax.scan(lambda c, x: (jnp.sin(c) * x, c.sum()), c, xs)
        return c.sum() + ys.sum()

    return jax.grad(loss, argnums=(0, 1))(c, xs)


@case(f32(4), i32())
def loops(x, n):
    x = lax.while_loop(lambda s: s.sum() < 10.0, lambda s: s * 2 + x, x)
    return lax.fori_loop(0, n, lambda i, s: s + i, x)


@case(f32(4), S((), jnp.bool_), i32())
def branches(x, p, i):
    x = lax.cond(p, jnp.sin, lambda v: v, x)
    return lax.switch(i, [jnp.sin, jnp.cos, jnp.tan], x)


@case(f32(4))
def shared_calls(x):
    inner = jax.jit(lambda v: jnp.sin(v) * 2)
    outer = jax.jit(lambda v: inner(v) + inner(v))
    return outer(x) + outer(x) + inner(x)


@case(f32(4))
def remat(x):
    policy = jax.checkpoint_policies.dots_saveable
    f = jax.checkpoint(lambda v: jnp.sin(jnp.sin(v)).sum(), policy=policy)
    return jax.value_and_grad(f)(x)


@case(f32(4))
def static_and_default(x, k=3, *, scale=2.0):
    return x * k * scale


# Custom derivatives.


@jax.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, x), lambda x, g: (jnp.clip(g, -1, 1) * jnp.sign(x),))


@case(f32(4))
def custom_rules(x):
    return jax.value_and_grad(lambda x: jax.nn.relu(clipped(x)).sum())(x), clipped(jax.nn.silu(x))


@case(f32(4, 4), f32(4))
def linear_solve(a, b):
    return lax.custom_linear_solve(
        lambda v: a @ v, b, lambda mv, v: v / 4.0, symmetric=True
    ), jnp.linalg.solve(a, b)


# Values of parameters.


@case(f32(4, 3), f32(3, 5))
def precisions(a, b):
    d = lax.dot_general(
        a, b, (((1,), (0,)), ((), ())),
        precision=(lax.Precision.HIGHEST, lax.Precision.HIGHEST),
        preferred_element_type=jnp.float32,
    )  # fmt: skip
    return d + jnp.matmul(a, b, precision="high")


@case(f32(2, 8, 8, 4), f32(3, 3, 4, 4))
def windows(x, w):
    def f(x, w):
        y = lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return y.sum()

    return jax.grad(f, argnums=(0, 1))(x, w)


@case(f32(16, 4), i32(3))
def indexing(x, i):
    y = x.at[i].add(1.0).at[0].set(2.0).at[i].max(0.5)
    z = x.at[i].get(mode="fill", fill_value=jnp.nan)
    return y, z, jnp.take_along_axis(x, i[None, :], axis=1), lax.dynamic_slice(x, (i[0], 1), (2, 2))


@case(f32(4, 6))
def reductions(x):
    return (
        jnp.cumsum(x, 0), jnp.sort(x, 1), lax.top_k(x, 2), jnp.argmax(x, 1),
        lax.reduce_precision(x, 5, 10), lax.reduce(x, 1.0, lambda a, b: a * b + 1.0, (0,)),
        jnp.any(x > 0), lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), jnp.linalg.norm(x), lax.logistic(x), jnp.fft.rfft(x),
    )  # fmt: skip


@case(f32(4, 6))
def shapes(x):
    a = jnp.expand_dims(x, (0, 2))
    parts = jnp.split(x, [2, 3], axis=1)
    axis = np.int64(1)
    return (
        a, parts, x.sum(axis=(np.int64(0), axis)), jnp.pad(x, ((1, 0), (0, 2))), x[::-1, ::2],
        jnp.concatenate([x, x], 0), jnp.tile(x, (2, 1)), x.reshape(2, 12).T, jnp.stack([x, x]),
        jnp.broadcast_to(x[:1], (3, 6)), jnp.zeros((0, 3)),
    )  # fmt: skip


@case(f32())
def literals(x):
    y = x * jnp.nan + jnp.inf - (-1e30) + 0.1 + np.float32(0.1) + jnp.float32(1e-45)
    b = y.astype(jnp.bfloat16) * jnp.bfloat16(0.1)
    h = y.astype(jnp.float16) * jnp.float16(-0.0)
    c = y.astype(jnp.complex64) * (1 + 2j)
    i = y.astype(jnp.int8) + jnp.int8(-128)
    return b, h, c, i, jnp.where(y > 0, True, False), -7, 2.5


@case(S((3,), jnp.float64), S((3,), jnp.uint64), x64=True)
def wide(x, n):
    top = n.at[jnp.array([7])].get(mode="fill", fill_value=2**64 - 1)
    return top, x * 0.1, n + np.uint64(2**64 - 1), x.astype(jnp.complex128) * 1j, jnp.arange(3) + n


@case(S((4,), jnp.int4), S((4,), jnp.float8_e4m3fn), S((4,), jnp.bool_))
def narrow(i, f, b):
    return i + i, f.astype(jnp.float32) * 2, ~b, f.astype(jnp.float8_e5m2)


SMALL = np.arange(6, dtype=np.float32).reshape(2, 3)
LARGE = np.arange(2000, dtype=np.float32)
SAME = np.full((50, 50), 2.5, np.float32)


@case(f32(2, 3))
def constants(x):
    small, large, same = jnp.asarray(SMALL), jnp.asarray(LARGE), jnp.asarray(SAME)
    key = jax.random.key(7)
    return x + small, jnp.sin(large), same @ same, jax.random.normal(key, (2,)), large.sum() * x


@case(S((), jnp.uint32))
def randoms(seed):
    key = jax.random.key(seed)
    a, b = jax.random.split(key)
    old = jax.random.PRNGKey(seed)
    rbg = jax.random.key(seed, impl="rbg")
    return (
        jax.random.normal(a, (3,)), jax.random.fold_in(b, 1), jax.random.uniform(old),
        jax.random.bits(rbg, (2,)), jax.random.key_data(a), jax.random.categorical(a, jnp.ones(3)),
    )  # fmt: skip


@case(f32(8), f32(3))
def searching(x, v):
    return jnp.searchsorted(x, v), jnp.nonzero(x, size=3), jnp.interp(v, x, x)


def host(x: Any) -> Any:
    return np.asarray(x) * 2


@case(f32(3))
def callbacks(x):
    jax.debug.print("x = {} [", x)
    jax.debug.print("ordered {}", x, ordered=True)
    return jax.pure_callback(host, S((3,), F32), x)


@case(f32(3), f32(3))
def stacks_of_names(x, y):
    with jax.named_scope("outer/part"):
        z = jnp.sin(x)
        with jax.named_scope("inner"):
            z = jax.vmap(jnp.cos)(z)
    return jax.jvp(lambda a: a * z, (x,), (y,))


@case({"a/b": f32(2), "c": [f32(2), (f32(2), None)]}, f32(2))
def trees(params, *rest):
    total = params["a/b"] + params["c"][0] + params["c"][1][0]
    return {"x/y": total, "z": [total, (rest[0], params["c"][0])]}


@case(f32(3))
def unused(x):
    a, b = lax.scan(lambda c, _: (c, c), x, None, length=2)
    jnp.sin(a)
    return jnp.split(b, 2)[0]


@case(f32(3), i32(3))
def float0_gradients(x, n):
    return jax.vjp(lambda x, n: x * n, x, n)[1](x)[0]


@case(f32(4))
def passes_through(x):
    return x, x, 3


# References.


def make_ref(value: Any) -> Any:
    new = getattr(jax, "new_ref", None) or getattr(jax.core, "new_ref", None)
    return new(value)


@case(f32(4, 6), i32())
def references(x, i):
    ref = make_ref(x)
    ref[i] = x[0] * 2
    ref[1, ...] += 1.0
    y = ref[i, 2:4]
    z = ref[...]
    return y, z, jax.ref.freeze(ref) if hasattr(jax, "ref") else z


# Shardings.


@case(f32(8, 4), f32(4, 8), mesh="X=4,Y=2", specs={"x": P("X", None), "w": P(None, "Y")})
def sharded(x, w):
    h = jnp.tanh(x @ w)
    h = jax.sharding.reshard(h, P(("X", "Y"), None))
    return jnp.einsum("ij,ik->jk", h, h, out_sharding=P(None, "Y"))


@case(f32(8, 4), mesh="X=2,Y=2:Auto", specs={"x": P("X", None)})
def mixed_mesh(x):
    return jax.lax.with_sharding_constraint(jnp.sin(x), P("Y", None)) + x


@case(f32(8, 4), mesh="X=2", specs={"x": P("X", None)})
def mapped(x):
    def body(a):
        total = lax.psum(a.sum(), "X")
        i = lax.axis_index("X")
        shifted = lax.ppermute(a, "X", [(0, 1), (1, 0)])
        return a * total + i + shifted + lax.all_gather(a, "X", tiled=True).sum()

    return jax.shard_map(body, out_specs=P("X", None))(x)


@case(f32(8, 4), mesh="X=2,Y=2", specs={"x": P("X", "Y")})
def partly_mapped(x):
    f = jax.shard_map(
        lambda a: jnp.sin(a) * 2, in_specs=P("X"), out_specs=P("X"), axis_names={"X"}
    )
    return f(x)


@case(f32(8, 4), mesh="X=2,Y=2", specs={"x": P("X", None)})
def regions(x):
    @functools.partial(jax.sharding.auto_axes, out_sharding=P("X", None))
    def region(v):
        return jnp.sin(v)

    return jnp.cos(region(x))  # Two meshes in one jaxpr.


@case(f32(8, 4), f32(4, 8), mesh="X=2", specs={"a": P(None, "X"), "b": P("X", None)})
def unreduced(a, b):
    c = jnp.dot(a, b, out_sharding=P(unreduced={"X"}))
    return jax.sharding.reshard(c, P())


@case(f32(8), mesh="X=2", specs={"x": P("X")})
def inner_jit_shardings(x):
    mesh = jax.sharding.AbstractMesh((2,), ("X",), axis_types=(AxisType.Explicit,))
    return jax.jit(jnp.sin, out_shardings=NamedSharding(mesh, P("X")))(x)
