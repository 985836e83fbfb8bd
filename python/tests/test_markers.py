# test_markers.py - derivatives as markers.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Markers stand where derivatives were, and mean what JAX computes: each
recorded jaxpr is run, its markers expanded, and the numbers compared with the
function itself (docs/spec/export.md, E20 to E33)."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shardtype
from jax import lax
from jax.interpreters import mlir
from jax.sharding import PartitionSpec as P
from shardtype import primitives, recording
from shardtype.trace import trace
from validator import validate

W, X = (3, 3), (4, 3)


def loss(w, x):
    return jnp.sum(jnp.tanh(x @ w) ** 2)


@jax.custom_vjp
def with_vjp(x, y):
    return jnp.sin(x) * y


with_vjp.defvjp(
    lambda x, y: (with_vjp(x, y), (x, jnp.cos(x))),
    lambda res, ct: (ct * res[1] * jax.nn.sigmoid(res[0]), None),
)


@jax.custom_vjp
def with_grad_in_rule(x):
    return jnp.sin(x).sum()


with_grad_in_rule.defvjp(
    lambda x: (with_grad_in_rule(x), x),
    lambda x, ct: (ct * jax.grad(lambda v: jnp.sin(v).sum())(x),),
)


@jax.custom_jvp
def with_jvp(x, y):
    return jnp.sin(x) * y


with_jvp.defjvp(lambda p, t: (with_jvp(*p), 2 * t[0] * jnp.cos(p[0])))


def scan_of_grads(w, xs):
    def step(total, x):
        return jax.tree.map(jnp.add, total, jax.grad(loss)(w, x)), None

    return lax.scan(step, jnp.zeros_like(w), xs)[0]


def grad_of_scan(w, xs):
    def f(w):
        return lax.scan(lambda c, x: (jnp.tanh(c @ w) + x, None), xs[0], xs)[0].sum()

    return jax.grad(f)(w)


def pullback_in_scan(w, x):
    y, pull = jax.vjp(lambda w: jnp.sin(x @ w), w)
    return lax.scan(lambda c, _: (c + pull(y)[0], None), w, None, length=2)[0]


def pullback_through_jit(w, x):
    _, pull = jax.vjp(lambda w: x @ w, w)
    return jax.jit(lambda f, ct: f(ct))(pull, x)


def auxiliary(w, x):
    def f(w):
        return loss(w, x), {"sum": x.sum(), "twice": 2 * w, "text": "kept", "n": 3}

    (value, aux), g = jax.value_and_grad(f, has_aux=True)(w)
    assert aux["text"] == "kept" and aux["n"] == 3
    return value, aux["sum"], aux["twice"], g


def over_the_mapped_axis(x):
    return jax.vmap(jax.grad(lambda v: (v * lax.psum(v, "i")).sum()), axis_name="i")(x)


VJP = ["ad_vjp", "ad_vjp_apply"]
CASES = {
    "grad": (lambda w, x: jax.grad(loss)(w, x), (W, X), VJP),
    "value_and_grad": (lambda w, x: jax.value_and_grad(loss, (0, 1))(w, x), (W, X), VJP),
    "aux": (auxiliary, (W, X), VJP),
    "vjp": (lambda w, x: jax.vjp(lambda w: x @ w, w)[1](x), (W, X), VJP),
    "linearize": (lambda w, x: jax.linearize(lambda w: x @ w, w)[1](2 * w), (W, X), ["ad_jvp"]),
    "jvp": (lambda w, x: jax.jvp(lambda w: jnp.sin(x @ w), (w,), (2 * w,)), (W, X), ["ad_jvp"]),
    "jacrev": (lambda w, x: jax.jacrev(lambda w: jnp.sin(x @ w))(w), (W, X),
               ["ad_vjp", "batch_like", "ad_vjp_apply*"]),
    "jacfwd": (lambda w, x: jax.jacfwd(lambda w: jnp.sin(x @ w))(w), (W, X),
               ["batch_like", "ad_jvp*"]),
    "hessian": (lambda w, x: jax.hessian(loss)(w, x), (W, X), None),
    "grad of grad": (lambda w, x: jax.grad(lambda w: jax.grad(loss)(w, x).sum())(w), (W, X),
                     VJP * 2),
    "per example": (lambda w, x: jax.vmap(jax.grad(loss), (None, 0))(w, x), (W, X),
                    ["batch_like", "ad_vjp*", "batch_like", "ad_vjp_apply*"]),
    "jit": (lambda w, x: jax.jit(jax.grad(loss))(w, x), (W, X), VJP),
    "grad of remat": (lambda w, x: jax.grad(jax.checkpoint(loss))(w, x), (W, X), VJP),
    "remat of grad": (lambda w, x: jax.checkpoint(jax.grad(loss))(w, x), (W, X), VJP),
    "scan of grads": (scan_of_grads, (W, (2, 4, 3)), ["full_like", *VJP]),
    "grad of scan": (grad_of_scan, (W, (2, 4, 3)), VJP),
    "pullback in scan": (pullback_in_scan, (W, X), VJP),
    "pullback through jit": (pullback_through_jit, (W, (3, 3)), VJP),
    "closed over": (lambda x: jax.grad(lambda v: (v * x).sum())(3.0), (X,), VJP),
    "nothing traced": (lambda x: x * jax.grad(lambda v: v**2)(3.0), (X,), []),
    "custom rules": (lambda x: jax.grad(lambda v: (with_vjp(v, x) + with_jvp(v, x)
                                                   + jax.nn.relu(v)).sum())(x), (X,), None),
    "grad in a rule": (lambda x: jax.grad(with_grad_in_rule)(x), (X,), None),
    "collective": (over_the_mapped_axis, (X,), []),
    "bfloat16": (lambda w, x: jax.grad(lambda w: loss(w.astype(jnp.bfloat16), x).astype("f4"))(w),
                 (W, X), VJP),
}  # fmt: skip


def record(fn, *shapes, **options):
    args = [jax.ShapeDtypeStruct(s, jnp.float32) for s in shapes]
    exported = shardtype.export(fn, *args, mode="record", **options)
    assert validate(exported.data) == []
    return exported.data


def reachable(data):
    """Equations of the program, without those of `entry.plain`."""
    todo, seen, out = [data["entry"]["jaxpr"]], set(), []

    def visit(value):
        if isinstance(value, dict):
            if isinstance(value.get("jaxpr"), int):
                todo.append(value["jaxpr"])
            for v in value.values():
                visit(v)
        elif isinstance(value, list):
            for v in value:
                visit(v)

    while todo:
        i = todo.pop(0)
        if i not in seen:
            seen.add(i)
            for e in data["jaxprs"][i]["eqns"]:
                out.append(e)
                visit(e["params"])
    return out


def marked(data):
    names = ("ad_vjp", "ad_vjp_apply", "ad_jvp", "full_like", "batch_like")
    found = [e for e in reachable(data) if e["p"] in names]
    return [e["p"] + "*" * bool(e["params"].get("batched")) for e in found]


@pytest.fixture
def runnable(monkeypatch):
    """Recordings that can be run: no recording mesh, and markers lower."""
    monkeypatch.setattr(recording.Recorder, "mesh", lambda self: jax.sharding.AbstractMesh((), ()))
    shardtype.export(jnp.sin, 1.0, mode="record")  # Makes the primitives.
    for name in (*primitives.MARKERS, "full_like", "batch_like"):
        p = getattr(primitives, name)
        lowered = mlir.lower_fun(p.impl, multiple_results=p.multiple_results)
        mlir.register_lowering(p, lowered)


def run(jaxpr, values):
    return primitives.evaluate(jaxpr, values)


# jacrev and jacfwd are both in hessian.
@pytest.mark.parametrize("name", [n for n in CASES if n not in ("jacrev", "jacfwd")])
def test_markers_mean_what_jax_computes(name, runnable):
    fn, shapes, _ = CASES[name]
    rng = np.random.default_rng(0)
    values = [jnp.asarray(rng.normal(size=s) * 0.3, jnp.float32) for s in shapes]
    traced = trace(fn, tuple(values), {}, mode="record", mesh=None, in_specs=None)
    want = jax.tree.leaves(fn(*values))
    recordings = [traced.jaxpr] + ([] if traced.plain is None else [traced.plain])
    for jaxpr in recordings:
        got = run(jaxpr, values)
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_which_markers(name):
    fn, shapes, expected = CASES[name]
    data = record(fn, *shapes)
    found = marked(data)
    assert ("plain" in data["entry"]) == any(f.startswith("ad_") for f in found)
    assert ("unmarked" in data["entry"]) == (name == "collective")
    if expected is not None:
        assert sorted(found) == sorted(expected) or sorted(set(found)) == sorted(set(expected))
    names = {e["p"] for j in data["jaxprs"] for e in j["eqns"]}
    assert found == [] or "ad_vjp" in names or "ad_jvp" in names


def test_a_pair():
    data = record(lambda w, x: jax.value_and_grad(loss)(w, x), W, X)
    first, second = (e for e in reachable(data) if e["p"].startswith("ad_"))
    assert first["params"] == second["params"]
    assert first["params"] == {
        "api": "value_and_grad", "batched": False, "id": 1, "jaxpr": {"jaxpr": 1}, "nc": 1,
        "nout": 1,
    }  # fmt: skip
    # Operands: the closures, the primals, the cotangents.
    assert first["in"] == [1, 0] and second["in"][:2] == [1, 0]
    assert second["in"][2]["lit"]["repr"] == "1.0"
    j = data["jaxprs"][1]
    assert j["constvars"] == [] and [data["types"][t]["shape"] for _, t in j["invars"]] == [
        [4, 3], [3, 3],
    ]  # fmt: skip
    assert [e["p"] for e in j["eqns"]] == ["dot_general", "tanh", "integer_pow", "reduce_sum"] or (
        [e["p"] for e in j["eqns"]] == ["dot_general", "tanh", "square", "reduce_sum"]
    )


@pytest.mark.parametrize(
    ("fn", "api"),
    [
        (lambda w, x: jax.grad(loss)(w, x), ["grad"] * 2),
        (lambda w, x: jax.vjp(loss, w, x)[1](1.0), ["vjp"] * 2),
        (lambda w, x: jax.jacrev(loss)(w, x), ["jacrev"] * 2),
        (lambda w, x: jax.jacfwd(loss)(w, x), ["jacfwd"]),
        (lambda w, x: jax.jvp(loss, (w, x), (w, x)), ["jvp"]),
        (lambda w, x: jax.linearize(loss, w, x)[1](w, x), ["linearize"]),
    ],
)
def test_the_api_is_named(fn, api):
    data = record(fn, W, X)
    assert [e["params"]["api"] for e in reachable(data) if "api" in e["params"]] == api
    [stack] = {e["src"] for e in reachable(data) if e["p"] in ("ad_vjp", "ad_jvp")}
    frame = data["sources"][data["stacks"][stack][0]]
    assert frame["file"].endswith("test_markers.py")


def test_full_like():
    def f(x):
        return jnp.zeros_like(x), jnp.ones_like(x, jnp.int32), jnp.full_like(x, 2.5), (
            jnp.zeros_like(x, shape=(2,)), jnp.full_like(x, x[0, 0]),
        )  # fmt: skip

    found = [e["params"] for e in reachable(record(f, X)) if e["p"] == "full_like"]
    values = [(p["fill"], p["dtype"]["dtype"], p["weak"]) for p in found]
    assert [v[1:] for v in values] == [("float32", False), ("int32", False), ("float32", False)]
    assert values[0][0]["float"] == "0.0" and values[1][0] == 1 and values[2][0]["float"] == "2.5"


def rule_of(data, p):
    [e] = [e for e in reachable(data) if e["p"] == p]
    return e, e["derived"]


def test_rule_of_custom_vjp():
    data = record(lambda x: jax.grad(lambda v: with_vjp(v, x).sum())(x), X)
    e, derived = rule_of(data, "custom_vjp_call")
    assert derived["perturbed"] == [True, False]
    rule = derived["rule"]
    # The residuals: the first operand as it is, and one computed value.
    assert rule["res_from"] == [0, None] and rule["nres"] == 1
    assert rule["bwd_zeros"] == [False, True]
    fwd, bwd = data["jaxprs"][rule["fwd"]], data["jaxprs"][rule["bwd"]]
    assert (len(fwd["invars"]), len(fwd["outs"])) == (2, 2)
    assert (len(bwd["invars"]), len(bwd["outs"])) == (3, 1)
    assert rule["fwd_consts"] == rule["bwd_consts"] == []
    assert "logistic" in {e["p"] for e in bwd["eqns"]} | {
        e["p"] for j in data["jaxprs"] for e in j["eqns"]
    }


def test_rule_of_custom_jvp():
    data = record(lambda x: jax.grad(lambda v: with_jvp(v, x).sum())(x), X)
    e, derived = rule_of(data, "custom_jvp_call")
    assert derived["perturbed"] == [True, False]
    rule = derived["rule"]
    j = data["jaxprs"][rule["jvp"]]
    # Two primals and one tangent in, one primal and one tangent out.
    assert (len(j["invars"]), len(j["outs"]), rule["out_zeros"]) == (3, 2, [False])


def test_rules_are_traced_as_deep_as_they_are_differentiated():
    """relu's rule contains relu: one order a marker."""

    def rules(fn):
        data = record(fn, X)
        calls = [e for j in data["jaxprs"] for e in j["eqns"] if e["p"] == "custom_jvp_call"]
        return sum("rule" in e.get("derived", {}) for e in calls)

    def f(x):
        return jax.nn.relu(x).sum()

    assert rules(lambda x: jax.nn.relu(x)) == 0
    once = rules(lambda x: jax.grad(f)(x))
    twice = rules(lambda x: jax.grad(lambda v: (v * jax.grad(f)(v)).sum())(x))
    assert 1 == once < twice < 10


def test_a_rule_may_close_over_its_surroundings():
    def f(x, scale):
        table = jnp.arange(3.0)  # A value of the surroundings.

        def inner(v):
            @jax.custom_jvp
            def g(u):
                return u * 2

            g.defjvp(lambda p, t: (g(*p), t[0] * scale * table))
            return g(v).sum() + scale

        return jax.grad(inner)(x)

    data = record(f, X, ())
    e, derived = rule_of(data, "custom_jvp_call")
    known = derived.get("rule", {}).get("consts", [])
    assert known or "out of the call's reach" in derived["no_rule"]


def test_remat_says_what_is_saved():
    policy = jax.checkpoint_policies.dots_saveable
    data = record(lambda w, x: jax.grad(jax.checkpoint(loss, policy=policy))(w, x), W, X)
    e, derived = rule_of(data, "remat2")
    body = data["jaxprs"][e["params"]["jaxpr"]["jaxpr"]]
    names = [b["p"] for b in body["eqns"]]
    assert derived["saveable"] == [n == "dot_general" for n in names] and any(derived["saveable"])
    data = record(lambda w, x: jax.grad(jax.checkpoint(loss))(w, x), W, X)
    assert set(rule_of(data, "remat2")[1]["saveable"]) == {False}


def new_ref(value):
    return (getattr(jax, "new_ref", None) or jax.core.new_ref)(value)


def test_what_is_not_marked_is_said():
    def f(x):
        ref = new_ref(x)

        def g(v):
            return (v * ref[...]).sum()

        return jax.grad(g)(x), ref[...]

    data = record(f, X)
    [u] = data["entry"]["unmarked"]
    assert u["api"] == "grad" and "Ref" in u["why"]
    assert data["sources"][data["stacks"][u["src"]][0]]["file"].endswith("test_markers.py")
    assert marked(data) == []


def test_python_control_flow_on_what_is_differentiated():
    def f(x, k):
        return x * jax.grad(lambda v: v**2 if v > 0 else v)(k)

    with pytest.raises(jax.errors.TracerBoolConversionError):  # As it does natively.
        jax.jit(f)(jnp.ones(3), 3.0)
    with pytest.raises(jax.errors.TracerBoolConversionError):
        record(f, X, ())


def test_code_that_looks_into_a_vjp_is_traced_plainly():
    def f(x):
        _, pull = jax.vjp(jnp.sin, x)
        assert type(pull).__name__ == "VJP"
        return pull(x)[0]

    data = record(f, X)
    assert data["context"]["record"]["ad"] == "trace"
    [u] = data["entry"]["unmarked"]
    assert u["api"] == "all" and "with markers, tracing fails: AssertionError" in u["why"]


def test_wrong_uses_fail_as_in_jax():
    with pytest.raises(TypeError, match="scalar-output"):
        record(lambda x: jax.grad(jnp.sin)(x), X)
    with pytest.raises(ValueError, match="tree structure of argument to vjp"):
        record(lambda x: jax.vjp(jnp.sin, x)[1]((x, x)), X)
    with pytest.raises(ValueError, match="vjp function"):
        record(lambda x: jax.vjp(jnp.sin, x)[1](x[0]), X)
    with pytest.raises(TypeError, match="tree structure"):
        record(lambda x: jax.jvp(jnp.sin, (x,), ((x, x),)), X)


def test_annotations_inside():
    def f(w, x):
        return jax.grad(lambda w: jnp.dot(x, w, out_sharding=P("a", None)).sum())(w)

    data = record(f, W, X)
    [dot] = [e for e in reachable(data) if e["p"] == "dot_general"]
    assert dot["params"]["out_sharding"]["sharding"]["by"] == "user"
    assert marked(data) == VJP


def test_inside_and_around_shard_map():
    def inside(x):
        def body(a):
            return jax.grad(lambda a: jnp.sin(a).sum() + lax.psum(a.sum(), "a"))(a)

        return jax.shard_map(body, in_specs=P("a"), out_specs=P("a"))(x)

    def around(x):
        mapped = jax.shard_map(jnp.sin, in_specs=P("a"), out_specs=P("a"))
        return jax.grad(lambda x: mapped(x).sum())(x)

    for fn in (inside, around):
        data = record(fn, X, mesh="a=2")
        assert marked(data) == VJP and data["context"]["record"]["notes"] == []
    assert functools.reduce(lambda a, e: a or e["p"] == "shard_map", reachable(data), False)


# Libraries (where they are installed).


def test_flax_linen_and_optax():
    linen, optax = pytest.importorskip("flax.linen"), pytest.importorskip("optax")

    class Model(linen.Module):
        @linen.compact
        def __call__(self, x):
            return linen.Dense(2)(linen.gelu(linen.LayerNorm()(linen.Dense(5)(x))))

    model, tx = Model(), optax.adamw(1e-3)

    def step(params, state, x):
        value, g = jax.value_and_grad(lambda p: (model.apply(p, x) ** 2).mean())(params)
        updates, state = tx.update(g, state, params)
        return optax.apply_updates(params, updates), state, value

    x = jax.ShapeDtypeStruct(X, jnp.float32)
    params = jax.eval_shape(lambda: model.init(jax.random.key(0), jnp.ones(X)))
    state = jax.eval_shape(tx.init, params)
    data = shardtype.export(step, params, state, x).data
    assert validate(data) == [] and marked(data).count("ad_vjp") == 1
    assert "unmarked" not in data["entry"]


def test_flax_nnx():
    nnx = pytest.importorskip("flax.nnx")

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.inner = nnx.Linear(3, 5, rngs=rngs)
            self.outer = nnx.Linear(5, 2, rngs=rngs)

        def __call__(self, x):
            return self.outer(nnx.relu(self.inner(x)))

    graph, state = nnx.split(Model(nnx.Rngs(0)))

    def step(state, x):
        model = nnx.merge(graph, state)
        value, g = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
        return value, jax.tree.map(lambda p, g: p - 0.1 * g, nnx.state(model, nnx.Param), g)

    data = shardtype.export(step, state, jax.ShapeDtypeStruct(X, jnp.float32)).data
    assert validate(data) == [] and marked(data)[:2] == VJP
    assert "unmarked" not in data["entry"]


def test_equinox():
    eqx = pytest.importorskip("equinox")
    model = eqx.nn.MLP(3, 2, 5, 1, key=jax.random.key(0))

    def step(model, x):
        def f(model, x):
            return (jax.vmap(model)(x) ** 2).mean()

        value, g = eqx.filter_value_and_grad(f)(model, x)
        return value, eqx.filter(g, eqx.is_array)

    arrays, static = eqx.partition(model, eqx.is_array)
    data = shardtype.export(
        lambda a, x: step(eqx.combine(a, static), x), arrays, jax.ShapeDtypeStruct(X, "float32")
    ).data
    assert validate(data) == [] and marked(data)[:2] == VJP
    assert "unmarked" not in data["entry"]
