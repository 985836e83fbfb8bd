# errors.py - the class and identifier of an error that JAX raised.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`!CLASS id`: the class tags and identifiers of spec 01, Appendix B.

An id is found by a fragment of the message. Errors of no listed fragment are
`shape` (TypeError, ValueError: shapes, dtypes, parameters), `bare` (no text at
all), `api` (STE, DSE, NIE of a Python function before any primitive) or
`accidental` (Python's own text, another class).
"""

from jax._src import core
from jax._src.named_sharding import DuplicateSpecError

# The first class that fits wins: subclasses stand before their bases.
_CLASSES = [
    (core.ShardingTypeError, "STE"),
    (DuplicateSpecError, "DSE"),
    (core.JaxprTypeError, "JTE"),
    (NotImplementedError, "NIE"),
    (AssertionError, "AE"),
    (KeyError, "KE"),
    (IndexError, "IE"),
    (NameError, "NE"),
    (TypeError, "TE"),
    (ValueError, "VE"),
]

# (class, fragment, id); the first entry that fits wins.
_FRAGMENTS = [
    ("VE", "requires varying manual axes to match", "vma"),
    ("STE", "All operands should be unreduced along", "join.sets"),
    ("STE", "All operands should be reduced along", "join.sets"),
    ("STE", "dynamic_update_slice operand and update must be", "join.sets"),
    ("STE", "start_indices cannot be varying", "dus.index-v"),
    ("VE", "must be applied to a device-varying", "coll.v"),
    ("VE", "psum is a variant->invariant collective", "coll.v"),
    ("VE", "cannot accept args which are unreduced", "coll.u"),
    ("VE", "cannot accept args which are reduced", "coll.r"),
    ("VE", "cannot accept args with unreduced_kind=", "kind"),
    ("VE", "operand scatter dimension size", "coll.divide"),
    ("VE", "integer axes", "coll.argument"),
    ("VE", "does not accept integer axis_name", "coll.argument"),
    ("VE", "axis_index_groups can only be used", "coll.argument"),
    ("VE", "ragged_all_to_all", "coll.argument"),
    ("VE", "pbroadcast dynamic source", "coll.argument"),
    ("VE", "pvary is a invariant->variant collective", "cast.v"),
    ("VE", "preduced is a Invariant->Reduced collective", "cast.v"),
    ("VE", "input cannot be varying across the", "cast.v"),
    ("VE", "input cannot be reduced across the", "cast.r"),
    ("VE", "only accepts inputs that are varying", "cast.needs-v"),
    ("VE", "is a Varying->Unreduced collective", "cast.needs-v"),
    ("VE", "is a Varying -> Reduced collective", "cast.needs-v"),
    ("VE", "only accepts inputs that are unreduced", "cast.needs-u"),
    ("VE", "is a Unreduced -> ", "cast.needs-u"),
    ("VE", "only accepts inputs that are reduced", "cast.needs-r"),
    ("VE", "is a Reduced->Varying collective", "cast.needs-r"),
    ("VE", "cannot have common mesh axes", "mat"),
    ("NE", "unbound axis name", "axis.unbound"),
    ("VE", "should match the mesh passed to shard_map", "smap.mesh"),
    ("VE", "must refer to an axis", "smap.axis"),
    ("VE", "can only be used when the mesh passed to shard_map", "smap.axis"),
    ("VE", "too long to be compatible with the corresponding", "smap.rank"),
    ("VE", "not evenly divisible by the corresponding mesh", "smap.divide"),
    ("VE", "does not match the specs of the input", "smap.in"),
    ("VE", "Invalid spec", "smap.order"),
    ("VE", "present on the in_aval", "smap.in-ur"),
    ("VE", "present on the out_aval", "smap.out-ur"),
    ("VE", "out_specs which require replication", "smap.out"),
    ("VE", "which require replication which can't be statically", "smap.out"),
    ("DSE", "has duplicate entries for", "spec.duplicate"),
    ("STE", "produces an illegally sharded result", "spec.illegal-result"),
    ("VE", "can only refer to mesh axes that is of type", "spec.ur-type"),
    ("VE", "is not found in mesh", "spec.unknown-axis"),
    ("VE", "cannot contain `P.UNCONSTRAINED`", "spec.unconstrained"),
    ("VE", "cannot overlap", "spec.ur-overlap"),
    ("VE", "should be `None` when `unreduced` is", "spec.kind-without-u"),
    ("VE", "is dangerous when PartitionSpec has", "spec.iter"),
    ("VE", "Length of sharding.spec", "type.rank"),
    ("VE", "does not evenly divide", "type.divisible"),
    ("VE", "sharding with memory_kind is not allowed", "type.memory-kind"),
    ("VE", "context mesh", "mesh.context"),
    ("VE", "Mesh for all inputs should be equal", "mesh.operands"),
    ("VE", "cannot change the size of the mesh", "mesh.size"),
    ("VE", "not under a mesh context", "out.no-mesh"),
    ("VE", "should match the mesh of sharding", "out.mesh"),
    ("VE", "that are of type Auto or Manual", "out.axis-type"),
    ("TE", "only supports instances of", "out.class"),
    ("STE", "sharding rule for", "rule.missing"),
    ("NIE", "unreduced/reduced rule for", "rule.missing-ur"),
    ("NIE", "unreduced rule for", "rule.missing-u"),
    ("NIE", "reduced rule for scatter", "rule.missing-r"),
    ("STE", "is a non-linear operation and cannot accept", "nonlinear.u"),
    ("VE", "Expected unreduced_kind=", "kind"),
    ("VE", "memory_space of all inputs passed to", "mem-space"),
    ("STE", "got incompatible shardings for broadcasting", "nary.conflict"),
    ("TE", "got incompatible shapes for broadcasting", "nary.shape"),
    ("STE", "should be reduced across the same mesh axes", "nary.reduced-differ"),
    ("STE", "Inputs cannot be replicated", "nary.replicated-vs-reduced"),
    ("STE", "Inputs cannot be sharded/varying", "nary.sharded-vs-reduced"),
    ("STE", "must be unreduced along the same mesh axes", "add.u-differ"),
    ("STE", "scatter operand and updates must be unreduced along", "scatter.u"),
    ("STE", "scatter indices cannot be unreduced", "scatter.u"),
    ("STE", "is unreduced while", "add.u-one-side"),
    ("STE", "since mul is bilinear", "mul.u-both"),
    ("STE", "should be reduced along the same axes", "mul.u-r"),
    ("VE", "denominator cannot be unreduced", "div.u-den"),
    ("VE", "Denominator should be reduced", "div.u-r"),
    ("STE", "select cases must have the same", "select.cases"),
    ("STE", "select `which` must be", "select.which"),
    ("STE", "it is ambiguous how", "dot.ambiguous"),
    ("STE", "batch dimensions to have", "dot.batch"),
    ("STE", "cannot be unreduced", "dot.u-operand"),
    ("STE", "should be sharded identically", "dot.u-contract"),
    ("STE", "should be equal to the contracting", "dot.u-axes"),
    ("VE", "can only contain unreduced of kind `sum`", "out.u-kind"),
    ("STE", "This reshape is not supported", "reshape"),
    ("VE", "must be unreduced over the same", "reshape.u"),
    ("VE", "cannot contain unreduced", "reshape.u"),
    ("VE", "must be reduced over the same", "reshape.r"),
    ("VE", "cannot contain reduced", "reshape.r"),
    ("VE", "must have the same unreduced_kind", "reshape.kind"),
    ("STE", "on sharded dims where out dim", "vary-shape"),
    ("STE", "All operands should have the same sharding", "concat"),
    ("STE", "cannot be sharded on the unstacking axis", "unstack"),
    ("STE", "when the tiling is non-trivial", "tile"),
    ("STE", "should be in operand's specs", "reduce.u-axes"),
    ("STE", "requires `out_sharding`'s unreduced_kind", "reduce.u-kind"),
    ("VE", "cannot be reduced", "reduce.r"),
    ("STE", "gather indices cannot be reduced", "gather.r"),
    ("STE", "unsharded over the axis being reduced", "cum"),
    ("STE", "over the sorting dimension", "sort"),
    ("STE", "Arguments to sort must have equal shardings", "sort.differ"),
    ("STE", "compute the top_k", "topk"),
    ("STE", "should be unsharded i.e.", "approx"),
    ("STE", "unsharded on non-batch dimensions", "linalg.core"),
    ("STE", "must have the same batch sharding", "linalg.batch"),
    ("STE", "must be unsharded on the contracting axis", "tri.contract"),
    ("NIE", "Explicit sharding inference for ragged_dot_general", "ragged"),
    ("VE", "requires all mesh axes to be Manual", "pallas"),
    ("VE", "can only be sliced along unsharded axes", "ref.slice"),
    ("TE", "slices, not integers", "ref.index"),
    ("VE", "Invalid sharding for `addupdate`", "ref.sharding"),
    ("STE", "dynamic_update_slice operand sharding must be equal", "dus"),
    ("STE", "start_indices cannot have unreduced or reduced axes", "dus.index"),
    ("STE", "`.at[...].get(out_sharding=)`", "gather"),
    ("STE", "`.at[...].set/add/mul", "scatter"),
    ("STE", "Please specify the output sharding via `out_sharding`", "conv"),
    ("STE", "tangents and operand shardings must match", "gather-add"),
    ("VE", "cannot be more unreduced", "reshard.more-u"),
    ("VE", "should be the same", "reshard.kind"),
    ("VE", "should only be used with", "reshard.none"),
    ("AE", "acts as an assert", "wsc.assert"),
    ("VE", "can only refer to Auto axes", "wsc.auto-only"),
    ("VE", "0th dimension of all xs should be replicated", "scan.xs"),
    ("TE", "carry input and carry output must have equal", "carry"),
    ("TE", "must have equal output types", "cond"),
    ("VE", "Mapped away dimension", "vmap.mapped"),
    ("VE", "Unmapped values passed to vmap", "vmap.unmapped"),
    ("VE", "Custom VJP bwd rule", "vjp.ct"),
    ("VE", "Incompatible types for broadcasting", "broadcast_to"),
    ("VE", "Incompatible types for matmul arguments", "matmul"),
    ("TE", "Missing required keyword", "auto_axes.missing"),
]


def error_class(err):
  return next((tag for cls, tag in _CLASSES if isinstance(err, cls)), "OTHER")


def error_id(tag, text):
  for cls, fragment, ident in _FRAGMENTS:
    if cls == tag and fragment in text:
      return ident
  if not text.strip():
    return "bare"
  if tag in ("STE", "DSE", "NIE"):
    return "api"
  return "shape" if tag in ("TE", "VE") else "accidental"


def verdict_of(err):
  """Exception -> `!CLASS id`."""
  tag = error_class(err)
  ident = error_id(tag, str(err))
  if ident == "concat" and _raised_in(err, "_stack_sharding_rule"):
    ident = "stack"  # JAX has one text for both
  return f"!{tag} {ident}"


def _raised_in(err, function):
  trace, name = err.__traceback__, ""
  while trace is not None:
    name, trace = trace.tb_frame.f_code.co_name, trace.tb_next
  return name == function
