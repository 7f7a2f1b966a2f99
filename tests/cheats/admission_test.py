#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`kfactory check` on whole specs, on the emulator: those of this repository are admitted without a warning; with a gap
put back each names it; a baseline that a run would refuse is not admitted, whichever case it fails in."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("KFACTORY", "kfactory")


class Admission(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kf-admission-")
        self.addCleanup(folder.cleanup)
        self.specs = pathlib.Path(folder.name) / "specs"
        shutil.copytree(ROOT / "tests" / "specs", self.specs)

    def check(self, path):
        done = subprocess.run([BINARY, "check", str(path), "--device", "emulator", "--json"], capture_output=True, text=True)
        self.assertTrue(done.stdout.strip(), done.stderr[-2000:])
        report = json.loads(done.stdout)
        self.assertEqual(report["problems"], [])
        self.assertIsNotNone(report["admission"], report.get("admission_not_run"))
        return report

    def changed(self, name, change):
        path = self.specs / f"{name}.json"
        spec = json.loads(path.read_text())
        change(spec)
        path.write_text(json.dumps(spec))
        return path

    def refused(self, report):
        return [row for row in report["admission"]["rows"] if not row["ok"]]

    def test_specs_of_this_repository_are_admitted_without_a_warning(self):
        for path in sorted((ROOT / "tests" / "specs").glob("*.json")):
            with self.subTest(path.name):
                report = self.check(path)
                self.assertEqual(self.refused(report), [])
                self.assertTrue(report["admission"]["admitted"])
                self.assertEqual(report["warnings"], [])

    def test_an_index_that_sixteen_bits_hold_is_named(self):
        def short(spec):
            spec["cases"]["check"].pop()
        for name in ("argmax", "top_k"):
            warnings = self.check(self.changed(name, short))["warnings"]
            self.assertEqual([w["name"] for w in warnings], ["range of index"])
            self.assertIn("whose N is above 65536", warnings[0]["found"])

    def test_sums_that_float32_holds_are_named(self):
        def small(spec):
            spec["families"]["x"].remove("cancel")
        warnings = self.check(self.changed("prefix_sum", small))["warnings"]
        self.assertEqual([w["name"] for w in warnings], ["range of y"])
        self.assertIn("float32", warnings[0]["found"])

    def test_a_baseline_that_fails_in_any_check_case_is_not_admitted(self):
        naive = self.specs / "rmsnorm.naive.cu"
        text = naive.read_text()
        self.assertEqual(text.count("const float rstd = "), 1)
        naive.write_text(text.replace("const float rstd = ", "if (eps > 1.0f) return;\n  const float rstd = "))
        report = self.check(self.specs / "rmsnorm.json")
        self.assertFalse(report["admission"]["admitted"])
        row = self.refused(report)[0]
        self.assertIn("eps=3", row["name"])
        self.assertIn("unwritten", row["found"])
        self.assertIn("Change: repair the baseline", row["found"])
        shown = subprocess.run([BINARY, "check", str(self.specs / "rmsnorm.json"), "--device", "emulator"],
                               capture_output=True, text=True)
        self.assertTrue(shown.stdout.endswith("not admitted: each row that is NOT AS IT MUST BE says what to change\n"),
                        shown.stdout[-300:])


if __name__ == "__main__":
    unittest.main()
