# trace.py - tracing a function in mode record, plain, native or auto.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modes of the export (spec 08 sections 1 and 7)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from shardtype import compat, paths, primitives, record, specs
from shardtype.errors import ExportError, NeedsMesh, Rejected
from shardtype.recording import Recorder

MODES = ("auto", "record", "plain", "native")
_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
# What JAX's refusals of an annotation without a mesh speak of.
_ANNOTATION = re.compile(r"mesh|shard|PartitionSpec|axis name|in_specs", re.IGNORECASE)


@dataclass
class Trace:
    """A traced function.

    `places` are (JAX's name, our path) of all argument leaves; `mesh` is the
    context mesh (None in mode plain); `jit_params` are those of the outermost
    jit, which is no equation of the program. Of mode record: `recorder` is what
    was recorded beside the trace, `plain` the same program with its derivatives
    traced as JAX does it (None if it has none).
    """

    jaxpr: Any
    name: str | None
    in_tree: Any
    out_tree: Any
    places: list[tuple[str, str]]
    mode: str
    mesh: Any = None
    jit_params: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    recorder: Recorder | None = None
    plain: Any = None


def trace(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    mode: str,
    mesh: Any,
    in_specs: Any,
    infer: Mapping[Any, Sequence[Any]] | None = None,
) -> Trace:
    """Trace in the given mode; see `shardtype.export` for what each means."""
    compat.require_jax()
    _check_arguments(fn, args, kwargs)
    try:
        return _trace(fn, args, kwargs, mode, mesh, in_specs, infer)
    except ExportError:
        raise
    except SystemExit as e:  # Or a script that checks would end, and look content.
        raise ExportError(exit_text(e, "it was traced")) from e
    except Exception as e:
        # The user's own failure: shown as JAX shows it, without JAX's frames.
        raise e.with_traceback(_users_traceback(e)) from e.__cause__


def a_name(cls: type) -> str:
    """`an int`, `a str`."""
    name = cls.__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def exit_text(error: SystemExit, doing: str) -> str:
    """What to say of code that wanted to end the process."""
    return f"the code called sys.exit({error.code!r}){_at(error)} while {doing}"


def _check_arguments(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Say which argument has no shape before JAX says so in its own words."""
    if not callable(fn) or hasattr(fn, "trace"):  # A jitted one may have static arguments.
        return
    jax = compat.require_jax()
    leaves = jax.tree_util.tree_leaves((args, kwargs))
    places = paths.argument_places(fn, args, kwargs)
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, jax.ShapeDtypeStruct) and any(
            isinstance(d, int) and d < 0 for d in leaf.shape
        ):
            path = places[i][1] if len(places) == len(leaves) else str(i)
            raise ExportError(f"argument '{path}' has the shape {leaf.shape}: no dim is negative")
        if isinstance(leaf, (bool, int, float, complex, jax.ShapeDtypeStruct)):
            continue
        try:
            jax.typeof(leaf)
        except TypeError:
            path = places[i][1] if len(places) == len(leaves) else str(i)
            raise ExportError(
                f"argument '{path}' is {a_name(type(leaf))}, which has no shape: give an"
                " array, a jax.ShapeDtypeStruct or a number, or bind it with functools.partial"
            ) from None


def _trace(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    mode: str,
    mesh: Any,
    in_specs: Any,
    infer: Mapping[Any, Sequence[Any]] | None,
) -> Trace:
    if mode not in MODES:
        raise ExportError(f"unknown mode '{mode}': use {', '.join(MODES)}")
    if not callable(fn):
        raise ExportError(f"cannot export {a_name(type(fn))}: it is not a function")
    if mode == "native":
        if mesh is None:
            raise NeedsMesh("mode native needs a mesh")
        return _native(fn, args, kwargs, mesh, in_specs)
    if mode == "plain":
        if mesh is not None or in_specs is not None:
            raise ExportError("mode plain takes no mesh and no specs; the checker takes them")
        try:
            return _plain(fn, args, kwargs)
        except Exception as e:
            if not is_annotation_error(e):
                raise
            raise NeedsMesh(
                f"no plain trace: {first_line(e)}{_at(e)}\n"
                "the function has sharding annotations, which a plain trace cannot hold:"
                f" export with {_other_modes()}"
            ) from e
    if mode == "record":
        why = record.unsupported()
        if why is not None:
            raise ExportError(f"{why}. Use --mode plain or --mode native")
        return _record(fn, args, kwargs, mesh, in_specs, infer)
    why = record.unsupported()
    if why is None:
        return _record(fn, args, kwargs, mesh, in_specs, infer)
    out = _fall_back(fn, args, kwargs, mesh, in_specs)
    out.notes.insert(0, f"{why}. Falling back to a {out.mode} trace")
    return out


def _other_modes() -> str:
    native = "--mode native, --mesh and --in"
    return native if record.unsupported() else f"--mode record (the default), or {native}"


def _record(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    mesh: Any,
    in_specs: Any,
    infer: Mapping[Any, Sequence[Any]] | None,
) -> Trace:
    jax = compat.require_jax()
    axes = {}
    if mesh is not None:
        given = specs.to_mesh(mesh)
        axes = {name: int(given.shape[name]) for name in given.axis_names}
    structs, keyed = jax.tree_util.tree_map(_unsharded, (args, kwargs))
    empty = jax.sharding.AbstractMesh((), ())
    with jax.sharding.use_abstract_mesh(empty):  # Whatever the caller has set.


        def run() -> Trace:
            return _run(fn, structs, keyed, "record", None)

        out: Trace
        out, recorder = record.record(run, axes, table=specs.infer_table(infer))
        if primitives.has_markers(out.jaxpr):
            out.plain = record.without_markers(run, recorder)
    out.recorder = recorder
    out.mesh = recorder.mesh()
    if in_specs is not None:
        out.notes.append("the specs are not in the file: give them to the checker")
    return out


def eval_shape(fn: Callable[..., Any], *args: Any, mesh: Any = None, **kwargs: Any) -> Any:
    """Shapes and dtypes of the results of an annotated function, as
    `jax.ShapeDtypeStruct`s without shardings: `jax.eval_shape` where JAX would
    refuse the annotations (an `init` that shards its parameters). `mesh` gives
    sizes to code that reads them. What `fn` raises passes through.
    """
    jax = compat.require_jax()
    why = record.unsupported()
    if why is not None:
        raise ExportError(why)
    given = None if mesh is None else specs.to_mesh(mesh)
    axes = {} if given is None else {n: int(given.shape[n]) for n in given.axis_names}
    structs, keyed = jax.tree_util.tree_map(_unsharded, (args, kwargs))
    with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), ())):
        out, _ = record.record(
            lambda: jax.eval_shape(fn, *structs, **keyed), axes, markers=False
        )
    return jax.tree_util.tree_map(_unsharded, out)


def _fall_back(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    mesh: Any,
    in_specs: Any,
) -> Trace:
    try:
        out = _plain(fn, args, kwargs)
    except Exception as e:
        if not is_annotation_error(e):
            raise
        first = first_line(e)
        if mesh is None or in_specs is None:
            missing = "--mesh and --in" if mesh is None else "--in, or --mode native,"
            raise NeedsMesh(
                f"no plain trace: {first}{_at(e)}\n"
                f"the function has sharding annotations: give {missing} to export in native mode"
            ) from e
        out = _native(fn, args, kwargs, mesh, in_specs)
        out.notes.append(f"no plain trace ({first}); exported in mode native")
        return out
    if mesh is not None or in_specs is not None:
        out.notes.append("mesh and specs are not in the file: a plain trace needs none")
    return out


def _plain(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Trace:
    jax = compat.require_jax()
    structs, keyed = jax.tree_util.tree_map(_unsharded, (args, kwargs))
    current = jax.sharding.get_abstract_mesh()
    if compat.is_empty_mesh(current):
        return _run(fn, structs, keyed, "plain", None)
    with jax.sharding.use_abstract_mesh(jax.sharding.AbstractMesh((), ())):
        return _run(fn, structs, keyed, "plain", None)


def _native(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    mesh: Any,
    in_specs: Any,
) -> Trace:
    jax = compat.require_jax()
    abstract = specs.to_mesh(mesh)
    places = paths.argument_places(fn, args, kwargs)
    wanted = specs.assign(in_specs, [p for _, p in places], args)
    leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
    if len(leaves) != len(places):
        raise ExportError("cannot match the arguments with the function's parameters")
    leaves = [
        _sharded(leaf, abstract, spec, path)
        for leaf, spec, (_, path) in zip(leaves, wanted, places, strict=True)
    ]
    structs, keyed = jax.tree_util.tree_unflatten(tree, leaves)
    with jax.sharding.use_abstract_mesh(abstract):
        try:
            return _run(fn, structs, keyed, "native", abstract)
        except Exception as e:
            if isinstance(e, ExportError) or not raised_by_jax(e):
                raise
            raise Rejected(
                f"JAX rejects the program: {_summary(e)}{_at(e)}."
                " This is JAX's first error only; export with --mode record to see all."
            ) from e


def _run(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    mode: str,
    mesh: Any,
) -> Trace:
    jax = compat.require_jax()
    # A jitted function is traced as it is: its static arguments stay static
    # and its own equations are the program.
    jitted = fn if hasattr(fn, "trace") and hasattr(fn, "lower") else jax.jit(fn)
    with compat.full_tracebacks():
        traced = jitted.trace(*args, **kwargs)
    params = getattr(traced, "_params", None)
    return Trace(
        jaxpr=traced.jaxpr,
        name=getattr(traced, "fun_name", None),
        in_tree=getattr(traced, "in_tree", None),
        out_tree=getattr(traced, "out_tree", None),
        places=paths.argument_places(fn, args, kwargs),
        mode=mode,
        mesh=mesh,
        jit_params=params if isinstance(params, dict) else {},
    )


def _type_of(leaf: Any) -> Any:
    """The type of an argument leaf, None if it is to be passed on as it is.

    Python scalars stay what they are (they may be static arguments), and so do
    Refs and values of high-level types.
    """
    jax = compat.require_jax()
    if isinstance(leaf, (bool, int, float, complex, str)):
        return None
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    try:
        aval = jax.typeof(leaf)
    except TypeError:  # A static argument, or something that JAX will refuse.
        return None
    return aval if type(aval).__name__ == "ShapedArray" else None


def _unsharded(leaf: Any) -> Any:
    aval = _type_of(leaf)
    if aval is None:
        return leaf
    weak = bool(getattr(aval, "weak_type", False))
    return compat.require_jax().ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=weak)


def _sharded(leaf: Any, mesh: Any, spec: Any, path: str) -> Any:
    """`leaf` as a struct on `mesh`; without a spec: its own, else replicated."""
    jax = compat.require_jax()
    if spec is not None and isinstance(leaf, (bool, int, float, complex)):
        leaf = jax.numpy.asarray(leaf)
    aval = _type_of(leaf)
    if aval is None:
        return leaf
    if spec is None:
        spec = getattr(getattr(aval, "sharding", None), "spec", None)
    spec = jax.sharding.PartitionSpec() if spec is None else spec
    try:
        sharding = jax.sharding.NamedSharding(mesh, spec)
        out = jax.ShapeDtypeStruct(
            aval.shape,
            aval.dtype,
            weak_type=bool(getattr(aval, "weak_type", False)),
            sharding=sharding,
        )
        specs.check_divides(aval.shape, spec, mesh)
    except ExportError as e:
        raise ExportError(f"argument '{path}': {e}") from None
    except Exception as e:  # JAX has classes of its own for specs it refuses.
        raise ExportError(f"argument '{path}': {first_line(e)}") from e
    return out


# Whose error is it?


def _frames(error: BaseException) -> list[tuple[str, int]]:
    """(file, line) of the frames of an exception, outermost first."""
    out = []
    tb: TracebackType | None = error.__traceback__
    while tb is not None:
        out.append((tb.tb_frame.f_code.co_filename, tb.tb_lineno))
        tb = tb.tb_next
    return out


def _users_traceback(error: BaseException) -> TracebackType | None:
    """The traceback of an exception without the frames of JAX and of ours."""
    kept: TracebackType | None = None
    links: list[TracebackType] = []
    tb = error.__traceback__
    while tb is not None:
        links.append(tb)
        tb = tb.tb_next
    skip = (*compat.jax_dirs(), _HERE)
    for link in reversed(links):
        if not link.tb_frame.f_code.co_filename.startswith(skip):
            kept = TracebackType(kept, link.tb_frame, link.tb_lasti, link.tb_lineno)
    return kept


def raised_by_jax(error: BaseException) -> bool:
    """Whether JAX raised `error`, not the user's code.

    Decided by the innermost frame that is neither the standard library nor
    NumPy, which JAX calls too.
    """
    ours = compat.jax_dirs()
    std = os.path.dirname(os.__file__) + os.sep
    for file, _ in reversed(_frames(error)):
        if file.startswith(ours):
            return True
        foreign = os.sep + "site-packages" + os.sep + "numpy" in file or file.startswith("<frozen")
        if not foreign and not (file.startswith(std) and "site-packages" not in file):
            return False
    return False


def is_annotation_error(error: BaseException) -> bool:
    """Whether JAX refused a sharding annotation for want of a mesh."""
    return raised_by_jax(error) and bool(_ANNOTATION.search(str(error)))


def first_line(error: BaseException) -> str:
    """First line of the message, without its last full stop or colon."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".: ") if lines else ""


def _summary(error: BaseException) -> str:
    """Class and first line of an error, the class alone if it says nothing."""
    line = first_line(error)
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def user_place(error: BaseException) -> tuple[str, int] | None:
    """(file, line) of the innermost frame of the user's code."""
    skip = (*compat.jax_dirs(), _HERE, os.path.dirname(os.__file__) + os.sep)
    for file, line in reversed(_frames(error)):
        if not file.startswith(skip) and not file.startswith("<frozen"):
            return file, line
    return None


def _at(error: BaseException) -> str:
    place = user_place(error)
    if place is None:
        return ""
    file, line = place
    here = os.path.join(os.getcwd(), "")
    return f" at {file[len(here):] if file.startswith(here) else os.path.basename(file)}:{line}"
