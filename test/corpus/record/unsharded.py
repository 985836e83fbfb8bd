# unsharded.py - functions without annotations, which need some under a mesh.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recorded by `tools/dev/export_record.py`; `shardtype fix` edits them in tests."""

import functions
import jax.numpy as jnp


def attention(q, k, v):
    scores = jnp.einsum("bqd,bkd->kbq", q, k)
    weights = jnp.exp(scores)
    return jnp.einsum(
        "kbq,bkd->bqd",
        weights,
        v,  # values
    )


def layers(x, w1, w2, b):
    h = x @ w1
    h += b
    for _ in range(2):
        h = h @ w2
    return jnp.concatenate([h, x], axis=1)


PROGRAMS = {
    "attention": functions.Program(attention, (functions.f32(4, 8, 16),) * 3),
    "layers": functions.Program(
        layers,
        (functions.f32(8, 16), functions.f32(16, 16), functions.f32(16, 16), functions.f32(8, 16)),
    ),
}
