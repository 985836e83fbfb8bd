# manual.py - programs that say for each device what it does (shard_map).
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ring attention, overlapped matmuls, experts, pipelines and layers split two ways.

Every region takes its mesh from the context, so each program stands on Explicit
axes as well as on Auto ones. `gradient` makes a training-like program of one.
"""

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

DEVICES = 4
LINE = f"i={DEVICES}"  # the mesh of most
GRID = "d=2,t=4"  # data and tensor parallel
NEXT = [(j, (j + 1) % DEVICES) for j in range(DEVICES)]


def gradient(fn, count):
    """Gradients of a sum of squares of `fn`, in its first `count` arguments."""

    def energy(*args):
        squares = jax.tree.map(lambda y: jnp.sum(y * y), fn(*args))
        return jax.tree.reduce(jnp.add, squares)

    return jax.grad(energy, argnums=tuple(range(count)))


def _varying(x, axes="i"):
    return lax.pcast(x, axes, to="varying")


def arrays(*shapes, dtype=jnp.float32):
    return tuple(jax.ShapeDtypeStruct(s, dtype) for s in shapes)


# Ring attention: keys and values go round, the softmax is corrected on the way.


def ring_attention(q, k, v):
    def device(q, k, v):
        def step(carry, _):
            out, total, top, k, v = carry
            scores = q @ k.T
            higher = jnp.maximum(top, scores.max(-1))
            weights = jnp.exp(scores - higher[:, None])
            old = jnp.exp(top - higher)
            out = out * old[:, None] + weights @ v
            total = total * old + weights.sum(-1)
            k, v = (lax.ppermute(x, "i", NEXT) for x in (k, v))
            return (out, total, higher, k, v), None

        rows = q.shape[0]
        start = (jnp.zeros_like(q), _varying(jnp.zeros(rows)), _varying(jnp.full(rows, -1e30)))
        (out, total, *_), _ = lax.scan(step, (*start, k, v), None, length=DEVICES)
        return out / total[:, None]

    return jax.shard_map(device, in_specs=(P("i"),) * 3, out_specs=P("i"))(q, k, v)


# Matmuls that overlap with the collective they hide.


def gather_matmul(x, w):
    """x split by rows, w by columns: x goes round, one block of rows a step."""

    def device(x, w):
        here, rows = lax.axis_index("i"), x.shape[0]
        out = _varying(jnp.zeros((DEVICES * rows, w.shape[1])))
        for step in range(DEVICES):
            owner = (here - step) % DEVICES
            out = lax.dynamic_update_slice(out, x @ w, (owner * rows, 0))
            if step < DEVICES - 1:
                x = lax.ppermute(x, "i", NEXT)
        return out

    return jax.shard_map(
        device, in_specs=(P("i"), P(None, "i")), out_specs=P(None, "i")
    )(x, w)


def matmul_scatter(x, w):
    """Both split over the contraction: the sum goes round, and ends scattered."""

    def device(x, w):
        here, rows = lax.axis_index("i"), x.shape[0] // DEVICES
        total = _varying(jnp.zeros((rows, w.shape[1])))
        for step in range(DEVICES):
            block = (here - step - 1) % DEVICES
            total = total + lax.dynamic_slice_in_dim(x, block * rows, rows) @ w
            if step < DEVICES - 1:
                total = lax.ppermute(total, "i", NEXT)
        return total

    return jax.shard_map(
        device, in_specs=(P(None, "i"), P("i")), out_specs=P("i")
    )(x, w)


# One expert a device: tokens go to their expert and come back.


def experts(x, up, router):
    def device(x, up, router):
        choice = jax.nn.one_hot((x @ router).argmax(-1), DEVICES)
        sent = jnp.einsum("te,td->etd", choice, x)
        sent = lax.all_to_all(sent, "i", 0, 1, tiled=True)
        done = jax.nn.relu(jnp.einsum("etd,edf->etf", sent, up))
        done = lax.all_to_all(done, "i", 1, 0, tiled=True)
        return jnp.einsum("te,etf->tf", choice, done)

    return jax.shard_map(device, in_specs=(P("i"), P("i"), P()), out_specs=P("i"))(
        x, up, router
    )


# One layer a device: microbatches go through the line.

MICROBATCHES = 8


def pipeline(x, w):
    def device(x, w):
        here, last = lax.axis_index("i"), DEVICES - 1

        def step(carry, tick):
            state, done = carry
            slot = tick % MICROBATCHES
            y = jnp.tanh(jnp.where(here == 0, x[slot], state) @ w[0])
            kept = jnp.where(here == last, y, done[slot])
            done = lax.dynamic_update_index_in_dim(done, kept, slot, 0)
            return (lax.ppermute(y, "i", NEXT), done), None

        start = _varying(jnp.zeros(x.shape[1:])), _varying(jnp.zeros(x.shape))
        ticks = jnp.arange(MICROBATCHES + last)
        (_, done), _ = lax.scan(step, start, ticks)
        return lax.psum(jnp.where(here == last, done, 0), "i")

    return jax.shard_map(device, in_specs=(P(), P("i")), out_specs=P())(x, w)


# Weights split over both axes: gathered over one, contracted over the other.


def sharded_mlp(x, up, down):
    def device(x, up, down):
        up = lax.all_gather(up, "d", tiled=True)
        down = lax.all_gather(down, "d", axis=1, tiled=True)
        return lax.psum(jax.nn.gelu(x @ up) @ down, "t")

    return jax.shard_map(
        device, in_specs=(P("d"), P("d", "t"), P("t", "d")), out_specs=P("d")
    )(x, up, down)


def remat_mlp(x, up, down):
    """The gathered weight is not kept for the backward pass."""

    @jax.checkpoint
    def layer(x, up, down):
        up = lax.all_gather(up, "d", tiled=True)
        return jax.nn.softmax(x @ up) @ down

    def device(x, up, down):
        parts = layer(x, up, down)
        return lax.psum_scatter(parts, "t", scatter_dimension=1, tiled=True)

    return jax.shard_map(
        device, in_specs=(P("d"), P("d", "t"), P("t")), out_specs=P("d", "t")
    )(x, up, down)


def reduced_weight(x, w):
    """The gradient of w waits for one sum, after all steps that use it."""

    def device(x, w):
        w = lax.pcast(w, "i", to="reduced")
        for _ in range(3):  # as a scan JAX 0.12.0.1 has no gradient of it
            x = jnp.tanh(x @ w)
        return x

    return jax.shard_map(device, in_specs=(P("i"), P()), out_specs=P("i"))(x, w)


# Regions inside regions, over a part of the axes, and without checks.


def nested(x):
    def inner(x):
        return lax.psum(x, "t")

    def outer(x):
        return jax.shard_map(
            inner, in_specs=P(None, "t"), out_specs=P(), axis_names={"t"}
        )(x)

    return jax.shard_map(outer, in_specs=P("d"), out_specs=P("d"), axis_names={"d"})(x)


def partial_region(x, w):
    def device(x, w):
        return lax.psum(jnp.tanh(x @ w), "d")

    return jax.shard_map(
        device, in_specs=(P("d"), P()), out_specs=P(), axis_names={"d"}
    )(x, w)


def unchecked(x, w):
    def device(x, w):
        return lax.psum(x @ w, "i")

    return jax.shard_map(
        device, in_specs=(P("i"), P()), out_specs=P(), check_vma=False
    )(x, w)


# Loops, branches, random numbers, sorting.


def flow(x, seed):
    def device(x, seed):
        key = jax.random.fold_in(jax.random.key(seed), lax.axis_index("i"))
        noise = jax.random.normal(key, x.shape)
        y = jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x + noise, 0.0)
        y = lax.fori_loop(0, 3, lambda _, c: c * 1.5, y)
        y = lax.while_loop(lambda c: lax.psum(c.sum(), "i") < 100, lambda c: c + 1, y)
        ordered = jnp.sort(y, 0)
        best, _ = lax.top_k(y, 2)
        z = lax.cond(lax.psum(y.sum(), "i") > 0, lambda a: a, jnp.negative, ordered)
        running = jnp.cumsum(z, 0)
        some = running[jnp.arange(2)].mean(keepdims=True)
        return lax.pmean(z, "i"), best, lax.pmax(running, "i"), some

    return jax.shard_map(
        device, in_specs=(P("i"), P()), out_specs=(P(), P("i"), P(), P("i"))
    )(x, seed)


def flow_args():
    return *arrays((16, 8)), *arrays((), dtype=jnp.uint32)


# name: (function, mesh, shapes, specs of the arguments, those with a gradient)
ROWS, COLUMNS = P("i", None), P(None, "i")
PROGRAMS = {
    "ring_attention": (ring_attention, LINE, [(16, 8)] * 3, [ROWS] * 3, 3),
    "gather_matmul": (gather_matmul, LINE, [(16, 8), (8, 8)], [ROWS, COLUMNS], 2),
    "matmul_scatter": (matmul_scatter, LINE, [(16, 8), (8, 8)], [COLUMNS, ROWS], 2),
    "experts": (
        experts,
        LINE,
        [(16, 8), (4, 8, 8), (8, 4)],
        [ROWS, P("i", None, None), P(None, None)],
        3,
    ),
    "pipeline": (
        pipeline,
        LINE,
        [(MICROBATCHES, 2, 8), (4, 8, 8)],
        [P(None, None, None), P("i", None, None)],
        2,
    ),
    "sharded_mlp": (
        sharded_mlp,
        GRID,
        [(8, 8), (8, 16), (16, 8)],
        [P("d", None), P("d", "t"), P("t", "d")],
        3,
    ),
    "remat_mlp": (
        remat_mlp,
        GRID,
        [(8, 8), (8, 16), (16, 8)],
        [P("d", None), P("d", "t"), P("t", None)],
        3,
    ),
    "reduced_weight": (reduced_weight, LINE, [(8, 8), (8, 8)], [ROWS, P(None, None)], 2),
    "nested": (nested, GRID, [(8, 8)], [P("d", "t")], 1),
    "partial_region": (
        partial_region,
        GRID,
        [(8, 8), (8, 8)],
        [P("d", None), P(None, "t")],
        2,
    ),
    "unchecked": (unchecked, LINE, [(16, 8), (8, 8)], [ROWS, P(None, None)], 2),
}
