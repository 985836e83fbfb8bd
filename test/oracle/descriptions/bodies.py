# bodies.py - primitives that hold programs: calls, loops, branches, own derivatives.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A primitive with a body cannot be bound without one, and its body is typed for its
operands. So a form is a small function around it: JAX traces it for operands of each
combination of types, and ours is the trace without a mesh (bodies/NAME.json), typed
again for them. The functions call lax alone, which decides nothing in Python by the
types it sees.
"""

import functools

import jax
from jax import lax
from jax._src import core
from jax._src.state.discharge import run_state
from jax._src.state.primitives import ref_addupdate

from agreement import form
import programs

# (first form, others, drawn with sets) on the large meshes and the small ones, and what
# is never sampled: a trace takes a thousand times as long as a rule.
COUNTS = (500, 250, 70), (80, 40, 20), 30

FUNCTIONS = {}


def _body(primitive, *operands, share=1.0):
  """Registers a function as a form of the primitive."""
  def register(fn):
    FUNCTIONS[fn.__name__] = primitive, fn, form(
        {"program": fn.__name__}, *operands, share=share)
    return fn
  return register


def way(_, avals, params):
  """Types of the results as JAX traces the function."""
  return programs.trace(FUNCTIONS[params["program"]][1], list(avals))


def describe():
  table = {}
  for primitive, _, described in FUNCTIONS.values():
    table.setdefault(primitive, []).append(described)
  return table


def functions():
  """{name: (function, the unsharded types of its operands)}, to export."""
  return {name: (fn, [f"{d}[{','.join(map(str, s))}]" for s, d in f.operands])
          for name, (_, fn, f) in FUNCTIONS.items()}


# jit ------------------------------------------------------------------------


@_body("jit", (8, 4), (8, 4))
def jit_add(x, y):
  return jax.jit(lax.add)(x, y)


@_body("jit", (8, 4), (4, 8))
def jit_dot(x, w):
  return jax.jit(lambda a, b: lax.tanh(lax.dot(a, b)))(x, w)


@_body("jit", (8, 4), (8, 4), share=0.5)
def jit_two(x, y):
  return jax.jit(lambda a, b: (lax.mul(a, b), lax.transpose(b, (1, 0))))(x, y)


@_body("jit", (8, 4))
def jit_reduce(x):
  return jax.jit(lambda a: lax.reduce_sum(a, (1,)))(x)


@_body("jit", (8,), (), share=0.5)
def jit_nested(x, s):
  inner = jax.jit(lambda a, b: lax.mul(a, b))
  return jax.jit(lambda a, b: lax.sin(inner(inner(a, b), b)))(x, s)


@_body("jit", (1, 4), (8, 4), share=0.5)
def jit_pass(x, y):
  return jax.jit(lambda a, b: (b, a))(x, y)


# Calls ----------------------------------------------------------------------


@_body("remat2", (8, 4), (4, 8))
def remat_dot(x, w):
  return jax.checkpoint(lambda a, b: lax.sin(lax.dot(a, b)))(x, w)


@_body("remat2", (8, 4), share=0.5)
def remat_reduce(x):
  return jax.checkpoint(lambda a: lax.reduce_max(lax.exp(a), (0,)))(x)


@_body("remat2", (8,), (8,), share=0.5)
def remat_nested(x, y):
  f = jax.checkpoint(lax.mul)
  return jax.checkpoint(lambda a, b: lax.add(f(a, b), b))(x, y)


@jax.custom_jvp
def _product(x, y):
  return lax.mul(lax.sin(x), y)


_product.defjvp(lambda p, t: (_product(*p), lax.mul(t[0], p[1])))


@_body("custom_jvp_call", (8, 4), (8, 4))
def custom_jvp(x, y):
  return _product(x, y)


@_body("custom_jvp_call", (8, 4), share=0.5)
def custom_jvp_square(x):
  f = jax.custom_jvp(lambda a: lax.reduce_sum(lax.mul(a, a), (0,)))
  f.defjvp(lambda p, t: (f(*p), t[0]))
  return f(x)


@jax.custom_vjp
def _dot(x, w):
  return lax.dot(x, w)


_dot.defvjp(lambda x, w: (_dot(x, w), (x, w)), lambda r, g: (g, g))


@_body("custom_vjp_call", (8, 4), (4, 8))
def custom_vjp(x, w):
  return _dot(x, w)


@_body("custom_vjp_call", (8,), (8,), share=0.5)
def custom_vjp_two(x, y):
  f = jax.custom_vjp(lambda a, b: (lax.add(a, b), lax.neg(a)))
  f.defvjp(lambda a, b: (f(a, b), None), lambda r, g: g)
  return f(x, y)


@_body("composite", (8, 4), (8, 4))
def composite(x, y):
  return lax.composite(lax.sub, "own.sub")(x, y)


@_body("custom_vmap_call", (8, 4), (8, 4))
def custom_vmap(x, y):
  f = jax.custom_batching.custom_vmap(lambda a, b: lax.max(a, b))

  @f.def_vmap
  def _(size, batched, a, b):
    return lax.max(a, b), True
  return f(x, y)


def _closed(fn):
  """Calls the traced function by the primitive of closed calls."""
  def call(*args):
    closed = jax.make_jaxpr(fn)(*args)
    return core.closed_call_p.bind(*args, call_jaxpr=closed)[0]
  return call


@_body("eval_jaxpr", (8, 4), (4, 8), share=0.5)
def eval_jaxpr(x, w):
  return _closed(lax.dot)(x, w)


@_body("linear_call", (8,), (8,))
def linear_call(r, x):
  return jax.custom_derivatives.linear_call(lax.mul, lax.mul, r, x)


@_body("custom_linear_solve", (8, 8), (8,))
def linear_solve(a, b):
  def solve(matvec, v):
    return matvec(v)
  return lax.custom_linear_solve(functools.partial(lax.dot, a), b, solve,
                                 symmetric=True)


@_body("custom_linear_solve", (4, 4), (4, 2), share=0.5)
def linear_solve_many(a, b):
  return lax.custom_linear_solve(lambda v: lax.dot(a, v), b, lambda _, v: v)


# Loops ----------------------------------------------------------------------


@_body("scan", (8,), (4, 8))
def scan_add(c, xs):
  return lax.scan(lambda a, x: (lax.add(a, x), lax.mul(a, x)), c, xs)


@_body("scan", (8, 4), (4, 4))
def scan_dot(x, w):
  return lax.scan(lambda h, _: (lax.tanh(lax.dot(h, w)), None), x, None, length=3)[0]


@_body("scan", (8,), (8,))
def scan_constant(c, k):
  return lax.scan(lambda a, _: (lax.mul(a, k), a), c, None, length=2)


@_body("scan", (8,), (8,), share=0.5)
def scan_swap(x, y):
  return lax.scan(lambda c, _: ((c[1], c[0]), None), (x, y), None, length=2)[0]


@_body("scan", (4, 8, 2))
def scan_map(xs):
  return lax.scan(lambda c, x: (c, lax.reduce_sum(x, (0,))), (), xs)[1]


@_body("scan", (), (4, 8), share=0.5)
def scan_scalar(c, xs):
  return lax.scan(lambda a, x: (lax.add(a, lax.reduce_sum(x, (0,))), x), c, xs)


@_body("scan", (4, 2), (3, 4, 2), share=0.5)
def scan_reverse(c, xs):
  return lax.scan(lambda a, x: (lax.sub(a, x), lax.transpose(a, (1, 0))), c, xs,
                  reverse=True)


@_body("scan", (2, 4), (2, 3, 4), share=0.5)
def scan_nested(c, xs):
  def outer(a, x):
    return lax.scan(lambda b, row: (lax.add(b, row), None), a, x)
  return lax.scan(outer, lax.reduce_sum(c, (0,)), xs)[0]


@_body("scan", (8,), (8,), share=0.5)
def scan_of_jit(x, y):
  f = jax.jit(lambda a: lax.add(a, y))
  return lax.scan(lambda c, _: (f(c), lax.sin(c)), x, None, length=2)


@_body("while", (), (8,))
def while_mul(n, x):
  return lax.while_loop(lambda c: lax.lt(c[0], n),
                        lambda c: (lax.add(c[0], n), lax.mul(c[1], c[1])), (n, x))


@_body("while", (8, 4), (8, 4))
def while_two(x, y):
  def more(c):
    return lax.lt(lax.reduce_sum(c[0], (0, 1)), 9.0)
  return lax.while_loop(more, lambda c: (lax.add(c[0], c[1]), c[1]), (x, y))


@_body("while", (8,), (8,), share=0.5)
def while_constant(x, k):
  def more(c):
    return lax.gt(lax.reduce_max(lax.mul(c, k), (0,)), 1.0)
  return lax.while_loop(more, lambda c: lax.sub(c, k), x)


@_body("while", (4, 4), share=0.5)
def while_dot(x):
  def more(c):
    return lax.lt(lax.reduce_min(c, (0, 1)), 2.0)
  return lax.while_loop(more, lambda c: lax.dot(c, c), x)


# Branches -------------------------------------------------------------------


@_body("cond", ((), "i32"), (8, 4), (8, 4))
def cond_ops(i, x, y):
  return lax.switch(i, [lax.add, lax.mul], x, y)


@_body("cond", ((), "i32"), (8,), (8,))
def cond_pick(i, x, y):
  return lax.switch(i, [lambda a, b: a, lambda a, b: b], x, y)


@_body("cond", ((), "bool"), (8,), (8,))
def cond_bool(p, x, y):
  return lax.cond(p, lax.sub, lax.sub, x, y)


@_body("cond", ((), "i32"), (8, 4), share=0.5)
def cond_three(i, x):
  return lax.switch(i, [lax.sin, lax.neg, lambda a: a], x)


@_body("cond", ((), "i32"), (8, 8), share=0.5)
def cond_transpose(i, x):
  return lax.switch(i, [lambda a: a, lambda a: lax.transpose(a, (1, 0))], x)


@_body("cond", (8,), (8,), share=0.5)
def cond_platform(x, y):
  return lax.platform_dependent(x, y, cpu=lax.add, default=lax.sub)


@_body("cond", ((), "i32"), (8,), (4, 8), share=0.5)
def cond_in_scan(i, c, xs):
  def step(a, x):
    return lax.switch(i, [lax.add, lax.max], a, x), None
  return lax.scan(step, c, xs)[0]


# Reductions by a function ---------------------------------------------------


@_body("reduce", (8, 4), ())
def reduce_body(x, start):
  return lax.reduce(x, start, lambda a, b: lax.add(lax.mul(a, b), a), (0,))


@_body("reduce", (8, 4), (8, 4), share=0.5)
def reduce_pair(x, y):
  def larger(a, b):
    return lax.max(a[0], b[0]), lax.min(a[1], b[1])
  return lax.reduce((x, y), (0.0, 1.0), larger, (1,))


@_body("reduce_window", (8, 4), ())
def reduce_window_body(x, start):
  return lax.reduce_window(x, start, lambda a, b: lax.add(lax.mul(a, b), a),
                           (2, 1), (2, 1), "VALID")


# Refs -----------------------------------------------------------------------


@_body("run_state", (8, 4), (8, 4))
def run_state_add(x, y):
  def body(refs):
    a, b = refs
    a[...] = lax.add(a[...], b[...])
  return run_state(body)((x, y))


@_body("run_state", (8, 4), share=0.5)
def run_state_row(x):
  def body(a):
    a[0] = lax.sin(a[1])
  return run_state(body)(x)


@_body("new_ref", (8, 4), (8, 4), share=0.5)
def ref_in_jit(x, y):
  @jax.jit
  def step(a, b):
    ref = jax.new_ref(a)
    ref[...] = lax.mul(ref[...], b)
    return jax.freeze(ref)
  return step(x, y)


@_body("addupdate", (8,), (4, 8), share=0.5)
def ref_in_scan(x, xs):
  ref = jax.new_ref(x)

  def step(_, row):
    ref_addupdate(ref, (), row)
    return (), ref[...]
  lax.scan(step, (), xs)
  return jax.freeze(ref)
