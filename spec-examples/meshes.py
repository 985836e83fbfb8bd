# meshes.py - changes the meshes of a program that JAX traced.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""meshes.py devices IDS       A04 with a concrete context mesh of these devices
meshes.py axes a=2,b=2,c=2   A09 with another mesh inside, of these axes; its
                             reshard goes to P(('a', 'b'), 'c')
meshes.py side               A09 with a second argument, which is on the mesh that
                             A09 changes to and is returned as it is
meshes.py outer              A04 with the argument on another mesh than the
                             context's
"""
import json
import pathlib
import sys

GOLDEN = pathlib.Path(__file__).parent / "golden/json"


def load(name):
    return json.loads((GOLDEN / f"{name}.json").read_text())


def axes(text):
    pairs = [a.split("=") for a in text.split(",")]
    return [{"name": n, "size": int(s), "type": "Explicit"} for n, s in pairs]


def devices(ids):
    program = load("A04")
    program["meshes"].append(
        dict(
            program["meshes"][0],
            kind="concrete",
            device=None,
            devices={"shape": [4, 2], "ids": [int(i) for i in ids.split(",")]},
        )
    )
    program["context"]["concrete_mesh"] = 1
    return program


def inner(text):
    program = load("A09")
    program["meshes"][1]["axes"] = axes(text)
    parts = json.dumps([["a", "b"], ["c"]])
    return json.loads(json.dumps(program).replace('[["A"], null]', parts))


def side(_):
    program = load("A09")
    jaxpr = program["jaxprs"][0]
    jaxpr["invars"].append([9, 1])
    jaxpr["outs"].append(9)
    jaxpr["debug"]["args"].append("s")
    jaxpr["debug"]["results"].append("s")
    program["entry"]["arg_names"].append("s")
    program["entry"]["result_paths"] = ["result/0", "result/1"]
    return program


def outer(_):
    program = load("A04")
    program["meshes"].append({"kind": "abstract", "axes": axes("A=8"), "device": None, "devices": None})
    for array in program["types"]:
        if array["t"] == "array" and array.get("mesh") == 0:
            array["mesh"] = 1
            array["spec"]["p"] = [["A"], None]
    return program


print(json.dumps({"devices": devices, "axes": inner, "side": side, "outer": outer}[sys.argv[1]](sys.argv[-1])))
