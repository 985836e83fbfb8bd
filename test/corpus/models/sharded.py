# sharded.py - models annotated for a mesh with axes `data` and `model`.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The MLP and the transformer with the annotations that Explicit axes need.

Batches are split over `data`, hidden features and heads over `model`. Only
contractions over a dim that both operands split say what their result is.
"""

import adam
import jax
import jax.numpy as jnp
import mlp
import transformer as tf
from jax.sharding import PartitionSpec as P

MESH = "data=4,model=2"


# The MLP: one layer split by columns, the next by rows.

MLP_SPECS = {
    "params/layers/0/w": P(None, "model"),
    "params/layers/0/b": P("model"),
    "params/layers/1/w": P("model", None),
    "x": P("data", None),
    "y": P("data"),
}


def mlp_forward(params, x):
    first, second, last = params["layers"]
    h = jax.nn.relu(x @ first["w"] + first["b"])
    h = jnp.dot(h, second["w"], out_sharding=P("data", None))
    h = jax.nn.relu(h + second["b"])
    return h @ last["w"] + last["b"]


def mlp_loss(params, x, y):
    return mlp.cross_entropy(mlp_forward(params, x), y)


mlp_step = adam.make_step(mlp_loss)


# The transformer.


def _layer_specs(prefix, lead=()):
    return {
        f"{prefix}/attn/{name}": P(*lead, None, "model", None) for name in ("q", "k", "v")
    } | {
        f"{prefix}/attn/o": P(*lead, "model", None, None),
        f"{prefix}/mlp/up": P(*lead, None, "model"),
        f"{prefix}/mlp/b": P(*lead, "model"),
        f"{prefix}/mlp/down": P(*lead, "model", None),
    }


UNROLLED_SPECS = _layer_specs("params/layers/*") | {"tokens": P("data", None)}
SCAN_SPECS = _layer_specs("params/layers", (None,)) | {"tokens": P("data", None)}


def attention(p, x):
    q = jnp.einsum("bld,dhk->blhk", x, p["q"])
    k = jnp.einsum("bld,dhk->blhk", x, p["k"])
    v = jnp.einsum("bld,dhk->blhk", x, p["v"])
    scores = jnp.einsum("bqhk,bthk->bhqt", q, k) / jnp.sqrt(q.shape[-1]).astype(x.dtype)
    n = x.shape[1]
    mask = jnp.tril(jnp.ones((n, n), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e30), axis=-1)
    mixed = jnp.einsum("bhqt,bthk->bqhk", weights, v)
    return jnp.einsum("bqhk,hkd->bqd", mixed, p["o"], out_sharding=P("data", None, None))


def feed_forward(p, x):
    h = jax.nn.gelu(x @ p["up"] + p["b"])
    return jnp.einsum("blh,hd->bld", h, p["down"], out_sharding=P("data", None, None))


def block(p, x):
    x = x + attention(p["attn"], tf.rms_norm(x, p["norm1"]))
    return x + feed_forward(p["mlp"], tf.rms_norm(x, p["norm2"]))


def embed(params, tokens):
    x = params["embed"].at[tokens].get(out_sharding=P("data", None, None))
    return x + params["position"][: tokens.shape[1]]


def cross_entropy(logits, targets):
    hot = jax.nn.one_hot(targets, logits.shape[-1])
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - jnp.sum(logits * hot, axis=-1))


def transformer_loss(params, tokens):
    x = embed(params, tokens[:, :-1])
    for p in params["layers"]:
        x = block(p, x)
    logits = tf.rms_norm(x, params["norm"]) @ params["unembed"]
    return cross_entropy(logits, tokens[:, 1:])


def scan_forward(params, tokens):
    x = embed(params, tokens)
    x, _ = jax.lax.scan(lambda h, p: (block(p, h), None), x, params["layers"])
    return tf.rms_norm(x, params["norm"]) @ params["unembed"]


transformer_step = adam.make_step(transformer_loss)


def scan_loss(params, tokens):
    return cross_entropy(scan_forward(params, tokens[:, :-1]), tokens[:, 1:])


scan_step = adam.make_step(scan_loss)


def for_step(specs):
    """Specs of a training step: the optimiser's state goes with the weights."""
    out = dict(specs)
    for path, spec in specs.items():
        if path.startswith("params/"):
            for part in ("mu", "nu"):
                out[path.replace("params/", f"opt_state/{part}/", 1)] = spec
    return out


def for_batch(specs, **names):
    """Specs of a step, whose batch is `batch/0` and so on."""
    out = for_step(specs)
    for name, index in names.items():
        out[f"batch/{index}"] = out.pop(name)
    return out
