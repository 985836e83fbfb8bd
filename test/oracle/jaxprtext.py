# jaxprtext.py - reads the hand-written programs of test/Check.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small reader of printed jaxprs, enough for tests and examples.

It knows nothing of shardtype's own reader, so that both do not share mistakes.
A file is sections parted by `# -----`; a section is directives (`#! mesh X=2`),
expectations (`# expect-error@+1 {{text}}`) and one program.
"""

import dataclasses
import re

_EXPECT = re.compile(r"expect-(error|warning|note)(?:@(any|[+-]\d+))?\s*\{\{(.*?)\}\}")
_OPEN, _CLOSE = "([{", ")]}"


class TextError(Exception):
  pass


@dataclasses.dataclass
class Expectation:
  level: str
  line: int  # 0: any
  text: str


@dataclasses.dataclass
class Eqn:
  line: int
  results: list  # [(name, type or None)]
  primitive: str
  params: dict  # key -> text, or Jaxpr, or list of Jaxpr
  operands: list  # names, or `2.0:f32[]`


@dataclasses.dataclass
class Jaxpr:
  consts: list
  inputs: list
  eqns: list
  outs: list


@dataclasses.dataclass
class Section:
  first_line: int
  mesh: str
  expectations: list
  program: Jaxpr | None


def sections(text):
  """The sections of a file; lines count from 1 in the file."""
  found, start, lines = [], 0, text.split("\n")
  for at, line in enumerate(lines + ["# -----"]):
    if line.rstrip() == "# -----":
      found.append(_section(lines[start:at], start + 1))
      start = at + 1
  return found


def _section(lines, first_line):
  mesh, expectations, code = "", [], []
  for number, line in enumerate(lines, first_line):
    body, _, comment = line.partition("#")
    code.append(body)
    if comment.startswith("! mesh"):
      mesh = ",".join(comment.removeprefix("! mesh").split())
    for level, offset, wanted in _EXPECT.findall(comment):
      at = 0 if offset == "any" else number + int(offset or 0)
      expectations.append(Expectation(level, at, wanted))
  source = "\n".join(code)
  program = _Reader(source, first_line).program() if source.strip() else None
  return Section(first_line, mesh, expectations, program)


class _Reader:

  def __init__(self, text, first_line):
    self.text, self.at, self.first_line = text, 0, first_line

  def program(self):
    jaxpr = self.jaxpr()
    if self.rest().strip():
      raise TextError(f"line {self.line()}: text after the program")
    return jaxpr

  def rest(self):
    return self.text[self.at:]

  def line(self):
    return self.first_line + self.text.count("\n", 0, self.at)

  def blanks(self, also=""):
    while self.at < len(self.text) and (self.text[self.at].isspace()
                                        or self.text[self.at] in also):
      self.at += 1

  def accept(self, word):
    self.blanks()
    if not self.rest().startswith(word):
      return False
    self.at += len(word)
    return True

  def expect(self, word):
    if not self.accept(word):
      raise TextError(f"line {self.line()}: expected {word!r} at {self.rest()[:40]!r}")

  def word(self, pattern):
    self.blanks()
    match = re.match(pattern, self.rest())
    if not match:
      raise TextError(f"line {self.line()}: expected {pattern} at {self.rest()[:40]!r}")
    self.at += match.end()
    return match[0]

  def type(self):
    """A type: it may hold blanks in its set part only."""
    return self.word(r"(?:key<\w+>|\w+)(?:<\w+>)?\[[^\]]*\](?:\{[^}]*\})?")

  def binder(self):
    name = self.word(r"[a-z_]+")
    return name, self.type() if self.text[self.at:self.at + 1] == ":" and \
        self.accept(":") else None

  def jaxpr(self):
    self.expect("{")
    self.expect("lambda")
    consts, inputs, eqns = [], [], []
    while not self.accept(";"):
      consts.append(self.binder())
    while not self.accept("."):
      inputs.append(self.binder())
    self.expect("let")
    while True:
      self.blanks(";")
      if re.match(r"in\s*\(", self.rest()):
        break
      eqns.append(self.eqn())
    self.expect("in")
    self.expect("(")
    outs = []
    while not self.accept(")"):
      outs.append(self.atom())
      self.accept(",")
    self.expect("}")
    return Jaxpr(consts, inputs, eqns, outs)

  def atom(self):
    self.blanks()
    if re.match(r"[a-z_]+(?![\w.:(])", self.rest()):
      return self.word(r"[a-z_]+")
    return self.word(r"[^\s:]+:") + self.type()

  def eqn(self):
    self.blanks()
    eqn = Eqn(self.line(), [], "", {}, [])
    while not self.accept("="):
      eqn.results.append(self.binder())
    eqn.primitive = self.word(r"[\w-]+")
    if self.text[self.at:self.at + 1] == "[":
      self.at += 1
      while not self.accept("]"):
        key = self.word(r"\w+")
        self.expect("=")
        eqn.params[key] = self.value()
    while self.at < len(self.text) and self.text[self.at] in " \t":
      before = self.at
      self.at += 1
      if self.text[self.at:self.at + 1] in (" ", "\t"):
        continue
      if re.match(r"\s|;|in\s*\(|$", self.rest()):
        self.at = before
        break
      eqn.operands.append(self.atom())
    return eqn

  def value(self):
    self.blanks()
    if re.match(r"\{\s*lambda", self.rest()):
      return self.jaxpr()
    if re.match(r"\(\s*\{\s*lambda", self.rest()):
      self.expect("(")
      bodies = []
      while not self.accept(")"):
        bodies.append(self.jaxpr())
      return bodies
    begin, depth = self.at, 0
    while self.at < len(self.text):
      c = self.text[self.at]
      if c in _OPEN:
        depth += 1
      elif c in _CLOSE:
        if depth == 0:
          break
        depth -= 1
      elif c.isspace() and depth == 0:
        break
      self.at += 1
    return self.text[begin:self.at]
