# arrays.py - shapes, indexing, joining, reductions, sorting.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import jax
from jax import lax
import jax.numpy as jnp

from zoo import program


@program("f32[8,4]", "f32[8,4]")
def add_two(x, y):
  return x + y


@program("f32[8,4]", "f32[4]")
def add_row(x, y):
  return x * y


@program("f32[8,4]", "f32[8,1]")
def scale_rows(x, y):
  return x / y


@program("f32[8]", "f32[4]")
def outer(x, y):
  return x[:, None] * y[None, :]


@program("f32[8,4]")
def scalars(x):
  return 2.0 * x - 1.0


@program("f32[8,4]", "bool[8,4]")
def where_scalar(x, c):
  return jnp.where(c, x, 0.0)


@program("f32[8,4]", "f32[8,4]", "bool[8,4]")
def where_full(x, y, c):
  return jnp.where(c, x, y)


@program("f32[8,4]")
def clip(x):
  return jnp.clip(x, -1.0, 1.0)


@program("f32[8,4]", "f32[8,4]")
def lax_clamp(x, hi):
  return lax.clamp(0.0, x, 6.0) + hi


@program("f32[8,4]")
def flatten(x):
  return x.reshape(-1) + 1.0


@program("f32[8]")
def unflatten(x):
  return x.reshape(2, 4).sum(0)


@program("f32[4,4]")
def split_both(x):
  return x.reshape(2, 2, 2, 2)


@program("f32[8,4]")
def transpose_sum(x):
  return x.T.sum(axis=0)


@program("f32[8,4]")
def swap_and_merge(x):
  return x.T.reshape(32)


@program("f32[8,4]", "f32[8,4]")
def concat_rows(x, y):
  return jnp.concatenate([x, y], axis=0)


@program("f32[8,4]", "f32[8,4]")
def stack_two(x, y):
  return jnp.stack([x, y], axis=1).sum(-1)


@program("f32[8,4]")
def split_halves(x):
  a, b = jnp.split(x, 2, axis=0)
  return a + b


@program("f32[2,4]")
def unstack_rows(x):
  a, b = jnp.unstack(x, axis=0)
  return a * b


@program("f32[8,4]")
def first_row(x):
  return x[0] * 2.0


@program("f32[8,4]")
def top_half(x):
  return x[:4] + 1.0


@program("f32[8,4]")
def strided(x):
  return x[::2, ::2]


@program("f32[8,4]")
def three_rows(x):
  y = x * 2.0
  return y[1:4]


@program("f32[8,4]")
def reverse(x):
  return x[::-1] + x


@program("f32[8,4]")
def pad_rows(x):
  return jnp.pad(x, ((2, 2), (0, 0)))


@program("f32[8,4]")
def pad_one(x):
  return jnp.pad(x, ((0, 1), (0, 0)))


@program("f32[8,4]")
def roll(x):
  return jnp.roll(x, 4, axis=0)


@program("f32[8,4]")
def tile(x):
  return jnp.tile(x, (1, 2))


@program("f32[8,4]", "i32[]")
def dynamic_row(x, i):
  return lax.dynamic_slice(x, (i, 0), (2, 4))


@program("f32[8,4]", "f32[4,4]", "i32[]")
def write_block(x, u, i):
  return lax.dynamic_update_slice(x, u, (i, 0))


@program("f32[8,4]", "i32[3]")
def take_rows(x, i):
  return jnp.take(x, i, axis=0)


@program("f32[8,4]", "i32[8,2]")
def take_along(x, i):
  return jnp.take_along_axis(x, i, axis=1)


@program("f32[8,4]", "i32[3]", "f32[3,4]")
def set_rows(x, i, u):
  return x.at[i].set(u)


@program("f32[8,4]", "i32[3]", "f32[3,4]")
def add_rows(x, i, u):
  return x.at[i].add(u)


@program("f32[8,4]")
def set_first(x):
  return x.at[0].set(0.0)


@program("f32[8,4]")
def sums(x):
  return x.sum(), x.sum(0), x.sum(1, keepdims=True)


@program("f32[8,4]")
def extremes(x):
  return x.max(axis=1) - x.min(axis=1)


@program("f32[8,4]")
def moments(x):
  return x.mean(), jnp.std(x, axis=0)


@program("f32[8,4]")
def product(x):
  return jnp.prod(x, axis=1)


@program("bool[8,4]", "bool[8,4]")
def logic(a, b):
  return jnp.all(a & ~b, axis=0), jnp.any(a | b, axis=1)


@program("f32[8,4]")
def arg_extremes(x):
  return jnp.argmax(x, axis=1), jnp.argmin(x, axis=0)


@program("f32[8,4]")
def cumsum_rows(x):
  return jnp.cumsum(x, axis=1)


@program("f32[8,4]")
def cumulative(x):
  return lax.cummax(x, axis=0) + lax.cumprod(x, axis=0)


@program("f32[8,4]")
def sort_rows(x):
  return jnp.sort(x, axis=1)


@program("f32[8,4]")
def sort_columns(x):
  y = jnp.sin(x)
  return jnp.sort(y, axis=0)


@program("f32[8,4]")
def argsort_rows(x):
  return jnp.argsort(x, axis=1)


@program("f32[8,4]", "i32[8,4]")
def sort_pairs(k, v):
  return lax.sort((k, v), dimension=1, num_keys=1)


@program("f32[8,4]")
def top_two(x):
  return lax.top_k(x, 2)


@program("f32[4,4]", "f32[4,4]")
def einsum_diag(x, y):
  return jnp.einsum("ij,ij->i", x, y)


@program("f32[4,4]", "f32[4,4]", "f32[4,4]")
def einsum_three(a, b, c):
  return jnp.einsum("ij,jk,kl->il", a, b, c)


@program("f32[8,4]", "f32[8,4]")
def gram(x, y):
  return x @ y.T


@program("f32[8]", "f32[8]")
def dot_vectors(x, y):
  return jnp.dot(x, y)


@program("f32[8]")
def iota_weights(x):
  return x * jnp.arange(8, dtype=jnp.float32)


@program("i32[8]")
def one_hot(i):
  return jax.nn.one_hot(i, 4)


@program("f32[8,4]")
def zeros_carry(x):
  return jnp.zeros_like(x) + jnp.ones((8, 4))


@program("i32[8]", "i32[8]")
def integers(a, b):
  return (a // b) % 4, a << 2, jnp.bitwise_xor(a, b)


@program("c64[8]")
def complex_parts(z):
  return jnp.real(z) + jnp.imag(jnp.conj(z)), jnp.abs(z)


@program("f32[8,4]")
def bits(x):
  i = lax.bitcast_convert_type(x, jnp.int32)
  return lax.bitcast_convert_type(i & 0x7FFFFFFF, jnp.float32)


@program("f32[1,8]")
def squeeze_grow(x):
  return jnp.squeeze(x, 0)[:, None]


@program("f32[4,2,2]")
def move_axis(x):
  return jnp.moveaxis(x, 0, -1).reshape(4, 4)


@program("f32[4,4]")
def triangle(x):
  return jnp.triu(x)


@program("f32[8,4]")
def powers(x):
  return x ** 2 + x ** 0.5 + jnp.power(x, 3)


@program("f32[8,4]", "f32[8,4]")
def barrier(x, y):
  a, b = lax.optimization_barrier((x, y))
  return lax.stop_gradient(a) + b
