# around.py - what stands around the parts of a recorded function.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lines of this file are in the recordings: an edit here asks for new ones."""

import functools

from jax.tree_util import tree_unflatten

from annotated import FRAGMENTS


def as_is(fn):
  return fn


def composed(parts, around):
  """A function of the arguments of all fragments; `around` is put around each."""
  def composed_of(*args):
    out = []
    for name, fixed in parts:
      fn, arguments, _ = FRAGMENTS[name]
      own, args = args[:len(arguments)], args[len(arguments):]
      out.append(around(functools.partial(fn, fixed))(*own))
    return out
  return composed_of


def flat(fn, tree):
  """The function of the leaves of its arguments."""
  def step(*leaves):
    return fn(*tree_unflatten(tree, leaves))
  return step
