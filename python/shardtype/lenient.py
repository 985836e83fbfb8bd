# lenient.py - bodies of shard_map that JAX refuses are recorded as they are.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX ends a trace at a carry, a branch or a result that varies over other axes than
it should (spec 02 sections 7.5 and 8), and at a constraint on a Manual axis. The checker finds these by itself, each with
its types and what to write, if the program is recorded as it stands. So these checks
are passed while recording, as far as types differ in nothing else. A note says so:
a transformation such as vmap may write a branch or a loop in another way.

What this release does otherwise is not replaced; then such a body is recorded
without its check (docs/spec/export.md, E18).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from shardtype.derived import scan_counts
from shardtype.hooks import context_mesh, source
from shardtype.recording import Recorder, tag_of, whole_message
from shardtype.replace import Replacements

_MISMATCH = "mismatched varying manual axes"


def install(recorder: Recorder, patches: Replacements) -> None:
    """Replace the checks; `patches` undoes it."""
    module, core = source("shard_map"), source("core")
    loops = source("lax.control_flow.loops")
    branches = source("lax.control_flow.conditionals")
    pjit = source("pjit")
    for owner, name, make in (
        (pjit, "check_shardings_are_auto", _constraints),
        (module, "_check_mats", lambda original: _results(original, recorder)),
        (loops, "_check_carry_type", lambda original: _carries(original, recorder)),
        (branches, "_check_branch_outputs", lambda original: _branches(original, recorder)),
        (getattr(loops, "scan_p", None), "abstract_eval", _scan_types),
        (getattr(loops, "while_p", None), "abstract_eval", _while_types),
        (getattr(branches, "cond_p", None), "abstract_eval", _cond_types),
    ):
        original = getattr(owner, name, None)
        if original is not None:
            patches.attribute(owner, name, make(original))
    table = getattr(core, "unshard_aval_handlers", None)
    if table is not None and core.ShapedArray in table:
        patches.item(table, core.ShapedArray, _whole_types(table[core.ShapedArray]))


def _constraints(original: Callable[..., Any]) -> Callable[..., Any]:
    """Constraints that name axes which are Manual where they stand."""

    def check(sharding: Any) -> None:
        if tag_of(getattr(sharding, "mesh", None)) is None:
            original(sharding)

    return check


def _results(original: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """Results that vary over axes which out_specs do not name."""

    def check(mesh: Any, *rest: Any) -> None:
        try:
            original(mesh, *rest)
        except Exception:  # A class of JAX's own, whose words come later.
            if tag_of(mesh) is None:
                raise
            why = "ValueError: a result varies over axes that its out_specs do not name"
            recorder.note_refused("result", why)

    return check


def _whole_types(original: Callable[..., Any]) -> Callable[..., Any]:
    """Results whose unreduced and reduced axes are not those of out_specs."""

    def unshard(mesh: Any, check_vma: bool, spec: Any, aval: Any) -> Any:
        return original(mesh, check_vma and tag_of(mesh) is None, spec, aval)

    return unshard


def _alike(first: Any, second: Any) -> bool:
    """Whether two lists of types differ in the states over Manual axes only."""
    core = source("core")
    if context_mesh() is None or getattr(first, "tree", None) != getattr(second, "tree", None):
        return False
    one, two = list(first), list(second)
    return len(one) == len(two) and all(
        core.typematch(_with_state_of(a, b), b) for a, b in zip(one, two, strict=True)
    )


def _with_state_of(aval: Any, other: Any) -> Any:
    core = source("core")
    if not isinstance(aval, core.ShapedArray) or not isinstance(other, core.ShapedArray):
        return aval
    return aval.update(manual_axis_type=other.manual_axis_type)


def _carries(original: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """Carries that vary otherwise behind the body of a loop than before it."""

    def check(name: Any, body: Any, before: Any, after: Any, *rest: Any) -> None:
        try:
            original(name, body, before, after, *rest)
        except TypeError as e:
            if rest or not _alike(before, after):
                raise
            recorder.note_refused("carry", whole_message(e))

    return check


def _branches(original: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    """Results that vary otherwise in one branch than in another."""

    def check(*args: Any) -> None:
        try:
            original(*args)
        except TypeError as e:
            if len(args) != 7 or not _alike(*args[-2:]):
                raise
            recorder.note_refused("branch", whole_message(e))

    return check


def _scan_types(original: Callable[..., Any]) -> Callable[..., Any]:
    """A carry varies over what it varies over before the loop or behind its body."""

    def types(*args: Any, **params: Any) -> Any:
        try:
            return original(*args, **params)
        except ValueError as e:
            if _MISMATCH not in str(e) or context_mesh() is None:
                raise
        counts = scan_counts(params)
        start, count = counts["num_consts"], counts["num_carry"]
        outs = [getattr(v, "aval", v) for v in _outs(params["jaxpr"])][:count]
        carry = [_with_state_of(a, o) for a, o in zip(args[start:], outs)]
        avals, effects = original(*args[:start], *carry, *args[start + count :], **params)
        entering = args[start : start + count]
        joined = [_joined(a, b) for a, b in zip(avals, entering)]
        return joined + list(avals[count:]), effects

    return types


def _while_types(original: Callable[..., Any]) -> Callable[..., Any]:
    """The same of a loop whose types JAX itself does not compare."""

    def types(*args: Any, **params: Any) -> Any:
        avals, effects = original(*args, **params)
        entering = args[len(args) - len(avals) :]
        if context_mesh() is None or all(
            getattr(a, "manual_axis_type", None) == getattr(b, "manual_axis_type", None)
            for a, b in zip(avals, entering)
        ):
            return avals, effects
        return [_joined(a, b) for a, b in zip(avals, entering)], effects

    return types


def _cond_types(original: Callable[..., Any]) -> Callable[..., Any]:
    """A result varies over what it varies over in some branch."""

    def types(*args: Any, **params: Any) -> Any:
        try:
            return original(*args, **params)
        except Exception as e:
            if _MISMATCH not in str(e) or context_mesh() is None:
                raise
        first, *others = params["branches"]
        avals, effects = original(*args, **{**params, "branches": (first,)})
        for other in others:
            outs = [getattr(v, "aval", v) for v in _outs(other)]
            avals = [_joined(a, o) for a, o in zip(avals, outs, strict=True)]
        return avals, effects

    return types


def _outs(jaxpr: Any) -> Any:
    return getattr(jaxpr, "jaxpr", jaxpr).outvars


def _joined(aval: Any, other: Any) -> Any:
    core = source("core")
    if not isinstance(aval, core.ShapedArray):
        return aval
    mine, theirs = aval.manual_axis_type, other.manual_axis_type
    fields = {
        "varying": mine.varying | theirs.varying,
        "unreduced": mine.unreduced - theirs.varying,
        "reduced": mine.reduced - theirs.varying,
    }
    if fields["unreduced"] and hasattr(mine, "unreduced_kind"):  # Not in 0.10.
        fields["unreduced_kind"] = mine.unreduced_kind
    return aval.update(manual_axis_type=type(mine)(**fields))
