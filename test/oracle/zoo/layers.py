# layers.py - pieces of neural networks.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import jax
from jax import lax
import jax.numpy as jnp

from zoo import program


@program("f32[8,4]", "f32[4,8]")
def matmul(x, w):
  return x @ w


@program("f32[8,4]", "f32[4,8]", "f32[8]")
def dense(x, w, b):
  return jnp.tanh(x @ w + b)


@program("f32[8,4]", "f32[4,8]", "f32[8,4]")
def mlp(x, w1, w2):
  h = jax.nn.relu(x @ w1)
  return h @ w2


@program("f32[8,4]", "f32[4,8]", "f32[4,8]", "f32[8,4]")
def gated_mlp(x, w, v, o):
  gate = jax.nn.sigmoid(x @ w)
  return (gate * (x @ v)) @ o


@program("f32[8,4]")
def softmax(x):
  return jax.nn.softmax(x, axis=-1)


@program("f32[8,4]")
def softmax_by_hand(x):
  top = jnp.max(x, axis=1, keepdims=True)
  e = jnp.exp(x - top)
  return e / jnp.sum(e, axis=1, keepdims=True)


@program("f32[8,4]")
def log_softmax(x):
  return jax.nn.log_softmax(x, axis=0)


@program("f32[8,4]")
def logsumexp(x):
  return jax.nn.logsumexp(x, axis=1)


@program("f32[8,4]", "f32[4]", "f32[4]")
def layer_norm(x, scale, bias):
  mean = x.mean(-1, keepdims=True)
  var = jnp.square(x - mean).mean(-1, keepdims=True)
  return (x - mean) * lax.rsqrt(var + 1e-6) * scale + bias


@program("f32[8,4]", "f32[4]")
def rms_norm(x, scale):
  ms = jnp.mean(x * x, axis=-1, keepdims=True)
  return x * lax.rsqrt(ms + 1e-6) * scale


@program("f32[4,8]", "f32[8,8]")
def split_heads(x, w):
  q = x @ w
  return q.reshape(4, 2, 4).transpose(1, 0, 2)


@program("f32[2,4,4]")
def merge_heads(x):
  return x.transpose(1, 0, 2).reshape(4, 8)


@program("f32[2,4,4]", "f32[2,4,4]", "f32[2,4,4]")
def attention(q, k, v):
  scores = jnp.einsum("hqd,hkd->hqk", q, k) / 2.0
  return jnp.einsum("hqk,hkd->hqd", jax.nn.softmax(scores), v)


@program("f32[2,4,4]", "f32[2,4,4]")
def causal_scores(q, k):
  scores = jnp.einsum("hqd,hkd->hqk", q, k)
  mask = jnp.tril(jnp.ones((4, 4), bool))
  return jnp.where(mask, scores, -1e9)


@program("f32[4,8,2]", "f32[3,2,6]")
def conv1d(x, w):
  return lax.conv_general_dilated(
      x, w, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))


@program("f32[2,4,4,2]", "f32[3,3,2,2]")
def conv_pool(x, w):
  y = lax.conv_general_dilated(
      x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
  return lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


@program("f32[2,4,4,2]")
def mean_pool(x):
  total = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
  return total / 4.0


@program("f32[8,4]", "i32[8]")
def cross_entropy(logits, labels):
  logp = jax.nn.log_softmax(logits)
  hot = jax.nn.one_hot(labels, 4)
  return -jnp.mean(jnp.sum(hot * logp, axis=-1))


@program("f32[8,4]", "i32[2,3]")
def embed(table, tokens):
  return table[tokens]


@program("f32[8,4]", "f32[8,4]")
def mse(x, y):
  return jnp.mean((x - y) ** 2)


@program("f32[8,4]")
def gelu(x):
  return jax.nn.gelu(x)


@program("f32[8,4]")
def silu(x):
  return jax.nn.silu(x)


@program("f32[8,4]")
def leaky(x):
  return jnp.where(x > 0, x, 0.1 * x)


@program("f32[8,4]", "f32[4,4]", "f32[4,4]")
def residual(x, w1, w2):
  h = jnp.maximum(x @ w1, 0.0)
  return x + h @ w2


@program("f32[8,4]", "f32[4]", "f32[4]")
def batch_norm(x, scale, bias):
  mean, var = x.mean(0), x.var(0)
  return (x - mean) / jnp.sqrt(var + 1e-5) * scale + bias


@program("f32[4,8]", "f32[4,8]")
def rotary(x, angle):
  a, b = jnp.split(x, 2, axis=1)
  c, s = jnp.cos(angle[:, :4]), jnp.sin(angle[:, :4])
  return jnp.concatenate([a * c - b * s, a * s + b * c], axis=1)


@program("f32[8,4]", "f32[8,4]")
def cosine(x, y):
  dot = jnp.sum(x * y, axis=-1)
  return dot / (jnp.linalg.norm(x, axis=-1) * jnp.linalg.norm(y, axis=-1))


@program("bf16[8,4]", "f32[4,8]")
def mixed_precision(x, w):
  y = x @ w.astype(jnp.bfloat16)
  return y.astype(jnp.float32)


@program("f32[8,4]", "f32[4,8]")
def chain_of_dots(x, w):
  return jnp.sin(x @ w) @ w.T


@program("f32[2,4,4]", "f32[4,4]")
def batched_dense(x, w):
  return jnp.einsum("bij,jk->bik", x, w)


@program("f32[4,8]", "f32[8,4]")
def expert_scores(x, w):
  gates = jax.nn.softmax(x @ w)
  value, index = lax.top_k(gates, 2)
  return value / value.sum(-1, keepdims=True), index
