#!/usr/bin/env python3
# check_docs.py - what the documents show is what happens.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Check README.md and docs/**/*.md against the repository.

    python tools/dev/check_docs.py               check all documents
    python tools/dev/check_docs.py --update      rewrite outputs that differ
    python tools/dev/check_docs.py README.md     only these

Console blocks: in a fence marked `console`, a line `$ COMMAND` is run and the
lines after it are its exact output, standard error included; `...` alone on a
line stands for any lines. A command goes on behind a line that ends in a
backslash, and in lines that begin with `> ` right below it. The commands of a document share one scratch directory that looks
like the root of the repository, so files they write are there for later blocks.
An HTML comment right above a block says what is not plain:

    <!-- exit: 1 -->                   exit code of the last command (else 0)
    <!-- needs: jax -->                skipped, saying so, without --jax-python
    <!-- in: lib/Primitives/X.cpp -->  the block stands in that file word by
                                       word, `...` lines aside

`docs/primitives.md` must be what `shardtype primitives --markdown` prints. Links
to files, and paths in backquotes that begin with a top folder, must be
there. Exit code: 0 all true, 1 something is not, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field

ROOT = pathlib.Path(__file__).resolve().parents[2]
SENTINEL = "--shardtype-doc-command-ended--"
SECONDS = 120
GENERATED = {"docs/primitives.md": ["primitives", "--markdown"]}
TOPS = ("cmake", "docs", "include", "lib", "python", "spec-examples", "test", "tools")
COMMENT = re.compile(r"\s*<!--\s*(exit|needs|in):\s*(.*?)\s*-->\s*$")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")
QUOTED = re.compile(r"`([^`\s]+)`")


@dataclass
class Command:
    text: str  # Continuation lines included, without `> `.
    line: int  # Of the document, from 1.
    length: int = 1  # In lines.
    expected: list[str] = field(default_factory=list)


@dataclass
class Block:
    language: str
    line: int  # Of its first line inside the fence.
    lines: list[str]
    options: dict[str, str]


def blocks(lines: list[str]) -> Iterator[Block]:
    """Fenced blocks with the comments right above them."""
    options: dict[str, str] = {}
    at = 0
    while at < len(lines):
        if match := COMMENT.match(lines[at]):
            options[match[1]] = match[2]
        elif match := re.match(r"(`{3,})(\w*)", lines[at]):
            end = at + 1
            while end < len(lines) and not lines[end].startswith(match[1]):
                end += 1
            yield Block(match[2], at + 2, lines[at + 1 : end], options)
            at, options = end, {}
        elif lines[at].strip():
            options = {}
        at += 1


def commands(block: Block) -> list[Command]:
    found: list[Command] = []
    continues = False
    for offset, line in enumerate(block.lines):
        if line.startswith("$ ") and not continues:
            found.append(Command(line[2:], block.line + offset))
        elif not found:
            raise ValueError(f"line {block.line + offset}: output before any command")
        elif continues or (line.startswith("> ") and not found[-1].expected):
            found[-1].text += "\n" + line.removeprefix("> ")
            found[-1].length += 1
        else:
            found[-1].expected.append(line)
        continues = not found[-1].expected and line.endswith("\\")
    return found


def matches(expected: list[str], actual: list[str]) -> bool:
    """Whether the lines are equal, `...` standing for any lines."""
    reachable = {0}  # Positions in `actual` that what was read so far can end at.
    for line in expected:
        if line == "...":
            reachable = set(range(min(reachable), len(actual) + 1))
        else:
            reachable = {i + 1 for i in reachable if i < len(actual) and actual[i] == line}
        if not reachable:
            return False
    return len(actual) in reachable


def mirror(source: pathlib.Path, target: pathlib.Path) -> None:
    """Links to what is there; Python files, whose real paths exports name, are
    copied."""
    if source.suffix == ".py":
        shutil.copy(source, target)
    elif source.is_file() or next(source.rglob("*.py"), None) is None:
        target.symlink_to(source)
    else:
        target.mkdir()
        for entry in source.iterdir():
            if entry.name != "__pycache__":
                mirror(entry, target / entry.name)


class Scratch:
    """A directory with links to what the root holds, and a shell in it."""

    def __init__(self, build: pathlib.Path, python: str | None):
        self.directory = tempfile.TemporaryDirectory(prefix="shardtype-docs-")
        root = pathlib.Path(self.directory.name) / "root"
        tools = pathlib.Path(self.directory.name) / "bin"
        root.mkdir()
        tools.mkdir()
        for entry in ROOT.iterdir():
            if not entry.name.startswith((".git", "build")):
                mirror(entry, root / entry.name)
        for name in ("python", "python3"):
            tool = tools / name
            tool.write_text(f'#!/bin/sh\nexec "{python or sys.executable}" "$@"\n')
            tool.chmod(0o755)
        self.root = root
        self.environment = {
            "PATH": os.pathsep.join([str(build / "bin"), str(tools), os.environ.get("PATH", "")]),
            "PYTHONPATH": str(root / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "JAX_PLATFORMS": "cpu",
            "HOME": self.directory.name,
            "LC_ALL": "C.UTF-8",
            "TERM": "dumb",
            "NO_COLOR": "1",
        }

    def run(self, found: list[Command]) -> list[tuple[list[str], int]]:
        """Output and exit code of each command, one shell for all of them."""
        script = "".join(
            f"{c.text}\n__code=$?; printf '\\n%s %d\\n' {SENTINEL} $__code; (exit $__code)\n"
            for c in found
        )
        with subprocess.Popen(
            ["bash", "-c", script],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as shell:
            try:
                output, _ = shell.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired:
                shell.kill()
                output, _ = shell.communicate()
                output += f"\ntook longer than {SECONDS} seconds".encode()
        text = output.decode(errors="replace")
        results: list[tuple[list[str], int]] = []
        for _ in found:
            body, mark, rest = text.partition(f"\n{SENTINEL} ")
            code, _, text = rest.partition("\n")
            results.append((body.splitlines(), int(code) if mark else -1))
        return results


def console(block: Block, scratch: Scratch, fixes: dict[int, tuple[int, list[str]]]) -> list[str]:
    """Problems of a console block. `fixes` maps where an output begins in the
    document's list of lines to where it ends and what it is now."""
    found = commands(block)
    problems = []
    for index, (command, (actual, code)) in enumerate(zip(found, scratch.run(found), strict=True)):
        is_last = index + 1 == len(found)
        wanted = int(block.options.get("exit", "0")) if is_last else 0
        asks_code = not is_last and "$?" in found[index + 1].text
        if code != wanted and not asks_code:
            problems.append(f"{command.line}: exit code {code}, not {wanted}: {command.text}")
        if not matches(command.expected, actual):
            diff = difflib.unified_diff(command.expected, actual, "document", "now", lineterm="")
            problems.append("\n  ".join([f"{command.line}: {command.text}", *diff]))
            first = command.line - 1 + command.length
            fixes[first] = (first + len(command.expected), actual)
    return problems


def excerpt(block: Block) -> list[str]:
    """Problems of a block that should stand in a file of the repository."""
    path = ROOT / block.options["in"]
    if not path.is_file():
        return [f"{block.line}: no file {block.options['in']}"]
    text = path.read_text()
    start = 0
    parts = re.split(r"^\.\.\.\n", "\n".join(block.lines) + "\n", flags=re.MULTILINE)
    for part in parts:
        at = text.find(part, start)
        if at < 0:
            return [f"{block.line}: not in {block.options['in']}:\n  " + part.replace("\n", "\n  ")]
        start = at + len(part)
    return []


def paths(document: pathlib.Path, lines: list[str]) -> list[str]:
    """Links and quoted paths that lead nowhere."""
    problems = []
    fenced = False
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            fenced = not fenced
        if fenced:
            continue
        for target in LINK.findall(line):
            if "://" not in target and not (document.parent / target).exists():
                problems.append(f"{number}: the link {target} leads nowhere")
        for word in QUOTED.findall(line):
            is_path = word.split("/")[0] in TOPS and "/" in word
            if is_path and not re.search(r"[A-Z]{4}|[<>*{}$=]", word):
                if not (ROOT / re.sub(r":\d+$", "", word)).exists():
                    problems.append(f"{number}: there is no {word}")
    return problems


def rewrite(
    document: pathlib.Path, lines: list[str], fixes: dict[int, tuple[int, list[str]]]
) -> None:
    for first in sorted(fixes, reverse=True):
        end, output = fixes[first]
        lines[first:end] = output
    document.write_text("\n".join(lines) + "\n")


def check(document: pathlib.Path, options: argparse.Namespace) -> tuple[int, int, int]:
    """Prints problems; the numbers of console blocks, skipped ones, problems."""
    name = document.relative_to(ROOT) if document.is_relative_to(ROOT) else document
    lines = document.read_text().splitlines()
    scratch: Scratch | None = None
    problems = paths(document, lines)
    fixes: dict[int, tuple[int, list[str]]] = {}
    ran = skipped = 0
    for block in blocks(lines):
        if "in" in block.options:
            problems += excerpt(block)
        if block.language != "console":
            continue
        if block.options.get("needs") == "jax" and not options.jax_python:
            print(f"{name}:{block.line}: skipped: needs JAX, and --jax-python has none")
            skipped += 1
            continue
        scratch = scratch or Scratch(options.build.resolve(), options.jax_python)
        problems += console(block, scratch, fixes)
        ran += 1
    for problem in problems:
        print(f"{name}:{problem}")
    if fixes and options.update:
        rewrite(document, lines, fixes)
        print(f"{name}: {len(fixes)} outputs rewritten")
    return ran, skipped, len(problems)


def generated(options: argparse.Namespace) -> int:
    """Compares, or writes, the documents that our own program prints."""
    bad = 0
    for name, arguments in GENERATED.items():
        document = ROOT / name
        printed = subprocess.run(
            [options.build / "bin" / "shardtype", *arguments], capture_output=True, text=True
        ).stdout
        if document.is_file() and document.read_text() == printed:
            continue
        bad += 1
        print(f"{name}: is not what `shardtype {' '.join(arguments)}` prints (--update writes it)")
        if options.update and printed:
            document.write_text(printed)
    return bad


def has_jax(python: str) -> bool:
    if not shutil.which(python):
        return False
    return subprocess.run([python, "-c", "import jax"], capture_output=True).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("documents", nargs="*", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--jax-python", help="an interpreter that has JAX 0.12.0.1")
    parser.add_argument("--update", action="store_true", help="rewrite outputs that differ")
    options = parser.parse_args()
    if not (options.build / "bin" / "shardtype").exists():
        print(f"check_docs: no {options.build}/bin/shardtype; build it first", file=sys.stderr)
        return 2
    if options.jax_python and not has_jax(options.jax_python):
        options.jax_python = None
    documents = [path.resolve() for path in options.documents]
    documents = documents or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for document in documents:
        if not document.is_file():
            print(f"check_docs: no document {document}", file=sys.stderr)
            return 2
    unprinted = 0 if options.documents else generated(options)
    totals = [check(document, options) for document in documents]
    ran, skipped, bad = (sum(column) for column in zip(*totals, strict=True))
    bad += unprinted
    print(f"{len(totals)} documents, {ran} console blocks run, {skipped} skipped, {bad} problems")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
