# test_modes.py - plain, native and auto.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which mode is taken, what it records, how failures are told apart."""

from __future__ import annotations

import traceback

import jax
import jax.numpy as jnp
import pytest
import shardtype
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P
from shardtype import record
from shardtype.trace import is_annotation_error

X = jax.ShapeDtypeStruct((8, 4), jnp.float32)
W = jax.ShapeDtypeStruct((4, 8), jnp.float32)
MESH = "X=4,Y=2"


def free(x, w):
    return jnp.tanh(x @ w)


def annotated(x, w):
    return jnp.einsum("ij,jk->ik", x, w, out_sharding=P("X", None))


def first_types(exported):
    data = exported.data
    return [data["types"][t] for _, t in data["jaxprs"][0]["invars"]]


def test_plain_has_no_mesh():
    exported = shardtype.export(free, X, W, mode="plain")
    assert exported.mode == exported.data["context"]["mode"] == "plain"
    assert exported.data["context"]["mesh"] is None
    assert all("mesh" not in t and "spec" not in t for t in exported.data["types"])


def test_plain_drops_shardings_of_arguments_and_of_the_context():
    mesh = jax.make_mesh((2,), ("X",), axis_types=(AxisType.Explicit,))
    array = jax.device_put(jnp.zeros((8, 4)), NamedSharding(mesh, P("X")))
    for mode in ("plain", "record"):
        bare = shardtype.export(free, X, W, mode=mode).data
        with jax.sharding.use_abstract_mesh(mesh.abstract_mesh):
            assert shardtype.export(free, array, W, mode=mode).data == bare
        assert shardtype.export(free, array, W, mode=mode).data == bare


def test_native_records_types_under_the_mesh():
    exported = shardtype.export(free, X, W, mode="native", mesh=MESH, in_specs={"x": "P(X,None)"})
    assert exported.mode == exported.data["context"]["mode"] == "native"
    mesh = exported.data["meshes"][exported.data["context"]["mesh"]]
    assert [(a["name"], a["size"], a["type"]) for a in mesh["axes"]] == [
        ("X", 4, "Explicit"),
        ("Y", 2, "Explicit"),
    ]
    assert mesh["device"] is None
    x, w = first_types(exported)
    assert x["spec"]["p"] == [["X"], None] and "spec" not in w and "mesh" in w
    last = exported.data["types"][exported.data["jaxprs"][0]["eqns"][-1]["out"][0][1]]
    assert last["spec"]["p"] == [["X"], None]


@pytest.mark.parametrize(
    "in_specs",
    [{"x": P("X")}, (P("X"), None), [P("X"), P()], P("X"), ["P(X)", "P()"], [(None, "P(X)")]],
)
def test_ways_to_give_specs(in_specs):
    exported = shardtype.export(free, X, W, mode="native", mesh={"X": 2}, in_specs=in_specs)
    assert first_types(exported)[0]["spec"]["p"] == [["X"], None]


def test_native_keeps_shardings_of_arguments_without_a_spec():
    mesh = jax.sharding.AbstractMesh((2,), ("X",), axis_types=(AxisType.Explicit,))
    x = jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=NamedSharding(mesh, P("X")))
    exported = shardtype.export(free, x, W, mode="native", mesh=mesh)
    assert first_types(exported)[0]["spec"]["p"] == [["X"], None]


def test_unreduced_and_auto_axes():
    x = jax.ShapeDtypeStruct((8,), jnp.float32)
    exported = shardtype.export(
        lambda x: jax.sharding.reshard(x, P()), x, mode="native", mesh="X=2,Y=2:Auto",
        in_specs=[P(None, unreduced={"X"})],
    )  # fmt: skip
    [t] = first_types(exported)
    assert t["spec"] == {"p": [None], "u": ["X"], "r": [], "k": "sum"}


@pytest.fixture
def unknown_jax(monkeypatch):
    """A JAX on which recording does not work."""
    monkeypatch.setattr(record, "unsupported", lambda: "JAX 9: recording is not known here")


def test_auto_takes_record_when_it_can():
    exported = shardtype.export(annotated, X, W)
    assert exported.mode == "record" and exported.notes == []
    exported = shardtype.export(free, X, W, mesh=MESH, in_specs={"x": P("X")})
    assert exported.mode == "record" and "not in the file" in exported.notes[0]


def test_else_auto_takes_plain_when_it_can(unknown_jax):
    exported = shardtype.export(free, X, W)
    assert exported.mode == "plain"
    assert exported.notes == ["JAX 9: recording is not known here. Falling back to a plain trace"]
    exported = shardtype.export(free, X, W, mesh=MESH, in_specs={"x": P("X")})
    assert exported.mode == "plain" and "not in the file" in exported.notes[1]
    with pytest.raises(shardtype.ExportError, match="not known here. Use --mode plain"):
        shardtype.export(free, X, W, mode="record")


def test_else_auto_takes_native_for_annotations_and_says_so(unknown_jax):
    exported = shardtype.export(annotated, X, W, mesh=MESH, in_specs={"x": P("X")})
    assert exported.mode == "native" and "exported in mode native" in exported.notes[1]


@pytest.mark.parametrize(
    "fn",
    [
        annotated,
        lambda x, w: jax.sharding.reshard(x, P("X")),
        lambda x, w: jax.lax.with_sharding_constraint(x, P("X")),
        lambda x, w: jax.jit(jnp.sin, in_shardings=P("X"))(x),
        lambda x, w: jax.shard_map(jnp.sin, in_specs=P("X"), out_specs=P("X"))(x),
        lambda x, w: x.at[0].get(out_sharding=P("X")),
        lambda x, w: jnp.reshape(x, (32,), out_sharding=P("X")),
        lambda x, w: jax.lax.psum(x, "X"),
    ],
    ids=["einsum", "reshard", "constraint", "jit", "shard_map", "at", "reshape", "psum"],
)
def test_annotations_without_a_mesh(unknown_jax, fn):
    with pytest.raises(shardtype.NeedsMesh, match="--mesh and --in") as e:
        shardtype.export(fn, X, W)
    assert "test_modes.py:" in str(e.value)
    assert e.value.exit_code == 2
    assert is_annotation_error(e.value.__cause__)
    with pytest.raises(shardtype.NeedsMesh, match="give --in, or --mode native"):
        shardtype.export(fn, X, W, mesh=MESH)


def test_rejection_names_the_line():
    def bad(x, y):
        return x + y  # The line of the message.

    line = bad.__code__.co_firstlineno + 1
    with pytest.raises(shardtype.Rejected) as e:
        shardtype.export(
            bad, X, X, mode="native", mesh=MESH, in_specs=[P("X", None), P(None, "X")]
        )
    assert e.value.exit_code == 1
    assert str(e.value).startswith("JAX rejects the program: ShardingTypeError: add operation")
    assert f"test_modes.py:{line}. This is JAX's first error only" in str(e.value)


def test_errors_of_the_user_pass_through_without_frames_of_jax():
    def broken(x):
        def body(c, _):
            raise KeyError("mine")

        return jax.lax.scan(body, x, None, length=2)

    for options in ({}, {"mode": "native", "mesh": MESH}, {"mesh": MESH, "in_specs": [P()]}):
        with pytest.raises(KeyError, match="mine") as e:
            shardtype.export(broken, X, **options)
        files = [f.filename for f in traceback.extract_tb(e.value.__traceback__)]
        assert not [f for f in files if "/jax/" in f.replace("\\", "/")]
        assert [f.name for f in traceback.extract_tb(e.value.__traceback__)][-2:] == [
            "broken",
            "body",
        ]


def test_shape_errors_are_not_taken_for_annotations():
    with pytest.raises(TypeError, match="incompatible shapes"):
        shardtype.export(lambda x, w: x + w[:, :3], X, W, mesh=MESH, in_specs=P())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "nativ"}, "unknown mode 'nativ': use auto, record, plain, native"),
        ({"mode": "native"}, "needs a mesh"),
        ({"mode": "plain", "mesh": MESH}, "takes no mesh"),
        ({"mode": "native", "mesh": 3}, "cannot read a mesh from 3"),
        ({"mode": "native", "mesh": MESH, "in_specs": {"x": P("Z")}}, "argument 'x': .*Z"),
        ({"mode": "native", "mesh": MESH, "in_specs": {"x": P(None, None, "X")}}, "argument 'x'"),
        ({"mode": "native", "mesh": "X=3", "in_specs": {"x": P("X")}}, "dim 0 has size 8"),
        ({"mode": "native", "mesh": MESH, "in_specs": {"x": P("X", "X")}}, "argument 'x'"),
    ],
)
def test_wrong_uses(options, message):
    with pytest.raises(shardtype.ExportError, match=message):
        shardtype.export(free, X, W, **options)


def test_not_a_function():
    with pytest.raises(shardtype.ExportError, match="not a function"):
        shardtype.export(3, X)


def test_shardings_of_the_outermost_jit_are_in_the_entry():
    mesh = jax.sharding.AbstractMesh((2,), ("X",), axis_types=(AxisType.Explicit,))
    fn = jax.jit(lambda x: x * 2, out_shardings=NamedSharding(mesh, P("X")))
    data = shardtype.export(fn, X, mode="native", mesh=mesh, in_specs=[P("X")]).data
    [value] = data["entry"]["out_shardings"]
    assert value["sharding"]["spec"]["p"][0] == ["X"]
    assert "in_shardings" not in data["entry"]
    assert "out_shardings" not in shardtype.export(free, X, W).data["entry"]


def test_configuration_is_put_back():
    before = jax.config.jax_traceback_filtering
    shardtype.export(free, X, W)
    with pytest.raises(TypeError):
        shardtype.export(lambda x: x + "a", X)
    assert jax.config.jax_traceback_filtering == before
    assert jax.sharding.get_abstract_mesh().empty
