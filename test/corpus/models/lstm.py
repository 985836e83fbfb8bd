# lstm.py - a two-layer LSTM over a sequence.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The recurrence is one scan over time; the loss predicts the next value."""

import adam
import jax
import jax.numpy as jnp

LAYERS, BATCH, LENGTH, FEATURES, WIDTH = 2, 16, 12, 8, 32


def cell(p, state, x):
    h, c = state
    gates = x @ p["wx"] + h @ p["wh"] + p["b"]
    i, f, g, o = jnp.split(gates, 4, axis=-1)
    c = jax.nn.sigmoid(f + 1.0) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def forward(params, xs):
    """Predictions for a batch of sequences, time first."""
    zero = jnp.zeros((xs.shape[1], WIDTH), xs.dtype)
    start = [(zero, zero) for _ in params["layers"]]

    def tick(states, x):
        new = []
        for p, state in zip(params["layers"], states, strict=True):
            state, x = cell(p, state, x)
            new.append(state)
        return new, x @ params["out"]["w"] + params["out"]["b"]

    _, ys = jax.lax.scan(tick, start, xs)
    return ys


def loss(params, xs):
    ys = forward(params, xs[:-1])
    return jnp.mean(jnp.square(ys - xs[1:]))


step = adam.make_step(loss)


def _f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def params_shapes():
    sizes = [FEATURES] + [WIDTH] * (LAYERS - 1)
    return {
        "layers": [
            {"wx": _f32(n, 4 * WIDTH), "wh": _f32(WIDTH, 4 * WIDTH), "b": _f32(4 * WIDTH)}
            for n in sizes
        ],
        "out": {"w": _f32(WIDTH, FEATURES), "b": _f32(FEATURES)},
    }


def loss_args():
    return params_shapes(), _f32(LENGTH, BATCH, FEATURES)


def step_args():
    params, xs = loss_args()
    return params, adam.zeros(params), xs
