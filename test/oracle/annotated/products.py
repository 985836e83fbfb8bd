# products.py - annotated products, joins, shapes and indexing.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import jax
from jax import lax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P, reshard

from annotated import fragment

DATA = ("f32[8,4]", P('data', None))
MODEL = ("f32[8,4]", P(None, 'model'))
BOTH = ("f32[8,4]", P('data', 'model'))


@fragment(BOTH, ("f32[4,6]", P('model', None)))
def dot(fix, x, w):
  if fix:
    return jnp.dot(x, w, out_sharding=P("data", None))
  return jnp.dot(x, w)


@fragment(BOTH, ("f32[4,6]", P('model', None)))
def operator(fix, x, w):
  if fix:
    h = jnp.matmul(x, w, out_sharding=P("data", None))
  else:
    h = x @ w
  return jnp.tanh(h)


@fragment(("f32[8,4]", P('model', None)), ("f32[4,8]", P(None, 'model')))
def axis_twice(fix, x, w):
  if fix:
    return jnp.dot(x, w, out_sharding=P("model", None))
  return jnp.dot(x, w)


@fragment(("f32[8]", P('data')), ("f32[8]", P('data')))
def outer(fix, a, b):
  if fix:
    return jnp.einsum("i,j->ij", a, b, out_sharding=P("data", None))
  return jnp.einsum("i,j->ij", a, b)


@fragment(("f32[8,2,4]", P('data', None, None)), ("f32[8,4,2]", P('model', None, None)))
def batched(fix, x, y):
  if fix:
    y = reshard(y, P("data", None, None))
  return jnp.einsum("bij,bjk->bik", x, y)


@fragment(("f32[2,8,4]", P(None, 'data', 'model')), ("f32[4,8]", P('model', None)))
def einsum_order(fix, x, w):
  if fix:
    return jnp.einsum("bsd,dh->hbs", x, w, out_sharding=P(None, None, "data"))
  return jnp.einsum("bsd,dh->hbs", x, w)


@fragment(BOTH, ("f32[4,6]", P('model', None)))
def partial_sums(fix, x, w):
  u = jnp.dot(x, w, out_sharding=P("data", None, unreduced={"model"}))
  if fix:
    u = reshard(u, P("data", None))
  return jnp.tanh(u)


@fragment(BOTH, ("f32[4,6]", P('model', None)), ("f32[8,6]", P('data', None)))
def partial_and_whole(fix, x, w, y):
  u = jnp.dot(x, w, out_sharding=P("data", None, unreduced={"model"}))
  if fix:
    u = reshard(u, P("data", None))
  return u + y


@fragment(("f32[4,8,4]", P('data', None, 'model')), ("f32[4,8,4]", P('data', None, 'model')))
def scores(fix, q, k):
  out = P("data", None, None) if fix else None
  s = jnp.einsum("bqd,bkd->bqk", q, k, out_sharding=out)
  return jax.nn.softmax(s, axis=-1)


@fragment(DATA, ("f32[8,4]", P('model', None)))
def add(fix, x, y):
  if fix:
    y = reshard(y, P("data", None))
  return x + y


@fragment(MODEL, ("f32[4]", P('data')))
def add_row(fix, x, row):
  if fix:
    row = reshard(row, P("model"))
  return x * row


@fragment(("f32[8,8]", P('data', None)))
def symmetric(fix, x):
  t = x.T
  if fix:
    t = reshard(t, P("data", None))
  return jnp.maximum(x, t)


@fragment(DATA, ("f32[8,4]", P('model', None)), ("bool[8,4]", P('data', None)))
def choose(fix, x, y, c):
  if fix:
    y = reshard(y, P("data", None))
  return jnp.where(c, x, y)


@fragment(DATA, ("f32[8,4]", P('model', None)))
def joined(fix, x, y):
  if fix:
    y = reshard(y, P("data", None))
  return jnp.concatenate([x, y], axis=1)


@fragment(DATA, ("f32[8,4]", P(None, None)))
def stacked(fix, x, y):
  if fix:
    y = reshard(y, P("data", None))
  return jnp.stack([x, y])


@fragment(("f32[4,8]", P(None, 'model')))
def flat(fix, x):
  if fix:
    return jnp.reshape(x, (32,), out_sharding=P("model"))
  return jnp.reshape(x, (32,))


@fragment(("f32[8,6]", P('data', None)))
def reshape_method(fix, x):
  if fix:
    x = reshard(x, P(None, None))
  return x.reshape(3, 16)


@fragment(DATA, ("i32[4]", P(None)))
def rows(fix, x, i):
  if fix:
    return x.at[i].get(out_sharding=P("data", None))
  return x[i]


@fragment(("f32[8,4]", P(None, 'model')), ("i32[8,1]", P(None, None)))
def along(fix, x, i):
  if fix:
    x = reshard(x, P(None, None))
  return jnp.take_along_axis(x, i, axis=1)


@fragment(("f32[8,4]", P('data', None)))
def cut(fix, x):
  if fix:
    x = reshard(x, P(None, None))
  return x[:3] * 2


@fragment(("f32[8,4]", P('data', None)), ("f32[2,4]", P(None, 'model')))
def updated(fix, x, y):
  if fix:
    x, y = reshard(x, P(None, None)), reshard(y, P(None, None))
  return lax.dynamic_update_slice(x, y, (0, 0))


@fragment(DATA)
def ordered(fix, x):
  if fix:
    x = reshard(x, P(None, "model"))
  return jnp.sort(x, axis=0)


@fragment(MODEL)
def best(fix, x):
  if fix:
    x = reshard(x, P("data", None))
  return lax.top_k(x, 2)


@fragment(("f32[8,8]", P(None, 'model')))
def running(fix, x):
  if fix:
    x = reshard(x, P("model", None))
  return jnp.cumsum(x, axis=1)


@fragment(MODEL)
def divided(fix, x):
  if fix:
    x = reshard(x, P("data", None))
  return jnp.split(x, 4, axis=1)


@fragment(("i32[8]", P('data')), ("f32[8,6]", P('model', None)))
def one_hot(fix, i, y):
  classes = jax.nn.one_hot(i, 6, out_sharding=P("data", None))
  if fix:
    y = reshard(y, P("data", None))
  return classes * y


@fragment(("i32[8]", P('data')), ("f32[6,4]", P('model', None)))
def embedded(fix, i, table):
  if fix:
    return table.at[i].get(out_sharding=P("data", None))
  return jnp.take(table, i, axis=0)


@fragment(DATA, ("f32[8,4]", P(None, 'model')))
def masked(fix, x, y):
  keep = jnp.arange(8)[:, None] < 5
  h = jnp.where(keep, x, 0.0)
  if fix:
    y = reshard(y, P("data", None))
  return lax.select(h > 0, h, y)


@fragment(("f32[1,8,8,4]", P(None, None, None, 'model')), ("f32[3,3,4,4]", P(None, None, 'model', None)))
def convolved(fix, x, k):
  if fix:
    x, k = reshard(x, P()), reshard(k, P())
  return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


@fragment(DATA, ("f32[2,4]", P('model', None)), ("i32[2]", P(None)))
def scattered(fix, x, y, i):
  if fix:
    return x.at[i].add(reshard(y, P(None, None)), out_sharding=P("data", None))
  return x.at[i].add(y)
