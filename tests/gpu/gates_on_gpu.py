# SPDX-License-Identifier: Apache-2.0
"""Gates that need a GPU and the whole program: evidence of a confirmation, physics by counters, perturbation. Skips itself without a
GPU; with KFACTORY_REQUIRE_GPU=1 that is a failure."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("KFACTORY", "kfactory")
SPEC = ROOT / "tests/specs/vector_add.json"
HONEST = ROOT / "tests/honest/add_grid_stride.cu"


def has_gpu():
    done = subprocess.run([BINARY, "doctor"], capture_output=True, text=True)
    return any(line.split()[:2] == ["GPU", "ok"] for line in done.stdout.splitlines())


def evaluate(spec, candidate, *more):
    done = subprocess.run([BINARY, "eval", str(spec), str(candidate), "--device", "cuda", "--json", *more], capture_output=True, text=True,
                          timeout=300)
    if not done.stdout:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


@unittest.skipUnless(has_gpu() or os.environ.get("KFACTORY_REQUIRE_GPU") == "1", "no GPU here")
class GatesOnGpu(unittest.TestCase):
    def test_a_confirmation_brings_counters_and_compute_sanitizers_word(self):
        result = evaluate(SPEC, HONEST, "--confirm")
        self.assertTrue(result["verdict"]["passed"], result["verdict"])
        case = result["score"]["cases"][-1]
        if not result["score"].get("counters_refused"):
            self.assertGreater(case["counters"]["dram__bytes_read.sum"], 0)
        sanitizer = result["score"]["sanitizer"]
        if not sanitizer["not_run"]:
            self.assertEqual([run["tool"] for run in sanitizer["tools"]], ["memcheck", "racecheck", "initcheck", "synccheck"])
            for run in sanitizer["tools"]:
                self.assertTrue(run["ran"], run)
                self.assertEqual(run["errors"], 0, run)
                self.assertRegex(run["version"], r"^\d+\.\d+")
        self.assertNotIn("sabotage", json.dumps(result["steps"]))

    def test_counters_refute_a_time_that_the_claimed_bytes_forbid(self):
        # The spec claims four times the bytes, so that an honest kernel is faster than its floor and reads too little.
        with tempfile.TemporaryDirectory() as folder:
            for path in (ROOT / "tests/specs").glob("vector_add*"):
                (pathlib.Path(folder) / path.name).write_text(path.read_text())
            spec = pathlib.Path(folder) / "vector_add.json"
            content = json.loads(spec.read_text())
            content["work"]["read_bytes"] = "4*(" + content["work"]["read_bytes"] + ")"
            spec.write_text(json.dumps(content))
            result = evaluate(spec, HONEST)
        if any("not permitted here" in note for note in result["notes"]):
            self.skipTest("no counters here")
        self.assertEqual((result["verdict"]["gate"], result["verdict"]["reason"]), ("physics", "read_too_little"), result["verdict"])

    def test_a_grid_that_waits_for_itself_never_ends_well(self):
        result = evaluate(ROOT / "tests/specs/prefix_sum.json", ROOT / "tests/cheats/scan_waits_for_its_grid.cu")
        self.assertFalse(result["verdict"]["passed"])
        self.assertEqual(result["verdict"]["reason"], "timeout", result["verdict"])

    def test_every_gate_has_a_line_among_the_costs(self):
        steps = {cost["step"] for cost in evaluate(SPEC, HONEST)["costs"]}
        for step in ("source audit", "compile", "binary audit", "plan", "check: gate check", "check: gate repeat",
                     "check: gate perturbation", "timing", "kernel records"):
            self.assertIn(step, steps)


if __name__ == "__main__":
    unittest.main()
