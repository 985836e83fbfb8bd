# rules.py - custom derivative rules of functions that are differentiated.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which values of a differentiated function carry a derivative, and the rules of
the `custom_jvp` and `custom_vjp` calls among them (spec 04 section 8.3).

A rule is traced while the function's surroundings are still being traced, since
it may close over them, and only as deep as it is differentiated: a rule's own
calls need rules only under one marker more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shardtype import compat
from shardtype.recording import Recorder

Flags = tuple[bool, ...]


@dataclass
class RulePart:
    """A traced part of a rule. `consts` are aligned with the jaxpr's constvars: a
    variable of the call's scope, or an array."""

    jaxpr: Any
    consts: list[Any]


@dataclass
class Rule:
    """The rule of one call: `jvp`, or `fwd` and `bwd`; or why there is none."""

    eqn: Any
    perturbed: Flags
    order: int
    jvp: RulePart | None = None
    out_zeros: list[bool] = field(default_factory=list)
    fwd: RulePart | None = None
    bwd: RulePart | None = None
    residuals: int = 0
    res_from: list[int | None] = field(default_factory=list)
    bwd_zeros: list[bool] = field(default_factory=list)
    missing: str | None = None


def collect(recorder: Recorder, jaxpr: Any, nc: int, closures: Sequence[Any]) -> None:
    """Trace the rules that differentiating `jaxpr` needs. Its first `nc` inputs
    are the `closures`, which are not differentiated."""
    inner, _ = compat.inner_jaxpr(jaxpr)
    flags = tuple(i >= nc and has_tangent(v.aval) for i, v in enumerate(inner.invars))
    outer = {id(c): v for c, v in zip(closures, inner.invars, strict=False)}
    _Walk(recorder).jaxpr(jaxpr, flags, 1, outer)


def has_tangent(aval: Any) -> bool:
    """Whether values of a type can have a derivative that is not float0."""
    try:
        return bool(aval.to_tangent_aval().dtype != compat.require_jax().dtypes.float0)
    except (AttributeError, TypeError):
        return False


class _Walk:
    """One pass over a differentiated function and what it calls."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._done: dict[tuple[Any, ...], tuple[Any, Flags]] = {}

    def jaxpr(
        self, jaxpr: Any, flags: Flags, order: int, outer: dict[int, Any] | None = None
    ) -> Flags:
        """Which results of a jaxpr carry a derivative, if its inputs in `flags`
        do. `outer`: variables for values of the surroundings, by id."""
        inner, _ = compat.inner_jaxpr(jaxpr)
        key = (id(inner), flags, order)
        known = self._done.get(key)
        if known is not None:
            return known[1]
        on: dict[Any, bool] = dict(zip(inner.invars, flags, strict=False))
        for eqn in inner.eqns:
            ins = tuple(_is_on(on, a) for a in eqn.invars)
            outs = self._eqn(inner, eqn, ins, order, outer or {})
            for v, o in zip(eqn.outvars, outs, strict=True):
                on[v] = o and has_tangent(v.aval)
        out = tuple(_is_on(on, a) for a in inner.outvars)
        self._done[key] = (inner, out)
        return out

    def _eqn(
        self, inner: Any, eqn: Any, ins: Flags, order: int, outer: dict[int, Any]
    ) -> Sequence[bool]:
        name, params = eqn.primitive.name, eqn.params
        if name in ("jit", "pjit", "remat2", "checkpoint", "shard_map", "core_call"):
            return self.jaxpr(params["jaxpr"], ins, order)
        if name in ("eval_jaxpr", "closed_call"):
            return self.jaxpr(params["call_jaxpr"], ins, order)
        if name == "scan":
            return self._scan(params, ins, order)
        if name == "while":
            skip = params["cond_nconsts"]
            return self._loop(params["body_jaxpr"], ins[skip:], params["body_nconsts"], order)
        if name == "cond":
            every = [self.jaxpr(b, ins[1:], order) for b in params["branches"]]
            return [any(column) for column in zip(*every, strict=True)]
        if name in ("ad_vjp", "ad_vjp_apply", "ad_jvp"):
            return self._marker(eqn, ins, order)
        if name in ("custom_jvp_call", "custom_vjp_call"):
            return self._custom(inner, eqn, ins, order, outer)
        return [any(ins) and name != "stop_gradient"] * len(eqn.outvars)

    def _scan(self, params: dict[str, Any], ins: Flags, order: int) -> Sequence[bool]:
        from shardtype.derived import scan_counts

        counts = scan_counts(params)
        consts, carry = counts["num_consts"], counts["num_carry"]
        start, xs = ins[: consts + carry], ins[consts + carry :]
        return self._loop(params["jaxpr"], start, consts, order, xs)

    def _loop(
        self, body: Any, ins: Flags, consts: int, order: int, xs: Flags = ()
    ) -> Sequence[bool]:
        """A carry carries a derivative if it does before or after any step."""
        fixed, carry = ins[:consts], ins[consts:]
        while True:
            outs = self.jaxpr(body, (*fixed, *carry, *xs), order)
            joined = tuple(a or b for a, b in zip(carry, outs, strict=False))
            if joined == carry:
                return [*carry, *outs[len(carry) :]]
            carry = joined

    def _marker(self, eqn: Any, ins: Flags, order: int) -> Sequence[bool]:
        """A derivative inside a derivative: one order more for what is inside."""
        inner, _ = compat.inner_jaxpr(eqn.params["jaxpr"])
        nc = eqn.params["nc"]
        flags = tuple(
            has_tangent(v.aval) and (i >= nc or ins[i]) for i, v in enumerate(inner.invars)
        )
        self.jaxpr(eqn.params["jaxpr"], flags, order + 1)
        return [any(ins)] * len(eqn.outvars)

    # Custom calls.

    def _custom(
        self, inner: Any, eqn: Any, ins: Flags, order: int, outer: dict[int, Any]
    ) -> Sequence[bool]:
        known = self._recorder.rules.get(id(eqn))
        if known is not None:
            ins = tuple(a or b for a, b in zip(ins, known.perturbed, strict=True))
            order = max(order, known.order)
        if known is None or (known.perturbed, known.order) != (ins, order):
            known = Rule(eqn, ins, order)
            self._recorder.rules[id(eqn)] = known
            if any(ins) and order > 0:
                self._trace(inner, known, outer)
        if known.jvp is not None:
            return [not z for z in known.out_zeros]
        return [any(ins)] * len(eqn.outvars)

    def _trace(self, inner: Any, rule: Rule, outer: dict[int, Any]) -> None:
        scope = _Variables(inner, outer)
        try:
            if rule.eqn.primitive.name == "custom_jvp_call":
                self._jvp(rule, scope)
            else:
                self._vjp(rule, scope)
        except Exception as e:  # JAX's own, or the rule's: the checker does without.
            line = (str(e).splitlines() or [""])[0]
            rule.jvp = rule.fwd = rule.bwd = None
            rule.missing = f"{type(e).__name__}: {line}"

    def _jvp(self, rule: Rule, scope: _Variables) -> None:
        params = rule.eqn.params
        flags = rule.perturbed[params["num_consts"] :]
        jaxpr, consts, zeros = params["jvp_jaxpr_fun"].call_wrapped(*(not f for f in flags))
        rule.out_zeros = [bool(z) for z in zeros]
        rule.jvp = scope.part(jaxpr, consts)
        if rule.order > 1:
            self.jaxpr(jaxpr, (*flags, *[True] * sum(flags)), rule.order - 1)

    def _vjp(self, rule: Rule, scope: _Variables) -> None:
        eqn, params = rule.eqn, rule.eqn.params
        flags = rule.perturbed[params["num_consts"] :]
        fwd, consts = params["fwd_jaxpr_thunk"].call_wrapped(*flags)
        rule.fwd = scope.part(fwd, consts)
        _, res_tree, input_fwds = params["out_trees"]()
        rule.res_from = [None if f is None else int(f) for f in input_fwds]
        rule.residuals = res_tree.num_leaves - sum(f is not None for f in rule.res_from)
        fwd_inner, _ = compat.inner_jaxpr(fwd)
        made = iter(v.aval for v in fwd_inner.outvars[: rule.residuals])
        res = [next(made) if f is None else eqn.invars[f].aval for f in rule.res_from]
        cts = [v.aval.to_ct_aval() for v in eqn.outvars]
        closed, rule.bwd_zeros = _backward(params["bwd"], [*res, *cts])
        bwd, bwd_consts = compat.inner_jaxpr(closed)
        rule.bwd = scope.part(closed if bwd is closed else bwd, bwd_consts)
        if rule.order > 1:
            self.jaxpr(fwd, flags, rule.order - 1)
            every = tuple(has_tangent(a) for a in [*res, *cts])
            self.jaxpr(closed, every, rule.order - 1)


def _backward(bwd: Any, avals: list[Any]) -> tuple[Any, list[bool]]:
    """The backward rule as a jaxpr that gives only cotangents that are not zero,
    and which are."""
    zeros: list[bool] = []

    def nonzero(*values: Any) -> list[Any]:
        outs = bwd.call_wrapped(*values)
        if isinstance(outs, tuple) and len(outs) == 2 and isinstance(outs[0], (list, tuple)):
            outs = outs[0]  # With logs, which no gradient depends on.
        zeros[:] = [type(o).__name__ in ("Zero", "SymbolicZero") for o in outs]
        return [o for o, z in zip(outs, zeros, strict=True) if not z]

    return compat.require_jax().make_jaxpr(nonzero)(*avals), zeros


class _Variables:
    """The variables of a jaxpr, to find those that a rule closes over."""

    def __init__(self, inner: Any, outer: dict[int, Any]) -> None:
        self._outer = outer
        bound = [*inner.constvars, *inner.invars]
        bound += [v for e in inner.eqns for v in e.outvars]
        self._bound = {id(v) for v in bound}

    def part(self, jaxpr: Any, consts: Sequence[Any]) -> RulePart:
        return RulePart(jaxpr, [self._const(c) for c in consts])

    def _const(self, value: Any) -> Any:
        if not isinstance(value, compat.require_jax().core.Tracer):
            return value
        var = self._outer.get(id(value), getattr(value, "val", None))
        if var is None or id(var) not in self._bound:
            raise ValueError("the rule closes over a value that is out of the call's reach")
        return ScopeVariable(var)


@dataclass
class ScopeVariable:
    """A variable of the scope of a call."""

    var: Any


def _is_on(on: dict[Any, bool], atom: Any) -> bool:
    return type(atom).__name__ != "Literal" and on.get(atom, False)


# Remat.


def saveable(params: dict[str, Any]) -> list[Any] | None:
    """What the policy of a `remat2` says of each equation of its body."""
    policy: Callable[..., Any] | None = params.get("policy")
    inner, _ = compat.inner_jaxpr(params["jaxpr"])
    if policy is None:
        return [False] * len(inner.eqns)
    out: list[Any] = []
    for eqn in inner.eqns:
        try:
            answer = policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
        except Exception:  # A policy of the user's.
            return None
        if isinstance(answer, (bool, np.bool_)):
            out.append(bool(answer))
        else:
            name = type(answer).__name__
            out.append("offload" if name.startswith("Offload") else name.startswith("Save"))
    return out
