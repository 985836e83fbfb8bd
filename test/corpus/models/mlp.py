# mlp.py - a multilayer perceptron: forward pass, loss, Adam step.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Three layers on flattened images; a variant with dropout."""

import adam
import jax
import jax.numpy as jnp

SIZES = (784, 128, 128, 16)
BATCH = 32


def forward(params, x):
    layers = params["layers"]
    h = x
    for layer in layers[:-1]:
        h = jax.nn.relu(h @ layer["w"] + layer["b"])
    return h @ layers[-1]["w"] + layers[-1]["b"]


def cross_entropy(logits, y):
    logp = jax.nn.log_softmax(logits)
    picked = jnp.sum(logp * jax.nn.one_hot(y, logits.shape[-1]), axis=-1)
    return -jnp.mean(picked)


def loss(params, x, y):
    return cross_entropy(forward(params, x), y)


step = adam.make_step(loss)


def dropout(key, h, rate):
    keep = jax.random.bernoulli(key, 1 - rate, h.shape)
    return jnp.where(keep, h / (1 - rate), 0.0)


def dropout_loss(params, key, x, y):
    h = x
    for layer in params["layers"][:-1]:
        key, sub = jax.random.split(key)
        h = dropout(sub, jax.nn.gelu(h @ layer["w"] + layer["b"]), 0.1)
    last = params["layers"][-1]
    return cross_entropy(h @ last["w"] + last["b"], y)


def params_shapes():
    f32 = jnp.float32
    return {
        "layers": [
            {"w": jax.ShapeDtypeStruct((m, n), f32), "b": jax.ShapeDtypeStruct((n,), f32)}
            for m, n in zip(SIZES[:-1], SIZES[1:], strict=True)
        ]
    }


def batch_shapes():
    return (
        jax.ShapeDtypeStruct((BATCH, SIZES[0]), jnp.float32),
        jax.ShapeDtypeStruct((BATCH,), jnp.int32),
    )


def forward_args():
    return params_shapes(), batch_shapes()[0]


def loss_args():
    return params_shapes(), *batch_shapes()


def step_args():
    params = params_shapes()
    return params, adam.zeros(params), *batch_shapes()


def dropout_args():
    key = jax.eval_shape(lambda: jax.random.key(0))
    return params_shapes(), key, *batch_shapes()
