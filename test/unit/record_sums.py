# record_sums.py - what devices hold of unreduced values, asked from JAX.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""record_sums.py   writes sums.jsonl beside this file (JAX 0.12.0.1, CPU)

A line is a program whose result is unreduced: its text with types on the mesh X=2, Y=2,
its arguments, and the result's block on each device in the order of the mesh.
"""
import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import json  # noqa: E402
import pathlib  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax import lax  # noqa: E402
from jax.sharding import AxisType, UnreducedKind  # noqa: E402

P = jax.P
jax.set_mesh(jax.make_mesh((2, 2), ("X", "Y"), (AxisType.Explicit,) * 2))


def u(*parts, over=("X",), kind=UnreducedKind.sum):
  return P(*parts, unreduced=set(over), unreduced_kind=kind)


def array(spec, *shape, start=1, dtype=np.float32):
  value = np.arange(start, start + int(np.prod(shape)), dtype=dtype).reshape(shape)
  return jax.device_put(jnp.asarray(value), spec)


def dot(a, b):
  return jnp.einsum("ij,jk->ik", a, b, out_sharding=u(None, None))


def to(*parts, **sets):
  return lambda a: jax.reshard(a, u(*parts, **sets))


def reduced(w):
  return jax.reshard(w, P(*[None] * w.ndim, reduced={"X"}))


def of_dot(function):
  """A function of a product's partial sums."""
  return (lambda a, b: function(dot(a, b)), A, B)


def accumulate(a, b):
  zeros = jax.reshard(jnp.zeros((2, 2)), u(None, None))
  return lax.scan(lambda c, x: (c + dot(x * a, b), None), zeros, jnp.arange(3.0))[0]


def stacked(a, b):
  return lax.scan(lambda c, x: (c, dot(x * a, b)), 0.0, jnp.arange(3.0))[1]


def weights_gradient(w, x):
  return jax.grad(lambda v: jnp.sum(x @ v))(reduced(w))


def leaves_region(a):
  def body(t):
    return lax.pcast(t.sum(0), "X", to="unreduced")

  return jax.shard_map(body, in_specs=P("X", None), out_specs=u(None))(a)


def through_region(a, b):
  def body(t):
    return t + t

  return jax.shard_map(body, in_specs=u(None, None), out_specs=u(None, None))(dot(a, b))


A, B = array(P(None, "X"), 2, 4), array(P("X", None), 4, 2, start=5)
W = array(P(None, None), 4, 2)
CASES = {
    "argument": (lambda a: a, array(u(None, None), 4, 2)),
    "argument, split": (lambda a: a, array(u("Y", None), 4, 2)),
    "reshard from replicated": (to(None, None), W),
    "reshard from another axis": (to("Y", None), array(P("Y", None), 4, 2)),
    "reshard in place": (to(None, None), array(P("X", None), 4, 2)),
    "reshard in place, other dim split": (to("Y", None), array(P("Y", "X"), 4, 4)),
    "reshard in place, other dim gathered": (to(None, None), array(P("X", "Y"), 4, 4)),
    "reshard of a minor axis": (to("Y", None), array(P(("Y", "X"), None), 8, 1)),
    "reshard of a major axis": (to("Y", None), array(P(("X", "Y"), None), 8, 1)),
    "reshard, all gathered": (to(None, None), array(P(("X", "Y"), None), 8, 1)),
    "reshard, minor, all gathered": (to(None, None), array(P(("Y", "X"), None), 8, 1)),
    "reshard to another split": (to("Y", None), array(P("X", None), 4, 2)),
    "reshard over two, from one": (to(None, None, over="XY"), array(P("X", None), 4, 2)),
    "reshard over two, in place": (to(None, None, over="XY"), array(P("X", "Y"), 4, 4)),
    "reshard over two, from a pair": (to(None, None, over="XY"),
                                      array(P(("Y", "X"), None), 8, 1)),
    "reshard adds an axis": of_dot(to(None, None, over="XY")),
    "reshard sums over an axis": (lambda a: to(None, None)(to(None, None, over="XY")(a)),
                                  array(P("X", "Y"), 4, 2)),
    "reshard splits the parts": of_dot(to("Y", None)),
    "reshard by way of split": of_dot(
        lambda t: to(None, None)(jax.reshard(t, P("X", None)))),
    "dot": of_dot(lambda t: t),
    "dot, batch": (lambda a, b: jnp.einsum("bij,bjk->bik", a, b,
                                           out_sharding=u("Y", None, None)),
                   array(P("Y", None, "X"), 2, 2, 4), array(P("Y", "X", None), 2, 4, 2)),
    "dot, pair of axes": (lambda a, b: jnp.einsum("ij,jk->ik", a, b,
                                                  out_sharding=u(None, None, over="XY")),
                          array(P(None, ("X", "Y")), 2, 8),
                          array(P(("X", "Y"), None), 8, 2)),
    "dot, two dims": (lambda a, b: jnp.einsum("ijl,jlk->ik", a, b,
                                              out_sharding=u(None, None, over="XY")),
                      array(P(None, "X", "Y"), 2, 2, 4), array(P("X", "Y", None), 2, 4, 2)),
    "reduce_sum": (lambda a: lax.reduce_sum(a, (0,), out_sharding=u("Y")),
                   array(P("X", "Y"), 4, 4)),
    "reduce_sum, major of a pair": (lambda a: lax.reduce_sum(a, (0,), out_sharding=u(None)),
                                    array(P(("X", "Y"), None), 8, 3)),
    "reduce_sum, minor of a pair": (lambda a: lax.reduce_sum(a, (0,), out_sharding=u(None)),
                                    array(P(("Y", "X"), None), 8, 3)),
    "reduce_sum, both": (lambda a: lax.reduce_sum(a, (0, 1), out_sharding=u(over="XY")),
                         array(P("X", "Y"), 4, 4)),
    "reduce_max": (lambda a: lax.reduce_max(
        a, (0,), out_sharding=u(None, kind=UnreducedKind.max)), array(P("X", None), 4, 3)),
    "add": (lambda a, b: dot(a, b) + dot(2.0 * a, b), A, B),
    "sub, neg": (lambda a, b: -(dot(a, b) - dot(3.0 * a, b)), A, B),
    "times reduced": (lambda a, b, w: reduced(w) * dot(a, b), A, B, array(P(None, None), 2, 2)),
    "over reduced": (lambda a, b, w: dot(a, b) / reduced(w), A, B,
                     array(P(None, None), 2, 2)),
    "transpose, reshape": of_dot(lambda t: t.T.reshape(4)),
    "slice, concatenate": of_dot(lambda t: jnp.concatenate([t[:1], t])),
    "split": of_dot(lambda t: jnp.split(t, 2)[1]),
    "squeeze": of_dot(lambda t: t[None].squeeze(0)),
    "pad with zeros": of_dot(lambda t: jnp.pad(t, 1)),
    "pad with ones": of_dot(lambda t: lax.pad(t, 1.0, ((1, 0, 0), (0, 0, 0)))),
    "broadcast": of_dot(lambda t: jnp.broadcast_to(t, (2, 2, 2))),
    "sum": of_dot(lambda t: t.sum(0)),
    "zeros_like": of_dot(jnp.zeros_like),
    "to bf16": of_dot(lambda t: t.astype(jnp.bfloat16)),
    "to int": (lambda a, b: dot(0.25 * a, b).astype(jnp.int32), A, B),
    "reduce_precision": of_dot(lambda t: lax.reduce_precision(t, 5, 10)),
    "update": of_dot(lambda t: lax.dynamic_update_slice(t, t[:1], (1, 0))),
    "scan, carry": (accumulate, A, B),
    "scan, stacked": (stacked, A, B),
    "while": of_dot(lambda t: lax.fori_loop(0, 3, lambda i, c: c + c, t)),
    "while, no bound": of_dot(lambda t: lax.while_loop(
        lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] + s[1]), (0, t))[1]),
    "cond": of_dot(lambda t: lax.cond(True, lambda v: v + v, lambda v: -v, t)),
    "jit": of_dot(jax.jit(lambda t: t + t)),
    "gradient of weights": (weights_gradient, W, array(P("X", None), 8, 4)),
    "leaves a region": (leaves_region, array(P("X", None), 4, 2)),
    "through a region": (through_region, A, B),
}


def plain(value):
  return {"dtype": value.dtype.name, "shape": list(value.shape),
          "data": np.asarray(value).astype(np.float64).ravel().tolist()}


lines = []
for name, (function, *arguments) in CASES.items():
  traced = jax.jit(function).trace(*arguments)
  result = jax.jit(function)(*arguments)
  shards = sorted(result.addressable_shards, key=lambda s: s.device.id)
  whole = [jax.reshard(a, P(*[None] * a.ndim)) if jax.typeof(a).sharding.spec.unreduced
           else a for a in arguments]
  lines.append(json.dumps({
      "name": name, "program": "#! mesh X=2 Y=2\n" + str(traced.jaxpr),
      "arguments": [plain(a) for a in whole],
      "shards": [plain(np.asarray(s.data)) for s in shards]}))
path = pathlib.Path(__file__).with_name("sums.jsonl")
path.write_text("\n".join(lines) + "\n")
print(len(lines), "programs")
