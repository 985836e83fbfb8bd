#!/usr/bin/env python3
# ask_texts.py - does real JAX say what the hand-written tests expect?
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ask_texts.py [--explain] [FILE ...]

Each equation of the programs in test/Check (with --explain: of the examples in
lib/Report/Explain) is asked of JAX by itself, with operands of the types that
JAX gave before, or that are written where JAX refused. A refusal must be
expected on that line by a code whose class and id are JAX's; an expectation
must be met; a written type must be JAX's. So an expected verdict never comes
from shardtype itself. Exit 77 when JAX is missing or is another release.
"""

import argparse
import pathlib
import re
import sys

import record

ROOT = pathlib.Path(__file__).resolve().parents[2]
_DIAG = re.compile(r'DIAG\((\w+), "([\w-]+)", (\w+), "([^"]*)", "([^"]*)"')
# Kinds that are ours alone: JAX has no program with them, no such check, or
# another error where its code runs into what is missing.
_OURS = {"binder-mismatch", "operand-count", "result-count", "call-arity",
         "call-operand", "shard-map-binder"}
# Kinds whose id JAX's message does not tell, or whose check JAX makes where the
# sharding is built: the class decides.
_CLASS_ONLY = {"jit-sharding", "spec-ur-axis-type", "spec-no-mesh"}


def kinds():
  """{code: (name, level, id, class)} of all kinds of findings."""
  found = {}
  for path in sorted((ROOT / "include/shardtype/Support/Diag").glob("*.def")):
    for name, code, level, ident, cls in _DIAG.findall(path.read_text()):
      found[code] = (name, level, ident, cls)
  return found


class Asked:
  """Compares one section with JAX."""

  def __init__(self, name, section, table):
    self.name, self.section, self.table = name, section, table
    self.open = list(section.expectations)
    self.bad = []

  def fail(self, line, text):
    self.bad.append(f"{self.name}:{line}: {text}")

  def refused(self, line, err):
    import errors  # pylint: disable=import-outside-toplevel
    verdict = errors.verdict_of(err)
    for expectation in self.open:
      code = re.search(r"\[([\w-]+)\]$", expectation.text)
      if expectation.line not in (0, line) or not code:
        continue
      if code[1] in _OURS:
        self.open.remove(expectation)
        return
      _, _, ident, cls = self.table.get(code[1], ("", "", "?", "?"))
      if code[1] in _CLASS_ONLY:
        ident = ""
      if self.same(verdict, cls, ident):
        # JAX tells all carries that differ in one error.
        self.open = [e for e in self.open if e.line != expectation.line
                     or not e.text.endswith(code[0])]
        return
    first = (str(err).splitlines() or [""])[0]
    self.fail(line, f"JAX refuses: {verdict} {first[:200]}")

  @staticmethod
  def same(verdict, cls, ident):
    """A class of the same name; ids that JAX's message tells."""
    their_cls, their_ident = verdict.removeprefix("!").split(" ", 1)
    if ident.startswith("accidental") or not ident:
      return their_cls == cls
    return their_cls == cls and their_ident == ident

  def typed(self, line, written, is_type):
    if written == is_type:
      return
    wanted = f"{written}, but the rules give {is_type} [binder-mismatch]"
    expected = [e for e in self.open if e.line == line and wanted in e.text]
    if not expected:
      self.fail(line, f"JAX types {is_type}, not {written}")
    self.open = [e for e in self.open if e not in expected]

  def finish(self):
    for expectation in self.open:
      code = re.search(r"\[([\w-]+)\]$", expectation.text)
      known = code and self.table.get(code[1])
      ours = known and (code[1] in _OURS or not known[3])
      if not ours:
        self.fail(expectation.line or self.section.first_line,
                  f"JAX does not refuse: {expectation.text}")
    return self.bad


# The rules, and the seed rows of manual regions.
_ASKED = ("test/Check/*.jaxpr", "spec-examples/B*.jaxpr",
          "spec-examples/C15-error.jaxpr")
# A file may say why JAX, asked through its functions, would judge otherwise.
_NOT_ASKED = re.compile(r"^# not asked of JAX: (.*)$", re.M)


def check_file(path, table):
  import jaxprtext  # pylint: disable=import-outside-toplevel
  import textprograms  # pylint: disable=import-outside-toplevel
  text = path.read_text()
  if "--verify" not in text:  # No expectations: its comments are for FileCheck.
    return [], 0
  reason = _NOT_ASKED.search(text)
  if reason:
    print(f"{path.relative_to(ROOT)}: not asked of JAX, {reason[1]}")
    return [], 0
  bad, count = [], 0
  for section in jaxprtext.sections(text):
    if section.program is None:
      continue
    asked = Asked(path.relative_to(ROOT), section, table)
    textprograms.run(section, asked)
    bad += asked.finish()
    count += 1
  return bad, count


_ENTRY = re.compile(r'EXPLAIN\((\w+),(.*?)\n(?=EXPLAIN\(|\Z)', re.S)
_EXAMPLE = re.compile(r'R"(\w*)\((.*?)\)\1",\s*"(.*?)",', re.S)


def check_examples(table):
  """Text examples without options: JAX must refuse with the kind's id."""
  import jaxprtext  # pylint: disable=import-outside-toplevel
  import textprograms  # pylint: disable=import-outside-toplevel
  codes = {name: code for code, (name, *_) in table.items()}
  bad, count = [], 0
  for path in sorted((ROOT / "lib/Report/Explain").glob("*.def")):
    for name, rest in _ENTRY.findall(path.read_text()):
      example = _EXAMPLE.search(rest)
      code = codes.get(name)
      if not example or not code or example[2].startswith('{"') or example[3]:
        continue
      cls = table[code][3]
      if not cls or code in _OURS or cls == "JTE":
        continue
      if "Ref{" in example[2] or "pallas_call" in example[2]:
        # No reader for them here; the verdicts of `refs` have the same refusals.
        print(f"{code}: the example is not asked of JAX, see verdicts of refs")
        continue
      if "ad_vjp" in example[2] or "ad_jvp" in example[2]:
        print(f"{code}: the example is not asked of JAX, the exporter's own")
        continue
      section = jaxprtext.sections(example[2])[0]
      section.expectations = [jaxprtext.Expectation("error", 0, f"[{code}]")]
      asked = Asked(f"{path.name}:{name}", section, table)
      textprograms.run(section, asked)
      bad += asked.finish()
      count += 1
  return bad, count


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument("--explain", action="store_true")
  parser.add_argument("files", nargs="*", type=pathlib.Path)
  args = parser.parse_args()
  record.require_jax(record.WANTED)
  table = kinds()
  if args.explain:
    bad, count = check_examples(table)
  else:
    bad, count = [], 0
    ours = [path for pattern in _ASKED for path in sorted(ROOT.glob(pattern))]
    for path in args.files or ours:
      found, programs = check_file(path.resolve(), table)
      bad += found
      count += programs
  for line in bad:
    print(line)
  print(f"{count} programs, {len(bad)} disagreements with JAX")
  return 1 if bad else 0


if __name__ == "__main__":
  sys.exit(main())
