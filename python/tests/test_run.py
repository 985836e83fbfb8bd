# test_run.py - numbers of functions, computed by the program.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`shardtype.run` against JAX itself."""

from __future__ import annotations

import collections
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shardtype
from jax.sharding import PartitionSpec as P
from test_check import needs_program

pytestmark = needs_program


def test_a_function_of_trees():
    def f(params, x, *, scale):
        return {"y": jnp.tanh(x @ params["w"]) * scale, "n": (x > 0).sum()}

    params = {"w": np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)}
    x = np.arange(8, dtype=np.float32).reshape(2, 4) - 3
    ours = shardtype.run(f, params, x, scale=2.0)
    real = jax.jit(f)(params, x, scale=2.0)
    np.testing.assert_allclose(ours["y"], real["y"], rtol=1e-6)
    assert ours["y"].dtype == np.float32
    assert ours["n"] == real["n"] and ours["n"].dtype == real["n"].dtype


def test_gradients_are_those_of_jax():
    def loss(w, x):
        return jnp.mean(jax.nn.relu(x @ w) ** 2)

    w = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    value, grad = shardtype.run(jax.value_and_grad(loss), w, x)
    real_value, real_grad = jax.value_and_grad(loss)(w, x)
    np.testing.assert_allclose(value, real_value, rtol=1e-6)
    np.testing.assert_allclose(grad, real_grad, rtol=1e-6)


def test_small_floats_and_keys():
    def f(key, x):
        return x * 2, jax.random.uniform(key, (4,)), jax.random.split(key)

    x = jnp.arange(3, dtype=jnp.bfloat16)
    doubled, uniform, keys = shardtype.run(f, jax.random.key(7), x)
    real = f(jax.random.key(7), x)
    assert doubled.dtype == real[0].dtype
    np.testing.assert_array_equal(doubled, real[0])
    np.testing.assert_array_equal(uniform, real[1])
    np.testing.assert_array_equal(keys, jax.random.key_data(real[2]))


def test_devices_of_a_mesh():
    def f(x):
        body = jax.shard_map(
            lambda b: b - jax.lax.pmean(b, "i"), in_specs=P("i"), out_specs=P("i")
        )
        return body(x)

    x = np.arange(8, dtype=np.float32)
    ours = shardtype.run(f, x, mesh="i=4", in_specs=[P("i")])
    np.testing.assert_array_equal(ours, x - x.reshape(4, 2).mean(0)[None].repeat(4, 0).ravel())


def test_gradients_on_a_mesh():
    def loss(w, x):
        return jnp.mean(jnp.tanh(x @ w) ** 2)

    def manual(w, x):
        part = jax.shard_map(
            lambda w, x: jax.lax.pmean(loss(w, x), "data"), in_specs=(P(), P("data")), out_specs=P()
        )
        return part(w, x)

    w = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    x = np.arange(32, dtype=np.float32).reshape(8, 4) / 8
    real = jax.grad(loss)(w, x)
    for fn in (loss, manual):
        ours = shardtype.run(
            jax.grad(fn), w, x, mesh="data=4", in_specs=[P(), P("data")]
        )
        np.testing.assert_allclose(ours, real, rtol=2e-5, atol=1e-7)


def test_a_file(tmp_path):
    path = tmp_path / "program.json"
    shardtype.export(lambda a, b: (a + b, a * b), jnp.float32(0), jnp.float32(0)).save(path)
    assert shardtype.run(path, 2.0, 5.0) == [7.0, 10.0]


def test_what_is_wrong_is_said(tmp_path):
    path = tmp_path / "program.json"
    shardtype.export(lambda a: a + 1, jnp.zeros((3,), jnp.float32)).save(path)
    with pytest.raises(shardtype.RunFailed, match=r"f32\[2\].*f32\[3\]"):
        shardtype.run(path, np.zeros(2, np.float32))
    with pytest.raises(shardtype.RunFailed, match="does not type-check"):
        shardtype.run(jnp.add, np.zeros((4, 4), np.float32), np.zeros((4, 4), np.float32),
                      mesh="X=2,Y=2", in_specs=[P("X"), P("Y")])


Pair = collections.namedtuple("Pair", "first second")


@pytest.mark.parametrize(
    "fn, args",
    [
        (lambda p: Pair(p.second, p.first + 1), (Pair(np.float32(1), np.arange(3.0)),)),
        (lambda a: [a[0], None, {"k": a[1]}], ([np.int32(1), 2.5],)),
        (lambda a, b, c: (a + 1, b * 2, c), (1, 2.5, True)),
        (lambda a: a * 2, (np.arange(3).astype("bfloat16"),)),
        (lambda a: a.astype(jnp.float32), (jnp.arange(3, dtype=jnp.float8_e4m3fn),)),
        (lambda a: a + a, (jnp.arange(3, dtype=jnp.int4),)),
        (lambda a: ~a, (np.array([True, False]),)),
        (lambda a: a * 1j, (np.array([1 + 2j]),)),  # JAX makes these 64 bits wide.
        (lambda a: a * 2, (np.arange(3.0),)),
        (lambda a: a + 1, (np.asfortranarray(np.arange(6).reshape(2, 3)),)),
        (lambda a: a.sum(), (np.zeros((0, 3), np.float32),)),
        (lambda a: (a, a), (np.float32(1),)),
        (lambda a: (), (np.float32(1),)),
        (lambda a: a + jnp.arange(3.0), (np.ones(3, np.float32),)),
        (jax.jit(lambda a, n: a * n, static_argnums=1), (np.arange(3, dtype=np.float32), 3)),
        (functools.partial(lambda n, a: a * n, 2.0), (np.arange(3, dtype=np.float32),)),
    ],
)
def test_what_goes_in_and_out(fn, args):
    ours, real = shardtype.run(fn, *args), fn(*args)
    assert jax.tree.structure(ours) == jax.tree.structure(real)
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(jax.jit(lambda: real)())):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg", "philox4x32"])
def test_keys_of_every_kind(impl):
    def f(key):
        a, b = jax.random.split(key)
        return jax.random.uniform(a, (3,)), jax.random.randint(b, (2,), 0, 99)

    key = jax.random.key(5, impl=impl)
    for ours, real in zip(shardtype.run(f, key), jax.jit(f)(key)):
        np.testing.assert_array_equal(ours, real)


def test_static_arguments_by_name():
    fn = jax.jit(lambda a, how: a if how == "same" else -a, static_argnames="how")
    np.testing.assert_array_equal(shardtype.run(fn, np.arange(2), how="negative"), [0, -1])


def test_wrong_uses_are_said():
    with pytest.raises(shardtype.ExportError, match="argument 'a' is a str"):
        shardtype.run(lambda a: a, "x")
    with pytest.raises(shardtype.ExportError, match="run takes a function.*not an int"):
        shardtype.run(3)
    with pytest.raises(shardtype.RunFailed, match="unknown option '--nope'"):
        shardtype.run(lambda a: a, 1.0, options=["--nope"])
    with pytest.raises(shardtype.RunFailed, match="cannot read"):
        shardtype.run("nothing/there.json")
    with pytest.raises(shardtype.RunFailed, match="'pure_callback' cannot be evaluated"):
        shardtype.run(lambda a: jax.pure_callback(np.sin, a, a), np.float32(1))


def test_float8_results_are_read_back():
    x = jnp.arange(1, 4, dtype=jnp.float8_e5m2)
    ours = shardtype.run(lambda a: a + a, x)
    assert ours.dtype == x.dtype
    np.testing.assert_array_equal(ours.astype(np.float32), [2, 4, 6])


@pytest.mark.parametrize("mesh", ["X=8", "X=8:Auto"])
def test_vmapped_updates_in_a_region(mesh):
    def update(row):
        return row.at[0].set(row[1])

    def f(x):
        return jax.shard_map(jax.vmap(update), in_specs=P("X"), out_specs=P("X"))(x)

    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    ours = shardtype.run(f, x, mesh=mesh, in_specs=[P("X")])
    np.testing.assert_array_equal(ours, jax.vmap(update)(x))
    report = shardtype.check(f, x, mesh=mesh, in_specs=[P("X")])
    assert report.ok, report


def test_copies_that_differ_are_a_warning():
    def f(x):
        return jax.shard_map(lambda b: b, in_specs=P("i"), out_specs=P(), check_vma=False)(x)

    x = np.arange(4, dtype=np.float32)
    with pytest.warns(UserWarning, match="said to be equal on devices where it differs"):
        ours = shardtype.run(f, x, mesh="i=2", in_specs=[P("i")])
    np.testing.assert_array_equal(ours, [0, 1])


def test_specs_without_a_mesh_or_a_function():
    x = np.arange(4, dtype=np.float32)
    with pytest.raises(shardtype.ExportError, match="in_specs need a mesh"):
        shardtype.run(jnp.sin, x, in_specs=[P("i")])
    exported = shardtype.export(jnp.sin, x, mode="plain")
    with pytest.raises(shardtype.ExportError, match="of a function's arguments"):
        shardtype.run(exported, x, in_specs=[P("i")])


def test_what_options_print(capfd):
    shardtype.run(jnp.sin, np.zeros(2, np.float32), options=["--stats"])
    assert "1 x sin" in capfd.readouterr().out
