# heldout.py - programs written after the rules for what Python decides.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import jax
from jax import lax
import jax.numpy as jnp

from zoo import program


@program("f32[8,4]", "f32[8,4]")
def select_chain(x, y):
  return jnp.select([x > 1.0, y > 0.0], [x, y * 2.0], 0.5)


@program("f32[2,8]", "bool[8]")
def masked_scan(xs, keep):
  def body(c, x):
    return jnp.where(keep, c + x, c), jnp.where(keep, x, 0.0)
  return lax.scan(body, xs[0], xs)


@program("f32[8,4]", "f32[4]", "bool[]")
def cond_where(x, row, p):
  return lax.cond(p, lambda a: jnp.where(a > 0.0, a, row), lambda a: a * 2.0, x)


@program("f32[8,4]", "f32[8,1]", "f32[4]")
def clip_arrays(x, low, high):
  return jnp.clip(x, low, high)


@program("f32[8,4]", "f32[8]")
def weighted_mean(x, w):
  return jnp.average(x, axis=0, weights=w)


@program("f32[4,8]", "i32[4]")
def length_mask(x, n):
  keep = jnp.arange(8)[None, :] < n[:, None]
  return jnp.where(keep, x, 0.0).sum(axis=1) / n.astype(jnp.float32)


@program("f32[2,4,4]", "bool[2,4]")
def masked_attention(scores, keep):
  s = jnp.where(keep[:, None, :], scores, -1e9)
  return jax.nn.softmax(s, axis=-1)


@program("f32[8,4]", "f32[]")
def huber(x, delta):
  a = jnp.abs(x)
  return jnp.where(a < delta, 0.5 * x * x, delta * (a - 0.5 * delta)).mean()


@program("f32[8,4]")
def elu(x):
  return jax.nn.elu(x) + jax.nn.softplus(x)


@program("f32[8,4]", "f32[8,4]")
def where_in_remat(x, y):
  f = jax.checkpoint(lambda a, b: jnp.where(a > b, a, 1.0) * 2.0)
  return f(x, y)


@program("f32[4,8]", "f32[4]")
def vmap_clip(x, top):
  return jax.vmap(lambda row, t: jnp.minimum(row * 2.0, t))(x, top)


@program("f32[8]", "f32[8,4]")
def scan_with_zeros(x, ws):
  def body(c, w):
    return c + w.sum(), None
  return lax.scan(body, jnp.zeros(()), ws)[0] * x
