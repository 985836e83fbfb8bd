# resnet.py - one residual block of a convolutional network, trained.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutions, batch norm with running statistics, max pooling, a skip."""

import adam
import jax
import jax.numpy as jnp
from jax import lax

BATCH, SIZE, CHANNELS, WIDTH, CLASSES = 16, 16, 4, 8, 10


def conv(x, w, stride=1):
    return lax.conv_general_dilated(
        x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def batch_norm(p, stats, x):
    mean = jnp.mean(x, axis=(0, 1, 2))
    var = jnp.var(x, axis=(0, 1, 2))
    new = {
        "mean": 0.9 * stats["mean"] + 0.1 * mean,
        "var": 0.9 * stats["var"] + 0.1 * var,
    }
    return (x - mean) * lax.rsqrt(var + 1e-5) * p["scale"] + p["bias"], new


def max_pool(x):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def avg_pool(x):
    total = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return total / 4.0


def residual(p, stats, x):
    h, s1 = batch_norm(p["bn1"], stats["bn1"], conv(x, p["conv1"], 2))
    h = jax.nn.relu(h)
    h, s2 = batch_norm(p["bn2"], stats["bn2"], conv(h, p["conv2"]))
    skip = conv(avg_pool(x), p["skip"])
    return jax.nn.relu(h + skip), {"bn1": s1, "bn2": s2}


def forward(params, stats, x):
    h = max_pool(jax.nn.relu(conv(x, params["stem"])))
    h, new = residual(params["block"], stats, h)
    pooled = jnp.mean(h, axis=(1, 2))
    return pooled @ params["head"]["w"] + params["head"]["b"], new


def loss(params, stats, x, y):
    logits, new = forward(params, stats, x)
    hot = jax.nn.one_hot(y, CLASSES)
    return -jnp.mean(jnp.sum(hot * jax.nn.log_softmax(logits), axis=-1)), new


def step(params, stats, opt_state, x, y):
    (value, stats), grads = jax.value_and_grad(loss, has_aux=True)(params, stats, x, y)
    params, opt_state = adam.update(params, grads, opt_state)
    return params, stats, opt_state, value


def _f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def params_shapes():
    norm = {"scale": _f32(2 * WIDTH), "bias": _f32(2 * WIDTH)}
    return {
        "stem": _f32(3, 3, CHANNELS, WIDTH),
        "block": {
            "conv1": _f32(3, 3, WIDTH, 2 * WIDTH),
            "conv2": _f32(3, 3, 2 * WIDTH, 2 * WIDTH),
            "skip": _f32(1, 1, WIDTH, 2 * WIDTH),
            "bn1": norm,
            "bn2": norm,
        },
        "head": {"w": _f32(2 * WIDTH, CLASSES), "b": _f32(CLASSES)},
    }


def loss_args():
    stats = {"mean": _f32(2 * WIDTH), "var": _f32(2 * WIDTH)}
    images = _f32(BATCH, SIZE, SIZE, CHANNELS)
    labels = jax.ShapeDtypeStruct((BATCH,), jnp.int32)
    return params_shapes(), {"bn1": stats, "bn2": stats}, images, labels


def step_args():
    params, stats, images, labels = loss_args()
    return params, stats, adam.zeros(params), images, labels
