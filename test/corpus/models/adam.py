# adam.py - the Adam optimiser on nested dicts.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adam with bias correction, and the training step made from a loss."""

import jax
import jax.numpy as jnp


def zeros(params):
    """The optimiser's state before the first step, as shapes are given."""
    like = jax.tree.map(lambda p: jax.ShapeDtypeStruct(p.shape, p.dtype), params)
    return {"count": jax.ShapeDtypeStruct((), jnp.int32), "mu": like, "nu": like}


def update(params, grads, state, rate=1e-3, b1=0.9, b2=0.999, eps=1e-8):
    """New parameters and new state."""
    count = state["count"] + 1
    mu = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, state["mu"], grads)
    nu = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g * g, state["nu"], grads)
    scale1 = 1 - b1 ** count.astype(jnp.float32)
    scale2 = 1 - b2 ** count.astype(jnp.float32)

    def move(p, m, v):
        return p - rate * (m / scale1) / (jnp.sqrt(v / scale2) + eps)

    params = jax.tree.map(move, params, mu, nu)
    return params, {"count": count, "mu": mu, "nu": nu}


def make_step(loss):
    """A training step for `loss(params, *batch)`."""

    def step(params, opt_state, *batch):
        value, grads = jax.value_and_grad(loss)(params, *batch)
        params, opt_state = update(params, grads, opt_state)
        return params, opt_state, value

    return step


def clip(grads, limit):
    """Gradients scaled down to a norm of at most `limit`."""
    norm = jnp.sqrt(sum(jnp.sum(g * g) for g in jax.tree.leaves(grads)))
    return jax.tree.map(lambda g: g * jnp.minimum(1.0, limit / (norm + 1e-6)), grads)
