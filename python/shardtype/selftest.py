# selftest.py - can this version of JAX be recorded?
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The test that decides on a JAX version nobody has tried (spec 08 section 4)."""

from __future__ import annotations

from typing import Any

from shardtype import hooks, compat, record
from shardtype.recording import tag_of

# (primitive, author, entries, region) of every annotation of `_annotated`, in
# order; "*" is an entry that vmap added.
EXPECTED: tuple[tuple[str, str, tuple[Any, ...], tuple[Any, ...]], ...] = (
    ("dot_general", "user", ("sta", "stb"), ()),
    ("reshard", "user", (None, "sta"), ()),
    ("sharding_constraint", "user", ("stb", None), ()),
    ("reshard", "jax", (None, None), (("Auto", None),)),
    ("reshard", "jax", (), (("Auto", None),)),
    ("reshard", "user", ("sta", None), ()),
    ("reshard", "jax", (None, None), (("Auto", "all"),)),
    ("reshard", "user", ("stb", None), ()),
    ("reshard", "user", ("sta", None), (("Explicit", ("sta",)),)),
    ("reshard", "jax", (None, None), ()),
    ("dot_general", "user", ("*", "stb"), ()),
    ("shard_map", "user", ("sta",), ()),
)


def failure() -> str | None:
    """Why recording does not work here, None if it does."""
    version = compat.require_jax().__version__
    start = f"JAX {version}: recording is not known to work here"
    missing = hooks.missing_names()
    if missing:
        return f"{start} (missing: {', '.join(missing)})"
    try:
        found = annotations_of(_trace())
    except Exception as e:
        line = (str(e).splitlines() or [""])[0]
        return f"{start} (self-test: {type(e).__name__}: {line})"
    if found != EXPECTED:
        odd = [f for f in found if f not in EXPECTED] + [e for e in EXPECTED if e not in found]
        first = odd[0] if odd else "their order"
        return f"{start} (self-test: unexpected annotations: {first})"
    return None


def _trace() -> Any:
    jax = compat.require_jax()
    x = jax.ShapeDtypeStruct((4, 4), jax.numpy.float32)
    jaxpr, _ = record.record(lambda: jax.jit(_annotated).trace(x, x).jaxpr, {})
    _check_undone()
    return jaxpr


def _check_undone() -> None:
    """Raise if a replacement is still in place."""
    for module, name in hooks.PRIVATE:
        owner = type(getattr(getattr(hooks.source(module), name), "__self__", None))
        if owner.__module__.startswith("shardtype"):
            raise RuntimeError(f"{module}.{name} was not put back")


def _annotated(x: Any, w: Any) -> Any:
    """One annotation of each kind."""
    jax = compat.require_jax()
    jnp, spec = jax.numpy, jax.sharding.PartitionSpec
    y = jnp.dot(x, w, out_sharding=spec("sta", "stb"))
    y = jax.sharding.reshard(y, spec(None, "sta"))
    y = jax.lax.with_sharding_constraint(y, spec("stb", None))
    y = y.at[:2].set(0.0, out_sharding=spec("sta", None))
    y = jax.sharding.auto_axes(jnp.sin, out_sharding=spec("stb", None))(y)
    y = jax.sharding.explicit_axes(jnp.cos, axes=("sta",), in_sharding=spec("sta", None))(y)
    y = jax.vmap(lambda v: jnp.dot(v, w, out_sharding=spec("stb")))(y)
    mapped = jax.shard_map(lambda v: v + 1, in_specs=spec("sta"), out_specs=spec("sta"))
    return mapped(y)


def annotations_of(jaxpr: Any) -> tuple[Any, ...]:
    """(primitive, author, entries, region) of each sharding in a recorded jaxpr
    that the user wrote or that borders a region."""
    out: list[Any] = []
    inner, _ = compat.inner_jaxpr(jaxpr)
    for eqn in inner.eqns:
        name = eqn.primitive.name
        if name == "shard_map":
            out += [(name, "user", compat.partitions(s), ()) for s in eqn.params["in_specs"]]
        for value in eqn.params.values():
            mesh = getattr(value, "mesh", None)
            tag = tag_of(mesh)
            if tag is not None and hasattr(value, "spec"):
                entries = tuple(
                    "*" if i in tag.inherit else e
                    for i, e in enumerate(compat.partitions(value.spec))
                )
                if tag.by == "user" or name == "reshard":
                    out.append((name, tag.by or "jax", entries, tag.rel))
            elif compat.is_jaxpr(value) and name != "shard_map":
                out += annotations_of(value)
    return tuple(out)
