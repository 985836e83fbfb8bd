# record_shards.py - what devices hold in the seed examples, and their figures.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""record_shards.py EXPECTED   writes shards.json beside this file

EXPECTED has what real JAX did for each seed example, as it was recorded (it is kept
outside this repository). A line of shards.json is one value of one program: its row; the
program, a name of numbers.json, or a text with its arguments; which value (`in0`,
`out1`); and what is known of it: `shards`, its block on each device, or figures: `sum`,
`l2` and the `first` entries, to six digits, of a gradient or a loss; sums leave out NaN,
which `nan` counts.
"""
import ast
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
rows = json.loads(pathlib.Path(sys.argv[1]).read_text())["rows"]
lines = []


def in_order(shards):
  shards = ast.literal_eval(shards) if isinstance(shards, str) else shards
  return [shards[k] for k in sorted(shards, key=int)]


def add(row, shards, value, program=None, text=None, arguments=None):
  source = {"program": program} if program else {"text": text, "arguments": arguments}
  lines.append({"row": row.replace("/", "_"), **source, "value": value,
                "shards": in_order(shards)})


def grid(*shape):
  flat = list(range(shape[0] * shape[1]))
  return [flat[i * shape[1]:(i + 1) * shape[1]] for i in range(shape[0])]


def placed(row, key, kind, mesh="X=4 Y=2"):
  """An array that was put somewhere."""
  add(row, rows[row][key], "in0", text=f"#! mesh {mesh}\n{{ lambda ; a:{kind}. let  in (a,) }}",
      arguments=[grid(8, 4)])


def resharded(row, key, kind, to):
  add(row, rows[row][key], "out0", text=f"#! mesh X=4 Y=2\n{{ lambda ; a:{kind}. let\n"
      f"    b:{to} = reshard a\n  in (b,) }}", arguments=[grid(8, 4)])


placed("A11", "shards", "f32[8@X,4@Y]")
placed("A14/15", "shards", "f32[8@X,4]")
placed("A16", "shards", "f32[8@(X,Y),4]")
placed("A16", "shards_YX", "f32[8@(Y,X),4]")
for key in ("shards", "reshard_sharded_shards"):
  resharded("A17/18", key, "f32[8@X,4@Y]", "f32[8@X,4]{U:Y}")
for key in ("shards_from_replicated", "reshard_replicated_shards"):
  resharded("A17/18", key, "f32[8@X,4]", "f32[8@X,4]{U:Y}")
sine = rows["A36"]["numbers"]
add("A36", {i: sine[i // 2 * 2:i // 2 * 2 + 2] for i in range(8)}, "out0",
    text="#! mesh X=4 Y=2\n{ lambda ; a:f32[8@X]. let b:f32[8@X] = sin a in (b,) }",
    arguments=[list(range(8))])
add("A25", {i: rows["A25"]["bits"] for i in range(8)}, "out0",
    text="#! mesh X=4 Y=2\n{ lambda ; a:u32[2]. let\n"
    "    b:key<fry>[] = random_wrap[impl=fry] a\n"
    "    c:u32[8,4] = random_bits[bit_width=32 shape=(8, 4)] b\n  in (c,) }",
    arguments=[[0, 0]])
for row, program in (("A09", None), ("A12/13", None), ("A23/24", None), ("A25", "A25.sharded"),
                     ("A26", None), ("A29", None), ("A31", None), ("A37", None),
                     ("B03-06", None), ("C05", None), ("C07", None), ("C09", None),
                     ("C15", "C15.forward"), ("C17", "C17.grad")):
  add(row, rows[row]["shards"], "out0", program=program or row.replace("/", "_"))
add("C01", rows["C01"]["shards_dw"], "out0", program="C02.both")
add("C01", rows["C01"]["shards_dx"], "out1", program="C02.both")
for name, entry in rows["C16"]["table"].items():
  if "shards" in entry:
    add("C16", entry["shards"]["ct"], "in0", program=f"C16.{name}.transpose")
    add("C16", entry["shards"]["result"], "out0", program=f"C16.{name}.transpose")
targets = {"replicated": "f32[2,2]", "reduced": "f32[2,2]{R:X}", "sharded0": "f32[2@X,2]",
           "sharded1": "f32[2,2@X]", "unreduced": "f32[2,2]{U:X}"}
for name, kind in targets.items():
  add("C06", rows["C06"]["other_targets"][name]["shards"], "out0",
      text="#! mesh X=2\n{ lambda ; a:f32[2,2@X] b:f32[2@X,2]. let\n"
      "    c:f32[2,2]{U:X} = dot_general[\n"
      "      dimension_numbers=(([1], [0]), ([], []))\n"
      "      preferred_element_type=float32\n    ] a b\n"
      f"    d:{kind} = reshard c\n  in (d,) }}", arguments=[grid(2, 2), [[4, 5], [6, 7]]])


def figures(row, program, value, known):
  lines.append({"row": row.replace("/", "_"), "program": program, "value": value, **known})


for row in ("B65-71", "B72-74", "B75/76", "B77/78"):
  numbers, name = rows[row]["numbers"], row.replace("/", "_")
  figures(row, name + ".forward", "out0", {"sum": numbers["loss"]})
  figures(row, name + ".value_and_grad", "out0", {"sum": numbers["loss"]})
  for i, gradient in enumerate(numbers["grads"]):
    figures(row, name + ".grad", f"out{i}", gradient)
    figures(row, name + ".value_and_grad", f"out{i + 1}", gradient)
pipeline = rows["B79-84"]["numbers"]["Auto, filled with nan"]
figures("B79-84", "B79-84.forward", "out0", {"sum": pipeline["loss"]})
for i, gradient in enumerate(pipeline["grads"]):
  figures("B79-84", "B79-84.grad", f"out{i}",
          {**gradient, "nan": pipeline["nan_per_gradient"][i]})
(HERE / "shards.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
print(len(lines), "values")
