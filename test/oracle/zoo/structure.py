# structure.py - jit, scan, while, cond, remat, custom rules, vmap, random.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import functools

import jax
from jax import lax
import jax.numpy as jnp

from zoo import program


@program("f32[8,4]", "f32[4,4]")
def jit_inside(x, w):
  @jax.jit
  def layer(h):
    return jnp.tanh(h @ w)
  return layer(layer(x))


@program("f32[8,4]")
def jit_twice(x):
  f = jax.jit(lambda a: a.sum(axis=1))
  return f(x) + f(x * 2.0)


@program("f32[8,4]", "f32[3,4,4]")
def scan_layers(x, ws):
  def body(h, w):
    return jnp.tanh(h @ w), None
  return lax.scan(body, x, ws)[0]


@program("f32[8]", "f32[4,8]")
def scan_sum(c, xs):
  def body(c, x):
    c = c + x
    return c, c * 2.0
  return lax.scan(body, c, xs)


@program("f32[4,8]")
def scan_zeros(xs):
  def body(c, x):
    return c + x, c
  return lax.scan(body, jnp.zeros(8), xs)


@program("f32[4,8]")
def scan_scalar(xs):
  def body(c, x):
    return c + x.sum(), x
  return lax.scan(body, 0.0, xs)


@program("f32[2,4]", "f32[4,4]", "f32[4,4]", "f32[3,2,4]")
def rnn(h, wh, wx, xs):
  def cell(h, x):
    h = jnp.tanh(h @ wh + x @ wx)
    return h, h
  return lax.scan(cell, h, xs)


@program("f32[8]")
def scan_no_xs(x):
  return lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=3)[0]


@program("f32[4,8]")
def scan_reverse(xs):
  return lax.scan(lambda c, x: (c * x, c), jnp.ones(8), xs, reverse=True)


@program("f32[8,4]")
def for_loop(x):
  return lax.fori_loop(0, 3, lambda i, c: c * 2.0 + i, x)


@program("f32[8,4]")
def while_norm(x):
  def more(c):
    return jnp.sum(c * c) > 1.0
  return lax.while_loop(more, lambda c: c * 0.5, x)


@program("f32[8]", "i32[]")
def while_counter(x, n):
  def step(state):
    i, c = state
    return i + 1, jnp.cos(c)
  return lax.while_loop(lambda s: s[0] < n, step, (0, x))


@program("f32[8,4]", "f32[8,4]")
def while_two(x, y):
  def step(s):
    a, b = s
    return a + b, b
  return lax.while_loop(lambda s: s[0].sum() < 9.0, step, (x, y))


@program("f32[8,4]", "bool[]")
def cond_same(x, p):
  return lax.cond(p, lambda a: a * 2.0, lambda a: jnp.sin(a), x)


@program("f32[8,4]", "f32[8,4]", "bool[]")
def cond_pick(x, y, p):
  return lax.cond(p, lambda: x, lambda: y)


@program("f32[8,4]", "bool[]")
def cond_zeros(x, p):
  return lax.cond(p, lambda: x, lambda: jnp.zeros((8, 4)))


@program("f32[8,4]", "f32[8,4]", "bool[]")
def cond_sum(x, y, p):
  return lax.cond(p, lambda a, b: a + b, lambda a, b: a * b, x, y)


@program("f32[8]", "i32[]")
def switch(x, i):
  return lax.switch(i, [jnp.sin, jnp.cos, lambda a: -a], x)


@program("f32[8,4]", "f32[4,4]")
def remat_layer(x, w):
  f = jax.checkpoint(lambda h: jnp.sin(h @ w))
  return f(f(x))


@program("f32[8,4]")
def remat_reduce(x):
  return jax.checkpoint(lambda a: jnp.exp(a).sum(1))(x)


@jax.custom_jvp
def _safe_log(x):
  return jnp.log(jnp.maximum(x, 1e-6))


_safe_log.defjvp(lambda p, t: (_safe_log(*p), t[0] / p[0]))


@program("f32[8,4]")
def custom_jvp(x):
  return _safe_log(x) + 1.0


@jax.custom_vjp
def _scaled(x, w):
  return x @ w * 0.5


_scaled.defvjp(lambda x, w: (_scaled(x, w), (x, w)),
               lambda r, g: (g @ r[1].T, r[0].T @ g))


@program("f32[8,4]", "f32[4,8]")
def custom_vjp(x, w):
  return _scaled(x, w)


@program("f32[8,4]")
def relu_sum(x):
  return jax.nn.relu(x).sum(axis=0)


@program("f32[4,8]", "f32[4,8]")
def vmap_dot(x, y):
  return jax.vmap(jnp.dot)(x, y)


@program("f32[4,2,4]", "f32[4,4]")
def vmap_matmul(x, w):
  return jax.vmap(lambda a: jnp.tanh(a @ w))(x)


@program("f32[8,4]")
def vmap_softmax(x):
  return jax.vmap(jax.nn.softmax, in_axes=1, out_axes=1)(x)


@program("f32[8,4]", "i32[8]")
def vmap_index(x, i):
  return jax.vmap(lambda row, j: row[j])(x, i)


@program("f32[4,8]")
def vmap_scan(x):
  def one(row):
    return lax.scan(lambda c, a: (c + a, c), 0.0, row)
  return jax.vmap(one)(x)


@program("f32[8,4]")
def lax_map(x):
  return lax.map(lambda r: jnp.sin(r).sum(), x)


@program("f32[8]")
def prefix_sum(x):
  return lax.associative_scan(jnp.add, x)


@program("key<fry>[]")
def random_normal(key):
  return jax.random.normal(key, (8, 4))


@program("key<fry>[]", "f32[8,4]")
def dropout(key, x):
  keep = jax.random.bernoulli(key, 0.5, x.shape)
  return jnp.where(keep, x * 2.0, 0.0)


@program("key<fry>[8]")
def random_per_row(keys):
  return jax.vmap(lambda k: jax.random.uniform(k, (4,)))(keys)


@program("key<fry>[]", "f32[8,4]")
def add_noise(key, x):
  return x + 0.1 * jax.random.normal(key, x.shape)


@program("key<fry>[]")
def split_and_draw(key):
  a, b = jax.random.split(key)
  return jax.random.uniform(a, (8,)) + jax.random.uniform(b, (8,))


@program("i32[]")
def seed_and_fold(seed):
  key = jax.random.fold_in(jax.random.key(seed), 7)
  return jax.random.bits(key, (4,))


@program("f32[8,4]", "f32[4,4]", "f32[4]")
def scan_of_jit(x, w, b):
  @jax.jit
  def cell(h, _):
    h = jax.nn.relu(h @ w + b)
    return h, h.sum()
  return lax.scan(cell, x, None, length=2)


@program("f32[8,4]", "bool[]")
def cond_in_scan(x, p):
  def body(c, _):
    return lax.cond(p, lambda a: a + 1.0, lambda a: a * 2.0, c), None
  return lax.scan(body, x, None, length=2)[0]


@program("f32[2,4,4]", "f32[2,4,4]")
def nested_scan(x, w):
  def outer(c, a):
    inner = lax.scan(lambda h, r: (h + r, None), c, a)[0]
    return inner, inner
  return lax.scan(outer, x[0, 0], w)


@program("f32[8,4]", "f32[4,4]")
def newton_steps(x, w):
  step = functools.partial(jnp.matmul, precision="highest")
  y = step(x, w)
  return step(y - jnp.mean(y, 0), w)


@program("f32[8,4]", "f32[8,4]", "f32[]")
def sgd(p, g, lr):
  return p - lr * g


@program("f32[8,4]", "f32[8,4]", "f32[8,4]", "f32[8,4]")
def adam(p, m, v, g):
  m = 0.9 * m + 0.1 * g
  v = 0.99 * v + 0.01 * g * g
  return p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v


@program("f32[8,4]", "f32[8,4]")
def clip_norm(g, h):
  norm = jnp.sqrt(jnp.sum(g * g) + jnp.sum(h * h))
  scale = jnp.minimum(1.0, 1.0 / norm)
  return g * scale, h * scale
