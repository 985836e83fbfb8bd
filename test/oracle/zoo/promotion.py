# promotion.py - scalars, masks and updates: what Python writes for the types it sees.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import jax
import jax.numpy as jnp

from zoo import program


@program("f32[8]", "f32[4]")
def where_columns(a, b):
  return jnp.where(a[:, None] > 0.0, b[None, :], 0.0)


@program("bool[8,4]", "f32[8,4]", "f32[4]")
def where_row(c, x, y):
  return jnp.where(c, x, y)


@program("bool[8,1]", "f32[8,4]", "f32[8,4]")
def where_mask_column(c, x, y):
  return jnp.where(c, x, y)


@program("bool[]", "f32[8,4]")
def where_one_mask(p, x):
  return jnp.where(p, x, 0.0)


@program("f32[8,4]")
def where_rows_below(x):
  return jnp.where(jnp.arange(8)[:, None] < 4, x, -1.0)


@program("f32[8,4]", "f32[8,4]")
def where_of_built(x, y):
  return jnp.where(x > 0.0, x + y, jnp.zeros((8, 4)))


@program("bool[8,4]", "f32[8,4]")
def masked_softmax(c, x):
  return jax.nn.softmax(x, where=c)


@program("bool[8,4]", "f32[8,4]")
def masked_sum(c, x):
  return x.sum(axis=0, where=c)


@program("f32[8,4]")
def nan_mean(x):
  return jnp.nanmean(x, axis=0)


@program("f32[8,4]")
def variance(x):
  return jnp.var(x, axis=1, ddof=1)


@program("f32[8,4]")
def modulo(x):
  return jnp.mod(x, 3.0)


@program("f32[8,4]")
def nan_to_num(x):
  return jnp.nan_to_num(x)


@program("f32[8,4]")
def sinc(x):
  return jnp.sinc(x)


@program("f32[8,4]", "i32[]")
def roll_by(x, i):
  return jnp.roll(x, i, axis=0)


@program("f32[8,4]")
def roll_two(x):
  return jnp.roll(x, (1, 2), axis=(0, 1))


@program("f32[8,4]", "f32[]")
def scalar_argument(x, s):
  return jnp.minimum(x * s + 1.0, 3.0) / s


@program("i32[8]", "f32[]")
def scalar_of_another_dtype(i, s):
  return i * s, jnp.maximum(i, 2)


@program("f32[8,4]", "i32[]")
def row_at(x, i):
  return x[i]


@program("f32[8,4]", "f32[8]")
def set_column(x, u):
  return x.at[:, 0].set(u)


@program("f32[8,4]", "f32[4,4]")
def add_to_rows(x, u):
  return x.at[:4].add(u)


@program("f32[8,4]", "f32[]")
def fill_rows(x, s):
  return x.at[2:4].set(s)


@program("f32[8,4]", "f32[8]")
def vmap_where(x, low):
  return jax.vmap(lambda row, a: jnp.where(row > a, row, a))(x, low)


@program("f32[8,4]", "bool[8]")
def vmap_where_mask(x, p):
  return jax.vmap(lambda row, q: jnp.where(q, row, 0.0))(x, p)


@program("f32[8,4]", "bool[4]")
def vmap_where_one_mask(x, c):
  return jax.vmap(lambda row: jnp.where(c, row, -1.0))(x)
