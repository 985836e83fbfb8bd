# paths.py - names of arguments and results.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Paths such as `params/layers/0/w` and `result/1`.

JAX names a leaf `params['layers'][0]['w']`. We join the keys with `/` and write
`~1` for a `/` inside a key.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

from shardtype import compat

_KEY = re.compile(
    r"\['((?:[^'\\]|\\.)*)'\]"  # ['name']
    r'|\["((?:[^"\\]|\\.)*)"\]'  # ["it's"]
    r"|\[<flat index (\d+)>\]"
    r"|\[([^\[\]]*)\]"  # [0]
    r"|\.(\w+)"
)


def escape(key: str) -> str:
    """A key as one part of a path."""
    return key.replace("/", "~1")


def _key_text(key: Any) -> str:
    for attribute in ("key", "idx", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key)


def join(base: str, keys: Iterable[Any]) -> str:
    """Path of the leaf that `keys` (of JAX's pytrees) lead to from `base`."""
    return "/".join([escape(base), *(escape(_key_text(k)) for k in keys)])


def from_jax_name(name: str) -> str:
    """Path for a name as JAX prints it; the fall-back when trees are unknown."""
    m = re.match(r"[^\[.]*", name)
    head = m.group(0) if m else ""
    parts = [head]
    position = len(head)
    while position < len(name):
        key = _KEY.match(name, position)
        if key is None:
            return escape(name)
        text = next(g for g in key.groups() if g is not None)
        parts.append(re.sub(r"\\(.)", r"\1", text))
        position = key.end()
    return "/".join(escape(p) for p in parts)


def bound_arguments(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[str, Any]]:
    """(parameter name, value) of a call, in the order JAX flattens it.

    JAX flattens the positional arguments first and then the keyword arguments
    by sorted name, whatever the order of the parameters.
    """
    try:
        signature = inspect.signature(fn)
        bound = signature.bind(*args, **kwargs)
    except (TypeError, ValueError):
        return [("args", args), ("kwargs", kwargs)]
    positional: list[tuple[str, Any]] = []
    named: dict[str, Any] = {}
    extra: tuple[str, Any] | None = None
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            extra = (name, value)
        elif name in kwargs:
            named[name] = value
        else:
            positional.append((name, value))
    keyed = [(k, (k, v)) for k, v in named.items()]
    if extra is not None:
        keyed += [(k, (extra[0], {k: v})) for k, v in extra[1].items()]
    return positional + [item for _, item in sorted(keyed, key=lambda kv: kv[0])]


def argument_places(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[str, str]]:
    """(name as JAX prints it, our path) of every leaf of a call, in order."""
    tree_util = compat.require_jax().tree_util
    out = []
    for name, value in bound_arguments(fn, args, kwargs):
        leaves, _ = tree_util.tree_flatten_with_path(value)
        for keys, _ in leaves:
            out.append((name + tree_util.keystr(keys), join(name, keys)))
    return out


def argument_paths(places: list[tuple[str, str]], names: list[str | None]) -> list[str]:
    """Our paths for the arguments that a trace kept (static ones are gone)."""
    if len(places) == len(names):
        return [path for _, path in places]
    known = dict(places)
    return [
        known.get(n or "") or (from_jax_name(n) if n else f"arg{i}") for i, n in enumerate(names)
    ]


def result_paths(out_tree: Any, names: list[str | None], count: int) -> list[str]:
    """Our paths for the results of a trace, `result` and below."""
    tree_util = compat.require_jax().tree_util
    try:
        tree = tree_util.tree_unflatten(out_tree, list(range(count)))
        leaves, _ = tree_util.tree_flatten_with_path(tree)
        if len(leaves) == count:
            return [join("result", keys) for keys, _ in leaves]
    except Exception:  # A node class that does not take plain numbers.
        pass
    if len(names) != count:
        return [f"result/{i}" for i in range(count)]
    return [from_jax_name(n) if n else f"result/{i}" for i, n in enumerate(names)]
