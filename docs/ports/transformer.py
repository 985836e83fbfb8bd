# transformer.py - a training step of a transformer in flax nnx, with AdamW.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import jax
import jax.numpy as jnp
import optax
from flax import nnx

LAYERS, DIM, HEADS, HIDDEN, VOCAB = 2, 32, 4, 64, 128


class Attention(nnx.Module):
    def __init__(self, rngs):
        shape = (HEADS, DIM // HEADS)
        self.query = nnx.LinearGeneral(DIM, shape, use_bias=False, rngs=rngs)
        self.key = nnx.LinearGeneral(DIM, shape, use_bias=False, rngs=rngs)
        self.value = nnx.LinearGeneral(DIM, shape, use_bias=False, rngs=rngs)
        self.out = nnx.LinearGeneral(shape, DIM, axis=(-2, -1), use_bias=False, rngs=rngs)

    def __call__(self, h):
        q, k, v = self.query(h), self.key(h), self.value(h)
        scores = jnp.einsum("bthk,bshk->bhts", q, k) / q.shape[-1] ** 0.5
        causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        weights = nnx.softmax(jnp.where(causal, scores, -1e9), axis=-1)
        return self.out(jnp.einsum("bhts,bshk->bthk", weights, v))


class Mlp(nnx.Module):
    def __init__(self, rngs):
        self.up = nnx.Linear(DIM, HIDDEN, rngs=rngs)
        self.down = nnx.Linear(HIDDEN, DIM, rngs=rngs)

    def __call__(self, h):
        return self.down(nnx.gelu(self.up(h)))


class Block(nnx.Module):
    def __init__(self, rngs):
        self.norms = nnx.List([nnx.RMSNorm(DIM, rngs=rngs), nnx.RMSNorm(DIM, rngs=rngs)])
        self.attention = Attention(rngs)
        self.mlp = Mlp(rngs)

    def __call__(self, h):
        h = h + self.attention(self.norms[0](h))
        return h + self.mlp(self.norms[1](h))


class Transformer(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(VOCAB, DIM, rngs=rngs)
        self.blocks = nnx.List([Block(rngs) for _ in range(LAYERS)])

    def __call__(self, tokens):
        h = self.embed(tokens)
        for block in self.blocks:
            h = block(h)
        return self.embed.attend(h)


def loss(model, tokens, targets):
    logp = nnx.log_softmax(model(tokens))
    picked = jnp.einsum("btv,btv->bt", logp, nnx.one_hot(targets, VOCAB))
    return -picked.mean()


def make(seed):
    model = Transformer(nnx.Rngs(seed))
    return model, nnx.Optimizer(model, optax.adamw(1e-3), wrt=nnx.Param)


GRAPH, STATE = nnx.split(nnx.eval_shape(lambda: make(0)))


def step(state, tokens, targets):
    model, optimizer = nnx.merge(GRAPH, state)
    value, grads = nnx.value_and_grad(loss)(model, tokens, targets)
    optimizer.update(model, grads)
    return nnx.state((model, optimizer)), value


def arguments():
    tokens = jax.ShapeDtypeStruct((8, 16), jnp.int32)
    return STATE, tokens, tokens
