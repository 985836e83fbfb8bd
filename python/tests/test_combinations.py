# test_combinations.py - every derivative inside every transformation.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recorded once, checked under several specs: verdict and types of the results must be
those of real JAX, which traces the function under the mesh."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import pytest
import shardtype
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from shardtype import specs
from shardtype.verdict import run_checker
from test_check import PROGRAM, needs_program
from test_edits import MESH, f32

pytestmark = needs_program
ARGS = (f32(8, 16), f32(16, 8))
SPECS = [(P(), P("data")), (P(None, "model"), P("data")), (P("model"), P("data"))]
# What JAX says where it has lost the mesh itself (hessian under vmap): no verdict.
LOST = "is not found in mesh: ()"


def loss(w, x):
    h = jnp.sin(x @ w)
    return (h * jax.nn.relu(h - h.mean(-1, keepdims=True))).sum()


def by_vjp(w, x):
    y, pullback = jax.vjp(loss, w, x)
    return pullback(jnp.ones_like(y))


def by_linearize(w, x):
    y, pushforward = jax.linearize(lambda w: loss(w, x), w)
    return y, pushforward(w * 2)


def gradient_of_gradient(w, x):
    return jax.grad(lambda w: (jax.grad(loss)(w, x) * w).sum())(w)


DERIVATIVES = {
    "grad": jax.grad(loss),
    "value_and_grad": jax.value_and_grad(loss, (0, 1)),
    "vjp": by_vjp,
    "linearize": by_linearize,
    "jvp": lambda w, x: jax.jvp(lambda w: loss(w, x), (w,), (w,)),
    "jacrev": lambda w, x: jax.jacrev(lambda w: loss(w, x))(w),
    "hessian": lambda w, x: jax.hessian(lambda s: loss(w * s, x))(2.0),
    "grad of grad": gradient_of_gradient,
    "product with a hessian": lambda w, x: jax.jvp(
        jax.grad(lambda w: loss(w, x)), (w,), (w,)
    ),
}


def in_scan(f):
    return lambda w, x: lax.scan(lambda c, _: (c, f(c, x)), w, length=3)[1]


def over_inputs(f):
    return lambda w, x: lax.scan(lambda c, v: (c, f(c, v)), w, jnp.stack([x, x]))[1]


def in_custom_vjp(f):
    @jax.custom_vjp
    def g(w, x):
        return f(w, x)

    g.defvjp(lambda w, x: (f(w, x), (w, x)), lambda residuals, _: residuals)
    return lambda w, x: g(w, x)


def in_shard_map(f):
    def body(w, x):
        out = f(lax.pcast(w, "data", to="varying"), x)
        return jax.tree.map(lambda v: lax.psum(v, "data"), out)

    return lambda w, x: jax.shard_map(
        body, in_specs=(P(), P("data")), out_specs=P(), axis_names={"data"}
    )(w, x)


AROUND = {
    "alone": lambda f: f,
    "jit": jax.jit,
    "scan": in_scan,
    "scan over inputs": over_inputs,
    "vmap": lambda f: lambda w, x: jax.vmap(lambda v: f(w, v[None]))(x),
    "remat": jax.checkpoint,
    "custom_vjp": in_custom_vjp,
    "cond": lambda f: lambda w, x: lax.cond(x.sum() > 0, f, f, w, x),
    "shard_map": in_shard_map,
}


def native(fn, given):
    """The types of the results, or what JAX raises."""
    on = [
        jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=NamedSharding(MESH, s))
        for a, s in zip(ARGS, given, strict=True)
    ]
    try:
        with jax.sharding.use_abstract_mesh(MESH):
            out = jax.eval_shape(fn, *on)
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return [jax.typeof(o).str_short(short_dtypes=True) for o in jax.tree.leaves(out)]


@pytest.mark.skipif(jax.__version__ != "0.12.0.1", reason="the rules are those of JAX 0.12")
@pytest.mark.parametrize(("around", "derivative"), itertools.product(AROUND, DERIVATIVES))
def test_verdict_and_types_are_those_of_jax(around, derivative):
    fn = AROUND[around](DERIVATIVES[derivative])
    exported = shardtype.export(fn, *ARGS, mesh=MESH)
    assert "unmarked" not in exported.data["entry"]
    for given in SPECS:
        config = {"mesh": specs.mesh_text(MESH), "in": [specs.spec_text(s) for s in given]}
        report = run_checker(PROGRAM, exported, config)
        wanted = native(fn, given)
        if isinstance(wanted, str) and LOST in wanted:
            assert (around, derivative) == ("vmap", "hessian")
            continue
        assert report.ok == isinstance(wanted, list), f"{given}: {wanted}\n{report}"
        if report.ok:
            found = [t for path, t in report.types.items() if path.startswith("result")]
            assert found == wanted, given
