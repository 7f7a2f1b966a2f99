# SPDX-License-Identifier: Apache-2.0
"""A whole run over HTTP on the loopback, against a server that misbehaves: streamed, with a 429, a stream that drops and
a chunk that is not JSON on the way."""
import json
import os
import pathlib
import shutil
import subprocess
import time
import unittest

from factory import BINARY, Case, LESSONS, RIGHT, RIGHT_AGAIN, TAIL, fenced
from faults_test import small_spec

SERVER = os.environ.get("KF_FAULT_SERVER", "")
KEY = "sk-marker-51c0ffee9d"
DONE = 3


class OverHttp(Case):
    def setUp(self):
        super().setUp()
        small_spec(self.folder)
        (self.folder / "journal").mkdir()
        for name, text in [("right", fenced(RIGHT)), ("tail", fenced(TAIL)), ("again", fenced(RIGHT_AGAIN)), ("lessons", LESSONS)]:
            (self.folder / name).write_text(text)

    def serve(self, *steps):
        server = subprocess.Popen([SERVER, "--journal", "journal", *steps], cwd=self.folder, text=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        self.addCleanup(server.wait)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.stdin.close)
        return server.stdout.readline().strip()

    def run_against(self, url, *more):
        self.environment["OPENAI_API_KEY"] = KEY
        command = [BINARY, "run", "vector_add.json", "--device", "emulator", "--base-url", url, "--model", "local", "--in-flight", "1",
                   "--out", "out", *more]
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        arguments = pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes()
        out, err = process.communicate(timeout=240)
        transcript = "$ kfactory " + " ".join(command[1:]) + "\n" + out + err
        if "KF_KEEP_CONSOLE" in os.environ:
            pathlib.Path(os.environ["KF_KEEP_CONSOLE"]).write_text(transcript)  # docs/results/http-loopback.md
        self.key_is_nowhere(arguments, transcript)
        return process.returncode, transcript

    def key_is_nowhere(self, arguments, transcript):
        self.assertNotIn(KEY.encode(), arguments)
        self.assertNotIn(KEY, transcript)
        searched = 0
        for path in self.folder.rglob("*"):
            if path.is_file() and path.parent.name != "journal":
                self.assertNotIn(KEY.encode(), path.read_bytes(), path)
                searched += 1
        self.assertGreater(searched, 8)
        heads = [path.read_text() for path in sorted((self.folder / "journal").glob("*.head"))]
        self.assertTrue(heads and all(f"Bearer {KEY}" in head for head in heads), "the server alone is told")

    def test_a_run_with_a_429_a_malformed_chunk_and_dropped_streams_ends_well(self):
        url = self.serve("status:429", "text:right", "malformed", "text:tail", "drop", "silent-drop", "text:again", "status:503", "text:lessons")
        code, transcript = self.run_against(url, "--attempts", "4")
        self.assertEqual(code, DONE, transcript)
        attempts = self.attempts("out")
        self.assertEqual([attempt["state"] for attempt in attempts], ["measured", "rejected", "no_reply", "measured"])
        self.assertEqual(attempts[1]["verdict"]["gate"], "check")
        self.assertIn("nothing was learnt for certain", (self.folder / "out/lessons.jsonl").read_text())
        bodies = [json.loads(path.read_text()) for path in (self.folder / "journal").glob("*.body")]
        self.assertEqual(len(bodies), 9, "each step served one request")
        self.assertTrue(all(body["stream"] and "temperature" not in body for body in bodies))

    def test_a_stream_that_drops_after_words_came_costs_that_attempt_and_no_more(self):
        url = self.serve("drop", "text:right", "malformed-later", "text:again", "text:lessons")
        code, transcript = self.run_against(url, "--attempts", "4")
        self.assertEqual(code, DONE, transcript)
        self.assertEqual([attempt["state"] for attempt in self.attempts("out")], ["no_reply", "measured", "no_reply", "measured"])

    def test_a_spent_quota_ends_the_run_and_resume_goes_on(self):
        code, transcript = self.run_against(self.serve("text:right", "quota"), "--attempts", "3")
        self.assertEqual(code, 1, transcript)
        self.assertIn("quota", transcript)
        code, transcript = self.run_against(self.serve("text:tail", "text:again", "text:lessons"), "--attempts", "3", "--resume")
        self.assertEqual(code, DONE, transcript)
        self.assertEqual([attempt["state"] for attempt in self.attempts("out")], ["measured", "rejected", "measured"])

    def test_an_endpoint_that_is_gone_in_the_middle_ends_the_run_and_resume_goes_on_with_another(self):
        self.environment.update(OPENAI_API_KEY=KEY, KFACTORY_MODEL_MAX_RETRIES="1")
        server = subprocess.Popen([SERVER, "--journal", "journal", "text:right", "stall"], cwd=self.folder, text=True, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE)
        url = server.stdout.readline().strip()
        process = self.start("run", "vector_add.json", "--device", "emulator", "--base-url", url, "--model", "local", "--in-flight", "1",
                             "--attempts", "3", "--out", "out")
        while not (self.folder / "journal/2.head").exists():
            if process.poll() is not None:
                self.fail(process.stderr.read())
            time.sleep(0.01)
        server.kill()
        server.communicate()
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1, out + err)
        self.assertIn(url, out + err)
        self.assertEqual([attempt["state"] for attempt in self.attempts("out")], ["measured", "open"])
        shutil.rmtree(self.folder / "journal")
        (self.folder / "journal").mkdir()
        code, transcript = self.run_against(self.serve("text:tail", "text:again", "text:lessons"), "--attempts", "3", "--resume")
        self.assertEqual(code, DONE, transcript)
        self.assertEqual([attempt["state"] for attempt in self.attempts("out")], ["measured", "rejected", "measured"])

    def test_a_retry_that_the_token_budget_does_not_cover_is_not_sent(self):
        code, transcript = self.run_against(self.serve("silent-drop", "text:right"), "--attempts", "3", "--tokens", "100")
        self.assertEqual(code, DONE, transcript)
        self.assertRegex(transcript, r"stopped: budget \(tokens: \d+ of 100\)")
        self.assertEqual(len(list((self.folder / "journal").glob("*.head"))), 1, "the retry was not sent")
        self.assertEqual([attempt["state"] for attempt in self.attempts("out")], ["no_reply"])
        code, again = self.run_against(self.serve("text:right"), "--attempts", "3", "--tokens", "100", "--resume")
        self.assertRegex(again, r"tokens: \d+ of 100")
        self.assertEqual(len(list((self.folder / "journal").glob("*.head"))), 1, "nor anything by the resumed run")


if __name__ == "__main__":
    unittest.main()
