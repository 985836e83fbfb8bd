# other_mesh.py - drops the reshards of a program, so that values stay on their mesh.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""other_mesh.py FILE: prints the program with each reshard's result replaced by its
operand: what row A09 calls using the old mesh's value without a reshard."""
import json
import sys

program = json.load(open(sys.argv[1]))
for jaxpr in program["jaxprs"]:
    same = {}
    kept = []
    for eqn in jaxpr["eqns"]:
        eqn["in"] = [same.get(a, a) if isinstance(a, int) else a for a in eqn["in"]]
        if eqn["p"] == "reshard":
            same[eqn["out"][0][0]] = eqn["in"][0]
        else:
            kept.append(eqn)
    jaxpr["eqns"] = kept
    jaxpr["outs"] = [same.get(a, a) if isinstance(a, int) else a for a in jaxpr["outs"]]
print(json.dumps(program))
