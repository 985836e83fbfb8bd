# __init__.py - functions with sharding annotations, and training steps.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A fragment is a small annotated computation that can be right or wrong.

`f(fix, ...)` with `fix` true is what JAX accepts for the specs given, with `fix` false
what a user has before an annotation is written. Three fragments make a function, in all
eight versions: those with two or three wrong ones have as many independent errors. The
line numbers of errors are lines of these files, so an edit here asks for a new recording.
"""

FRAGMENTS = {}
STEPS = {}
RECORDED = {}


def fragment(*arguments, sized=False):
  """`("f32[8,4]", "P('data', None)")`, ...: types and specs. `sized`: it reads the
  sizes of axes, so a recording of it serves meshes of these sizes only."""
  def register(fn):
    if fn.__name__ in FRAGMENTS:
      raise ValueError(f"two fragments are called {fn.__name__}")
    FRAGMENTS[fn.__name__] = (fn, arguments, sized)
    return fn
  return register


def recorded(*arguments):
  """A function by itself; types and specs as of a fragment."""
  def register(fn):
    RECORDED[fn.__name__] = (fn, arguments)
    return fn
  return register
