# SPDX-License-Identifier: Apache-2.0
"""Whole runs on the emulator that are struck at random moments: any process killed or stopped, disks that fill up, folders that
turn read-only, ledgers cut at a random byte, a clock that steps back. Whatever it was, `--resume` ends with the attempts of an
undisturbed run, or an error says what to do. faults_test.py strikes at chosen calls; this one also hits between them.

KF_BLOWS is the number of blows (otherwise a short sample), KF_BLOWS_SEED where they begin, KF_BLOWS_KIND one kind alone.
"""
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import resource
import signal
import subprocess
import time
import unittest

from factory import BINARY
from faults_test import DONE, SHIM, Struck

SEED = int(os.environ.get("KF_BLOWS_SEED", "1"))
COUNT = int(os.environ.get("KF_BLOWS", "0"))
ONLY = os.environ.get("KF_BLOWS_KIND", "")
NOBODY = 65534
ADVICE = re.compile(r"--resume|\.recover|--out|another folder|make room|permission|read-only", re.IGNORECASE)


def processes_below(leader):
    """The run's processes by what they are: {(pid, start): kind}, the run itself as "factory"."""
    children, words, start = collections.defaultdict(list), {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                words[int(entry.name)] = (entry / "cmdline").read_bytes()
            except (OSError, IndexError):
                continue
            if fields[0] != "Z":
                children[int(fields[1])].append(int(entry.name))
                start[int(entry.name)] = fields[19]
    found = {}
    below = {"factory": {b"worker": "supervisor", b"compile-zygote": "zygote"}, "supervisor": {b"": "job"}, "zygote": {b"": "minder"},
             "minder": {b"": "compiler"}}

    def walk(pid, kind):
        if pid in start:
            found[pid, start[pid]] = kind
        for child in children[pid]:
            walk(child, next((name for word, name in below.get(kind, {}).items() if word in words.get(child, b"")), "other"))
    walk(leader, "factory")
    return found


def is_alive(process):
    try:
        fields = pathlib.Path("/proc", str(process[0]), "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return False
    return fields[0] != "Z" and fields[19] == process[1]


class Trial:
    """One run in a folder of its own, and the random choices for it."""

    def __init__(self, case, kind, number):
        self.case, self.kind = case, kind
        self.random = random.Random(f"{SEED} {number} {kind}")
        self.out = f"{kind.replace(' ', '-')}-{number}/disk/run"
        self.root = case.folder / self.out
        # Most runs find their builds in a folder, which makes them short; compilers are struck where they work.
        self.keeps_builds = kind not in ("compiler", "minder", "zygote") and self.random.random() < 0.8
        self.done = []

    def start(self, resume=False, user=None, **faults):
        environment = dict(self.case.environment, LD_PRELOAD=SHIM, KF_FAULT_FOLDER=str(self.root), KF_FAULT_RANDOM="1")
        if not self.keeps_builds:
            environment.pop("KFACTORY_TOOLKIT_BUILD_CACHE")
        environment.update({f"KF_FAULT_{name.upper()}": str(value) for name, value in faults.items()})
        self.process = subprocess.Popen(self.case.command(self.out, resume), cwd=self.case.folder, env=environment, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, **({} if user is None else {"user": user, "group": user}))
        self.begun = time.monotonic()

    def wait_for_moment(self):
        """Some moment of an undisturbed run. False: the run was over first."""
        try:
            self.process.wait(self.random.uniform(0, self.case.duration[self.keeps_builds]))
            return False
        except subprocess.TimeoutExpired:
            return True

    def victim(self, kind):
        """A process of this kind, as soon as there is one; None when the run ends without."""
        while self.process.poll() is None:
            found = sorted(process for process, its in processes_below(self.process.pid).items() if kind in ("any", its))
            if found:
                return self.random.choice(found)
            time.sleep(0.001)
        return None

    def end(self, seconds=240):
        stdout, stderr = self.process.communicate(timeout=seconds)
        self.what = f"{self.kind}, {self.out}: {'; '.join(self.done)}; exit {self.process.returncode}\n{stdout[-1500:]}\n{stderr[-1500:]}"
        self.stderr = stderr
        return self.process.returncode

    def end_with_advice_or_done(self):
        code = self.end()
        self.case.assertIn(code, (1, 2, DONE), self.what)
        if code != DONE:
            self.case.assertRegex(self.stderr, r"^kfactory: ", self.what)
            self.case.assertRegex(self.stderr, ADVICE, self.what)
        return code


class Blows(Struck):
    DEVICE = "emulator"

    # Each kind is a method that starts the trial's run, strikes and waits for its end. What follows is the same for all.

    def kill_a(self, trial, kind):
        trial.start()
        if trial.wait_for_moment() and (victim := trial.victim(kind)):
            os.kill(victim[0], signal.SIGKILL)
            trial.done.append(f"killed {kind} after {time.monotonic() - trial.begun:.2f} s")
        self.assertEqual(trial.end(), DONE, trial.what)

    def blow_supervisor(self, trial):
        self.kill_a(trial, "supervisor")

    def blow_job(self, trial):
        self.kill_a(trial, "job")

    def blow_zygote(self, trial):
        self.kill_a(trial, "zygote")

    def blow_minder(self, trial):
        self.kill_a(trial, "minder")

    def blow_compiler(self, trial):
        self.kill_a(trial, "compiler")

    def kill_the_factory(self, trial, whole_tree=False, resume=False):
        trial.start(resume)
        if trial.wait_for_moment():
            others = processes_below(trial.process.pid)
            for pid, _ in (others if whole_tree else [(trial.process.pid, None)]):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            trial.done.append(f"killed {'every process' if whole_tree else 'the factory'} after {time.monotonic() - trial.begun:.2f} s")
            self.assertIn(trial.end(), (-signal.SIGKILL, DONE), trial.what)
            limit = time.monotonic() + 20
            while left := {process: kind for process, kind in others.items() if is_alive(process)}:
                self.assertLess(time.monotonic(), limit, f"{left} outlived the factory\n{trial.what}")
                time.sleep(0.01)
        else:
            trial.end()

    def blow_factory(self, trial):
        self.kill_the_factory(trial)

    def blow_every_process(self, trial):
        self.kill_the_factory(trial, whole_tree=True)

    def blow_factory_again_and_again(self, trial):
        for _ in range(4):
            self.kill_the_factory(trial, resume=(trial.root / "ledger.sqlite").exists())

    def blow_by_stopping(self, trial):
        """Any process stands still for a while: nobody may draw conclusions from it."""
        trial.start()
        for _ in range(3):
            if trial.wait_for_moment() and (victim := trial.victim("any")):
                pause = trial.random.choice([0.01, 0.1, 1.0])
                kind = processes_below(trial.process.pid).get(victim)
                try:
                    os.kill(victim[0], signal.SIGSTOP)
                    time.sleep(pause)
                    os.kill(victim[0], signal.SIGCONT)
                    trial.done.append(f"{kind} stood still for {pause} s")
                except ProcessLookupError:
                    pass
        self.assertEqual(trial.end(), DONE, trial.what)

    def blow_file_size(self, trial):
        """No file may grow beyond a random size any more."""
        trial.start()
        if trial.wait_for_moment():
            limit = trial.random.randrange(1, 600_000)
            try:
                resource.prlimit(trial.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
                trial.done.append(f"files limited to {limit} bytes")
            except ProcessLookupError:
                pass
        trial.end_with_advice_or_done()

    def blow_full_disk(self, trial):
        """A file system of its own that is too small; root only, otherwise the n-th write and all later ones fail."""
        disk = trial.root.parent.parent
        disk.mkdir()
        size = trial.random.randrange(40, 1200)
        mounted = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(disk)],
                                                       capture_output=True).returncode == 0
        try:
            if mounted:
                trial.start()
                trial.done.append(f"a disk of {size} KiB")
            else:
                trial.start(at=f"step:{trial.random.randrange(1, 300)}", do="enospc", stays=1)
                trial.done.append("writes fail")
            trial.end_with_advice_or_done()
            if mounted:
                subprocess.run(["mount", "-o", "remount,size=256m", str(disk)], check=True)
            self.finish_trial(trial)
        finally:
            if mounted:
                subprocess.run(["umount", str(disk)], check=True)

    def blow_read_only(self, trial):
        """The run folder loses its write permission. Root may write all the same, so the run is somebody else's then, if the
        build's folder lets others in."""
        open_to_all = all(folder.stat().st_mode & 1 for file in (BINARY, *SHIM.split(":")) for folder in pathlib.Path(file).resolve().parents)
        user = NOBODY if os.geteuid() == 0 and open_to_all else None
        trial.root.parent.mkdir(parents=True)
        if user is not None:
            os.chown(trial.root.parent, user, user)
            self.folder.chmod(0o755)
        trial.start(user=user)
        if trial.wait_for_moment():
            folders = [trial.root.parent] + [path for path in trial.root.parent.rglob("*") if path.is_dir()]
            folder = trial.random.choice(folders)
            mode = folder.stat().st_mode
            folder.chmod(0o555)
            trial.done.append(f"{folder.name} is read-only")
            trial.end_with_advice_or_done()
            trial.start(resume=(trial.root / "ledger.sqlite").exists(), user=user)
            trial.end_with_advice_or_done()
            folder.chmod(mode)
        else:
            trial.end()
        self.finish_trial(trial)

    def blow_ledger_cut(self, trial):
        """A kill, and then a file of the ledger ends at a random byte. What cannot be put right must be said."""
        while not (files := sorted(trial.root.glob("ledger.sqlite*"))):
            self.kill_the_factory(trial)
        file = trial.random.choice(files)
        size = trial.random.randrange(0, file.stat().st_size + 1)
        os.truncate(file, size)
        trial.done.append(f"{file.name} cut to {size} bytes")
        trial.start(resume=True)
        if trial.end_with_advice_or_done() == DONE:
            self.finish_trial(trial)

    def blow_clock(self, trial):
        """The time of day goes back by a random time at a random reading, in every process."""
        back = trial.random.choice([1, 60, 86_400, 40_000_000])
        reading = trial.random.randrange(1, 40)
        trial.start(clock=f"{reading}:{back}")
        trial.done.append(f"{back} s back at reading {reading}")
        self.assertEqual(trial.end(), DONE, trial.what)

    def finish_trial(self, trial):
        if trial.root.parent.exists():
            self.finish(trial.out, trial.what)

    def deal(self, kind, number):
        trial = Trial(self, kind, number)
        getattr(self, f"blow_{kind}")(trial)
        if trial.root.exists() and kind not in ("full_disk", "read_only", "ledger_cut"):
            self.finish_trial(trial)
        return bool(trial.done)

    def test_a_run_that_is_struck_at_random_moments_loses_nothing(self):
        begun = time.monotonic()
        self.undisturbed()
        filled = time.monotonic()
        self.run_with("again/run")
        self.duration = {False: filled - begun, True: time.monotonic() - filled}
        kinds = [name.removeprefix("blow_") for name in sorted(dir(self)) if name.startswith("blow_") and ONLY in name]
        blows = [(kinds[number % len(kinds)], number) for number in range(COUNT or len(kinds))]
        failures = []

        def deal(blow):
            try:
                return blow[0] if self.deal(*blow) else None
            except (AssertionError, subprocess.TimeoutExpired) as failure:
                failures.append(f"{blow}: {failure}")
                print(failures[-1], flush=True)
                return blow[0]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            hits = collections.Counter(filter(None, pool.map(deal, blows)))
        print(f"{len(blows)} blows from seed {SEED}, {sum(hits.values())} hit a run under way, {len(failures)} failed: {dict(hits)}",
              flush=True)
        self.assertFalse(failures, "\n\n".join(failures))
        self.assertGreater(sum(hits.values()), len(blows) // 2)


if __name__ == "__main__":
    unittest.main()
