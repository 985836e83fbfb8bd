# test_record.py - mode record: annotations, regions, shard_map, patches.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a recording keeps (docs/spec/export.md), and that it leaves no trace."""

from __future__ import annotations

import functools
import gc
import re
import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shardtype
from jax import lax
from jax.sharding import AxisType, NamedSharding, auto_axes, explicit_axes, reshard
from jax.sharding import PartitionSpec as P
from shardtype import hooks, record, selftest
from validator import validate

X = jax.ShapeDtypeStruct((8, 4), jnp.float32)
W = jax.ShapeDtypeStruct((4, 6), jnp.float32)
NONE: list[None] = [None, None]


def data_of(fn, *args, **options):
    exported = shardtype.export(fn, *args, mode="record", **options)
    assert validate(exported.data) == []
    return exported.data


def shardings(data):
    """(primitive, who wrote it, entries, conversions of its mesh) in order."""
    out = []

    def visit(p, value):
        if isinstance(value, dict) and "by" in value:
            s = value
            out.append((p, s["by"], s["spec"]["p"], data["meshes"][s["mesh"]]["rel"]))
        elif isinstance(value, (dict, list)):
            for v in value.values() if isinstance(value, dict) else value:
                visit(p, v)

    for j in data["jaxprs"]:
        for e in j["eqns"]:
            visit(e["p"], e["params"])
    return out


def named(data, p):
    return [e for j in data["jaxprs"] for e in j["eqns"] if e["p"] == p]


@pytest.mark.parametrize(
    ("fn", "expected"),
    [
        (lambda x, w: jnp.dot(x, w, out_sharding=P("a", None)), [("dot_general", [["a"], None])]),
        (lambda x, w: jnp.matmul(x, w, out_sharding=P("a")), [("dot_general", [["a"]])]),
        (lambda x, w: jnp.einsum("ij,jk->ki", x, w, out_sharding=P("a", "b")),
         [("dot_general", [["a"], ["b"]])]),
        (lambda x, w: reshard(x, P(("a", "b"))), [("reshard", [["a", "b"], None])]),
        (lambda x, w: reshard({"k": x, "l": [w]}, P("a")),
         [("reshard", [["a"], None]), ("reshard", [["a"], None])]),
        (lambda x, w: jnp.reshape(x, (4, 8), out_sharding=P("a")), [("reshape", [["a"]])]),
        (lambda x, w: lax.broadcast_in_dim(x, (2, 8, 4), (1, 2), out_sharding=P(None, "a")),
         [("broadcast_in_dim", [None, ["a"]])]),
        (lambda x, w: x + jnp.zeros((8, 4), out_sharding=P("a")), [("broadcast_in_dim", [["a"]])]),
        (lambda x, w: jnp.arange(8, out_sharding=P("a")) + x[:, 0], [("iota", [["a"]])]),
        (lambda x, w: lax.reduce_sum(x, (0,), out_sharding=P("a")), [("reduce_sum", [["a"]])]),
        (lambda x, w: lax.with_sharding_constraint(x, P("a", P.UNCONSTRAINED)),
         [("sharding_constraint", [["a"], "unconstrained"])]),
        (lambda x, w: jax.jit(jnp.sin, out_shardings=P("a"))(x), [("jit", [["a"]])]),
    ],
)  # fmt: skip
def test_each_annotation_is_kept_as_written(fn, expected):
    found = [(p, e) for p, by, e, rel in shardings(data_of(fn, X, W)) if by == "user"]
    assert found == expected


# APIs that run in a region of their own: body, then the user's reshard.
@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x.at[jnp.array([0, 1])].get(out_sharding=P("a", None)),
        lambda x: x.at[0].set(1.0, out_sharding=P("a", None)),
        lambda x: x.at[0].add(1.0, out_sharding=P("a", None)),
        lambda x: jnp.einsum("ij,kj,kl->il", x, x, x, out_sharding=P("a", None)),
        lambda x: jnp.repeat(x, 2, axis=0, out_sharding=P("a", None)),
        lambda x: jax.random.normal(jax.random.key(0), (4, 4), out_sharding=P("a", None)) + x[:4],
        lambda x: jax.ops.segment_sum(x, jnp.arange(8), 4, out_sharding=P("a", None)),
    ],
    ids=["get", "set", "add", "einsum3", "repeat", "normal", "segment_sum"],
)
def test_apis_with_a_region_of_their_own(fn):
    found = shardings(data_of(fn, X))
    assert [f for f in found if f[1] == "user"] == [("reshard", "user", [["a"], None], [])]
    entries = [f for f in found if f[0] == "reshard" and f[1] == "jax"]
    assert entries and all(rel == [["Auto", None]] for *_, rel in entries)
    assert all(e is None for f in entries for e in f[2])


def test_regions_of_the_user():
    @functools.partial(auto_axes, axes=("a", "b"), out_sharding=P("a", None))
    def outer(v):
        return explicit_axes(jnp.cos, axes="b", in_sharding=P("b", None))(v)

    both = [["Auto", ["a", "b"]], ["Explicit", ["b"]]]
    data = data_of(outer, X)
    assert shardings(data) == [
        ("reshard", "jax", NONE, both[:1]),
        ("reshard", "user", [["b"], None], both),
        ("reshard", "jax", NONE, both[:1]),
        ("reshard", "user", [["a"], None], []),
    ]
    # Types and equations say where they stand; kinds as if all were Explicit.
    [cos] = named(data, "cos")
    mesh = data["meshes"][cos["ctx"]["mesh"] if "ctx" in cos else data["jaxprs"][0]["mesh"]]
    assert mesh["rel"] == both
    assert [(a["name"], a["type"]) for a in mesh["axes"]] == [("a", "Auto"), ("b", "Explicit")]
    assert data["types"][cos["out"][0][1]]["mesh"] == data["meshes"].index(mesh)
    assert not any("spec" in t for t in data["types"])


def test_a_region_without_axes_means_all():
    data = data_of(lambda x: auto_axes(jnp.sin, out_sharding=P("a", None))(x), X)
    assert [f[3] for f in shardings(data)] == [[["Auto", "all"]], []]


def test_vmap_inherits_the_entry_of_the_batch_dim():
    def row(v, w):
        return jnp.dot(reshard(v, P("a")), w, out_sharding=P("b"))

    data = data_of(jax.vmap(row, in_axes=(0, None)), X, W)
    assert [f[2] for f in shardings(data)] == [["inherit", ["a"]], ["inherit", ["b"]]]
    data = data_of(jax.vmap(jax.vmap(lambda v: reshard(v, P("a")), 1), 2), jnp.ones((3, 4, 5)))
    assert [f[2] for f in shardings(data)] == [[["a"], "inherit", "inherit"]]
    data = data_of(jax.vmap(jax.vmap(lambda v: reshard(v, P("a")), 0), 2), jnp.ones((3, 4, 5)))
    assert [f[2] for f in shardings(data)] == [["inherit", ["a"], "inherit"]]


def test_what_jax_copies_is_not_the_users():
    data = data_of(lambda x, m: jnp.where(m > 0, x, 0.0), X, jax.ShapeDtypeStruct((4,), "float32"))
    assert {by for _, by, _, _ in shardings(data)} <= {"jax"}


def test_unreduced_and_reduced_are_kept():
    def f(x, w):
        y = jnp.dot(x, w, out_sharding=P(None, unreduced={"a"}))
        return reshard(y, P()), reshard(x, P(reduced={"b"}))

    found = [e["params"] for e in named(data_of(f, X, W), "dot_general")]
    assert found[0]["out_sharding"]["sharding"]["spec"]["u"] == ["a"]
    _, second = named(data_of(f, X, W), "reshard")
    assert second["params"]["dst_sharding"]["sharding"]["spec"]["r"] == ["b"]


def test_a_spec_that_cannot_be_built_becomes_a_note():
    data = data_of(lambda x: reshard(x, P("a", "a")), X)
    [note] = data["context"]["record"]["notes"]
    assert (note["kind"], note["api"], note["spec"]) == ("dropped", "reshard", "P('a', 'a')")
    assert "duplicate entries for `a`" in note["why"]
    frame = data["sources"][data["stacks"][note["src"]][0]]
    assert frame["file"].endswith("test_record.py")
    assert [f[1] for f in shardings(data)] == ["jax"]


def test_axes_are_found_in_the_code_or_given():
    def f(x):
        return reshard(x, P("b", "a"))

    axes = data_of(f, X, mesh="a=2,c=3:Auto")["context"]["record"]["axes"]
    assert axes == [
        {"name": "a", "size": 2, "from": "mesh"},
        {"name": "c", "size": 3, "from": "mesh"},
        {"name": "b", "size": 1, "from": "found"},
    ]
    exported = shardtype.export(f, X, mode="record")
    assert exported.summary().startswith(
        "recorded 1 equation, 1 annotation (mesh axes: b, a found in the code), JAX "
    )


def test_annotations_without_an_axis():
    data = data_of(lambda x: reshard(x.at[0].set(1.0, out_sharding=P()), P()), X)
    assert [f for f in shardings(data) if f[1] == "user"] == [("reshard", "user", NONE, [])] * 2
    assert data["context"]["mesh"] is None and data["context"]["record"]["axes"] == []
    assert all(m["axes"] == [] for m in data["meshes"])


def explicit_mesh(*shape):
    return jax.make_mesh(shape, ("a", "b"), axis_types=(AxisType.Explicit,) * 2)


def test_meshes_of_the_program():
    mesh = explicit_mesh(2, 1)
    array = jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh, P("a")))

    def f(x):
        return reshard(x, NamedSharding(mesh, P(None, "a"))) + array

    data = data_of(f, X)
    assert [a["size"] for a in data["context"]["record"]["axes"]] == [2, 1]
    assert data["context"]["record"]["notes"] == []
    [(_, t)] = data["jaxprs"][0]["constvars"]
    assert data["types"][t]["spec"]["p"] == [["a"], None]
    notes = data_of(f, X, mesh="a=4,b=1")["context"]["record"]["notes"]
    assert {n["kind"] for n in notes} == {"mesh"} and "has size 2 there" in notes[0]["why"]
    # A sharding built from the context mesh is the user's, too.
    data = data_of(
        lambda x: reshard(x, NamedSharding(jax.sharding.get_abstract_mesh(), P())), X, mesh="a=2"
    )
    assert shardings(data) == [("reshard", "user", NONE, [])]


def body(a):
    return a + lax.psum(a.sum(), "a")


def test_shard_map():
    def f(x):
        return jax.shard_map(body, in_specs=P("a"), out_specs=P("a"), axis_names={"a"})(x)

    data = data_of(f, X, mesh="a=4,b=2")
    [e] = named(data, "shard_map")
    assert e["params"]["check_vma"] is True and set(e["derived"]) == {"body_mesh"}
    assert e["params"]["in_specs"][0]["spec"]["p"] == [["a"]]
    kinds = [a["type"] for a in data["meshes"][e["derived"]["body_mesh"]]["axes"]]
    assert kinds == ["Manual", "Explicit"]
    [psum] = [e for j in data["jaxprs"] for e in j["eqns"] if e["p"].startswith("psum")]
    assert data["types"][psum["out"][0][1]]["shape"] == []


def test_shard_map_without_in_specs_keeps_its_out_specs():
    def f(x):
        return jax.shard_map(lambda a: {"k": a, "l": a}, out_specs=P("a", None))(x)["k"]

    data = data_of(f, X)
    [e] = named(data, "shard_map")
    infer = e["derived"]["infer"]
    assert infer["n"] == 0 and infer["axis_names"] == []
    assert [s["spec"]["p"] for s in infer["out_specs"]] == [[["a"], None]] * 2
    assert [n["kind"] for n in data["context"]["record"]["notes"]] == ["infer"]


def test_a_table_of_in_specs():
    def f(x):
        first = jax.shard_map(lambda t: t[0] * 2 + t[1].sum(), out_specs=P("a"))
        second = jax.shard_map(body, out_specs=P("a", None))
        return second(first((x, x)))

    data = data_of(f, X, mesh="a=4", infer={"1": ["P(a)"]})
    one, two = named(data, "shard_map")
    assert one["derived"]["infer"]["n"] == 0 and "given" not in one["derived"]["infer"]
    assert two["derived"]["infer"] == {"n": 1, "given": True, "axis_names": [], "operands": [0]}
    assert two["params"]["in_specs"][0]["spec"]["p"] == [["a"]]
    data = data_of(f, X, mesh="a=4", infer={0: [P("a"), P()], 1: [P("a")]})
    one, two = named(data, "shard_map")
    assert data["context"]["record"]["notes"] == [] and one["params"]["check_vma"] is True
    inner = data["jaxprs"][one["params"]["jaxpr"]["jaxpr"]]
    assert [data["types"][t]["shape"] for _, t in inner["invars"]] == [[2, 4], [8, 4]]
    with pytest.raises(shardtype.ExportError, match="1 specs for a shard_map with 2 operands"):
        data_of(f, X, infer={0: [P("a")]})
    with pytest.raises(shardtype.ExportError, match="in_specs table"):
        data_of(f, X, infer={"x": []})


def test_a_body_against_the_rules_is_recorded_as_it_stands():
    def f(x):
        return jax.shard_map(lambda a: a.sum(), in_specs=P("a"), out_specs=P())(x)

    data = data_of(f, X, mesh="a=4")
    [e] = named(data, "shard_map")
    assert "vma" not in e["derived"] and e["params"]["check_vma"] is True
    assert [n["kind"] for n in data["context"]["record"]["notes"]] == ["result"]


def test_a_body_that_jax_cannot_trace_is_recorded_unchecked():
    def cast(a):
        return lax.pcast(a, "a", to="varying")

    def f(x):
        x = jax.shard_map(cast, in_specs=P("a"), out_specs=P("a"))(x)
        return jax.shard_map(lambda a: a * 2, in_specs=P("a"), out_specs=P("a"))(x)

    data = data_of(f, X, mesh="a=4")
    one, two = named(data, "shard_map")
    assert one["derived"]["vma"] == "off" and one["params"]["check_vma"] is False
    assert "vma" not in two["derived"] and two["params"]["check_vma"] is True
    [note] = data["context"]["record"]["notes"]
    assert one["derived"]["note"] == 0 and note["kind"] == "vma" and "src" in note
    assert note["why"].startswith("ValueError: Unsupported pcast")
    # A failure of another kind stays what it is.
    with pytest.raises(KeyError, match="mine"):
        data_of(lambda x: jax.shard_map(lambda a: {}["mine"], in_specs=P(), out_specs=P())(x), X)


def closure(fn):
    """What JAX's shard_map keeps in the closure of `fn`."""
    todo, seen = [fn], set()
    while todo:
        f = todo.pop()
        if id(f) in seen or not isinstance(f, types.FunctionType):
            continue
        seen.add(id(f))
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        if "axis_names" in cells:
            return {n: cells[n].cell_contents for n in ("mesh", "axis_names", "check_vma")}
        todo += [c.cell_contents for c in cells.values()] + [getattr(f, "__wrapped__", None)]
    raise AssertionError("no closure found")


@pytest.mark.parametrize("valid", [True, False])
def test_a_shard_map_built_before_runs_as_before(valid):
    mesh = explicit_mesh(2, 1)

    def body(a):
        return a * 2 if valid else lax.pcast(a, "a", to="varying")  # As it is already.

    mapped = jax.shard_map(body, mesh=mesh, in_specs=P("a"), out_specs=P("a"))
    before = closure(mapped)
    data = data_of(lambda x: mapped(mapped(x)), X)
    assert closure(mapped) == before
    assert [e.get("derived", {}).get("vma") for e in named(data, "shard_map")] == (
        [None, None] if valid else ["off", "off"]
    )
    if valid:
        x = jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh, P("a")))
        np.testing.assert_array_equal(jax.jit(mapped)(x), 2 * np.ones((8, 4)))


def test_a_shard_map_built_before_without_in_specs_is_refused():
    mapped = jax.shard_map(lambda a: a * 2, out_specs=P("a"))
    with pytest.raises(shardtype.ExportError, match="build it inside the exported function"):
        data_of(lambda x: mapped(x), X)


def test_entry_shardings_of_a_jitted_function():
    fn = jax.jit(lambda x: x * 2, in_shardings=P("a"), out_shardings=P(None, "a"))
    entry = data_of(fn, X)["entry"]
    assert entry["in_shardings"][0]["sharding"]["by"] == "user"
    assert entry["out_shardings"][0]["sharding"]["spec"]["p"] == [None, ["a"]]


def test_code_that_reads_types_gets_a_hint():
    def f(x):
        assert jax.typeof(x).sharding.spec == P("a", None)
        return x

    with pytest.raises(AssertionError) as e:
        data_of(f, X)
    assert any("--mode native" in n for n in e.value.__notes__)


def test_shapes_of_an_annotated_init():
    def init(key):
        return {"w": jax.random.normal(key, (4, 6), out_sharding=P("a")), "n": 3}

    with pytest.raises(Exception, match="mesh"):
        jax.eval_shape(init, jax.random.key(0))
    shapes = shardtype.eval_shape(init, jax.random.key(0))
    assert shapes["w"] == jax.ShapeDtypeStruct((4, 6), jnp.float32)
    assert shapes["w"].sharding is None and shapes["n"].shape == ()


# Nothing stays behind.


def snapshot():
    """Every place a replacement may be in."""
    out = {}
    for module, name in hooks.PRIVATE:
        value = getattr(hooks.source(module), name)
        out[module, name] = dict(value) if isinstance(value, dict) else value
    for name in ("vjp", "linearize", "jvp", "grad"):
        out[name] = getattr(jax, name)
    out["full_like"] = lax.full_like
    out["_one_hot"] = hooks.source("nn.functions")._one_hot
    out["canonicalize"] = hooks.source("lax.lax").canonicalize_sharding
    return out


def fails(x):
    reshard(x, P("a"))
    raise RuntimeError("mine")


@pytest.mark.parametrize("fn", [lambda x: reshard(x, P("a")), fails])
def test_replacements_are_undone(fn):
    before = snapshot()
    try:
        data_of(fn, X)
    except RuntimeError as e:
        assert fn is fails and str(e) == "mine"
    assert snapshot() == before
    assert jax.sharding.get_abstract_mesh().empty
    with pytest.raises(Exception, match="mesh"):
        jax.jit(lambda x: reshard(x, P("a")))(jnp.ones((8, 4)))


def left_behind():
    """Everything of shardtype's that a module or a class of JAX's or of a library's
    holds."""
    out = []
    for module in list(sys.modules.values()):
        name = getattr(module, "__name__", "")
        if not name.startswith(("jax", "flax", "optax", "equinox")):
            continue
        held = list(vars(module).items())
        held += [
            (f"{k}.{a}", v)
            for k, c in held if isinstance(c, type)
            for a, v in list(vars(c).items())
        ]  # fmt: skip
        for key, value in held:
            owner = type(getattr(value, "__self__", None)).__module__
            if f"{getattr(value, '__module__', '')} {owner}".count("shardtype"):
                out.append(f"{name}.{key}")
    return out


class Odd(BaseException):
    pass


@pytest.mark.parametrize("error", [RuntimeError, SystemExit, KeyboardInterrupt, Odd])
@pytest.mark.parametrize(
    "around",
    [
        lambda f: f,
        jax.jit,
        jax.vmap,
        jax.checkpoint,
        lambda f: jax.grad(lambda x: f(x).sum()),
        lambda f: lambda x: jax.jvp(f, (x,), (x,)),
        lambda f: lambda x: lax.scan(lambda c, v: (c, f(v)), 0.0, x),
        lambda f: jax.shard_map(f, in_specs=P("a"), out_specs=P("a")),
    ],
    ids=["alone", "jit", "vmap", "remat", "grad", "jvp", "scan", "shard_map"],
)
def test_nothing_is_left_behind(around, error):
    def f(x):
        reshard(x, P(None))
        raise error("mine")

    before = snapshot()
    assert left_behind() == []
    wanted = shardtype.ExportError if error is SystemExit else error
    with pytest.raises(wanted, match="mine|Axis|annot|manual|mesh"):
        shardtype.export(around(f), X)
    assert left_behind() == [] and snapshot() == before
    assert jax.sharding.get_abstract_mesh().empty
    np.testing.assert_array_equal(jax.vmap(lambda v: v * 2)(jnp.ones((2, 3))), np.full((2, 3), 2.0))


def test_a_function_runs_as_before():
    """Caches of JAX do not hand a trace from one world to the other."""
    mesh = explicit_mesh(2, 1)
    x = jax.device_put(jnp.arange(32.0).reshape(8, 4), NamedSharding(mesh, P("a")))
    inner = jax.jit(lambda v: jnp.sin(reshard(v, P(None, None))).sum())
    step = jax.jit(jax.value_and_grad(lambda v: inner(v * 2)))
    with jax.set_mesh(mesh):
        first, text = step(x), str(jax.make_jaxpr(step)(x))
        for _ in range(2):
            recorded = data_of(step, X)
            assert shardings(recorded)[0][:3] == ("reshard", "user", NONE)
            again = step(x)
            assert str(jax.make_jaxpr(step)(x)) == text
            np.testing.assert_array_equal(first[1], again[1])
    fresh = jax.jit(jax.grad(lambda v: inner(v * 3)))
    data_of(fresh, X)
    with jax.set_mesh(mesh):  # Traced by the exporter first.
        assert fresh(x).shape == (8, 4)
        assert "ad_vjp" not in str(jax.make_jaxpr(fresh)(x))


def test_two_recordings_do_not_nest():
    def f(x):
        shardtype.export(jnp.sin, X, mode="record")
        return x

    with pytest.raises(shardtype.ExportError, match="one at a time"):
        data_of(f, X)
    data_of(jnp.sin, X)


# Which versions?


def test_this_version_is_listed_and_passes_the_self_test():
    assert jax.__version__ in record.KNOWN_VERSIONS
    assert selftest.failure() is None


def test_an_unknown_version_is_tested(monkeypatch):
    monkeypatch.setattr(record, "KNOWN_VERSIONS", ())
    monkeypatch.setattr(record, "_verdicts", {})
    assert shardtype.export(jnp.sin, X).mode == "record"
    monkeypatch.setattr(record, "_verdicts", {})
    monkeypatch.setattr(hooks, "PRIVATE", (*hooks.PRIVATE, ("pjit", "_gone")))
    exported = shardtype.export(jnp.sin, X)
    assert exported.mode == "plain"
    assert re.fullmatch(
        r"JAX \S+: recording is not known to work here \(missing: pjit._gone\)\."
        " Falling back to a plain trace",
        exported.notes[0],
    )


def test_a_version_that_records_other_things_is_refused(monkeypatch):
    monkeypatch.setattr(selftest, "EXPECTED", selftest.EXPECTED[1:])
    assert "unexpected annotations: ('dot_general'" in selftest.failure()
    gc.collect()
