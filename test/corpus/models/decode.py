# decode.py - greedy and sampled generation with a key-value cache.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A while loop around the transformer of transformer.py, one token a turn."""

import jax
import jax.numpy as jnp
import transformer as tf
from jax import lax

STEPS = 12
CONFIG = tf.SMALL


def attend(p, cache, x, at):
    """Attention of one new position over all positions so far."""
    q = jnp.einsum("bd,dhk->bhk", x, p["q"])
    k = jnp.einsum("bd,dhk->bhk", x, p["k"])
    v = jnp.einsum("bd,dhk->bhk", x, p["v"])
    keys = lax.dynamic_update_slice(cache["k"], k[:, None], (0, at, 0, 0))
    values = lax.dynamic_update_slice(cache["v"], v[:, None], (0, at, 0, 0))
    scores = jnp.einsum("bhk,bthk->bht", q, keys) / (q.shape[-1] ** 0.5)
    seen = jnp.arange(keys.shape[1]) <= at
    weights = jax.nn.softmax(jnp.where(seen, scores, -1e30))
    mixed = jnp.einsum("bht,bthk->bhk", weights, values)
    return jnp.einsum("bhk,hkd->bd", mixed, p["o"]), {"k": keys, "v": values}


def logits_of(params, caches, token, at):
    x = params["embed"][token] + lax.dynamic_index_in_dim(params["position"], at, keepdims=False)
    new = []
    for p, cache in zip(params["layers"], caches, strict=True):
        mixed, cache = attend(p["attn"], cache, tf.rms_norm(x, p["norm1"]), at)
        x = x + mixed
        x = x + tf.mlp(p["mlp"], tf.rms_norm(x, p["norm2"]))
        new.append(cache)
    return tf.rms_norm(x, params["norm"]) @ params["unembed"], new


def sample(key, logits, temperature):
    """The best token when cold, else one of the best eight."""

    def cold(logits):
        return jnp.argmax(logits, axis=-1).astype(jnp.int32)

    def warm(logits):
        best, index = lax.top_k(logits, 8)
        choice = jax.random.categorical(key, best / temperature)
        return jnp.take_along_axis(index, choice[:, None], axis=1)[:, 0]

    return lax.cond(temperature > 0, warm, cold, logits)


def generate(params, caches, first, key, temperature):
    tokens = jnp.zeros((first.shape[0], STEPS), jnp.int32).at[:, 0].set(first)
    done = jnp.zeros(first.shape, bool)

    def unfinished(state):
        at, _, done, _, _ = state
        return (at + 1 < STEPS) & ~jnp.all(done)

    def turn(state):
        at, tokens, done, caches, key = state
        key, sub = jax.random.split(key)
        token = lax.dynamic_index_in_dim(tokens, at, 1, keepdims=False)
        logits, caches = logits_of(params, caches, token, at)
        new = jnp.where(done, 0, sample(sub, logits, temperature))
        tokens = lax.dynamic_update_slice(tokens, new[:, None], (0, at + 1))
        return at + 1, tokens, done | (new == 0), caches, key

    _, tokens, done, _, _ = lax.while_loop(unfinished, turn, (0, tokens, done, caches, key))
    return {"tokens": tokens, "done": done}


def generate_args():
    c = CONFIG
    cache = jax.ShapeDtypeStruct((c.batch, STEPS, c.heads, c.width // c.heads), jnp.float32)
    caches = [{"k": cache, "v": cache} for _ in range(c.layers)]
    first = jax.ShapeDtypeStruct((c.batch,), jnp.int32)
    key = jax.eval_shape(lambda: jax.random.key(0))
    return tf.params_shapes(c), caches, first, key, jax.ShapeDtypeStruct((), jnp.float32)
