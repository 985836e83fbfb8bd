# micro.py - a training step that adds up the gradients of microbatches in a scan.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import jax
import jax.numpy as jnp

DIM, HIDDEN, CLASSES, BATCH, PARTS = 32, 64, 16, 64, 4


def net(params, x):
    h = jax.nn.relu(x @ params["in"] + params["bias"])
    return h @ params["out"]


def loss(params, x, y):
    logp = jax.nn.log_softmax(net(params, x))
    return -(logp * jax.nn.one_hot(y, CLASSES)).sum(-1).mean()


def step(params, momentum, x, y):
    # The microbatches one behind the other, each as many rows.
    x = x.reshape(PARTS, -1, DIM)
    y = y.reshape(PARTS, -1)

    def add(carry, part):
        total, grads = carry
        value, new = jax.value_and_grad(loss)(params, *part)
        return (total + value, jax.tree.map(jnp.add, grads, new)), None

    start = jnp.zeros(()), jax.tree.map(jnp.zeros_like, params)
    (total, grads), _ = jax.lax.scan(jax.checkpoint(add), start, (x, y))
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g / PARTS, momentum, grads)
    params = jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum)
    return params, momentum, total / PARTS


def arguments():
    f = jax.ShapeDtypeStruct
    params = {
        "in": f((DIM, HIDDEN), jnp.float32),
        "bias": f((HIDDEN,), jnp.float32),
        "out": f((HIDDEN, CLASSES), jnp.float32),
    }
    return params, params, f((BATCH, DIM), jnp.float32), f((BATCH,), jnp.int32)
