# hooks.py - lets annotations through without enforcing them.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The replacements behind mode `record` (spec 08 section 4, numbers 1 to 10).

Each replacement does what the original does when no recording runs, since a
reference to it may outlive the recording (in a partial, a default argument).
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from types import FrameType, ModuleType
from typing import Any

from shardtype import compat
from shardtype.recording import Recorder, retag, tag_of
from shardtype.replace import Replacements
from shardtype.specs import names_in

# The private names, as (module, attribute). Missing ones end mode `record`.
PRIVATE: tuple[tuple[str, str], ...] = (
    ("sharding_impls", "canonicalize_sharding"),
    ("pjit", "_get_new_mesh"),
    ("pjit", "get_ctx_mesh"),
    ("pjit", "_create_sharding_for_array"),
    ("interpreters.batching", "get_sharding_for_vmap"),
    ("core", "get_sharding"),
    ("core", "pytype_aval_mappings"),
    ("core", "shard_aval_handlers"),
    ("named_sharding", "_check_mesh_unreduced"),
    ("shard_map", "_shard_map"),
    ("shard_map", "_shmap_checks"),
    ("shard_map", "_check_unreduced"),
    ("array", "ArrayImpl"),
)
# Loaded first, so that the names they imported are found.
_LOADED_FIRST = (
    "jax.numpy", "jax.nn", "jax.nn.initializers", "jax.random", "jax.ops", "jax.image",
    "jax.scipy.special", "jax.scipy.linalg", "jax.sharding", "jax.lax", "jax.experimental",
)  # fmt: skip


def source(name: str) -> ModuleType:
    """A private module of JAX."""
    return importlib.import_module("jax._src." + name)


def missing_names() -> list[str]:
    """The private names that this release lacks."""
    out = []
    for module, name in PRIVATE:
        try:
            found = hasattr(source(module), name)
        except ImportError:
            found = False
        if not found:
            out.append(f"{module}.{name}")
    return out


def install(recorder: Recorder, patches: Replacements) -> None:
    """Replace what enforces annotations; `patches` undoes it."""
    for name in _LOADED_FIRST:
        importlib.import_module(name)
    hooks = _Hooks(recorder)
    originals = {
        (module, name): getattr(source(module), name)
        for module, name in PRIVATE
        if callable(getattr(source(module), name))
    }
    hooks.originals = originals
    canonicalize = originals["sharding_impls", "canonicalize_sharding"]
    patches.everywhere((canonicalize, hooks.canonicalize_sharding))
    for module, name in (
        ("pjit", "_get_new_mesh"),
        ("pjit", "get_ctx_mesh"),
        ("pjit", "_create_sharding_for_array"),
        ("interpreters.batching", "get_sharding_for_vmap"),
        ("core", "get_sharding"),
        ("named_sharding", "_check_mesh_unreduced"),
    ):
        patches.attribute(source(module), name, getattr(hooks, name.lstrip("_")))
    core = source("core")
    array_type = source("array").ArrayImpl
    hooks.array_type_original = core.pytype_aval_mappings[array_type]
    patches.item(core.pytype_aval_mappings, array_type, hooks.array_type)
    _install_one_hot(hooks, patches)
    patches.at_end(hooks.stop)


def _install_one_hot(hooks: _Hooks, patches: Replacements) -> None:
    functions = source("nn.functions")
    original = getattr(functions, "_one_hot", None)
    if original is None or "out_sharding" not in _parameters(functions.one_hot):
        return
    hooks.one_hot_original = original
    patches.attribute(functions, "_one_hot", hooks.one_hot)


def _parameters(fn: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(fn).parameters)


class _Region:
    """What `_get_new_mesh` answers: a region that is never taken for a no-op."""

    def __init__(self, prev: Any, new: Any) -> None:
        self.prev = prev
        self.new = new
        self.axes = (object(),)  # Equal to no set of Auto axes.


class _Hooks:
    """The replacements of one recording."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.active = True
        self.originals: dict[tuple[str, str], Callable[..., Any]] = {}
        self.array_type_original: Callable[..., Any] | None = None
        self.one_hot_original: Callable[..., Any] | None = None

    def stop(self) -> None:
        """From now on every hook answers as the original does."""
        self.active = False

    # Shardings.

    def canonicalize_sharding(self, sharding: Any, api_name: str, *args: Any, **kw: Any) -> Any:
        """Any sharding argument of an API: kept as written, tagged."""
        original = self.originals["sharding_impls", "canonicalize_sharding"]
        if not self.active or not _is_sharding(sharding) or context_mesh() is None:
            return original(sharding, api_name, *args, **kw)
        if _is_empty(sharding):
            return None
        by = self._author(sharding, api_name)
        return self.tagged(sharding, by, api_name)

    def _author(self, sharding: Any, api_name: str) -> str:
        tag = tag_of(getattr(sharding, "mesh", None))
        if tag is not None and tag.by is not None:
            return tag.by
        if api_name == "reshard":
            caller = _caller_of_reshard()
            if caller is not None:
                return _author_of_reshard(caller)
        if tag is not None and _is_trivial(sharding.spec):
            return "jax"  # Read from the type of an operand.
        return "user"

    def tagged(self, sharding: Any, by: str, api_name: str) -> Any:
        """A sharding on the current recording mesh that says who wrote it."""
        jax = compat.require_jax()
        mesh = getattr(sharding, "mesh", None)
        if mesh is not None and tag_of(mesh) is None:
            self.recorder.learn(mesh, api_name)
        spec = sharding if mesh is None else sharding.spec
        tag = tag_of(mesh)
        context = context_mesh()
        inherit = tag.inherit if tag is not None else frozenset()
        target = retag(context, by=by, inherit=inherit)
        lacking = self.recorder.need(names_in(spec))
        if lacking:  # This attempt only finds out which axes there are.
            spec = jax.sharding.PartitionSpec()
        try:
            return jax.sharding.NamedSharding(target, spec)
        except Exception as e:  # JAX has a class of its own for duplicates.
            self.recorder.note("dropped", api_name, str(e).splitlines()[0], spec)
            empty = jax.sharding.PartitionSpec()
            return jax.sharding.NamedSharding(retag(context, by="jax"), empty)

    def create_sharding_for_array(self, mesh: Any, x: Any, name: str, api_name: str) -> Any:
        """A sharding of `jit` or `with_sharding_constraint`."""
        original = self.originals["pjit", "_create_sharding_for_array"]
        if not self.active or not _is_sharding(x) or context_mesh() is None:
            return original(mesh, x, name, api_name)
        return self.tagged(x, "user", api_name)

    def get_sharding_for_vmap(self, axis_data: Any, sharding: Any, axis: int) -> Any:
        """The spec of a batched operation: the batch dim inherits its entry."""
        original = self.originals["interpreters.batching", "get_sharding_for_vmap"]
        tag = tag_of(sharding.mesh)
        if not self.active or tag is None:
            return original(axis_data, sharding, axis)
        jax = compat.require_jax()
        if compat.is_manual_mesh(sharding.mesh):
            return original(axis_data, sharding, axis)  # No axis is left to inherit.
        unconstrained = jax.sharding.PartitionSpec.UNCONSTRAINED
        entries = list(compat.partitions(sharding.spec))
        entries += [None] * (axis - len(entries))
        entries.insert(axis, unconstrained)
        inherit = frozenset({d + (d >= axis) for d in tag.inherit} | {axis})
        spec = compat.with_partitions(sharding.spec, tuple(entries))
        return sharding.update(mesh=retag(sharding.mesh, inherit=inherit), spec=spec)

    def get_sharding(self, sharding: Any, shape: Any) -> Any:
        """The sharding of a type: no spec, no author enters one."""
        original = self.originals["core", "get_sharding"]
        tag = tag_of(getattr(sharding, "mesh", None))
        if not self.active or tag is None:
            return original(sharding, shape)
        jax = compat.require_jax()
        mesh = retag(sharding.mesh, by=None, inherit=frozenset())
        spec = jax.sharding.PartitionSpec(*[None] * len(shape))
        return original(jax.sharding.NamedSharding(mesh, spec), shape)

    def check_mesh_unreduced(self, mesh: Any, spec: Any) -> None:
        """JAX refuses unreduced and reduced on Auto axes; a recording keeps them."""
        if not self.active or tag_of(mesh) is None:
            self.originals["named_sharding", "_check_mesh_unreduced"](mesh, spec)

    def array_type(self, array: Any) -> Any:
        """The type of a closed-over array, without its sharding."""
        original = self.array_type_original
        assert original is not None
        if not self.active:
            return original(array)
        mesh = getattr(getattr(array, "sharding", None), "mesh", None)
        if mesh is not None and not compat.is_empty_mesh(mesh):
            self.recorder.learn(mesh, "closed-over array")
        return original(array).update(sharding=None)

    def one_hot(self, x: Any, *args: Any, **kw: Any) -> Any:
        """one_hot asserts the dims of its indices, and builds the class dim."""
        original = self.one_hot_original
        assert original is not None
        sharding = kw.get("out_sharding")
        if not self.active or sharding is None or tag_of(sharding.mesh) is None:
            return original(x, *args, **kw)
        jax = compat.require_jax()
        entries = list(compat.partitions(sharding.spec))
        entries += [None] * (x.ndim + 1 - len(entries))
        axis = kw.get("axis", -1) % (x.ndim + 1)
        spec = jax.sharding.PartitionSpec
        rest = sharding.update(spec=spec(*entries[:axis], *entries[axis + 1 :]))
        x = jax.lax.with_sharding_constraint(x, rest)
        only = [e if i == axis else None for i, e in enumerate(entries)]
        kw["out_sharding"] = sharding.update(spec=spec(*only))
        return original(x, *args, **kw)

    # Meshes.

    def get_new_mesh(self, axes: Any, axis_type: Any, name: str, shardings: Any = None) -> Any:
        """A region of auto_axes or explicit_axes; JAX's own APIs give no axes."""
        context = context_mesh()
        if not self.active or context is None:
            return self.originals["pjit", "_get_new_mesh"](axes, axis_type, name, shardings)
        leaves = compat.require_jax().tree_util.tree_leaves(shardings)
        for mesh in (getattr(s, "mesh", None) for s in leaves):
            if mesh is not None and tag_of(mesh) is None:
                self.recorder.learn(mesh, name)
        if axes is None:
            which: Any = "all"
        elif axes == ():
            which = None
        else:
            which = (axes,) if isinstance(axes, str) else tuple(axes)
            self.recorder.need(which)
        tag = tag_of(context)
        assert tag is not None
        return _Region(context, retag(context, rel=(*tag.rel, (axis_type.name, which))))

    def get_ctx_mesh(self, use_resource_env: bool) -> Any:
        """The recording mesh is the context of jitted functions too."""
        context = context_mesh()
        if not self.active or context is None or use_resource_env:
            return self.originals["pjit", "get_ctx_mesh"](use_resource_env)
        return context


# Frames.


def _callers() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _caller_of_reshard() -> FrameType | None:
    """The frame that called JAX's reshard."""
    for frame in _callers():
        code = frame.f_code
        if code.co_name == "reshard" and code.co_filename.endswith("pjit.py"):
            return frame.f_back
    return None


def _author_of_reshard(caller: FrameType) -> str:
    """Who wanted a reshard: of an auto_axes its exit is the user's, of an
    explicit_axes its entry; JAX derives the others from types."""
    names = caller.f_locals
    if caller.f_code.co_name == "decorator" and "mesh_info" in names:
        at_exit = "out" in names
        return "user" if at_exit == ("_out_sharding" in names) else "jax"
    return "jax" if caller.f_code.co_filename.startswith(compat.jax_dirs()) else "user"


# Small questions.


def context_mesh() -> Any:
    """The recording mesh in context, None if the program set another mesh."""
    mesh = compat.require_jax().sharding.get_abstract_mesh()
    return mesh if tag_of(mesh) is not None else None


def _is_sharding(value: Any) -> bool:
    return compat.is_spec(value) or isinstance(
        value, compat.require_jax().sharding.NamedSharding
    )


def _is_empty(sharding: Any) -> bool:
    mesh = getattr(sharding, "mesh", None)
    return mesh is not None and tag_of(mesh) is None and compat.is_empty_mesh(mesh)


def _is_trivial(spec: Any) -> bool:
    parts = compat.partitions(spec)
    return not any(parts) and not getattr(spec, "unreduced", None) and not spec.reduced
