# SPDX-License-Identifier: Apache-2.0
"""Inputs as people, editors and broken disks make them. Each mistake is named with its place, costs no crash, and leaves
nothing half begun; what only looks odd is accepted."""
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import threading
import unittest

from factory import BINARY, Case, RIGHT
from faults_test import DONE, small_spec

BOM = b"\xef\xbb\xbf"


class Odd(Case):
    def setUp(self):
        super().setUp()
        small_spec(self.folder)
        self.text = (self.folder / "vector_add.json").read_text()
        self.transcript = self.replay([RIGHT], [])

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def refused(self, *arguments, words=(), code=2):
        """The message: one that begins with our name, says where, and speaks of no exception."""
        done = self.call(*arguments, code=code, seconds=60)
        self.assertTrue(done.stderr.startswith("kfactory: "), done.stderr[:300])
        self.assertNotRegex(done.stderr, r"exception|terminate|what\(\)|filesystem error|Assertion")
        self.assertLess(len(done.stderr), 5_000)
        for word in words:
            self.assertIn(word, done.stderr)
        return done.stderr

    def run_words(self, out, *more, replay=None):
        return ["run", "vector_add.json", "--device", "none", "--replay", replay or self.transcript, "--out", out, *more]


class Specs(Odd):
    def test_what_is_no_spec_is_refused_with_file_line_and_path(self):
        text = self.text
        odd = {
            "empty": (b"", "not JSON"), "zeros": (b"\0" * 4096, "not JSON"), "noise": (bytes(range(256)) * 16, "not JSON"),
            "cut": (text[:len(text) // 2], "not JSON"), "behind": (text + " more", "not JSON"), "list": ("[]", "expected an object"),
            "null": ("null", "expected an object"), "nothing": ("{}", "is missing"),
            "deep": ("[" * 200_000 + "]" * 200_000, "deeper than 64"), "deeper": ('{"a":' * 200_000 + "1" + "}" * 200_000, "deeper than 64"),
            "twice": (text.replace('"name"', '"name": "x", "name"', 1), "twice"), "nan": (text.replace("{", '{"limits": NaN,', 1), "NaN"[:1]),
            "huge": (text.replace('"kfactory_spec": 1', '"kfactory_spec": 1e999'), "1e999"), "latin": (text.encode().replace(b"name", b"n\xe4me", 1), "UTF-8"),
            "arrow": (text.replace('"vector_add"', '"v→add"', 1), "letters, digits and _"),
            "lost": (text.replace("vector_add.ref.cu", "lost.cu"), "lost.cu"),
            "out": (text.replace("vector_add.ref.cu", "../../etc/passwd"), "not below the spec's folder"),
            "comment": ("// a spec\n" + text, "no comments"), "comma": (text.rstrip()[:-1] + ",}", "trailing commas"),
        }
        for name, (content, word) in odd.items():
            with self.subTest(name):
                file = self.write(f"{name}.json", content)
                self.assertRegex(self.refused("check", file, "--device", "none", words=[word]), rf"{name}\.json(:\d+)? \$")

    def test_a_spec_of_a_hundred_megabytes_is_not_read(self):
        with open(self.folder / "large.json", "wb") as file:
            file.truncate(100_000_000)
        self.refused("check", "large.json", "--device", "none", words=["large.json", "100000000 bytes"])

    def test_what_is_no_file_is_named(self):
        (self.folder / "folder.json").mkdir()
        os.symlink("loop.json", self.folder / "loop.json")
        os.mkfifo(self.folder / "pipe.json")
        for name in ("folder.json", "loop.json", "pipe.json", "missing.json"):
            for command in (["check", name], ["eval", name, "x.cu"], ["run", name]):
                self.refused(*command, "--device", "none", words=[name])
        for name in ("folder.json", "pipe.json", "missing.json"):
            self.refused("eval", "vector_add.json", name, "--device", "none", words=[name])

    def test_line_ends_and_marks_of_editors_are_accepted(self):
        for name in ("vector_add.json", "vector_add.ref.cu", "vector_add.naive.cu"):
            path = self.folder / name
            path.write_bytes(BOM + path.read_bytes().replace(b"\n", b"\r\n"))
        self.call("check", "vector_add.json", "--device", "none")
        self.write("candidate.cu", BOM + RIGHT.replace("\n", "\r\n").encode())
        done = self.call("eval", "vector_add.json", "candidate.cu", "--device", "none", "--json", code=3)
        self.assertEqual(json.loads(done.stdout)["state"], "built")
        lines = pathlib.Path(self.transcript).read_bytes()
        self.write("marked.jsonl", BOM + lines.replace(b"\n", b"\r\n"))
        self.call(*self.run_words("out", replay="marked.jsonl"), code=DONE)
        self.assertEqual(self.attempts("out")[0]["state"], "built")

    def test_a_spec_may_be_a_link_and_lie_elsewhere(self):
        (self.folder / "elsewhere").mkdir()
        os.symlink("../vector_add.json", self.folder / "elsewhere/link.json")
        for name in ("vector_add.ref.cu", "vector_add.naive.cu"):
            shutil.copy(self.folder / name, self.folder / "elsewhere")
        self.call("check", "elsewhere/link.json", "--device", "none")
        self.call("check", self.folder / "vector_add.json", "--device", "none")


class Folders(Odd):
    def test_a_run_that_cannot_begin_leaves_nothing_and_can_begin_later(self):
        (self.folder / "folder").mkdir()
        for replay, word in [("missing.jsonl", "missing.jsonl"), ("folder", "folder"), (self.write("noise", bytes(range(256))), "noise:1"),
                             (self.write("nan.jsonl", '{"role": "writer", "ordinal": NaN, "text": ""}\n'), "nan.jsonl:1")]:
            self.refused(*self.run_words("out", replay=replay), words=[word])
            self.assertFalse((self.folder / "out").exists(), replay)
        self.call(*self.run_words("out"), code=DONE)

    def test_files_of_ones_own_in_the_run_folder_stay(self):
        (self.folder / "out").mkdir()
        (self.folder / "out/notes.txt").write_text("mine")
        self.call(*self.run_words("out"), code=DONE)
        self.assertEqual((self.folder / "out/notes.txt").read_text(), "mine")
        self.refused(*self.run_words("out"), words=["already holds a run", "--resume"])

    def test_places_where_no_folder_can_be_are_said(self):
        self.write("file", "")
        os.symlink("nowhere", self.folder / "dangling")
        self.refused(*self.run_words("file"), words=["file", "--out"], code=1)
        self.refused(*self.run_words("dangling"), words=["dangling", "--out"], code=1)
        self.refused(*self.run_words("x" * 300), words=["name too long"])
        (self.folder / "odd/ledger.sqlite").mkdir(parents=True)
        self.refused(*self.run_words("odd", "--resume"), code=1, words=["odd/ledger.sqlite"])

    def test_a_folder_that_may_not_be_written_is_said_and_can_be_shown(self):
        self.call(*self.run_words("out"), code=DONE)
        nobody = []
        if os.geteuid() == 0:  # root may write everywhere
            if shutil.which("setpriv") is None:
                self.skipTest("needs setpriv, or another user than root")
            nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        self.folder.chmod(0o755)
        for path in [self.folder / "out", *(self.folder / "out").rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)

        def call(*arguments):
            return subprocess.run([*nobody, BINARY, *map(str, arguments)], cwd=self.folder, env=self.environment, text=True,
                                  capture_output=True, timeout=60)
        try:
            refused = call(*self.run_words("out", "--resume"))
            self.assertEqual(refused.returncode, 1, refused.stdout + refused.stderr)
            self.assertIn("ledger.lock", refused.stderr)
            self.assertIn("allowed to write", refused.stderr)
            shown = call("show", "out")
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn("built", shown.stdout)
        finally:
            for path in [self.folder / "out", *(self.folder / "out").rglob("*")]:
                path.chmod(0o755)

    def test_names_with_a_tilde_a_space_an_arrow_and_links(self):
        self.call(*self.run_words("~/in home"), code=DONE)  # HOME is the scratch folder
        self.assertTrue((self.folder / "in home/run.json").exists())
        self.assertFalse((self.folder / "~").exists())
        self.call(*self.run_words("späť →"), code=DONE)
        os.symlink("in home", self.folder / "link")
        self.call(*self.run_words("link", "--resume"), code=DONE)
        self.call(*self.run_words(self.folder / "absolute"), code=DONE)

    def test_of_two_runs_that_begin_in_one_folder_one_goes_on(self):
        codes = []

        def begin():
            done = subprocess.run([BINARY, *map(str, self.run_words("out"))], cwd=self.folder, env=self.environment, text=True,
                                  capture_output=True, timeout=120)
            codes.append((done.returncode, done.stderr))
        threads = [threading.Thread(target=begin) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sum(code == DONE for code, _ in codes), 1, codes)
        for code, text in codes:
            if code != DONE:
                self.assertIn(code, (1, 2))
                self.assertRegex(text, "in use by (process|another process)|already holds a run")
        self.assertEqual(len(self.attempts("out")), 1)
        self.call(*self.run_words("out", "--resume"), code=DONE)

    def test_a_spec_that_changed_since_the_run_began_is_refused_on_resume(self):
        self.call(*self.run_words("out"), code=DONE)
        reference = self.folder / "vector_add.ref.cu"
        before = reference.read_text()
        reference.write_text(before + "\n// changed\n")
        self.refused(*self.run_words("out", "--resume"), words=["changed since this run began", "put the old files back"])
        reference.write_text(before)
        self.call(*self.run_words("out", "--resume"), code=DONE)

    def test_a_ledger_of_another_version_or_program_is_refused_and_kept(self):
        self.call(*self.run_words("out"), code=DONE)
        ledger = self.folder / "out/ledger.sqlite"
        for pragma, word in [("user_version = 9", "version 9"), ("application_id = 7", "not a ledger of kfactory")]:
            database = sqlite3.connect(ledger)
            before = database.execute(f"PRAGMA {pragma.split()[0]}").fetchone()[0]
            database.execute(f"PRAGMA {pragma}")
            database.close()
            content = ledger.read_bytes()
            self.refused(*self.run_words("out", "--resume"), code=1, words=[word])
            self.refused("show", "out", code=1, words=[word])
            self.assertEqual(ledger.read_bytes(), content)
            database = sqlite3.connect(ledger)
            database.execute(f"PRAGMA {pragma.split()[0]} = {before}")
            database.close()
        self.call(*self.run_words("out", "--resume"), code=DONE)


class Terminals(Odd):
    def on_terminal(self, columns, *arguments, environment=None, at=None, send=None):
        """Runs on a terminal of that width; with `at`, sends bytes there when the words have come."""
        import fcntl
        import pty
        import struct
        import termios
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

        def take_terminal():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        process = subprocess.Popen([BINARY, *map(str, arguments)], cwd=self.folder, env=dict(self.environment, **(environment or {})),
                                   stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=take_terminal)
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            text += part
            if at and at in text:
                os.write(ours, send)
                at = None
        process.wait(timeout=60)
        os.close(ours)
        return process.returncode, text.decode()

    def test_a_live_line_never_wraps_however_narrow_the_terminal_is(self):
        for columns in (20, 40, 80, 200):
            code, text = self.on_terminal(columns, *self.run_words(f"out{columns}"))
            self.assertEqual(code, DONE, text)
            shown = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in re.findall(r"\r\x1b\[K([^\r\n]*)", text)]
            live = [line for line in shown if re.match(r"\d+ rig", line)]
            self.assertTrue(live, text)
            for line in live:
                self.assertLess(len(line), columns, line)

    def test_no_color_means_no_colour_and_dumb_means_no_live_line(self):
        _, text = self.on_terminal(80, *self.run_words("a"), environment={"NO_COLOR": "1"})
        self.assertNotRegex(text, r"\x1b\[[0-9;]*m")
        _, text = self.on_terminal(80, *self.run_words("b"), environment={"TERM": "dumb"})
        self.assertNotIn("\x1b", text)
        _, text = self.on_terminal(80, *self.run_words("c"), environment={"NO_COLOR": ""})  # empty: not set (no-color.org)
        self.assertRegex(text, r"\x1b\[[0-9;]*m")

    def test_ctrl_c_on_a_terminal_ends_the_run_so_that_it_can_go_on(self):
        exchange = ["run", "vector_add.json", "--device", "none", "--exchange", "post", "--attempts", "1", "--out", "out"]
        code, text = self.on_terminal(80, *exchange, at=b"asked", send=b"\x03")
        self.assertEqual(code, 130, text)
        self.assertIn("--resume", text)
        self.call(*self.run_words("out", "--resume"), code=DONE)

    def test_ctrl_c_twice_ends_at_once_and_the_ledger_is_whole(self):
        process = self.start("run", "vector_add.json", "--device", "none", "--exchange", "post", "--attempts", "1", "--out", "out")
        while not list(self.folder.glob("post/*.request.md")):
            if process.poll() is not None:
                self.fail(process.stderr.read())
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertIn(process.returncode, (130, -signal.SIGINT), out + err)
        self.call(*self.run_words("out", "--resume"), code=DONE)


if __name__ == "__main__":
    unittest.main()
