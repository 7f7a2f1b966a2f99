# SPDX-License-Identifier: Apache-2.0
"""kfactory gauntlet: every gate for each candidate, also after a refusal."""
import json
import os
import pty
import fcntl
import struct
import subprocess
import termios
import unittest

from factory import BINARY, BROKEN, Case, RIGHT, SPEC, WRONG, candidate

ADD = "if (i < n) c[i] = static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));"
# The binary audit refuses it (a module variable that it writes), and its last element is wrong.
COUNTS = candidate("static unsigned calls; if (i == 0) atomicAdd(&calls, 1u);\n  if (i + 1 < n) c[i] = "
                   "static_cast<T>(static_cast<float>(a[i]) + static_cast<float>(b[i]));", "counts its launches")


class Gauntlet(Case):
    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def gauntlet(self, *arguments, code):
        done = self.call("gauntlet", SPEC, *arguments, "--device", "emulator", "--no-time", code=code)
        return done.stdout

    def reports(self, *arguments, code):
        return [json.loads(line) for line in self.gauntlet(*arguments, "--json", code=code).splitlines()]

    @staticmethod
    def gates(report):
        return {step["gate"]: step for step in report["steps"]}

    def test_a_right_candidate_passes_every_gate_and_each_is_named(self):
        report, = self.reports(self.write("right.cu", RIGHT), code=0)
        self.assertTrue(report["verdict"]["passed"])
        gates = self.gates(report)
        for gate in ("source audit", "compile", "binary audit", "plan", "check", "repeat", "perturbation"):
            self.assertTrue(gates[gate]["passed"], gate)

    def test_it_goes_on_after_the_binary_audit_refused(self):
        report, = self.reports(self.write("counts.cu", COUNTS), code=3)
        self.assertEqual((report["verdict"]["gate"], report["verdict"]["reason"]), ("binary audit", "written_global"))
        gates = self.gates(report)
        self.assertFalse(gates["check"]["passed"])
        self.assertIn("repeat", gates)

    def test_it_goes_on_where_every_tune_point_is_wrong(self):
        name = self.write("tuned.cu", WRONG.replace('"hypothesis"', '"tune": {"FACTOR": [1, 2]}, "hypothesis"'))
        report, = self.reports(name, code=3)
        self.assertEqual(report["verdict"]["gate"], "check")
        one, = self.reports(self.write("one.cu", WRONG), code=3)
        self.assertEqual([step["gate"] for step in report["steps"]], [step["gate"] for step in one["steps"]])
        self.assertIn("few cases: small ones", self.gauntlet(name, code=3))
        self.assertEqual([step["of"] for step in report["steps"] if step["gate"] == "check"], ["few_cases", "the_rest"])

    def test_first_refusal_stops_where_a_run_would(self):
        report, = self.reports(self.write("counts.cu", COUNTS), "--first-refusal", code=3)
        self.assertEqual([step["gate"] for step in report["steps"]], ["source audit", "binary audit"])

    def test_several_candidates_each_get_their_verdict_in_order(self):
        names = [self.write("right.cu", RIGHT), self.write("wrong.cu", WRONG), self.write("broken.cu", BROKEN),
                 self.write("no_plan.cu", "int x;\n")]
        reports = self.reports(*names, code=3)
        self.assertEqual([r["candidate"] for r in reports], names)
        self.assertEqual([r["verdict"]["passed"] for r in reports], [True, False, False, False])
        self.assertEqual([r["verdict"]["gate"] for r in reports[1:]], ["check", "compile", "reply"])

    def test_an_unreadable_file_is_said_before_anything_runs(self):
        done = self.call("gauntlet", SPEC, self.write("right.cu", RIGHT), "missing.cu", "--device", "emulator", code=2)
        self.assertIn("missing.cu", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_confirm_adds_its_own_steps(self):
        report, = self.reports(self.write("right.cu", RIGHT), "--confirm", code=0)
        self.assertTrue(any(step["gate"] == "confirm" for step in report["steps"]))

    def test_without_a_device_nothing_is_claimed(self):
        done = self.call("gauntlet", SPEC, self.write("right.cu", RIGHT), "--device", "none", "--json", code=3)
        self.assertFalse(json.loads(done.stdout)["executed"])

    def test_the_table_fits_a_narrow_terminal(self):
        name = self.write("a_candidate_with_quite_a_long_name.cu", WRONG)
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 72, 0, 0))
        process = subprocess.Popen([BINARY, "gauntlet", str(SPEC), name, "--device", "emulator", "--no-time"], cwd=self.folder,
                                   env={**self.environment, "NO_COLOR": "1"}, stdout=theirs, stderr=subprocess.DEVNULL)
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 4096):
                text += part
        except OSError:
            pass  # the terminal's other end is closed
        self.assertEqual(process.wait(), 3)
        lines = text.decode().replace("\r\n", "\n").splitlines()
        table = [line for line in lines if line.startswith(("gate ", "source audit", "check ", "repeat "))]
        self.assertGreaterEqual(len(table), 3)
        for line in table:
            self.assertLessEqual(len(line), 72, line)


if __name__ == "__main__":
    unittest.main()
