# test_public_api.py - every public function with a sharding argument.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One call of each function that takes `out_sharding`: its annotation is in the
file. The list is held against what JAX offers, so a new function shows."""

from __future__ import annotations

import inspect

import jax
import jax.nn.initializers
import jax.numpy as jnp
import pytest
import shardtype
from jax import lax, nn, ops, random
from jax.sharding import PartitionSpec as P

S = P("a", None)
V = P("a")
KEY = jax.eval_shape(lambda: random.key(0))
MAT = jax.ShapeDtypeStruct((4, 4), jnp.float32)
NUMBERS = (((1,), (0,)), ((), ()))
RAGGED = jax.ShapeDtypeStruct((2,), jnp.int32)


def sampler(name, *args, **kw):
    return lambda k, x: getattr(random, name)(k, *args, out_sharding=S, **kw)


# name: (function of a key and a matrix, entries recorded as the user's)
CALLS = {
    "jnp.arange": (lambda k, x: jnp.arange(4, out_sharding=V) + x[0], V),
    "jnp.array": (lambda k, x: jnp.array(x, out_sharding=S), S),
    "jnp.asarray": (lambda k, x: jnp.asarray(x, out_sharding=S), S),
    "jnp.bincount": (lambda k, x: jnp.bincount(jnp.arange(4), length=4, out_sharding=P()), P()),
    "jnp.broadcast_to": (lambda k, x: jnp.broadcast_to(x[0], (4, 4), out_sharding=S), S),
    "jnp.dot": (lambda k, x: jnp.dot(x, x, out_sharding=S), S),
    "jnp.einsum": (lambda k, x: jnp.einsum("ij,jk->ik", x, x, out_sharding=S), S),
    "jnp.empty": (lambda k, x: jnp.empty((4, 4), out_sharding=S), S),
    "jnp.full": (lambda k, x: jnp.full((4, 4), 2.0, out_sharding=S), S),
    "jnp.full_like": (lambda k, x: jnp.full_like(x, 2.0, out_sharding=S), S),
    "jnp.histogram": (lambda k, x: jnp.histogram(x, jnp.arange(5.0), out_sharding=V), V),
    "jnp.matmul": (lambda k, x: jnp.matmul(x, x, out_sharding=S), S),
    "jnp.ones": (lambda k, x: jnp.ones((4, 4), out_sharding=S), S),
    "jnp.ones_like": (lambda k, x: jnp.ones_like(x, out_sharding=S), S),
    "jnp.percentile": (lambda k, x: jnp.percentile(x, 50, axis=0, out_sharding=V), V),
    "jnp.ravel": (lambda k, x: jnp.ravel(x, out_sharding=V), V),
    "jnp.repeat": (lambda k, x: jnp.repeat(x, 2, axis=0, out_sharding=S), S),
    "jnp.reshape": (lambda k, x: jnp.reshape(x, (2, 8), out_sharding=S), S),
    "jnp.tensordot": (lambda k, x: jnp.tensordot(x, x, 1, out_sharding=S), S),
    "jnp.zeros": (lambda k, x: jnp.zeros((4, 4), out_sharding=S), S),
    "jnp.zeros_like": (lambda k, x: jnp.zeros_like(x, out_sharding=S), S),
    "jnp.linalg.tensordot": (lambda k, x: jnp.linalg.tensordot(x, x, axes=1, out_sharding=S), S),
    "lax.broadcast": (lambda k, x: lax.broadcast(x, (2,), out_sharding=P(None, "a")), P(None, "a")),
    "lax.broadcast_in_dim": (
        lambda k, x: lax.broadcast_in_dim(x[0], (4, 4), (1,), out_sharding=S), S),
    "lax.broadcasted_iota": (
        lambda k, x: lax.broadcasted_iota(jnp.int32, (4, 4), 0, out_sharding=S), S),
    "lax.conv_general_dilated": (
        lambda k, x: lax.conv_general_dilated(
            x[None, None], x[None, None, :2, :2], (1, 1), "SAME", out_sharding=P("a")), V),
    "lax.dot": (lambda k, x: lax.dot(x, x, out_sharding=S), S),
    "lax.dot_general": (lambda k, x: lax.dot_general(x, x, NUMBERS, out_sharding=S), S),
    "lax.empty": (lambda k, x: lax.empty((4, 4), jnp.float32, out_sharding=S), S),
    "lax.reduce": (lambda k, x: lax.reduce(x, 0.0, lax.add, (1,), out_sharding=V), V),
    "lax.reduce_max": (lambda k, x: lax.reduce_max(x, (1,), out_sharding=V), V),
    "lax.reduce_min": (lambda k, x: lax.reduce_min(x, (1,), out_sharding=V), V),
    "lax.reduce_sum": (lambda k, x: lax.reduce_sum(x, (1,), out_sharding=V), V),
    "lax.reshape": (lambda k, x: lax.reshape(x, (2, 8), out_sharding=S), S),
    "lax.rng_bit_generator": (
        lambda k, x: lax.rng_bit_generator(jnp.zeros(4, jnp.uint32), (4, 4), out_sharding=S), S),
    "nn.one_hot": (lambda k, x: nn.one_hot(jnp.arange(4), 4, out_sharding=P(None, "a")),
                   P(None, "a")),
    "array.flatten": (lambda k, x: x.flatten(out_sharding=V), V),
    "array.ravel": (lambda k, x: x.ravel(out_sharding=V), V),
    "array.repeat": (lambda k, x: x.repeat(2, axis=0, out_sharding=S), S),
    "array.reshape": (lambda k, x: x.reshape(2, 8, out_sharding=S), S),
    "init.ones": (lambda k, x: nn.initializers.ones(k, (4, 4), out_sharding=S), S),
    "init.zeros": (lambda k, x: nn.initializers.zeros(k, (4, 4), out_sharding=S), S),
    "random.ball": (lambda k, x: random.ball(k, 4, shape=(4,), out_sharding=S), S),
    "random.bernoulli": (sampler("bernoulli", 0.5, (4, 4)), S),
    "random.beta": (sampler("beta", 1.0, 2.0, (4, 4)), S),
    "random.bits": (sampler("bits", (4, 4)), S),
    "random.categorical": (
        lambda k, x: random.categorical(k, x[0], shape=(4, 4), out_sharding=S), S),
    "random.cauchy": (sampler("cauchy", (4, 4)), S),
    "random.chisquare": (sampler("chisquare", 3.0, shape=(4, 4)), S),
    "random.dirichlet": (
        lambda k, x: random.dirichlet(k, jnp.ones(4), shape=(4,), out_sharding=S), S),
    "random.exponential": (sampler("exponential", (4, 4)), S),
    "random.f": (sampler("f", 2.0, 3.0, shape=(4, 4)), S),
    "random.gamma": (sampler("gamma", 2.0, (4, 4)), S),
    "random.generalized_normal": (sampler("generalized_normal", 2.0, (4, 4)), S),
    "random.geometric": (sampler("geometric", 0.5, (4, 4)), S),
    "random.gumbel": (sampler("gumbel", (4, 4)), S),
    "random.laplace": (sampler("laplace", (4, 4)), S),
    "random.loggamma": (sampler("loggamma", 2.0, (4, 4)), S),
    "random.logistic": (sampler("logistic", (4, 4)), S),
    "random.lognormal": (sampler("lognormal", shape=(4, 4)), S),
    "random.maxwell": (sampler("maxwell", (4, 4)), S),
    "random.multivariate_normal": (
        lambda k, x: random.multivariate_normal(
            k, jnp.zeros(4), jnp.eye(4), shape=(4,), out_sharding=S), S),
    "random.normal": (sampler("normal", (4, 4)), S),
    "random.orthogonal": (sampler("orthogonal", 4), S),
    "random.pareto": (sampler("pareto", 2.0, (4, 4)), S),
    "random.permutation": (lambda k, x: random.permutation(k, x, out_sharding=S), S),
    "random.poisson": (sampler("poisson", 2.0, (4, 4)), S),
    "random.rademacher": (sampler("rademacher", (4, 4)), S),
    "random.randint": (sampler("randint", (4, 4), 0, 9), S),
    "random.rayleigh": (sampler("rayleigh", 2.0, shape=(4, 4)), S),
    "random.t": (sampler("t", 2.0, (4, 4)), S),
    "random.triangular": (sampler("triangular", 0.0, 0.5, 1.0, shape=(4, 4)), S),
    "random.truncated_normal": (sampler("truncated_normal", -1.0, 1.0, (4, 4)), S),
    "random.uniform": (sampler("uniform", (4, 4)), S),
    "random.wald": (sampler("wald", 2.0, shape=(4, 4)), S),
    **{
        f"ops.{n}": (
            lambda k, x, n=n: getattr(ops, n)(x, jnp.arange(4), 4, out_sharding=S), S)
        for n in ("segment_max", "segment_min", "segment_prod", "segment_sum")
    },
}  # fmt: skip

# Without a call here, and why.
NOT_CALLED = {
    "lax.ragged_dot": "its out_sharding is not implemented in JAX",
    "lax.ragged_dot_general": "its out_sharding is not implemented in JAX",
    "lax.full_like": "limit: takes `sharding`, which JAX does not resolve",
    "lax.full": "limit: takes `sharding`, which JAX does not resolve",
}

MODULES = {
    "jnp": jnp, "jnp.linalg": jnp.linalg, "lax": lax, "nn": nn, "random": random, "ops": ops,
    "array": jax.Array, "init": nn.initializers,
}  # fmt: skip


def offered():
    """Public functions of this JAX that take `out_sharding`."""
    out = set()
    for prefix, module in MODULES.items():
        for name in dir(module):
            value = getattr(module, name)
            if name.startswith("_") or not callable(value):
                continue
            try:
                names = inspect.signature(value).parameters
            except (TypeError, ValueError):
                continue
            if "out_sharding" in names:
                out.add(f"{prefix}.{name}")
    return out


def test_the_list_is_whole():
    assert offered() - set(CALLS) - set(NOT_CALLED) == set()


def entries(data):
    """Entries of the shardings that the user wrote."""
    out = []

    def visit(value):
        if isinstance(value, dict):
            if value.get("by") == "user":
                out.append([None if e is None else e[0] for e in value["spec"]["p"]])
            value = list(value.values())
        if isinstance(value, list):
            for v in value:
                visit(v)

    visit(data["jaxprs"])
    return out


@pytest.mark.parametrize("name", CALLS)
def test_the_annotation_is_recorded(name):
    fn, spec = CALLS[name]
    if name not in offered():
        pytest.skip(f"{name} takes no out_sharding in this JAX")
    data = shardtype.export(fn, KEY, MAT, mode="record").data
    found = entries(data)
    wanted = list(spec)
    while wanted and wanted[-1] is None:
        wanted.pop()
    assert any(e[: len(wanted)] == wanted and not any(e[len(wanted) :]) for e in found), found
    assert data["context"]["record"]["notes"] == []
