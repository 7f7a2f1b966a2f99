# SPDX-License-Identifier: Apache-2.0
"""A run that is killed, or whose calls fail, at a chosen write, rename or frame: resumed, it ends with the content of an
undisturbed run. The blow comes from tests/fakes/fault_shim.cc, preloaded; nothing waits for a time of day.

KF_FAULT_SWEEP=all takes every call of a class instead of a sample (docs/results/faults.md has the figures of one).
"""
import concurrent.futures
import json
import os
import shutil
import subprocess
import unittest

from factory import BINARY, BROKEN, Case, RIGHT, RIGHT_AGAIN, SPEC, WRONG

SHIM = os.environ.get("KF_FAULT_SHIM", "")  # a list for LD_PRELOAD: a sanitizer's run time goes before the shim
ALL = os.environ.get("KF_FAULT_SWEEP") == "all"
DONE = 3  # a replayed run on the emulator or on no device: nothing beats the baseline


def small_spec(folder):
    """vector_add with one type and few cases: a run of five attempts takes a second."""
    spec = json.loads(SPEC.read_text())
    spec["types"] = {"T": ["float32"]}
    spec["families"] = {"a": ["normal"], "b": ["normal"]}
    for bound in spec["tolerance"].values():
        bound.pop("exact", None)  # of families that are not drawn here
    spec["cases"] = {"check": [{"N": [1, 300]}], "time": [{"N": 4096}], "emulate": [{"N": 512}], "held_out": [{"N": 255}]}
    (folder / "vector_add.json").write_text(json.dumps(spec))
    for name in ("ref", "naive"):
        shutil.copy(SPEC.parent / f"vector_add.{name}.cu", folder)


class Struck(Case):
    """Runs with a shim in front, their traces, and what they leave."""
    DEVICE = "none"
    KEEP_BUILDS = True  # for all runs of a test: what is compiled is always the same

    def setUp(self):
        super().setUp()
        if self.KEEP_BUILDS:
            self.environment["KFACTORY_TOOLKIT_BUILD_CACHE"] = f"{self.folder}/builds"
        self.assertTrue(all(map(os.path.exists, SHIM.split(":"))), "KF_FAULT_SHIM names the shim")
        small_spec(self.folder)
        self.transcript = self.replay([RIGHT, WRONG, BROKEN], [RIGHT_AGAIN, RIGHT])

    def command(self, out, resume=False, more=()):
        words = [BINARY, "run", "vector_add.json", "--device", self.DEVICE, "--replay", self.transcript, "--in-flight", "2",
                 "--out", out, *more]
        return [str(word) for word in words] + (["--resume"] if resume else [])

    def run_with(self, out, resume=False, more=(), **faults):
        environment = dict(self.environment, LD_PRELOAD=SHIM, KF_FAULT_FOLDER=f"{self.folder}/{out}", KF_FAULT_RANDOM="1")
        environment.update({f"KF_FAULT_{name.upper()}": str(value) for name, value in faults.items()})
        return subprocess.run(self.command(out, resume, more), cwd=self.folder, env=environment, text=True, capture_output=True,
                              timeout=120)

    def undisturbed(self):
        trace = self.folder / "trace"
        done = self.run_with("whole/run", trace=trace)
        self.assertEqual(done.returncode, DONE, done.stdout + done.stderr)
        self.wanted = self.ledger_content(self.folder / "whole/run")
        self.files = self.projections("whole/run")
        lines = [line.split() for line in trace.read_text().splitlines()]
        return [(kind, int(number), int(step), call, name) for kind, number, step, call, name in lines]

    def projections(self, out):
        """Every projected file by its path; times set aside."""
        files = {}
        root = self.folder / out
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root))
            if path.is_file() and not name.startswith("ledger."):
                text = path.read_text()
                files[name] = self.without_times(json.loads(text)) if name.endswith(".json") else text
        return files

    def finish(self, out, what):
        """Resumes until the run is done; what it leaves must be what an undisturbed one leaves."""
        done = self.run_with(out, resume=(self.folder / out / "ledger.sqlite").exists())
        self.assertEqual(done.returncode, DONE, f"{what}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
        self.compare(out, what)
        shutil.rmtree((self.folder / out).parent)

    def compare(self, out, what):
        found = self.ledger_content(self.folder / out)
        self.assertEqual(found.keys(), self.wanted.keys(), what)
        for attempt, records in self.wanted.items():
            self.assertEqual(found[attempt], records, f"attempt {attempt}, {what}")
        files = self.projections(out)
        self.assertEqual(files.keys(), self.files.keys(), what)
        for name, content in self.files.items():
            self.assertEqual(files[name], content, f"{name}, {what}")

    def strike(self, at, do, **more):
        out = "cut-" + at.replace(":", "-") + "-" + do + "/run"  # lessons name the last part as their origin
        hit = self.run_with(out, at=at, do=do, **more)
        what = f"{do} at {at}: exit {hit.returncode}\n{hit.stderr[-1500:]}"
        killed = do in ("kill-before", "kill-after", "torn")
        if killed:
            self.assertIn(hit.returncode, (-9, DONE), what)  # DONE: this run needed fewer calls
        else:
            self.assertIn(hit.returncode, (1, 2, DONE), what)
            self.assertTrue(hit.returncode == DONE or hit.stderr.startswith("kfactory: "), what)
        self.finish(out, what)
        return hit.returncode

    def each(self, deed, blows):
        """deed(*blow) for all blows, two at a time; each is carried out though another one found something."""
        failures = []

        def one(blow):
            try:
                return deed(*blow)
            except AssertionError as failure:
                failures.append(str(failure))
                print(f"{self._testMethodName}: {failure}", flush=True)
                return None
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            codes = list(pool.map(one, blows))
        hits = sum(code not in (DONE, None) for code in codes)
        print(f"{type(self).__name__}.{self._testMethodName}: {len(codes)} blows, {hits} ended the run, {len(failures)} failed", flush=True)
        self.assertFalse(failures, "\n\n".join(failures))
        return codes

    def sweep(self, blows):
        codes = self.each(self.strike, blows)
        self.assertGreater(sum(code != DONE for code in codes), len(codes) // 2)


def sample(values, count):
    """All of them, or `count` spread evenly with the first and the last."""
    values = list(values)
    if ALL or len(values) <= count:
        return values
    return [values[round(i * (len(values) - 1) / (count - 1))] for i in range(count)]


class Ledger(Struck):
    def test_a_kill_at_ledger_writes(self):
        steps = [number for kind, number, _, _, _ in self.undisturbed() if kind == "ledger"]
        ways = ("kill-after", "torn") if ALL else ("torn",)
        self.sweep([(f"ledger:{n}", way) for n in sample(steps, 24) for way in ways])

    def test_a_full_disk_or_a_broken_one_at_ledger_writes(self):
        steps = [number for kind, number, _, _, _ in self.undisturbed() if kind == "ledger"]
        self.sweep([(f"ledger:{n}", way) for n, way in zip(sample(steps, 24), ("enospc", "eio", "short-enospc") * len(steps))])


class Frames(Struck):
    """Between the factory, its worker and the worker's job children, on the emulator."""
    DEVICE = "emulator"

    def launcher(self, **faults):
        words = [f"KF_FAULT_{name.upper()}={value}" for name, value in faults.items()]
        return ["--launcher", " ".join(["env", *words])]

    def frames_of_worker(self, who):
        trace = self.folder / f"trace-{who}"
        done = self.run_with(f"counted-{who}/run", more=self.launcher(trace=trace, who=who))
        self.assertEqual(done.returncode, DONE, done.stdout + done.stderr)
        self.compare(f"counted-{who}/run", "a launcher in front changes nothing")
        return max(int(line.split()[1]) for line in trace.read_text().splitlines() if line.startswith("frame"))

    def test_a_factory_that_dies_at_a_frame(self):
        frames = [number for kind, number, _, _, _ in self.undisturbed() if kind == "frame"]
        self.sweep([(f"frame:{n}", way) for n, way in zip(sample(frames, 6), ("torn", "kill-after") * len(frames))])

    def strike_worker(self, at, do, who, stays):
        """The worker's side: struck once, the run goes on by itself; struck each time, it ends and can be resumed."""
        name = f"worker-{at}-{do}-{who}-{stays}".replace(":", "-")
        once = {} if stays else {"once": self.folder / f"{name}.once"}
        hit = self.run_with(f"{name}/run", more=self.launcher(at=at, do=do, who=who, **once))
        what = f"worker's {do} at {at} of its {who}: exit {hit.returncode}\n{hit.stdout[-1500:]}\n{hit.stderr[-1500:]}"
        self.assertIn(hit.returncode, (1, 2, DONE) if stays else (DONE,), what)
        if hit.returncode != DONE:
            self.assertTrue(hit.stderr.startswith("kfactory: ") or "stopped: rig" in hit.stdout, what)
        self.finish(f"{name}/run", what)
        return hit.returncode

    def test_a_worker_that_dies_or_fails_at_a_frame_once(self):
        self.undisturbed()
        frames = range(1, self.frames_of_worker("leader") + 1)
        ways = ("torn", "kill-before", "eio", "kill-after")
        blows = [(f"frame:{n}", way, "leader", False) for n, way in zip(sample(frames, 6), ways * len(frames))]
        self.assertEqual(set(self.each(self.strike_worker, blows)), {DONE})

    def test_a_worker_that_always_dies_ends_the_run_and_leaves_it_resumable(self):
        self.undisturbed()
        codes = self.each(self.strike_worker, [(f"frame:{n}", way, "leader", True) for n, way in [(1, "torn"), (2, "kill-before"),
                                                                                                 (5, "torn")]])
        self.assertNotIn(DONE, codes[:2])

    def test_a_job_child_that_is_killed_at_a_frame_is_replaced(self):
        """Also while its candidate's kernels may run: the job is done once more, and nobody is blamed."""
        self.undisturbed()
        last = self.frames_of_worker("child")

        def strike_child(n, way):
            name = f"child-{n}-{way}"
            once = self.folder / f"{name}.once"
            hit = self.run_with(f"{name}/run", more=self.launcher(at=f"frame:{n}", do=way, who="child", once=once))
            self.assertEqual(hit.returncode, DONE, hit.stdout + hit.stderr)
            self.assertTrue(once.exists(), f"{name}: no child came so far")
            self.compare(f"{name}/run", name)
            return hit.returncode
        self.each(strike_child, zip(sample(range(1, last + 1), 3), ("torn", "kill-before", "kill-after") * last))


class Projections(Struck):
    def test_a_kill_at_every_rename(self):
        renames = [number for kind, number, _, _, _ in self.undisturbed() if kind == "rename"]
        self.sweep([(f"rename:{n}", way) for n, way in zip(sample(renames, 99), ("kill-before", "kill-after") * len(renames))])

    def test_a_failure_at_files_folders_and_renames(self):
        calls = [(kind, number) for kind, number, _, _, _ in self.undisturbed() if kind in ("file", "rename", "mkdir", "unlink")]
        self.sweep([(f"{kind}:{n}", way) for (kind, n), way in zip(sample(calls, 24), ("enospc", "torn") * len(calls))])


if __name__ == "__main__":
    unittest.main()
