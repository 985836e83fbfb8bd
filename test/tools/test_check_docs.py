#!/usr/bin/env python3
# test_check_docs.py - check_docs.py finds what is untrue and rewrites it.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "dev" / "check_docs.py"


class CheckDocs(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.build = pathlib.Path(directory.name)
        (self.build / "bin").mkdir()
        tool = self.build / "bin" / "shardtype"
        tool.write_text('#!/bin/sh\necho "one $1"\necho two >&2\nexit ${2:-0}\n')
        tool.chmod(0o755)
        self.document = self.build / "d.md"

    def check(self, text: str, *options: str) -> tuple[int, str]:
        self.document.write_text(text)
        done = subprocess.run(
            [sys.executable, SCRIPT, "--build", self.build, *options, self.document],
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    def block(self, *lines: str) -> str:
        return "\n".join(["```console", *lines, "```", ""])

    def test_exact_output_passes(self) -> None:
        code, output = self.check(self.block("$ shardtype a", "one a", "two"))
        self.assertEqual(code, 0, output)
        self.assertIn("1 console blocks run", output)

    def test_other_output_is_shown(self) -> None:
        code, output = self.check(self.block("$ shardtype a", "one b", "two"))
        self.assertEqual(code, 1)
        self.assertIn("-one b", output)
        self.assertIn("+one a", output)

    def test_missing_and_extra_lines_fail(self) -> None:
        self.assertEqual(self.check(self.block("$ shardtype a", "one a"))[0], 1)
        self.assertEqual(self.check(self.block("$ shardtype a", "one a", "two", ""))[0], 1)

    def test_dots_stand_for_any_lines(self) -> None:
        self.assertEqual(self.check(self.block("$ shardtype a", "...", "two"))[0], 0)
        self.assertEqual(self.check(self.block("$ shardtype a", "one a", "two", "..."))[0], 0)
        self.assertEqual(self.check(self.block("$ shardtype a", "...", "three"))[0], 1)
        self.assertEqual(self.check(self.block("$ shardtype a", "one a", "...", "one a"))[0], 1)

    def test_exit_code(self) -> None:
        block = self.block("$ shardtype a 3", "one a", "two")
        self.assertEqual(self.check(block)[0], 1)
        self.assertEqual(self.check("<!-- exit: 3 -->\n" + block)[0], 0)
        self.assertEqual(self.check("<!-- exit: 1 -->\n" + block)[0], 1)
        asked = self.block("$ shardtype a 3", "one a", "two", "$ echo $?", "3")
        self.assertEqual(self.check(asked)[0], 0)

    def test_a_comment_holds_for_the_next_block_only(self) -> None:
        block = self.block("$ shardtype a 3", "one a", "two")
        self.assertEqual(self.check("<!-- exit: 3 -->\n\ntext\n\n" + block)[0], 1)

    def test_long_commands_and_files(self) -> None:
        text = self.block("$ echo hello \\", "    there > f") + self.block("$ cat f", "hello there")
        self.assertEqual(self.check(text)[0], 0)
        self.assertFalse((SCRIPT.parents[2] / "f").exists())

    def test_here_documents(self) -> None:
        text = self.block("$ cat <<END", "> a", "> $ b", "> END", "a", "$ b")
        self.assertEqual(self.check(text)[0], 1)  # The second `$ b` is a command.
        text = self.block("$ cat <<END", "> a", "> b", "> END", "old", "$ true")
        self.assertEqual(self.check(text, "--update")[0], 1)
        self.assertEqual(self.document.read_text(), text.replace("old", "a\nb"))

    def test_update(self) -> None:
        text = self.block("$ shardtype a", "old", "$ shardtype b", "one b", "...") + "end\n"
        self.assertEqual(self.check(text, "--update")[0], 1)
        self.assertEqual(
            self.document.read_text(),
            self.block("$ shardtype a", "one a", "two", "$ shardtype b", "one b", "...") + "end\n",
        )

    def test_jax_blocks_are_skipped_aloud(self) -> None:
        text = "<!-- needs: jax -->\n" + self.block("$ false")
        code, output = self.check(text)
        self.assertEqual(code, 0)
        self.assertIn("skipped: needs JAX", output)

    def test_excerpts(self) -> None:
        good = "<!-- in: LICENSE -->\n```\nSPDX-License\n```\n"
        self.assertEqual(self.check(good)[0], 1)
        line = (SCRIPT.parents[2] / "LICENSE").read_text().splitlines()[0]
        self.assertEqual(self.check(f"<!-- in: LICENSE -->\n```\n{line}\n```\n")[0], 0)

    def test_paths(self) -> None:
        self.assertEqual(self.check("`tools/dev/check_docs.py` and `tools/NAME.py`\n")[0], 0)
        self.assertEqual(self.check("`tools/dev/no_such_file.py`\n")[0], 1)
        self.assertEqual(self.check("[a](d.md) [b](https://example.org)\n")[0], 0)
        self.assertEqual(self.check("[a](missing.md)\n")[0], 1)

    def test_no_program(self) -> None:
        (self.build / "bin" / "shardtype").unlink()
        self.assertEqual(self.check("text\n")[0], 2)


if __name__ == "__main__":
    unittest.main()
