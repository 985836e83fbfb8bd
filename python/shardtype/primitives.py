# primitives.py - the primitives of gradient markers.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`ad_vjp`, `ad_vjp_apply`, `ad_jvp`, `full_like` and `batch_like`: their types,
and what JAX's own transformations make of them while a program is recorded.

They never run: a recording only traces. Where JAX itself differentiates one, it
is expanded into what it stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shardtype import compat


def _source(name: str) -> Any:
    import importlib

    return importlib.import_module("jax._src." + name)


@dataclass
class Originals:
    """JAX's own functions, for expansions, who collects the custom rules of a jaxpr
    that vmap made, and who is told of a marker that was expanded."""

    vjp: Callable[..., Any]
    jvp: Callable[..., Any]
    full_like: Callable[..., Any]
    collect: Callable[[Any, int], None]
    unmark: Callable[[str, str], None]


ad_vjp: Any = None
ad_vjp_apply: Any = None
ad_jvp: Any = None
full_like: Any = None
batch_like: Any = None
_originals: Originals | None = None
# Batched jaxprs by the jaxpr and how it was batched: the two markers of a pair
# share one. The keys keep the jaxprs alive.
_batched: dict[tuple[Any, ...], tuple[Any, tuple[Any, list[Any]]]] = {}

MARKERS = ("ad_vjp", "ad_vjp_apply", "ad_jvp")


def define(originals: Originals) -> None:
    """Make the primitives, once in a process."""
    global ad_vjp, ad_vjp_apply, ad_jvp, full_like, batch_like, _originals
    _originals = originals
    _batched.clear()
    if ad_vjp is not None:
        return
    ad_vjp = _marker("ad_vjp", _type_vjp, _expand_vjp)
    ad_vjp_apply = _marker("ad_vjp_apply", _type_apply, _expand_apply)
    ad_jvp = _marker("ad_jvp", _type_jvp, _expand_jvp)
    full_like = _define_full_like()
    batch_like = _define_batch_like()


def _original() -> Originals:
    assert _originals is not None
    return _originals


# Jaxprs.


def is_array(aval: Any) -> bool:
    """Whether a type is that of an array."""
    return type(aval).__name__ == "ShapedArray"


def without_constants(closed: Any) -> tuple[Any, list[Any]]:
    """A jaxpr whose constants come first among its inputs, and the constants."""
    jaxpr, consts = compat.inner_jaxpr(closed)
    lifted = _source("interpreters.partial_eval").convert_constvars_jaxpr(jaxpr)
    core = _source("core")
    if jaxpr is not closed:  # Two classes.
        lifted = core.ClosedJaxpr(lifted, ())
    return lifted, list(consts)


def evaluate(jaxpr: Any, values: Sequence[Any]) -> list[Any]:
    """The results of a closed jaxpr, traced into where we are."""
    return list(_source("core").jaxpr_as_fun(jaxpr)(*values))


def out_types(jaxpr: Any) -> list[Any]:
    """The types of a jaxpr's results."""
    inner, _ = compat.inner_jaxpr(jaxpr)
    return [v.aval for v in inner.outvars]


def has_references(jaxpr: Any) -> bool:
    """Whether a jaxpr has effects on its inputs."""
    inner, _ = compat.inner_jaxpr(jaxpr)
    return any(hasattr(e, "input") or hasattr(e, "input_index") for e in inner.effects)


def _axis_names(jaxpr: Any) -> set[Any]:
    """Named axes that a jaxpr communicates over."""
    inner, _ = compat.inner_jaxpr(jaxpr)
    return {e.name for e in inner.effects if type(e).__name__ == "NamedAxisEffect"}


def has_markers(jaxpr: Any) -> bool:
    """Whether a derivative is left as a marker anywhere in a program."""
    todo, seen = [compat.inner_jaxpr(jaxpr)[0]], set()
    while todo:
        inner = todo.pop()
        if id(inner) in seen:
            continue
        seen.add(id(inner))
        for eqn in inner.eqns:
            if eqn.primitive.name in MARKERS:
                return True
            for value in eqn.params.values():
                parts = value if isinstance(value, (tuple, list)) else (value,)
                todo += [compat.inner_jaxpr(p)[0] for p in parts if compat.is_jaxpr(p)]
    return False


def _effects(jaxpr: Any) -> Any:
    inner, _ = compat.inner_jaxpr(jaxpr)
    return inner.effects


# Types.


def _type_vjp(*avals: Any, jaxpr: Any, **params: Any) -> Any:
    return out_types(jaxpr), _effects(jaxpr)


def _type_apply(*avals: Any, jaxpr: Any, nc: int, nout: int, **params: Any) -> Any:
    return [a.to_ct_aval() for a in avals[nc : len(avals) - nout]], _effects(jaxpr)


def _type_jvp(*avals: Any, jaxpr: Any, nout: int, **params: Any) -> Any:
    outs = out_types(jaxpr)
    return outs + [a.to_tangent_aval() for a in outs[:nout]], _effects(jaxpr)


# What the markers stand for.


def _expand_vjp(*values: Any, jaxpr: Any, **params: Any) -> list[Any]:
    return evaluate(jaxpr, values)


def _expand_apply(*values: Any, jaxpr: Any, nc: int, nout: int, **params: Any) -> list[Any]:
    closures, primals = values[:nc], values[nc : len(values) - nout]

    def results(*primals: Any) -> list[Any]:
        return evaluate(jaxpr, [*closures, *primals])[:nout]

    _, pullback = _original().vjp(results, *primals)
    return list(pullback(list(values[len(values) - nout :])))


def _expand_jvp(*values: Any, jaxpr: Any, nc: int, nout: int, **params: Any) -> list[Any]:
    half = (len(values) - nc) // 2
    closures, primals, tangents = values[:nc], values[nc : nc + half], values[nc + half :]

    def results(*primals: Any) -> Any:
        outs = evaluate(jaxpr, [*closures, *primals])
        return outs[:nout], outs[nout:]

    outs, tangent, aux = _original().jvp(results, primals, tangents, has_aux=True)
    return [*outs, *aux, *tangent]


# Transformations.


def _marker(name: str, types: Callable[..., Any], expand: Callable[..., Any]) -> Any:
    primitive = _source("core").Primitive(name)
    primitive.multiple_results = True
    primitive.def_effectful_abstract_eval(types)
    primitive.def_impl(expand)
    ad = _source("interpreters.ad")
    ad.primitive_jvps[primitive] = _jvp_rule(expand)
    batching = _source("interpreters.batching")

    def batch(axis: Any, values: Any, dims: Any, **params: Any) -> Any:
        return _batch(primitive, expand, axis, values, dims, params)

    batching.fancy_primitive_batchers[primitive] = batch
    return primitive


def _jvp_rule(expand: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative of a marker, where JAX's own code wants one."""

    def rule(primals: Any, tangents: Any, **params: Any) -> Any:
        ad = _source("interpreters.ad")
        filled = [ad.instantiate_zeros(t) for t in tangents]
        outs, out_tangents = _original().jvp(
            lambda *values: expand(*values, **params), tuple(primals), tuple(filled)
        )
        typeof = compat.require_jax().typeof
        zeros = [
            ad.Zero(typeof(t)) if _is_float0(typeof(t)) else t for t in out_tangents
        ]
        return outs, zeros

    return rule


def _is_float0(aval: Any) -> bool:
    return bool(getattr(aval, "dtype", None) == compat.require_jax().dtypes.float0)


def _batch(
    primitive: Any,
    expand: Callable[..., Any],
    axis: Any,
    values: Sequence[Any],
    dims: Sequence[Any],
    params: dict[str, Any],
) -> tuple[list[Any], list[Any]]:
    """vmap of a marker: the jaxpr is batched, and so is every primal, cotangent
    and tangent; closures stay as they are."""
    jaxpr, nc, nout = params["jaxpr"], params["nc"], params["nout"]
    if axis.name in _axis_names(jaxpr):
        return _batch_expanded(expand, axis, values, dims, params)
    jax = compat.require_jax()
    front = [v if d is None else jax.numpy.moveaxis(v, d, 0) for v, d in zip(values, dims)]
    batched = [d is not None for d in dims]
    like = front[batched.index(True)]
    full = [
        v if i < nc or batched[i] else _spread(v, like, axis.size) for i, v in enumerate(front)
    ]
    mapped, consts = _batched_jaxpr(jaxpr, tuple(batched[:nc]), axis)
    new = {**params, "jaxpr": mapped, "nc": nc + len(consts), "batched": True}
    outs = primitive.bind(*consts, *full, **new)
    if primitive is not ad_jvp:
        return outs, [0] * len(outs)
    half = nc + (len(values) - nc) // 2
    if any(batched[:half]):
        return outs, [0] * len(outs)
    # Of jacfwd: the values are not batched, only their tangents.
    plain = evaluate(jaxpr, list(values[:half]))
    return [*plain, *outs[len(outs) - nout :]], [None] * len(plain) + [0] * nout


def _spread(value: Any, like: Any, size: int) -> Any:
    if _is_float0(compat.require_jax().typeof(value)):
        return np.zeros((size, *np.shape(value)), compat.require_jax().dtypes.float0)
    return batch_like.bind(value, like)


def _batched_jaxpr(jaxpr: Any, closures: tuple[bool, ...], axis: Any) -> tuple[Any, list[Any]]:
    key = (id(jaxpr), closures, axis.size, str(axis.name))
    known = _batched.get(key)
    if known is not None and known[0] is jaxpr:
        return known[1]
    jax = compat.require_jax()
    inner, _ = compat.inner_jaxpr(jaxpr)
    avals = [v.aval for v in inner.invars]
    flags = [*closures, *[True] * (len(avals) - len(closures))]
    options: dict[str, Any] = {"axis_size": axis.size}
    if isinstance(axis.name, str):
        options["axis_name"] = axis.name
    if axis.spmd_name is not None:
        options["spmd_axis_name"] = axis.spmd_name
    mapped = jax.vmap(
        lambda *values: evaluate(jaxpr, values),
        in_axes=tuple(0 if f else None for f in flags),
        out_axes=0,
        **options,
    )
    structs = [_with_batch(a, axis.size) if f else a for a, f in zip(avals, flags)]
    out = without_constants(jax.make_jaxpr(mapped)(*structs))
    _original().collect(out[0], len(closures) + len(out[1]))
    _batched[key] = (jaxpr, out)
    return out


def _with_batch(aval: Any, size: int) -> Any:
    """The type of many arrays of a type. No spec: recorded types have none."""
    spec = compat.require_jax().sharding.PartitionSpec(*[None] * (len(aval.shape) + 1))
    sharding = aval.sharding.update(spec=spec)
    return aval.update(shape=(size, *aval.shape), sharding=sharding)


def _batch_expanded(
    expand: Callable[..., Any],
    axis: Any,
    values: Sequence[Any],
    dims: Sequence[Any],
    params: dict[str, Any],
) -> tuple[list[Any], list[Any]]:
    """vmap of a marker whose function communicates over the mapped axis."""
    _original().unmark(params["api"], f"communication over the axis '{axis.name}' of vmap")
    mapped = compat.require_jax().vmap(
        lambda *values: expand(*values, **params),
        in_axes=tuple(dims),
        out_axes=0,
        axis_size=axis.size,
        axis_name=axis.name,
    )
    outs = list(mapped(*values))
    return outs, [0] * len(outs)


# full_like and batch_like.


def _define_full_like() -> Any:
    primitive = _source("core").Primitive("full_like")

    def types(x: Any, *, fill: Any, dtype: Any, weak: bool) -> Any:
        return x.update(dtype=dtype, weak_type=weak)

    def expand(x: Any, *, fill: Any, dtype: Any, weak: bool) -> Any:
        return _original().full_like(x, fill, None if weak else dtype)

    def jvp(primals: Any, tangents: Any, **params: Any) -> Any:
        out = primitive.bind(*primals, **params)
        aval = compat.require_jax().typeof(out).to_tangent_aval()
        return out, _source("interpreters.ad").Zero(aval)

    def batch(axis: Any, values: Any, dims: Any, **params: Any) -> Any:
        return primitive.bind(values[0], **params), dims[0]

    def transpose(ct: Any, x: Any, **params: Any) -> Any:
        return [None]  # Of its operand only the type matters.

    primitive.def_abstract_eval(types)
    primitive.def_impl(expand)
    _source("interpreters.ad").primitive_jvps[primitive] = jvp
    _source("interpreters.ad").primitive_transposes[primitive] = transpose
    _source("interpreters.batching").fancy_primitive_batchers[primitive] = batch
    return primitive


def _define_batch_like() -> Any:
    primitive = _source("core").Primitive("batch_like")

    def types(x: Any, like: Any) -> Any:
        return _with_batch(x, like.shape[0])

    def expand(x: Any, like: Any) -> Any:
        jnp = compat.require_jax().numpy
        return jnp.broadcast_to(x, (like.shape[0], *x.shape))

    def jvp(primals: Any, tangents: Any) -> Any:
        ad = _source("interpreters.ad")
        out = primitive.bind(*primals)
        if type(tangents[0]) is ad.Zero:
            return out, ad.Zero(compat.require_jax().typeof(out).to_tangent_aval())
        return out, primitive.bind(tangents[0], primals[1])

    def transpose(ct: Any, x: Any, like: Any) -> Any:
        return [ct.sum(0), None]

    def batch(axis: Any, values: Any, dims: Any) -> Any:
        jnp = compat.require_jax().numpy
        x, like = values
        if dims[1] is not None:  # Dim 0 must stay the one that is copied.
            like = jnp.moveaxis(like, dims[1], -1)
        out = primitive.bind(x, like)
        return out, None if dims[0] is None else dims[0] + 1

    primitive.def_abstract_eval(types)
    primitive.def_impl(expand)
    ad = _source("interpreters.ad")
    ad.primitive_jvps[primitive] = jvp
    ad.primitive_transposes[primitive] = transpose
    _source("interpreters.batching").fancy_primitive_batchers[primitive] = batch
    return primitive
