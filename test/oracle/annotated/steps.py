# steps.py - training steps: loss, gradient and optimiser.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every model with every optimiser. Some models have annotations for `data` and `model`,
some have none; what JAX makes of them under a mesh, and for specs they are not written
for, is its business."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from jax import lax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P, reshard
import optax

from annotated import STEPS

MODELS = {}
PLAN = (("data=2,model=2", "asked"), ("data=2,model=2", "whole"), ("data=2,model=2", "batch"),
        ("data=2,model=2", "swap"), ("data=2,model=2", "turned"), ("data=4,model=2", "asked"),
        ("data=2,model=2:Auto", "asked"), ("data=2,model=2,extra=2", "asked"))


def model(batch, **params):
  """Parameters and batch as `name=(shape, spec)`."""
  def register(loss):
    MODELS[loss.__name__] = (loss, params, batch)
    return loss
  return register


DATA = {"x": ((8, 4), P("data", None)), "y": ((8, 6), P("data", None))}
MATRIX = ((4, 6), P(None, "model"))
ROWS = P("data", None)


def squares(a, b):
  return jnp.mean((a - b) ** 2)


@model({"x": ((8, 4), ROWS), "y": ((8,), P("data"))}, w=((4,), P(None)), b=((), P()))
def linear(p, batch):
  return squares(jnp.dot(batch["x"], p["w"]) + p["b"], batch["y"])


@model(DATA, w1=((4, 8), P(None, "model")), b1=((8,), P("model")), w2=((8, 6), P("model", None)))
def mlp(p, batch):
  h = jax.nn.relu(jnp.dot(batch["x"], p["w1"], out_sharding=P("data", "model")) + p["b1"])
  return squares(jnp.dot(h, p["w2"], out_sharding=ROWS), batch["y"])


@model(DATA, w1=((4, 8), P(None, None)), w2=((8, 6), P(None, "model")))
def bare(p, batch):
  return jnp.sum(jnp.tanh(batch["x"] @ p["w1"]) @ p["w2"])


@model({"x": ((8, 8), ROWS)}, w=((4, 8, 8), P(None, None, "model")))
def scanned(p, batch):
  def layer(c, w):
    return jnp.tanh(jnp.dot(c, reshard(w, P(None, None)))), None
  out, _ = lax.scan(layer, batch["x"], p["w"])
  return jnp.sum(out * out)


@model(DATA, w1=((4, 8), P(None, "model")), w2=((8, 6), P("model", None)))
def rematerialised(p, batch):
  @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
  def block(x, w1, w2):
    h = jnp.sin(jnp.dot(x, w1, out_sharding=P("data", "model")))
    return jnp.dot(h, w2, out_sharding=ROWS)
  return squares(block(batch["x"], p["w1"], p["w2"]), batch["y"])


@model({"x": ((4, 8, 4), P("data", None, None))}, q=((4, 2, 4), P(None, "model", None)),
       k=((4, 2, 4), P(None, "model", None)), v=((4, 2, 4), P(None, "model", None)),
       o=((2, 4, 4), P("model", None, None)))
def attention(p, batch):
  x = batch["x"]
  q, k, v = (jnp.einsum("bsd,dhk->bshk", x, p[n]) for n in "qkv")
  s = jnp.einsum("bqhk,bthk->bhqt", q, k) / 2.0
  s = jnp.where(jnp.tril(jnp.ones((8, 8), bool)), s, -1e9)
  y = jnp.einsum("bhqt,bthk->bqhk", jax.nn.softmax(s, axis=-1), v)
  out = jnp.einsum("bqhk,hkd->bqd", y, p["o"], out_sharding=P("data", None, None))
  return jnp.mean((x + out) ** 2)


@model({"t": ((8, 4), P("data", None)), "n": ((8, 4), P("data", None))},
       e=((16, 8), P(None, None)), w=((8, 16), P(None, "model")))
def language(p, batch):
  h = p["e"].at[batch["t"]].get(out_sharding=P("data", None, None))
  logits = jnp.einsum("bsd,dv->bsv", h, p["w"], out_sharding=P("data", None, "model"))
  wanted = jax.nn.one_hot(batch["n"], 16, out_sharding=P("data", None, "model"))
  return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * wanted, axis=-1))


@model(DATA, scale=((4,), P(None)), shift=((4,), P(None)), w=MATRIX)
def normalised(p, batch):
  x = batch["x"]
  mean = jnp.mean(x, axis=-1, keepdims=True)
  h = (x - mean) * lax.rsqrt(jnp.var(x, axis=-1, keepdims=True) + 1e-6) * p["scale"] + p["shift"]
  y = jnp.dot(jax.nn.gelu(h), p["w"])
  return squares(reshard(y, ROWS), batch["y"])


@model({"x": ((4, 8, 8, 2), P("data", None, None, None))}, k=((2, 2, 2, 4), P(None, None, None, "model")))
def convolved(p, batch):
  y = lax.conv_general_dilated(batch["x"], p["k"], (1, 1), "SAME",
                               dimension_numbers=("NHWC", "HWIO", "NHWC"))
  return jnp.mean(jnp.max(y, axis=(1, 2)) ** 2)


@model({"x": ((5, 8, 4), P(None, "data", None))}, wx=((4, 6), P(None, "model")),
       wh=((6, 6), P(None, "model")))
def recurrent(p, batch):
  def cell(h, x):
    a = jnp.dot(x, p["wx"]) + jnp.dot(reshard(h, P("data", None)), p["wh"])
    return jnp.tanh(a), None
  start = reshard(jnp.zeros((8, 6)), P("data", "model"))
  last, _ = lax.scan(cell, start, batch["x"])
  return jnp.sum(last)


@jax.custom_vjp
def limited(x):
  return jnp.tanh(x)


limited.defvjp(lambda x: (limited(x), x), lambda x, g: (jnp.clip(g, -1, 1) * jnp.cos(x),))


@model(DATA, w1=((4, 4), P(None, "model")), w=MATRIX)
def custom(p, batch):
  h = limited(jnp.dot(batch["x"], p["w1"]))
  y = jnp.dot(reshard(h, ROWS), p["w"])
  return squares(jax.nn.silu(y), reshard(batch["y"], P("data", "model")))


@model({"x": ((4, 8, 4), P(None, "data", None)), "y": ((4, 8, 6), P(None, "data", None))},
       w=((4, 6), P(None, "model")))
def microbatches(p, batch):
  def one(p, x, y):
    return squares(reshard(jnp.dot(x, p["w"]), ROWS), y)
  def part(total, xy):
    value = one(p, *xy)
    return total + value, None
  return lax.scan(part, 0.0, (batch["x"], batch["y"]))[0] / 4


@model(DATA, w=MATRIX)
def per_example(p, batch):
  def one(x, y):
    return jnp.sum((jnp.tanh(jnp.dot(x, p["w"])) - y) ** 2)
  return jnp.mean(jax.vmap(one)(batch["x"], batch["y"]))


@model({"x": ((8, 4), ROWS), "y": ((8, 8), ROWS)}, w1=((4, 8), P("data", "model")),
       w2=((8, 8), P("model", "data")))
def fully_sharded(p, batch):
  w1, w2 = (p[n].astype(jnp.bfloat16) for n in ("w1", "w2"))
  w1, w2 = reshard(w1, P(None, "model")), reshard(w2, P("model", None))
  h = jnp.dot(batch["x"].astype(jnp.bfloat16), w1, out_sharding=P("data", "model"))
  y = jnp.dot(jax.nn.relu(h), w2, out_sharding=ROWS).astype(jnp.float32)
  return squares(y, batch["y"])


#===--- Optimisers -------------------------------------------------------===#

def momentum(rate, decay=0.9):
  def init(params):
    return jax.tree.map(jnp.zeros_like, params)
  def update(grads, state, params):
    state = jax.tree.map(lambda m, g: decay * m + g, state, grads)
    return jax.tree.map(lambda m: -rate * m, state), state
  return optax.GradientTransformation(init, update)


OPTIMISERS = {
    "sgd": optax.sgd(0.1), "momentum": momentum(0.1), "adam": optax.adam(1e-3),
    "adamw": optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3, weight_decay=0.01)),
    "lion": optax.lion(1e-3)}


@dataclass
class Step:
  fn: Callable[..., Any]
  arguments: Any  # Parameters, state of the optimiser, batch.
  specs: dict[str, Any]
  plan: Any = PLAN

  def spec(self, path, leaf):
    """What the specs of a leaf are, by the kind of case: that of the parameter or the
    part of the batch whose name ends its path."""
    name = path.rpartition("['")[2].rstrip("']") if path.endswith("']") else ""
    asked = self.specs.get(name, P()) if leaf.shape else P()
    def of(how):
      if how == "batch" and not path.startswith("[2]"):
        return P()
      if how == "turned" and not path.startswith("[2]"):
        return P(*reversed(tuple(asked) + (None,) * (len(leaf.shape) - len(asked))))
      return asked
    return of


def _step(loss, optimiser):
  def step(params, state, batch):
    value, grads = jax.value_and_grad(loss)(params, batch)
    updates, state = optimiser.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value
  return step


def _types(values):
  whole = {"t", "n"}  # Numbers of tokens.
  return {n: jax.ShapeDtypeStruct(shape, jnp.int32 if n in whole else jnp.float32)
          for n, (shape, _) in values.items()}


for _model, (_loss, _params, _batch) in MODELS.items():
  for _name, _optimiser in OPTIMISERS.items():
    _types_of = _types(_params)
    STEPS[f"{_model}.{_name}"] = Step(
        _step(_loss, _optimiser),
        (_types_of, jax.eval_shape(_optimiser.init, _types_of), _types(_batch)),
        {n: spec for n, (_, spec) in (_params | _batch).items()})
