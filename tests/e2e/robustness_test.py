# SPDX-License-Identifier: Apache-2.0
"""What happens around a run: full disks, folders that cannot be written, dead workers, launchers and compilers, signals."""
import os
import resource
import shutil
import signal
import subprocess
import sys
import unittest

from factory import BINARY, LESSONS, RIGHT, RIGHT_AGAIN, TAIL, fenced
from faults_test import DONE, Struck

# A model program: does something to the run that asks it, then answers. The run is its parent.
MODEL = """import os, pathlib, signal, sys, time
sys.stdin.read()
role, ordinal = os.environ["KFACTORY_ROLE"], os.environ["KFACTORY_ORDINAL"]

def grandparent(pid):
    try:
        return int(pathlib.Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0

{deed}
print(pathlib.Path({folder!r}, role + "-" + ordinal + ".md").read_text())
"""

# Kills those children of the run whose command line says `word`, once.
KILL_CHILD = """
mark = pathlib.Path({folder!r}, "killed")
if role == "writer" and ordinal == "2" and not mark.exists():
    for entry in pathlib.Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            words = (entry / "cmdline").read_bytes()
        except (OSError, ValueError):
            continue
        if parent == os.getppid() and {word!r} in words:
            os.kill(int(entry.name), signal.SIGKILL)
            mark.write_text(str(words))
"""


class Around(Struck):
    DEVICE = "emulator"
    KEEP_BUILDS = False

    def model_program(self, deed, **words):
        """A model that does `deed` first. Its answers: right, late in the tail, right again."""
        for name, text in [("writer-1", fenced(RIGHT)), ("writer-2", fenced(TAIL)), ("writer-3", fenced(RIGHT_AGAIN)),
                           ("repairer-1", fenced(RIGHT_AGAIN)), ("repairer-2", fenced(RIGHT)), ("librarian-1", LESSONS)]:
            (self.folder / f"{name}.md").write_text(text)
        program = self.folder / "model.py"
        program.write_text(MODEL.format(deed=deed.format(folder=str(self.folder), **words), folder=str(self.folder)))
        return ["run", "vector_add.json", "--device", self.DEVICE, "--provider", "command", "--command", f"{sys.executable} {program}",
                "--attempts", "3", "--in-flight", "1", "--out", "out"]

    def plain(self, *more, out="out"):
        return ["run", "vector_add.json", "--device", self.DEVICE, "--replay", self.transcript, "--out", out, *more]

    def states(self):
        return [attempt["state"] for attempt in self.attempts("out")]


class Disk(Around):
    DEVICE = "none"

    def test_a_disk_that_is_full_from_some_write_on_is_said_and_the_run_goes_on_later(self):
        steps = max(step for _, _, step, _, _ in self.undisturbed())
        for n in (3, steps // 3, steps * 2 // 3):
            out = f"full-{n}/run"
            hit = self.run_with(out, at=f"step:{n}", do="enospc", stays=1)
            self.assertEqual(hit.returncode, 1, hit.stdout + hit.stderr)
            self.assertRegex(hit.stderr, r"^kfactory: .*(No space left|full)")
            self.finish(out, f"a full disk from step {n} on")

    def test_a_limit_on_file_size_is_an_error_not_a_death(self):
        limited = subprocess.run(self.command("out"), cwd=self.folder, env=self.environment, text=True, capture_output=True, timeout=120,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY)))
        self.assertEqual(limited.returncode, 1, limited.stdout + limited.stderr)
        self.assertIn("kfactory: ", limited.stderr)
        self.call(*self.plain("--resume"), code=DONE)

    def test_a_folder_that_cannot_be_made_is_named(self):
        (self.folder / "file").write_text("")
        for out in ("/proc/self/nothing", "file", "file/below"):
            done = self.call(*self.plain(out=out), code=1)
            self.assertIn(out, done.stderr)
        for out in ("/proc", "/sys/kernel"):  # there, and not to be written
            done = self.call(*self.plain(out=out), code=1)
            self.assertIn(out, done.stderr)

    def test_the_folder_of_another_specs_run_is_refused(self):
        self.call(*self.plain(), code=DONE)
        softmax = self.folder / "softmax.json"
        for name in ("softmax.json", "softmax.ref.cu", "softmax.naive.cu"):
            shutil.copy(os.path.join(os.environ["KF_SOURCE_DIR"], "tests/specs", name), self.folder)
        done = self.call("run", softmax, "--device", "none", "--replay", self.transcript, "--out", "out", "--resume", code=2)
        self.assertIn("began", done.stderr)
        self.call(*self.plain("--resume"), code=DONE)


class Launchers(Around):
    def test_one_that_is_missing_or_fails_is_quoted(self):
        for launcher, words in [("no-such-launcher", "no-such-launcher"), ("false", "exit code 1"),
                                ("sh -c echo\\ broken\\ link>&2;exit\\ 9", "it did not start"), ("echo", "no message")]:
            done = self.call(*self.plain("--launcher", launcher), code=2)
            self.assertIn(words, done.stderr)
            self.assertFalse((self.folder / "out").exists(), "a run that cannot begin leaves no folder")


class Killed(Around):
    def test_a_worker_killed_in_the_middle_is_replaced(self):
        self.call(*self.model_program(KILL_CHILD, word=b"worker"), code=DONE)
        self.assertIn("worker", (self.folder / "killed").read_text())
        self.assertEqual(self.states(), ["measured", "rejected", "measured"])

    def test_a_job_child_killed_between_jobs_is_replaced(self):
        self.call(*self.model_program(KILL_CHILD.replace("parent == os.getppid() and", "grandparent(parent) == os.getppid() and"),
                                      word=b"worker"), code=DONE)
        self.assertIn("worker", (self.folder / "killed").read_text())
        self.assertEqual(self.states(), ["measured", "rejected", "measured"])

    def test_a_compile_process_killed_in_the_middle_is_replaced(self):
        self.call(*self.model_program(KILL_CHILD, word=b"compile-zygote"), code=DONE)
        self.assertIn("compile-zygote", (self.folder / "killed").read_text())
        self.assertEqual(self.states(), ["measured", "rejected", "measured"])


class Signals(Around):
    HANGS = """
if role == "writer" and ordinal == "2" and not pathlib.Path({folder!r}, "struck").exists():
    pathlib.Path({folder!r}, "struck").write_text("")
    os.kill(os.getppid(), signal.{name})
    time.sleep(3600)
"""

    def test_term_and_hup_end_a_run_cleanly_though_its_model_hangs(self):
        for name in ("SIGTERM", "SIGHUP", "SIGINT"):
            arguments = self.model_program(self.HANGS, name=name)
            done = self.call(*arguments, code=130, seconds=60)
            self.assertIn("--resume", done.stdout)
            self.call(*arguments, "--resume", code=DONE)
            self.assertEqual(self.states(), ["measured", "rejected", "measured"])
            shutil.rmtree(self.folder / "out")
            (self.folder / "struck").unlink()

    def test_a_hup_that_is_ignored_stays_ignored(self):
        arguments = self.model_program(self.HANGS.replace("time.sleep(3600)", "pass"), name="SIGHUP")
        done = subprocess.run(["nohup", BINARY, *map(str, arguments)], cwd=self.folder, env=self.environment, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=120)
        self.assertEqual(done.returncode, DONE, done.stdout + done.stderr)

    def test_standard_streams_may_be_closed(self):
        self.undisturbed()
        command = " ".join(f"'{word}'" for word in self.command("closed/run"))
        environment = dict(self.environment, LD_PRELOAD=os.environ["KF_FAULT_SHIM"], KF_FAULT_RANDOM="1")
        done = subprocess.run(["sh", "-c", f"exec {command} <&- >&- 2>&-"], cwd=self.folder, env=environment, timeout=120)
        self.assertEqual(done.returncode, DONE)
        self.compare("closed/run", "with stdin, stdout and stderr closed")

    def test_a_reader_of_stdout_may_go_away(self):
        self.undisturbed()
        ours, theirs = os.pipe()
        os.close(ours)
        environment = dict(self.environment, LD_PRELOAD=os.environ["KF_FAULT_SHIM"], KF_FAULT_RANDOM="1")
        done = subprocess.run(self.command("piped/run"), cwd=self.folder, env=environment, stdout=theirs, stderr=theirs, timeout=120)
        os.close(theirs)
        self.assertEqual(done.returncode, DONE)
        self.compare("piped/run", "without a reader")


if __name__ == "__main__":
    unittest.main()
