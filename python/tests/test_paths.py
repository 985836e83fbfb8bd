# test_paths.py - names of arguments and results.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paths are unique, in JAX's order, and stand for the right leaf."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest
import shardtype
from shardtype import paths


def leaf(n: int) -> Any:
    """A struct that can be told from others by its shape."""
    return jax.ShapeDtypeStruct((n,), jnp.float32)


def named(fn: Any, *args: Any, **kwargs: Any) -> dict[str, int]:
    """Argument path -> size of the input it was given to."""
    data = shardtype.export(fn, *args, **kwargs).data
    sizes = [data["types"][t]["shape"][0] for _, t in data["jaxprs"][0]["invars"]]
    return dict(zip(data["entry"]["arg_paths"], sizes, strict=True))


class Pair(NamedTuple):
    first: Any
    second: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    step: Any
    inner: Any


def plain(params, x, *rest, scale=1.0, **more):
    return x


class Model:
    def __call__(self, x, y):
        return x

    def method(self, x, y):
        return x


TREE = {"layers": [{"w": leaf(1), "b/c": leaf(2)}, Pair(leaf(3), (leaf(4), None))], 7: leaf(5)}
TREE_WITHOUT_INT = {k: v for k, v in TREE.items() if k != 7}


def test_trees():
    got = named(plain, TREE_WITHOUT_INT, State(leaf(6), [leaf(7)]))
    assert got == {
        "params/layers/0/b~1c": 2,
        "params/layers/0/w": 1,
        "params/layers/1/first": 3,
        "params/layers/1/second/0": 4,
        "x/step": 6,
        "x/inner/0": 7,
    }


def test_integer_keys():
    assert named(plain, {7: leaf(1), 10: leaf(2)}, leaf(3)) == {
        "params/7": 1, "params/10": 2, "x": 3,
    }  # fmt: skip


def test_variable_arguments_and_keywords_keep_the_order_of_jax():
    got = named(plain, leaf(1), leaf(2), leaf(3), leaf(4), zeta=leaf(5), scale=leaf(6), a=leaf(7))
    assert got == {
        "params": 1, "x": 2, "rest/0": 3, "rest/1": 4, "more/a": 7, "scale": 6, "more/zeta": 5,
    }  # fmt: skip
    assert list(got) == ["params", "x", "rest/0", "rest/1", "more/a", "scale", "more/zeta"]


def test_positional_parameter_given_by_keyword():
    assert named(plain, x=leaf(1), params=leaf(2)) == {"params": 2, "x": 1}


@pytest.mark.parametrize(
    "fn",
    [
        Model().method,
        Model(),
        functools.partial(lambda k, x, y: x, 3),
        jax.jit(lambda x, y: x),
        functools.wraps(plain)(lambda x, y: x),
    ],
    ids=["method", "object", "partial", "jit", "wraps"],
)
def test_kinds_of_functions(fn):
    got = named(fn, leaf(1), leaf(2))
    assert list(got.values()) == [1, 2]
    assert set(got) in ({"x", "y"}, {"params", "x"})


def test_static_arguments_are_no_inputs():
    fn = jax.jit(lambda x, n, y: x * n, static_argnames="n")
    assert named(fn, leaf(1), 5, leaf(1)) == {"x": 1, "y": 1}
    assert named(fn, leaf(1), n=2, y={"a": leaf(1)}) == {"x": 1, "y/a": 1}


def test_python_scalars_are_inputs_with_weak_types():
    data = shardtype.export(lambda x, k: x * k, leaf(3), 2.0).data
    [_, [_, t]] = data["jaxprs"][0]["invars"]
    assert data["types"][t]["weak"] is True and data["entry"]["arg_paths"] == ["x", "k"]


def test_results():
    def f(x):
        return {"a/b": x, "c": Pair(x, [x, None])}, State(x, x)

    assert shardtype.export(f, leaf(1)).data["entry"]["result_paths"] == [
        "result/0/a~1b", "result/0/c/first", "result/0/c/second/0", "result/1/step",
        "result/1/inner",
    ]  # fmt: skip
    assert shardtype.export(lambda x: x, leaf(1)).data["entry"]["result_paths"] == ["result"]


def test_same_as_a_translation_of_the_names_jax_prints():
    # Two ways to the same path: through the trees, and from JAX's own text.
    cases = [(TREE_WITHOUT_INT, State(leaf(1), [leaf(2)])), ({"it's": leaf(1)}, leaf(2), leaf(3))]
    for args in cases:
        entry = shardtype.export(plain, *args, z={'"q"': leaf(4)}).data["entry"]
        assert [paths.from_jax_name(n) for n in entry["arg_names"]] == entry["arg_paths"]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("x", "x"),
        ("p['a/b'][0].w", "p/a~1b/0/w"),
        ('p["it\'s"]', "p/it's"),
        ("p['a.b[0]']", "p/a.b[0]"),
        ("p[<flat index 3>]", "p/3"),
        ("odd name!", "odd name!"),
    ],
)
def test_from_jax_name(name, path):
    assert paths.from_jax_name(name) == path
