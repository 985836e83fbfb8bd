# make_npz.py - an .npz file without NumPy.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""make_npz.py FILE NAME=f4:SHAPE:VALUES ...   as `a=f4:2,2:1,2,3,4`"""
import struct
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1], "w") as file:
  for array in sys.argv[2:]:
    name, rest = array.split("=", 1)
    dtype, shape, values = rest.split(":")
    sizes = [s + "," for s in shape.split(",") if s]
    header = "{'descr': '<%s', 'fortran_order': False, 'shape': (%s), }" % (
        dtype, " ".join(sizes))
    header += " " * (-(11 + len(header)) % 64) + "\n"
    code = {"f4": "f", "i4": "i", "f8": "d"}[dtype]
    kind = int if code == "i" else float
    data = [kind(v) for v in values.split(",")]
    file.writestr(
        name + ".npy",
        b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
        header.encode() + struct.pack("<%d%s" % (len(data), code), *data))
