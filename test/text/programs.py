# programs.py - small programs whose print shows one feature each.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each function of `PROGRAMS` is traced by record.py on `ARGS[name]()`."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

PROGRAMS = {}
ARGS = {}
SPECS = {}  # Under a mesh: a spec per argument.

vec = jax.ShapeDtypeStruct((4,), jnp.float32)
mat = jax.ShapeDtypeStruct((4, 4), jnp.float32)
i32 = jax.ShapeDtypeStruct((), jnp.int32)
flag = jax.ShapeDtypeStruct((), jnp.bool_)


def program(*args, specs=None):
    def add(fn):
        PROGRAMS[fn.__name__] = fn
        ARGS[fn.__name__] = args
        if specs is not None:
            SPECS[fn.__name__] = specs
        return fn
    return add


# What spec 04, 4.11 names.


@program(jax.ShapeDtypeStruct((1,), jnp.float32))
def shared_twice(x):
    square = jax.jit(lambda y: y ** 2)
    return jax.jit(lambda z: square(z) + square(z))(x)


@program(jax.ShapeDtypeStruct((1,), jnp.float32))
def shared_in_shared(x):
    inner = jax.jit(lambda y: y * 3.0)
    def outer(z):
        return inner(z) + inner(z * z)
    outer = jax.jit(outer)
    return outer(x) + outer(x + 1.0)


@program(vec)
def jit_of_identity(x):
    return jax.jit(lambda y: y)(x)


@program(vec)
def jit_of_constant(x):
    return jax.jit(lambda a, b: a + b)(x, 3.0)


@program(vec, vec)
def aliased_arguments(x, y):
    return jax.jit(lambda a, b, c: a * b - c)(x, y, x)


@program(vec)
def literal_result(x):
    return jax.jit(lambda y: (2, y))(x)


@program(vec)
def closure(x):
    return jax.jit(lambda y: jax.jit(lambda z: z * y)(y + 1.0))(x)


@program(jax.ShapeDtypeStruct((1,), jnp.float32))
def name_clash(x):
    def make(k):
        def f(y):
            return y * k
        return jax.jit(f)
    f, g = make(2.0), make(3.0)
    return f(x) + f(x) + g(x) + g(x)


@program(vec)
def large_body(x):
    def chain(y):
        for _ in range(6):
            y = jnp.sin(y) + 1.0
        return y
    return jax.jit(chain)(x)


@program(vec)
def names_taken_by_definitions(x):
    def a(y):
        return y + 1.0
    def d(y):
        return y - 1.0
    a, d = jax.jit(a), jax.jit(d)
    return a(d(a(d(x))))


# Layout and names.


@program()
def nothing():
    return ()


@program(vec, vec)
def no_equations(x, y):
    return x


@program(*[vec] * 60)
def many_arguments(*xs):
    return jax.jit(lambda *ys: lax.concatenate(ys, 0))(*xs)


@program(jax.ShapeDtypeStruct((), jnp.float32))
def names_in_and_let(x):
    ys = [x]
    for _ in range(300):
        ys.append(ys[-1] * ys[-1] - ys[max(0, len(ys) - 7)])
    return tuple(ys[-40:])


@program(vec)
def long_names(x):
    def a_function_with_a_rather_long_name_that_goes_on_and_on_and_on(y):
        return y + 1.0
    g = jax.jit(a_function_with_a_rather_long_name_that_goes_on_and_on_and_on)
    return g(x) + g(x)


@program(vec)
def dead_results(x):
    @jax.jit
    def g(y):
        return jnp.sin(y), jnp.cos(y) * 2.0, y
    _, _, a = g(x)
    _, b, _ = g(x + 1.0)
    return a, b


@program(vec)
def one_dead_result(x):
    @jax.jit
    def g(y):
        s = jnp.sin(y)
        return s, jnp.cos(s)
    return g(x)[1]


@program(vec)
def two_dead_results(x):
    @jax.jit
    def g(y):
        s = jnp.sin(y)
        c = jnp.cos(s)
        return s, c, c + s
    return g(x)[2]


# Literals and types.


@program(vec)
def literals(x):
    half = x.astype(jnp.bfloat16) * 0.1
    small = x.astype(jnp.float8_e4m3fn) * 2
    ints = x.astype(jnp.int4), x.astype(jnp.uint8) + jnp.uint8(200)
    return (half, small, ints, (x > 0) | True, x.astype(jnp.float16) * 0.1,
            x * 1e30, x * np.float32(0.1), x / 3, jnp.maximum(x, -jnp.inf),
            lax.complex(x, x) * (1 + 2j), x ** jnp.nan, -5 + i_of(x))


def i_of(x):
    return x.astype(jnp.int32)


@program(jax.ShapeDtypeStruct((), jnp.int32))
def float0(i):
    zero = np.zeros((), jax.dtypes.float0)
    return jax.jvp(lambda n: n * 2, (i,), (zero,))


@program(jax.eval_shape(lambda: jax.random.key(0)),
         jax.eval_shape(lambda: jax.random.key(0, impl="rbg")))
def keys(k, rbg):
    a, b = jax.random.split(k)
    return (jax.random.normal(a, (3,)), jax.random.key_data(b),
            jax.random.split(rbg), jax.random.wrap_key_data(jax.random.key_data(b)))


@program(vec)
def tokens(x):
    token = lax.create_token(x)
    lax.after_all(token, token)
    return x


@program(vec)
def constants(x):
    table = np.arange(4.0, dtype=np.float32)
    return x + table, 1, table


# Parameters.


@program(mat, mat)
def precision(a, b):
    return (lax.dot(a, b, precision="highest"),
            lax.dot(a, b, precision=(lax.Precision.HIGH, lax.Precision.DEFAULT)),
            lax.dot(a, b, precision=lax.DotAlgorithmPreset.F32_F32_F32),
            lax.exp(a, accuracy=lax.AccuracyMode.HIGHEST),
            lax.round(a, lax.RoundingMethod.TO_NEAREST_EVEN))


@program(vec, jax.ShapeDtypeStruct((4,), jnp.uint32))
def enums(x, state):
    return (jnp.fft.fft(x), lax.rng_bit_generator(state, (4,)),
            x.at[jnp.array([0, 1])].add(1.0), x[jnp.array([0, 2])],
            jnp.split(x, 2), lax.cumsum(x, reverse=True))


@program(vec)
def reducers(x):
    return (lax.reduce(x, 0.0, lambda a, b: a + b * 2, (0,)),
            lax.reduce_window(x, 0.0, lax.add, (2,), (1,), "SAME"),
            lax.reduce_window(x, 0.0, lambda a, b: a * b + 1, (2,), (1,), "VALID"))


@program(vec)
def debug_prints(x):
    jax.debug.print("x = {} and [ {y}", x, y=x)
    jax.debug.print("ordered=True it's plain")
    return x


@program(vec)
def callbacks(x):
    y = jax.pure_callback(np.sin, jax.ShapeDtypeStruct((4,), np.float32), x)
    jax.debug.callback(lambda v: None, y)
    return y


@program(vec)
def foreign_call(x):
    out = jax.ShapeDtypeStruct((4,), np.float32)
    return jax.ffi.ffi_call("my_target", out)(x, a=1, b="it's", c=np.float32(0.5))


@program(vec)
def checkpoint_names(x):
    from jax.ad_checkpoint import checkpoint_name
    return checkpoint_name(x * 2.0, "my name")


# Structure.


@program(flag, i32, vec)
def branches(p, i, x):
    y = lax.cond(p, lambda a: jnp.sin(a), lambda a: a * 2, x)
    return lax.switch(i, [lambda a: a, lambda a: a + 1, lambda a: jnp.cos(a)], y)


@program(flag, vec)
def shared_branches(p, x):
    f = jax.jit(lambda a: jnp.sin(jnp.cos(a)))
    return lax.cond(p, f, f, x) + f(x)


@program(vec)
def loops(x):
    def cond(c):
        return c[1] < 3
    def body(c):
        return jnp.sin(c[0]) * 2.0, c[1] + 1
    return lax.while_loop(cond, body, (x, 0))


@program(vec)
def large_loops(x):
    def cond(y):
        for _ in range(12):
            y = jnp.sin(y)
        return y.sum() < 3
    def body(y):
        for _ in range(12):
            y = jnp.cos(y)
        return y
    return lax.while_loop(cond, body, x)


@program(vec, mat)
def scans(x, ys):
    def run(c, rows):
        return lax.scan(lambda a, y: (a * y, (a, y)), c, rows, reverse=True)
    return jax.grad(lambda c, r: run(c, r)[0].sum() + run(c, r)[1][0].sum())(x, ys)


@program(vec)
def custom_rules(x):
    @jax.custom_vjp
    def f(y):
        return jnp.sin(y)
    f.defvjp(lambda y: (f(y), y), lambda r, c: (c * jnp.cos(r),))
    @jax.custom_jvp
    def g(y):
        return jnp.sin(y)
    g.defjvp(lambda p, t: (g(*p), t[0]))
    return f(x) + g(x), jax.grad(lambda y: f(y).sum())(x), jax.nn.softplus(x)


@program(vec)
def linearized(x):
    @jax.custom_vjp
    def f(y):
        return jnp.sin(y)
    f.defvjp(lambda y: (f(y), y), lambda r, c: (c * jnp.cos(r),))
    return jax.linearize(f, x)[1](x)


@program(vec)
def remat(x):
    policy = jax.checkpoint_policies.dots_saveable
    f = jax.checkpoint(lambda y: jnp.sin(jnp.sin(y)), policy=policy)
    return jax.grad(lambda y: f(y).sum())(x)


@program(mat, vec)
def linear_solve(a, b):
    return jnp.linalg.solve(a, b)


@program(mat, vec)
def symmetric_solve(a, b):
    def solve(mv, c):
        return mv(c) + mv(jnp.sin(c))
    return lax.custom_linear_solve(lambda x: a @ x, b, solve, symmetric=True)


@program(jax.ShapeDtypeStruct((), jnp.float32))
def high_level(x):
    v = jnp.broadcast_to(x, (4,))
    root = lax.custom_root(lambda y: y * y - x, x, lambda f, x0: x0,
                           lambda g, y: y / g(1.0))
    return (jnp.searchsorted(v, v), jnp.nonzero(v, size=2), jnp.ldexp(v, 1),
            jnp.frexp(v), root)


@program(vec, i32, i32)
def refs(x, i, j):
    r = jax.new_ref(x)
    a = r[...]
    b = r[i]
    r[1] = 2.0
    r[i] = 3.0
    jax.ref.addupdate(r, i, 1.0)
    r[...] += a
    c = r[1:3]
    k = jax.ref.swap(r, (0,), 5.0)
    m = jax.new_ref(jnp.ones((4, 4)))
    d = m[i, 1:3], m[:, j], m[np.array([0, 1]), np.array([1, 2])], m[:2, i]
    m[i, :] = x
    return jax.freeze(r) + b + k + a, c, d


@program(vec)
def refs_in_body(x):
    r = jax.new_ref(x)
    def body(i, _):
        r[i] = r[i] * 2.0
        r[0]
    lax.fori_loop(0, 3, body, None)
    return r[...]


# Under a mesh.


@program(jax.ShapeDtypeStruct((8, 4), jnp.float32), specs=[jax.P("X", "Y")])
def manual_in_part(x):
    @partial(jax.shard_map, axis_names={"X"}, in_specs=jax.P("X"), out_specs=jax.P("X"))
    def f(y):
        return lax.psum(y, "X") * y
    return f(x)


@program(jax.ShapeDtypeStruct((8, 4), jnp.float32), specs=[jax.P("X", "Y")])
def manual_in_manual(x):
    @partial(jax.shard_map, axis_names={"Y"}, in_specs=jax.P(None, "Y"),
             out_specs=jax.P(None, "Y"))
    def g(z):
        return z + lax.axis_index("Y")
    @partial(jax.shard_map, axis_names={"X"}, in_specs=jax.P("X"), out_specs=jax.P("X"))
    def f(y):
        return g(y) * 2.0
    return f(x)


@program(jax.ShapeDtypeStruct((8, 4), jnp.float32), specs=[jax.P("X", "Y")])
def auto_region(x):
    f = jax.sharding.auto_axes(lambda y: jnp.sin(y) @ y.T, axes=("X", "Y"),
                               out_sharding=jax.P("X", None))
    return f(x) * 2.0


@program(jax.ShapeDtypeStruct((8, 4), jnp.float32),
         jax.ShapeDtypeStruct((4, 8), jnp.float32),
         specs=[jax.P(None, "X"), jax.P("X", None)])
def unreduced(a, b):
    c = jnp.einsum("ij,jk->ik", a, b, out_sharding=jax.P(unreduced={"X"}))
    return jax.sharding.reshard(c, jax.P("Y", "X"))


@program(jax.ShapeDtypeStruct((8, 4), jnp.float32), specs=[jax.P("X", "Y")])
def printed_shardings(x):
    y = jax.lax.broadcasted_iota(jnp.float32, (8, 4), 0, out_sharding=jax.P("X"))
    return x.reshape(8, 2, 2, out_sharding=jax.P("X")), y, x.sum(0)
