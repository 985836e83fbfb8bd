# markers.py - derivatives as equations that the checker understands.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradient markers (spec 04 section 8.3): what replaces `vjp`, `jvp`,
`linearize` and `full_like` while recording.

A function that is differentiated is traced forward only. An equation `ad_vjp`
holds its jaxpr, `ad_vjp_apply` stands where its backward pass would: the checker
derives that pass from the types that the forward pass turns out to have.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np

from shardtype import compat, primitives, rules
from shardtype.hooks import source
from shardtype.recording import Recorder, Unmarked, tag_of
from shardtype.replace import Replacements

# Arguments of vjp and linearize that change nothing at these values.
_PLAIN_OPTIONS: dict[str, Any] = {"reduce_axes": (), "saveable_args": True, "in_nzs": None}


def missing_names() -> list[str]:
    """The private names that markers need and this release lacks."""
    needed = (("api", "vjp"), ("api", "_jvp"), ("api", "linearize"), ("lax.lax", "full_like"))
    return [f"{m}.{n}" for m, n in needed if not hasattr(source(m), n)]


def install(recorder: Recorder, patches: Replacements) -> None:
    """Replace what differentiates; `patches` undoes it."""
    api, lax = source("api"), source("lax.lax")
    hooks = _Hooks(recorder, api.vjp, api._jvp, api.linearize, lax.full_like)
    primitives.define(
        primitives.Originals(
            api.vjp,
            api._jvp,
            lax.full_like,
            lambda jaxpr, nc: rules.collect(recorder, jaxpr, nc, ()),
            hooks.unmark,
        )
    )
    patches.everywhere(
        (api.vjp, hooks.vjp),
        (api._jvp, hooks.jvp),
        (api.linearize, hooks.linearize),
        (lax.full_like, hooks.full_like),
    )
    patches.at_end(hooks.stop)


class _Unmarkable(Exception):
    """This derivative cannot be a marker; the message says why."""


@dataclass
class _Function:
    """A differentiated function, flat and closed: `jaxpr` takes `closures` and
    then the primals, and returns `nout` results and then aux values."""

    jaxpr: Any
    closures: list[Any]
    primals: list[Any]
    in_tree: Any
    out_tree: Any
    nout: int
    aux: Callable[[Sequence[Any]], Any] | None

    def params(self, api: str) -> dict[str, Any]:
        return {
            "jaxpr": self.jaxpr,
            "nc": len(self.closures),
            "nout": self.nout,
            "api": api,
            "batched": False,
        }


class _Hooks:
    """The replacements of one recording."""

    def __init__(
        self,
        recorder: Recorder,
        vjp: Callable[..., Any],
        jvp: Callable[..., Any],
        linearize: Callable[..., Any],
        full_like: Callable[..., Any],
    ) -> None:
        self.recorder = recorder
        self.active = True
        self._vjp, self._jvp, self._linearize = vjp, jvp, linearize
        self._full_like = full_like

    def stop(self) -> None:
        """From now on every hook answers as the original does."""
        self.active = False

    def vjp(self, fun: Any, *primals: Any, has_aux: bool = False, **options: Any) -> Any:
        """`ad_vjp` now, `ad_vjp_apply` when the answer is called."""
        api = api_name("vjp")
        f = self._function(api, fun, primals, has_aux, options)
        if f is None:
            return self._vjp(fun, *primals, has_aux=has_aux, **options)
        self.recorder.marked += 1
        params = {"id": self.recorder.marked, **f.params(api)}
        rules.collect(self.recorder, f.jaxpr, len(f.closures), f.closures)
        outs = primitives.ad_vjp.bind(*f.closures, *f.primals, **params)
        tree_util = compat.require_jax().tree_util
        pullback = tree_util.Partial(
            _Pullback(params, f.in_tree, f.out_tree), list(f.closures), list(f.primals)
        )
        out = tree_util.tree_unflatten(f.out_tree, outs[: f.nout])
        return (out, pullback) if f.aux is None else (out, pullback, f.aux(outs[f.nout :]))

    def jvp(self, fun: Any, primals: Any, tangents: Any, has_aux: bool = False) -> Any:
        """`ad_jvp`: values and tangents at once."""
        tree_util = compat.require_jax().tree_util
        flat, tree = tree_util.tree_flatten(tuple(tangents))
        api = api_name("jvp")
        f = None
        if _fits(flat, tree, primals):
            f = self._function(api, fun, tuple(primals), has_aux, {})
        if f is None:
            return self._jvp(fun, primals, tangents, has_aux=has_aux)
        rules.collect(self.recorder, f.jaxpr, len(f.closures), f.closures)
        self.recorder.marked += 1
        outs = primitives.ad_jvp.bind(*f.closures, *f.primals, *flat, **f.params(api))
        aux_count = len(outs) - 2 * f.nout
        out = tree_util.tree_unflatten(f.out_tree, outs[: f.nout])
        tangent = tree_util.tree_unflatten(f.out_tree, outs[f.nout + aux_count :])
        if f.aux is None:
            return out, tangent
        return out, tangent, f.aux(outs[f.nout : f.nout + aux_count])

    def linearize(self, fun: Any, *primals: Any, has_aux: bool = False, **options: Any) -> Any:
        """The function itself now, `ad_jvp` when the answer is called."""
        api = api_name("linearize")
        f = self._function(api, fun, primals, has_aux, options)
        if f is None:
            return self._linearize(fun, *primals, has_aux=has_aux, **options)
        rules.collect(self.recorder, f.jaxpr, len(f.closures), f.closures)
        self.recorder.marked += 1
        outs = primitives.evaluate(f.jaxpr, [*f.closures, *f.primals])
        tree_util = compat.require_jax().tree_util
        pushforward = tree_util.Partial(
            _Pushforward(f.params(api), f.in_tree, f.out_tree, len(outs)),
            list(f.closures),
            list(f.primals),
        )
        out = tree_util.tree_unflatten(f.out_tree, outs[: f.nout])
        return (out, pushforward) if f.aux is None else (out, pushforward, f.aux(outs[f.nout :]))

    def full_like(
        self, x: Any, fill_value: Any, dtype: Any = None, shape: Any = None, sharding: Any = None
    ) -> Any:
        """A constant with the shape and the sharding of a traced array."""
        jax = compat.require_jax()
        tag = tag_of(getattr(sharding, "mesh", None))
        if self.active and shape == () and tag is not None and tag.by is None:
            sharding = None  # The seed of grad: a scalar with the sharding of a type.
        usual = shape is None and sharding is None and np.ndim(fill_value) == 0
        if not (
            self.active
            and usual
            and isinstance(x, jax.core.Tracer)
            and not isinstance(fill_value, jax.core.Tracer)
            and primitives.is_array(jax.typeof(x))
        ):
            return self._full_like(x, fill_value, dtype, shape, sharding)
        wanted = x.dtype if dtype is None else jax.dtypes.canonicalize_dtype(dtype)
        if not isinstance(wanted, np.dtype) or wanted.kind == "V" and wanted.itemsize == 0:
            return self._full_like(x, fill_value, dtype, shape, sharding)
        weak = dtype is None and bool(getattr(jax.typeof(x), "weak_type", False))
        fill = np.asarray(fill_value).astype(wanted).item()
        return primitives.full_like.bind(x, fill=fill, dtype=wanted, weak=weak)

    # Tracing the function.

    def _function(
        self, api: str, fun: Any, primals: tuple[Any, ...], has_aux: bool, options: dict[str, Any]
    ) -> _Function | None:
        """The function to mark; None if JAX is to do what it always does."""
        if not self.active or not callable(fun):
            return None
        odd = [k for k, v in options.items() if not _is_plain(k, v)]
        jax = compat.require_jax()
        try:
            if odd:
                raise _Unmarkable(f"{', '.join(odd)} was given")
            return _flatten(fun, primals, has_aux)
        except _Unmarkable as e:
            self.unmark(api, str(e))
        except jax.errors.ConcretizationTypeError:
            self.unmark(api, "Python control flow on the value that is differentiated")
        return None

    def unmark(self, api: str, why: str) -> None:
        self.recorder.unmarked.append(Unmarked(api, why, compat.current_traceback()))


def _is_plain(name: str, value: Any) -> bool:
    return name in _PLAIN_OPTIONS and type(value) is type(_PLAIN_OPTIONS[name]) and (
        value == _PLAIN_OPTIONS[name]
    )


def _flatten(fun: Any, primals: tuple[Any, ...], has_aux: bool) -> _Function | None:
    """Trace a function without differentiating it. None: nothing of it is traced,
    or JAX is to say what is wrong with it."""
    jax = compat.require_jax()
    tree_util = jax.tree_util
    flat, in_tree = tree_util.tree_flatten(primals)
    if not all(_is_value(v) for v in flat):
        return None
    trees: dict[str, Any] = {}

    def flat_fun(*leaves: Any) -> list[Any]:
        out = fun(*tree_util.tree_unflatten(in_tree, leaves))
        aux: Any = ()
        if has_aux:
            if not isinstance(out, (tuple, list)) or len(out) != 2:
                raise TypeError(
                    "expected function with aux output to return a two-element tuple,"
                    f" but got type {type(out)} with value {out!r}"
                )
            out, aux = out
        results, trees["out"] = tree_util.tree_flatten(out)
        extra, trees["aux"] = tree_util.tree_flatten(aux)
        # What does not depend on the trace comes back as it is.
        trees["fixed"] = [None if isinstance(v, jax.core.Tracer) else (v,) for v in extra]
        trees["nout"] = len(results)
        return [*results, *(v for v in extra if isinstance(v, jax.core.Tracer))]

    flat_fun.__name__ = getattr(fun, "__name__", type(fun).__name__)
    closed = jax.make_jaxpr(flat_fun)(*flat)
    jaxpr, closures = primitives.without_constants(closed)
    if not any(isinstance(v, jax.core.Tracer) for v in (*flat, *closures)):
        return None
    if primitives.has_references(jaxpr):
        raise _Unmarkable("the function reads or writes a Ref")

    def aux(values: Sequence[Any]) -> Any:
        rest = iter(values)
        leaves = [next(rest) if v is None else v[0] for v in trees["fixed"]]
        return tree_util.tree_unflatten(trees["aux"], leaves)

    return _Function(
        jaxpr, closures, flat, in_tree, trees["out"], trees["nout"], aux if has_aux else None
    )


def _is_value(value: Any) -> bool:
    """Whether a leaf is something that can be differentiated at all."""
    try:
        return primitives.is_array(compat.require_jax().typeof(value))
    except TypeError:
        return False


def _fits(tangents: list[Any], tree: Any, primals: Any) -> bool:
    """Whether tangents have the structure and the shapes of the primals."""
    flat, in_tree = compat.require_jax().tree_util.tree_flatten(tuple(primals))
    if tree != in_tree or not all(_is_value(v) for v in (*flat, *tangents)):
        return False
    typeof = compat.require_jax().typeof
    for p, t in zip(flat, tangents, strict=True):
        want = typeof(p).to_tangent_aval()
        if typeof(t).shape != want.shape or typeof(t).dtype != want.dtype:
            return False
    return True


class _Answer:
    """What a derivative leaves to be called later; static part of a Partial."""

    def __init__(self, params: dict[str, Any], in_tree: Any, out_tree: Any) -> None:
        self.params = params
        self.in_tree = in_tree
        self.out_tree = out_tree


class _Pullback(_Answer):
    """The function that `vjp` returns."""

    def __call__(self, closures: list[Any], primals: list[Any], cotangents: Any) -> Any:
        tree_util = compat.require_jax().tree_util
        flat, tree = tree_util.tree_flatten(cotangents)
        if tree != self.out_tree:
            raise ValueError(
                "unexpected tree structure of argument to vjp function: got"
                f" {tree}, but expected to match {self.out_tree}"
            )
        jaxpr = self.params["jaxpr"]
        for i, (ct, aval) in enumerate(zip(flat, primitives.out_types(jaxpr), strict=False)):
            want, got = aval.to_ct_aval(), compat.require_jax().typeof(ct)
            if want.shape != got.shape or want.dtype != got.dtype:
                raise ValueError(
                    f"unexpected JAX type for argument {i} of the vjp function: got"
                    f" {got.str_short()}, but expected {want.str_short()}"
                )
        outs = primitives.ad_vjp_apply.bind(*closures, *primals, *flat, **self.params)
        return tree_util.tree_unflatten(self.in_tree, outs)


class _Pushforward(_Answer):
    """The function that `linearize` returns."""

    def __init__(self, params: dict[str, Any], in_tree: Any, out_tree: Any, values: int) -> None:
        super().__init__(params, in_tree, out_tree)
        self.values = values

    def __call__(self, closures: list[Any], primals: list[Any], *tangents: Any) -> Any:
        tree_util = compat.require_jax().tree_util
        flat, tree = tree_util.tree_flatten(tangents)
        if tree != self.in_tree:
            raise TypeError(f"expected {self.in_tree}, got {tree}")
        outs = primitives.ad_jvp.bind(*closures, *primals, *flat, **self.params)
        return tree_util.tree_unflatten(self.out_tree, outs[self.values :])


# The names under which JAX's functions are known, by what they are made of.
_APIS: dict[str, dict[str, str]] = {
    "vjp": {
        "grad_f": "grad",
        "grad_f_aux": "grad",
        "value_and_grad_f": "value_and_grad",
        "fwd_and_bwd": "fwd_and_bwd",
        "jacrev.<locals>.jacfun": "jacrev",
    },
    "jvp": {"jacfwd.<locals>.jacfun": "jacfwd"},
    "linearize": {},
}


def api_name(default: str) -> str:
    """Which function of JAX's the user called: the outermost known one between
    this frame and the user's."""
    known = _APIS[default]
    name = default
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(compat.jax_dirs()):
        code = frame.f_code
        name = known.get(code.co_name, known.get(code.co_qualname, name))
        frame = frame.f_back
    return name
