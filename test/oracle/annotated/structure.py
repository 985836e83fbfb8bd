# structure.py - annotations under transformations, in loops and regions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import functools

import jax
from jax import lax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P, auto_axes, explicit_axes, reshard

from annotated import fragment

DATA = ("f32[8,4]", P('data', None))
MODEL = ("f32[8,4]", P(None, 'model'))
BOTH = ("f32[8,4]", P('data', 'model'))
WEIGHT = ("f32[4,6]", P('model', None))


@fragment(MODEL)
def constraint(fix, x):
  want = P(None, "model") if fix else P("data", None)
  return lax.with_sharding_constraint(x, want) * 2


@fragment(DATA)
def named_twice(fix, x):
  if fix:
    return reshard(x, P("data", "model"))
  return reshard(x, P("data", "data"))


@fragment(DATA)
def misspelt(fix, x):
  if fix:
    return reshard(x, P(None, "model")) + 1
  return reshard(x, P(None, "modle")) + 1


@fragment(("f32[5,8,4]", P(None, 'data', None)))
def carry(fix, xs):
  start = jnp.zeros((8, 4))
  if fix:
    start = reshard(start, P("data", None))
  return lax.scan(lambda c, x: (c + x, jnp.sum(x)), start, xs)


@fragment(DATA)
def zeros_like_carry(fix, x):
  start = jnp.zeros_like(x) if fix else jnp.zeros(x.shape)
  return lax.fori_loop(0, 3, lambda _, c: c + x, start)


@fragment(DATA, ("bool[]", P()))
def branches(fix, x, p):
  def other(a):
    b = reshard(a * 2, P(None, "model"))
    return reshard(b, P("data", None)) if fix else b
  return lax.cond(p, jnp.sin, other, x)


@fragment(DATA)
def until(fix, x):
  def body(c):
    c = reshard(c, P(None, "model"))
    return reshard(c, P("data", None)) if fix else c
  return lax.while_loop(lambda c: jnp.sum(c) > 0, body, x)


@fragment(DATA, ("f32[4,6]", P('model', None)))
def mapped(fix, x, w):
  def row(v):
    v = reshard(v, P("model"))
    if fix:
      return jnp.dot(v, w, out_sharding=P("model"))
    return jnp.dot(v, w)
  return jax.vmap(row)(x)


@fragment(("f32[2,8,4]", P(None, 'data', 'model')), WEIGHT)
def mapped_twice(fix, x, w):
  def row(v):
    if fix:
      return jnp.dot(v, w, out_sharding=P(None))
    return jnp.dot(v, w)
  return jax.vmap(jax.vmap(row))(x)


@fragment(BOTH, WEIGHT)
def inner_jit(fix, x, w):
  @jax.jit
  def layer(a, b):
    if fix:
      return jnp.dot(a, b, out_sharding=P("data", None))
    return jnp.dot(a, b)
  return layer(x, w) + layer(2 * x, w)


@fragment(BOTH, WEIGHT)
def rematerialised(fix, x, w):
  @jax.checkpoint
  def layer(a):
    if fix:
      return jnp.sin(jnp.dot(a, w, out_sharding=P("data", None)))
    return jnp.sin(jnp.dot(a, w))
  return layer(x)


@jax.custom_vjp
def doubled(x):
  return x * 2


doubled.defvjp(lambda x: (x * 2, None), lambda _, g: (g * 2,))


@fragment(BOTH, WEIGHT)
def gradient(fix, x, w):
  def loss(w):
    if fix:
      h = jnp.dot(x, w, out_sharding=P("data", None))
    else:
      h = jnp.dot(x, w)
    return jnp.sum(doubled(h) ** 2)
  return jax.grad(loss)(w)


@fragment(BOTH, WEIGHT, ("f32[4,6]", P(None, 'model')))
def gradient_meets(fix, x, w, m):
  def loss(w):
    return jnp.sum(jnp.tanh(jnp.dot(x, w, out_sharding=P("data", None))))
  value, g = jax.value_and_grad(loss)(w)
  if fix:
    m = reshard(m, P("model", None))
  return value, g + m


@fragment(DATA, ("f32[8,4]", P(None, 'model')))
def pullback(fix, x, g):
  y, back = jax.vjp(jnp.sin, x)
  if fix:
    g = reshard(g, P("data", None))
  return back(g)[0] * y


@fragment(DATA, ("f32[8,4]", P('data', None)), ("f32[8,4]", P(None, 'model')))
def forward_mode(fix, x, t, y):
  _, d = jax.jvp(jnp.tanh, (x,), (t,))
  if fix:
    y = reshard(y, P("data", None))
  return jnp.concatenate([d, y])


@fragment(("f32[8]", P('data')), ("f32[8,8]", P(None, 'model')))
def second_order(fix, x, m):
  h = jax.hessian(lambda v: jnp.sum(jnp.sin(v) * 2))(x)
  if fix:
    m = reshard(m, P("data", None))
  return jnp.concatenate([h, m])


@fragment(DATA, ("f32[8,4]", P('model', None)))
def region(fix, x, y):
  @functools.partial(auto_axes, out_sharding=P("data", None))
  def inside(v):
    return jnp.cumsum(v, axis=0)
  h = inside(x)
  if fix:
    y = reshard(y, P("data", None))
  return h - y


@fragment(DATA)
def region_spec(fix, x):
  if fix:
    return auto_axes(jnp.sin, out_sharding=P(None, "model"))(x) + 1
  return x + auto_axes(jnp.sin, out_sharding=P("model", None))(x)


@fragment(BOTH)
def part_of_mesh(fix, x):
  @functools.partial(auto_axes, axes="model", out_sharding=P("data", "model"))
  def inside(v):
    if fix:
      return v * 2
    return v + reshard(v, P(None, None))[::-1].reshape(4, 8).reshape(8, 4)
  return inside(x) if fix else jnp.stack([inside(x), reshard(x, P("data", None))])


@fragment(BOTH)
def back_to_explicit(fix, x):
  def inner(v):
    w = explicit_axes(lambda a: a + 1, axes=("model",), in_sharding=P(None, "model"))(v)
    return jnp.sin(w)
  h = auto_axes(inner, axes=("model",), out_sharding=P("data", None))(x)
  if fix:
    x = reshard(x, P("data", None))
  return lax.select(x > 0, x, h)


@fragment(("f32[8,4]", P(None, 'data')), sized=True)
def by_hand(fix, x):
  if fix:
    x = reshard(x, P("data", None))
  body = lambda a: a + lax.psum(a.sum(), "data")  # noqa: E731
  return jax.shard_map(body, in_specs=P("data", None), out_specs=P("data", None),
                       axis_names={"data"})(x)


@fragment(("f32[8,4]", P('data', None)), sized=True)
def by_hand_sum(fix, x):
  def body(a):
    total = jnp.sum(a, axis=0)
    return lax.psum(total, "data") if fix else total
  return jax.shard_map(body, in_specs=P("data", None), out_specs=P(None), axis_names={"data"})(x)


@fragment(("f32[8,4]", P('data', None)), ("f32[8,4]", P('model', None)))
def noise(fix, x, y):
  n = jax.random.normal(jax.random.key(0), (8, 4), out_sharding=P("data", None))
  if fix:
    y = reshard(y, P("data", None))
  return jnp.where(n > 0, x + n, y)


@fragment(DATA, ("f32[4]", P('model')))
def normalised(fix, x, scale):
  mean = jnp.mean(x, axis=-1, keepdims=True)
  h = (x - mean) * lax.rsqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-6)
  if fix:
    return h * scale
  return jnp.concatenate([h * scale, x])


@fragment(("f32[5,8,4]", P(None, 'data', 'model')), ("f32[4,4]", P('model', None)))
def layers(fix, xs, w):
  def step(c, x):
    if fix:
      h = jnp.dot(x, w, out_sharding=P("data", None))
    else:
      h = jnp.dot(x, w)
    return c + jnp.sum(h), h
  return lax.scan(step, 0.0, xs)
