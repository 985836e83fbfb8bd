# gpt.py - a training step of a small GPT in plain JAX, with AdamW.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import jax
import jax.numpy as jnp
import optax

LAYERS, DIM, HEADS, HIDDEN, VOCAB = 2, 32, 4, 64, 128
optimizer = optax.adamw(1e-3)


def init(key):
    def normal(*shape):
        nonlocal key
        key, new = jax.random.split(key)
        return jax.random.normal(new, shape) * 0.02

    def layer():
        return {
            "qkv": normal(3, DIM, HEADS, DIM // HEADS),
            "out": normal(HEADS, DIM // HEADS, DIM),
            "up": normal(DIM, HIDDEN),
            "down": normal(HIDDEN, DIM),
            "scale": jnp.ones((2, DIM)),
        }

    return {"embed": normal(VOCAB, DIM), "layers": [layer() for _ in range(LAYERS)]}


def norm(h, scale):
    return h * jax.lax.rsqrt((h * h).mean(-1, keepdims=True) + 1e-6) * scale


def attention(p, h):
    q, k, v = jnp.einsum("btd,cdhk->cbthk", h, p["qkv"])
    scores = jnp.einsum("bthk,bshk->bhts", q, k) / q.shape[-1] ** 0.5
    causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e9), axis=-1)
    mixed = jnp.einsum("bhts,bshk->bthk", weights, v)
    return jnp.einsum("bthk,hkd->btd", mixed, p["out"])


def mlp(p, h):
    return jax.nn.gelu(h @ p["up"]) @ p["down"]


def loss(params, tokens, targets):
    h = params["embed"][tokens]
    for p in params["layers"]:
        h = h + attention(p, norm(h, p["scale"][0]))
        h = h + mlp(p, norm(h, p["scale"][1]))
    logits = jnp.einsum("btd,vd->btv", h, params["embed"])
    logp = jax.nn.log_softmax(logits)
    picked = jnp.einsum("btv,btv->bt", logp, jax.nn.one_hot(targets, VOCAB))
    return -picked.mean()


def step(params, state, tokens, targets):
    value, grads = jax.value_and_grad(loss)(params, tokens, targets)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value


def arguments():
    params = jax.eval_shape(init, jax.random.key(0))
    tokens = jax.ShapeDtypeStruct((8, 16), jnp.int32)
    return params, jax.eval_shape(optimizer.init, params), tokens, tokens
