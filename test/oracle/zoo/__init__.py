# __init__.py - the registry of the small programs.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every module here holds programs: plain JAX functions of a few operations.

`@program("f32[8,4]", ...)` gives the types of the arguments without shardings.
The line numbers of rejections are lines of these files, so an edit here asks
for a new recording.
"""

PROGRAMS = {}


def program(*arguments):
  def register(fn):
    name = fn.__name__.rstrip("_")
    if name in PROGRAMS:
      raise ValueError(f"two programs are called {name}")
    PROGRAMS[name] = (fn, arguments)
    return fn
  return register
