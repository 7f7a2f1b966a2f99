# SPDX-License-Identifier: Apache-2.0
"""The README's first spec, with the README's own commands, on the emulator."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from factory import BINARY, Case, SOURCE


def commands():
    """The indented kfactory and reply lines of the README's steps 3 to 5, in order."""
    text = (SOURCE / "README.md").read_text(encoding="utf-8")
    steps = text[text.index("**3. Is the spec sound?**"):text.index("## With a model over HTTP")]
    return [line.strip() for line in steps.splitlines() if re.match(r"    (kfactory|\(echo|ls) ", line)]


class FirstSpec(Case):
    def test_its_commands_do_what_it_says(self):
        shutil.copytree(SOURCE / "specs/examples", self.folder / "examples")
        programs = self.folder / "programs"
        programs.mkdir()
        (programs / "kfactory").symlink_to(pathlib.Path(BINARY).resolve())
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        self.environment["KFACTORY_DEVICE_KIND"] = "emulator"
        outputs = []
        for line in commands():
            line = line.replace("/tmp/", f"{self.scratch.name}/")
            done = subprocess.run(["bash", "-c", line], cwd=self.folder / "examples", env=self.environment, text=True,
                                  capture_output=True, timeout=300)
            expected = int(code[1]) if (code := re.search(r"# .*exit code (\d+)", line)) else None
            if expected is None and "now lessons are asked for" in line:
                expected = 4
            self.assertEqual(done.returncode, expected or 0, f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
            outputs.append((line, done.stdout))
        self.assertGreaterEqual(len(outputs), 12)
        self.assertTrue(outputs[0][1].rstrip().endswith("admitted"))
        self.assertIn("columns 0 to 7 (of 1000), all unwritten", outputs[2][1])
        self.assertIn("evidence.json", outputs[-1][1])

    def test_the_spec_shown_is_the_file(self):
        text = (SOURCE / "README.md").read_text(encoding="utf-8")
        shown = text[text.index("```json") + 7:]
        self.assertEqual(json.loads(shown[:shown.index("```")]), json.loads((SOURCE / "specs/examples/bias_relu.json").read_text()))
        self.assertIn((SOURCE / "specs/examples/bias_relu.ref.cu").read_text().strip(), text)


if __name__ == "__main__":
    unittest.main()
