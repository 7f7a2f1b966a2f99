# SPDX-License-Identifier: Apache-2.0
"""Keys go into one request header. Everything else that a run writes, says, starts or leaves behind is searched for them."""
import os
import pathlib
import signal
import sqlite3
import subprocess
import unittest

from factory import BINARY, Case, LESSONS, RIGHT, fenced
from faults_test import small_spec

SERVER = os.environ.get("KF_FAULT_SERVER", "")
KEY = "kfmarker51c0ffee9d"
TOKEN = "kfmarker7eaf00d"
DONE = 3

# A launcher that writes down what it sees of the environment and of the arguments, and of its parent's.
LAUNCHER = """#!/bin/sh
env > seen.environment
tr '\\0' ' ' < /proc/self/cmdline > seen.arguments
tr '\\0' ' ' < /proc/$PPID/cmdline > seen.parent
exec "$@"
"""


class Keys(Case):
    def setUp(self):
        super().setUp()
        small_spec(self.folder)
        self.journal = pathlib.Path(self.scratch.name) / "journal"
        self.journal.mkdir()
        for name, text in [("right", fenced(RIGHT)), ("lessons", LESSONS)]:
            (self.folder / name).write_text(text)
        launcher = self.folder / "launcher.sh"
        launcher.write_text(LAUNCHER)
        launcher.chmod(0o755)
        # Names that tell nothing of what is in them.
        self.environment.update(WORDS=KEY, TEAM=TOKEN)
        self.model = ["--provider", "openai", "--model", "local", "--api-key-env", "WORDS"]
        (self.folder / "kfactory").mkdir()
        (self.folder / "kfactory/config.toml").write_text('[model]\nextra_headers = ["x-team=TEAM"]\n')

    def serve(self, *steps):
        server = subprocess.Popen([SERVER, "--journal", "journal", *steps], cwd=self.folder, text=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.stdin.close)
        return server.stdout.readline().strip()

    def search(self, text, where):
        data = text if isinstance(text, bytes) else text.encode()
        for secret in (KEY, TOKEN):
            self.assertNotIn(secret.encode(), data, where)

    def search_everything(self, *said):
        """All files below the scratch folder but the server's own journal; blobs as the ledger gives them."""
        for text in said:
            self.search(text, "output")
        searched = []
        for path in self.folder.rglob("*"):
            if path.is_file() and path.parent != self.journal:
                self.search(path.read_bytes(), path)
                searched.append(path.name)
        for path in self.folder.rglob("ledger.sqlite"):
            database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            for table in ("record", "blob", "attempt"):
                for row in database.execute(f"SELECT * FROM {table}"):
                    for cell in row:
                        self.search(cell if isinstance(cell, bytes) else str(cell), f"{path}: {table}")
            database.close()
        return searched

    def the_server_was_told(self):
        heads = [path.read_text() for path in sorted(self.journal.glob("*.head"))]
        self.assertTrue(heads)
        for head in heads:
            self.assertIn(f"Bearer {KEY}", head)
            self.assertIn(f"x-team: {TOKEN}", head.lower())

    def test_of_a_whole_run_with_a_launcher_and_a_transcript(self):
        url = self.serve("status:401", "text:right")
        run = ["run", "vector_add.json", "--device", "emulator", *self.model, "--base-url", url, "--launcher", "./launcher.sh", "--attempts",
               "1", "--record", "recorded.jsonl"]
        refused = self.call(*run, "--out", "refused", code=1)
        self.assertIn("401", refused.stdout + refused.stderr)
        (self.folder / "recorded.jsonl").unlink(missing_ok=True)
        # The next server answers.
        url = self.serve("text:right", "text:lessons")
        run[run.index("--base-url") + 1] = url
        done = self.call(*run, "--out", "out", code=DONE)
        shown = self.call("show", "out", "1")
        searched = self.search_everything(refused.stdout, refused.stderr, done.stdout, done.stderr, shown.stdout)
        for name in ("seen.environment", "seen.arguments", "seen.parent", "recorded.jsonl", "run.json", "request.md", "reply.md"):
            self.assertIn(name, searched)
        self.the_server_was_told()

    def test_of_a_run_that_is_killed(self):
        url = self.serve("stall")
        process = self.start("run", "vector_add.json", "--device", "none", *self.model, "--base-url", url, "--out", "out")
        try:
            while not list(self.journal.glob("*.head")):
                if process.poll() is not None:
                    self.fail(process.stderr.read())
            arguments = b"".join(pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in self.family(process.pid))
        finally:
            process.send_signal(signal.SIGKILL)
            out, err = process.communicate(timeout=60)
        self.search_everything(out, err, arguments)
        self.the_server_was_told()

    @staticmethod
    def family(pid):
        found = [pid]
        for of in found:
            for task in pathlib.Path(f"/proc/{of}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
        return found

    def test_of_children_which_do_not_inherit_it(self):
        """The compile process and the worker: neither needs a key."""
        url = self.serve("stall")
        process = self.start("run", "vector_add.json", "--device", "emulator", *self.model, "--base-url", url, "--out", "out")
        try:
            while not list(self.journal.glob("*.head")):
                if process.poll() is not None:
                    self.fail(process.stderr.read())
            children = [pid for pid in self.family(process.pid) if pid != process.pid]
            self.assertGreaterEqual(len(children), 2)
            for pid in children:
                self.search(pathlib.Path(f"/proc/{pid}/environ").read_bytes(), pid)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)

    def test_of_doctor_and_config_with_the_key_where_it_does_not_belong(self):
        url = self.serve("status:401")
        said = []
        for more in ([*self.model, "--base-url", url], ["--api-key-env", KEY], ["--api-key-env", f"sk-{KEY}"],
                     ["--base-url", f"http://me:{KEY}@127.0.0.1:9/v1"], ["--base-url", f"http://127.0.0.1:9/v1?key={KEY}"], ["--api-key", KEY],
                     [f"--api-key={KEY}"]):
            wanted = ["--provider", "openai", "--model", "m"] if "--provider" not in more else []
            for command in (["config", "show"], ["doctor"], ["run", "vector_add.json", "--device", "none", "--out", "misplaced"]):
                if command[0] == "run" and more[:3] == self.model[:3]:
                    continue
                done = subprocess.run([BINARY, *command, *wanted, *more], cwd=self.folder, env=self.environment, text=True,
                                      capture_output=True, timeout=60)
                said += [done.stdout, done.stderr]
        (self.folder / "kfactory/config.toml").write_text(f'[model]\nextra_headers = ["x-title: {TOKEN}"]\n')
        said.append(self.call("config", "show").stdout)
        self.assertIn("x-title: (not shown)", said[-1])
        (self.folder / "kfactory/config.toml").unlink()  # the user's own file holds what the user wrote
        self.search_everything(*said)

    def test_of_files_for_exchange(self):
        done = self.call("run", "vector_add.json", "--device", "none", "--exchange", "post", "--no-wait", "--attempts", "2", "--out", "out",
                         *self.model, code=4)
        searched = self.search_everything(done.stdout, done.stderr)
        self.assertTrue([name for name in searched if name.endswith(".request.md")])


if __name__ == "__main__":
    unittest.main()
