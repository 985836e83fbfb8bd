# transformer.py - a decoder transformer, its layers one by one or scanned.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Forward pass, loss and Adam step of a small decoder.

Layers are a list (`params/layers/0/...`) in the unrolled form and one tree with
a leading layer dim (`params/layers/...`) in the scanned form, which computes in
bfloat16. `remat_step` scans over rematerialised layers and clips gradients.
"""

import dataclasses
import functools

import adam
import jax
import jax.numpy as jnp


@dataclasses.dataclass(frozen=True)
class Config:
    layers: int = 2
    batch: int = 8
    length: int = 16
    width: int = 32
    heads: int = 4
    hidden: int = 64
    vocab: int = 64


SMALL = Config()


def rms_norm(x, scale):
    variance = jnp.mean(jnp.square(x), axis=-1, keepdims=True)
    return x * jax.lax.rsqrt(variance + 1e-6) * scale


def attention(p, x):
    q = jnp.einsum("bld,dhk->blhk", x, p["q"])
    k = jnp.einsum("bld,dhk->blhk", x, p["k"])
    v = jnp.einsum("bld,dhk->blhk", x, p["v"])
    scores = jnp.einsum("bqhk,bthk->bhqt", q, k) / jnp.sqrt(q.shape[-1]).astype(x.dtype)
    n = x.shape[1]
    mask = jnp.tril(jnp.ones((n, n), bool))
    scores = jnp.where(mask, scores, jnp.finfo(x.dtype).min)
    weights = jax.nn.softmax(scores, axis=-1)
    mixed = jnp.einsum("bhqt,bthk->bqhk", weights, v)
    return jnp.einsum("bqhk,hkd->bqd", mixed, p["o"])


def mlp(p, x):
    return jax.nn.gelu(x @ p["up"] + p["b"]) @ p["down"]


def block(p, x):
    x = x + attention(p["attn"], rms_norm(x, p["norm1"]))
    return x + mlp(p["mlp"], rms_norm(x, p["norm2"]))


def embed(params, tokens):
    x = params["embed"][tokens]
    return x + params["position"][: tokens.shape[1]]


def forward(params, tokens):
    x = embed(params, tokens)
    for p in params["layers"]:
        x = block(p, x)
    return rms_norm(x, params["norm"]) @ params["unembed"]


def scan_forward(params, tokens):
    params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
    x = embed(params, tokens)
    x, _ = jax.lax.scan(lambda h, p: (block(p, h), None), x, params["layers"])
    return (rms_norm(x, params["norm"]) @ params["unembed"]).astype(jnp.float32)


def remat_forward(params, tokens):
    x = embed(params, tokens)
    body = jax.checkpoint(block)
    x, _ = jax.lax.scan(lambda h, p: (body(p, h), None), x, params["layers"])
    return rms_norm(x, params["norm"]) @ params["unembed"]


def cross_entropy(logits, targets):
    picked = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - picked)


def make_loss(forward_fn):
    def loss(params, tokens):
        logits = forward_fn(params, tokens[:, :-1])
        return cross_entropy(logits, tokens[:, 1:])

    return loss


loss = make_loss(forward)
step = adam.make_step(loss)
scan_loss = make_loss(scan_forward)
scan_step = adam.make_step(scan_loss)


def remat_step(params, opt_state, tokens):
    value, grads = jax.value_and_grad(make_loss(remat_forward))(params, tokens)
    params, opt_state = adam.update(params, adam.clip(grads, 1.0), opt_state)
    return params, opt_state, value


def layer_shapes(c, lead=()):
    def f32(*shape):
        return jax.ShapeDtypeStruct((*lead, *shape), jnp.float32)

    head = c.width // c.heads
    return {
        "attn": {
            **{name: f32(c.width, c.heads, head) for name in ("q", "k", "v")},
            "o": f32(c.heads, head, c.width),
        },
        "mlp": {"up": f32(c.width, c.hidden), "b": f32(c.hidden), "down": f32(c.hidden, c.width)},
        "norm1": f32(c.width),
        "norm2": f32(c.width),
    }


def params_shapes(c, scanned=False):
    def f32(*shape):
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    layers = layer_shapes(c, (c.layers,)) if scanned else [layer_shapes(c)] * c.layers
    return {
        "embed": f32(c.vocab, c.width),
        "position": f32(c.length, c.width),
        "layers": layers,
        "norm": f32(c.width),
        "unembed": f32(c.width, c.vocab),
    }


def forward_args(c=SMALL, scanned=False):
    tokens = jax.ShapeDtypeStruct((c.batch, c.length), jnp.int32)
    return params_shapes(c, scanned), tokens


def step_args(c=SMALL, scanned=False):
    params, tokens = forward_args(c, scanned)
    return params, adam.zeros(params), tokens


scan_forward_args = functools.partial(forward_args, scanned=True)
scan_step_args = functools.partial(step_args, scanned=True)
