# mlp.py - a training step of an MLP in equinox.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import equinox as eqx
import jax
import jax.numpy as jnp


class Mlp(eqx.Module):
    layers: list

    def __init__(self, key):
        first, second, third = jax.random.split(key, 3)
        self.layers = [
            eqx.nn.Linear(16, 64, key=first),
            eqx.nn.Linear(64, 64, key=second),
            eqx.nn.Linear(64, 8, key=third),
        ]

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = jax.nn.relu(x @ layer.weight.T + layer.bias)
        return x @ self.layers[-1].weight.T + self.layers[-1].bias


def loss(model, x, y):
    return ((model(x) - y) ** 2).mean()


def step(model, x, y):
    value, grads = jax.value_and_grad(loss)(model, x, y)
    return jax.tree.map(lambda w, g: w - 0.1 * g, model, grads), value


def arguments():
    model = jax.eval_shape(Mlp, jax.random.key(0))
    x = jax.ShapeDtypeStruct((32, 16), jnp.float32)
    return model, x, jax.ShapeDtypeStruct((32, 8), jnp.float32)
