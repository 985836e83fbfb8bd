# bad_npz.py - archives that are damaged, hostile, or written in rare ways.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""bad_npz.py FOLDER RUN PROGRAM   writes one .npz for each case, runs the program on those
that are bad, and prints of each: name, exit code, lines, the first line"""
import pathlib
import pickle
import struct
import subprocess
import sys
import zipfile

FOLDER = pathlib.Path(sys.argv[1])
FLAT = struct.pack("<6f", 1, 2, 3, 4, 5, 6)


def npy(descr, shape, data, fortran=False):
  head = "{'descr': %s, 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
  head += " " * (-(11 + len(head)) % 64) + "\n"
  return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data


def write(name, *arrays, how=zipfile.ZIP_STORED):
  with zipfile.ZipFile(FOLDER / (name + ".npz"), "w", how) as file:
    for i, array in enumerate(arrays):
      file.writestr(zipfile.ZipInfo(("a", "b", "c")[i] + ".npy"), array, how)


plain = npy("'<f4'", "(2, 3)", FLAT)
write("plain", plain)
write("compressed", plain, how=zipfile.ZIP_DEFLATED)
write("fortran", npy("'<f4'", "(2, 3)", FLAT, True))
write("big_endian", npy("'>f4'", "(2, 3)", struct.pack(">6f", 1, 2, 3, 4, 5, 6)))
write("scalar", npy("'<f4'", "()", FLAT[:4]))
write("double", npy("'<f8'", "(2, 3)", struct.pack("<6d", *range(6))))
write("other_shape", npy("'<f4'", "(3, 2)", FLAT))
write("extra", plain, plain)
write("nothing")
write("short", npy("'<f4'", "(2, 3)", FLAT[:-1]))
write("long", npy("'<f4'", "(2, 3)", FLAT + b"\0"))
write("huge", npy("'<f4'", "(1000000000000, 3)", FLAT))
write("overflow", npy("'<f4'", "(9223372036854775807, 9223372036854775807)", FLAT))
write("negative", npy("'<f4'", "(-2, 3)", FLAT))
write("objects", npy("'|O'", "(2, 3)", pickle.dumps([print] * 6)))
write("records", npy("[('x', '<f4')]", "(2, 3)", FLAT))
write("code", npy("__import__('os')", "(2, 3)", FLAT))
write("bomb", npy("'<f4'", "(2, 3)", b"\0" * (64 << 20)), how=zipfile.ZIP_DEFLATED)
whole = (FOLDER / "plain.npz").read_bytes()
(FOLDER / "empty.npz").write_bytes(b"")
(FOLDER / "truncated.npz").write_bytes(whole[:len(whole) // 2])
at = whole.index(FLAT)
(FOLDER / "damaged.npz").write_bytes(whole[:at] + b"\x7f" + whole[at + 1:])

GOOD = ("plain", "compressed", "fortran", "big_endian")
for path in sorted(FOLDER.glob("*.npz")):
  if path.stem in GOOD:
    continue
  out = FOLDER / "out.npz"
  run = subprocess.run([sys.argv[2], "run", sys.argv[3], "--inputs", path, "-o", out],
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
  lines = run.stdout.splitlines()
  written = " written" if out.exists() else ""
  print(f"{path.stem} {run.returncode} {len(lines)}{written} {lines[0]}")
