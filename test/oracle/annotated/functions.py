# functions.py - functions whose annotations, if any, are not what they are about.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Written after the rules for recordings: what jax.numpy decides by the shardings it
sees, transformations of transformations, regions in regions."""

import functools

import jax
from jax import lax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P, auto_axes, explicit_axes, reshard

from annotated import recorded

D = ("f32[8,4]", P("data", None))
W = ("f32[4,6]", P(None, "model"))
V = ("f32[8]", P("data"))


@recorded(D)
def repeat_ok(x):
  return jnp.repeat(x, 2, axis=1)


@recorded(D)
def repeat_bad(x):
  return jnp.repeat(x, 2, axis=0)


@recorded(D)
def roll(x):
  return jnp.roll(x, 1, axis=1)


@recorded(D)
def roll_sharded(x):
  return jnp.roll(x, 1, axis=0)


@recorded(D, ("f32[4]", P("model")))
def bcast_arrays(x, m):
  return jnp.broadcast_arrays(x, m)[1] * 1.0


@recorded(D, ("f32[4]", P("model")))
def bcast_to(x, m):
  return jnp.broadcast_to(m, (8, 4)) + x


@recorded(D, W)
def grad_of_grad(x, w):
  f = lambda w: jnp.sum(jnp.sin(jnp.dot(x, w)))
  return jax.grad(lambda w: jnp.sum(jax.grad(f)(w) ** 2))(w)


@recorded(V)
def hess(x):
  return jax.hessian(lambda v: jnp.sum(v ** 3))(x)


@recorded(V)
def jacf(x):
  return jax.jacfwd(lambda v: jnp.sin(v) * v)(x)


@recorded(V)
def jacr(x):
  return jax.jacrev(lambda v: jnp.sin(v) * v)(x)


@recorded(D, W)
def jac_w(x, w):
  return jax.jacrev(lambda w: jnp.sum(jnp.dot(x, w), axis=0))(w)


@recorded(D, W)
def vmapgrad(x, w):
  return jax.vmap(jax.grad(lambda w, v: jnp.sum(jnp.tanh(v @ w))), in_axes=(None, 0))(w, x)


@recorded(D, ("f32[8,4]", P(None, "data")))
def vmap_unequal(x, y):
  return jax.vmap(lambda a, b: a + b)(x, y)


@recorded(D)
def lin(x):
  y, f = jax.linearize(jnp.sin, x)
  return (y, f(x * 2))


@recorded(D, W)
def scan_grad(x, w):

  def body(c, _):
    g = jax.grad(lambda w: jnp.sum(jnp.dot(x, w) ** 2))(c)
    return (c - 0.1 * g, jnp.sum(g))
  return lax.scan(body, w, None, length=3)


@recorded(D, W)
def scan_bad_carry(x, w):

  def body(c, _):
    g = jax.grad(lambda w: jnp.sum(jnp.dot(x, w) ** 2))(w)
    return (c - 0.1 * g, None)
  return lax.scan(body, jnp.zeros((4, 6)), None, length=3)


@recorded(D)
def custom_jvp_grad(x):
  return jax.grad(lambda x: jnp.sum(jax.nn.relu(x) * jax.nn.silu(x)))(x)


@recorded(D, W)
def outer_jit(x, w):
  return jax.jit(lambda a, b: a @ b)(x, w)


@recorded(D, W)
def jit_in(x, w):
  return jax.jit(lambda a, b: a @ b, in_shardings=(P("data", None), P(None, "model")),
                 out_shardings=P("data", "model"))(x, w)


@recorded(D, W)
def jit_in_bad(x, w):
  return jax.jit(lambda a, b: a @ b, in_shardings=(P(None, "data"), P(None, "model")))(x, w)


@recorded(D)
def auto_nested(x):

  @functools.partial(auto_axes, out_sharding=P("data", None))
  def f(v):
    return jnp.cos(v)
  return f(x) + x


@recorded(D)
def auto_two_steps(x):

  def inner(v):
    return auto_axes(jnp.sin, axes="data", out_sharding=P())(v)
  return auto_axes(inner, axes="model", out_sharding=P("data", "model"))(x)


@recorded(D)
def explicit_all(x):
  return auto_axes(lambda v: explicit_axes(lambda a: a * 2, in_sharding=P("data", "model"))(v),
                   out_sharding=P("data", None))(x)


@recorded(("f32[2,4]", P(None, None)), D)
def where_smaller(m, x):
  return jnp.where(m[0] > 0, x, 0.0)


@recorded(D, ("f32[8,1]", P("data", None)))
def where_col(x, m):
  return jnp.where(m > 0, x, -1000000000.0)


@recorded(D, ("f32[8,1]", P("model", None)))
def where_conflict(x, m):
  return jnp.where(m > 0, x, -1000000000.0)


@recorded(D, ("f32[4]", P("model")))
def where_cross(x, m):
  return jnp.where(m > 0, x, -1000000000.0)


@recorded(D)
def pads(x):
  return jnp.pad(x, ((0, 0), (1, 1)))


@recorded(D)
def segsum(x):
  return jax.ops.segment_sum(x, jnp.array([0, 1, 0, 1, 0, 1, 0, 1]), num_segments=4)


@recorded(D)
def topk_softmax(x):
  v, i = lax.top_k(jax.nn.softmax(x), 2)
  return (v / jnp.sum(v, -1, keepdims=True), jax.nn.one_hot(i, 4))


@recorded(D, ("f32[4,6]", P("model", None)))
def wsc_after_dot(x, w):
  return lax.with_sharding_constraint(jnp.dot(x, w), P("data", "model"))


@recorded(D)
def loss_logits(x):
  first = jnp.zeros((8, 1), jnp.int32)
  return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x), first, axis=-1))


@recorded(D)
def dropout(x):
  k = jax.random.key(0)
  keep = jax.random.bernoulli(k, 0.9, x.shape)
  return jnp.where(keep, x / 0.9, 0)


@recorded(D)
def dropout2(x):
  k = jax.random.key(0)
  keep = jax.random.bernoulli(k, 0.9, x.shape)
  return x * keep


@recorded(D, D)
def cond_grads(x, y):
  return jax.grad(lambda v: lax.cond(jnp.sum(v) > 0, lambda a: jnp.sum(a * y),
                                     lambda a: jnp.sum(a), v))(x)


@recorded(D)
def grad_shmap(x):

  def f(v):
    return jnp.sum(jax.shard_map(lambda a: a * lax.psum(a.sum(), "data"), in_specs=P("data", None),
                                 out_specs=P("data", None), axis_names={"data"})(v))
  return jax.grad(f)(x)


@recorded(D)
def remat_scan(x):
  f = jax.checkpoint(lambda c, _: (jnp.sin(c), None))
  return jax.grad(lambda v: jnp.sum(lax.scan(f, v, None, length=3)[0]))(x)


@recorded(D)
def sort_last(x):
  return (jnp.sort(x, axis=-1), jnp.argsort(x, axis=-1))


@recorded(D)
def median(x):
  return jnp.median(x, axis=-1)


@recorded(D)
def var_std(x):
  return (jnp.std(x), jnp.var(x, axis=0))


@recorded(D, ("f32[3,4]", P(None, None)))
def concat_whole(x, y):
  return jnp.concatenate([y, reshard(x, P())])


@recorded(D)
def cumlog(x):
  return (jnp.cumsum(x, axis=1), jax.nn.logsumexp(x, axis=1))


@recorded(D)
def reshape3(x):
  return (x.reshape(8, 2, 2), x.reshape(2, 4, 4))


@recorded(D)
def flip(x):
  return (x[::-1], jnp.flip(x, 1))


@recorded(D, ("i32[]", P()))
def dyn(x, i):
  return (lax.dynamic_index_in_dim(x, i, axis=1), lax.dynamic_slice_in_dim(x, i, 2, axis=1))


@recorded(D, ("i32[]", P()))
def dyn_sharded(x, i):
  return lax.dynamic_index_in_dim(x, i, axis=0)


@recorded(D)
def at_set(x):
  return (x.at[:, 0].set(1.0), x.at[0].add(2.0))


@recorded(("f32[8,4]", P("data", None)), ("f32[4,6]", P(None, None)))
def jitted_relu_chain(x, w):
  f = jax.jit(jax.nn.gelu)
  return f(f(x) @ w)


@recorded(V)
def outer_sum(v):
  return (v[:, None] * jnp.arange(4.0), jnp.outer(v, jnp.ones(4)))


@recorded(D)
def eye_tri(x):
  return (x @ jnp.eye(4), jnp.tril(jnp.ones((8, 4))) * x)


@recorded(D)
def linsp(x):
  return (x + jnp.linspace(0, 1, 4), x * jnp.zeros_like(x, shape=(8, 4)))


@recorded(D)
def vjp_aux(x):
  y, pull, aux = jax.vjp(lambda v: (jnp.sin(v), v.sum()), x, has_aux=True)
  return pull(y * aux)


@recorded(D)
def while_norm(x):
  return lax.while_loop(lambda c: jnp.sum(c) < 10, lambda c: c * 2, x)


@recorded(D)
def map_rows(x):
  return lax.map(lambda r: r * 2, x)


@recorded(("f32[5,8]", P(None, "data")))
def assoc(x):
  return lax.associative_scan(jnp.add, x)


@recorded(D)
def einsum3(x):
  a, b = jnp.ones((4, 4)), jnp.ones((4, 2))
  return jnp.einsum("ij,jk,kl->il", x, a, b, out_sharding=P("data", None))
