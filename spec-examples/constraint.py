# constraint.py - writes the exchange format of x -> constraint(sin x, SPEC).
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the exporter writes for a constraint under Auto axes, by hand, so that the
test needs no JAX. An argument gives the entries of SPEC; without one it is P(Y, X)."""
import json
import sys

mesh = {
    "kind": "abstract",
    "axes": [{"name": n, "size": s, "type": "Auto"} for n, s in [("X", 4), ("Y", 2)]],
    "device": None,
    "devices": None,
}
spec = {"p": [["Y"], ["X"]], "u": [], "r": [], "k": None}
constraint = {
    "p": "sharding_constraint",
    "in": [1],
    "out": [[2, 0]],
    "params": {
        "context_mesh": {"mesh": 0},
        "layout": None,
        "sharding": {"sharding": {"mesh": 0, "spec": spec, "memory_kind": None}},
        "unconstrained_dims": {"set": []},
    },
}
sin = {"p": "sin", "in": [0], "out": [[1, 0]], "params": {"accuracy": None}}
spec["p"] = json.loads(sys.argv[1]) if len(sys.argv) > 1 else spec["p"]
print(
    json.dumps(
        {
            "format": "shardtype-jaxpr",
            "version": [1, 1],
            "producer": {"name": "hand"},
            "meshes": [mesh],
            "types": [{"t": "array", "shape": [8, 4], "dtype": "float32", "mesh": 0}],
            "sources": [],
            "stacks": [],
            "arrays": [],
            "opaques": [],
            "jaxprs": [
                {
                    "constvars": [],
                    "invars": [[0, 0]],
                    "mesh": 0,
                    "eqns": [sin, constraint],
                    "outs": [2],
                    "effects": [],
                }
            ],
            "entry": {"jaxpr": 0, "name": "f", "arg_names": ["x"], "result_paths": ["result"]},
            "context": {"mesh": 0, "concrete_mesh": None, "flags": {}},
        }
    )
)
