# SPDX-License-Identifier: Apache-2.0
"""The factory end to end on the real binary: replay, resume after kill -9, exchange, Ctrl-C, keys, run folder."""
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from factory import BROKEN, Case, LESSONS, RIGHT, RIGHT_AGAIN, SPEC, TAIL, WRONG, fenced, transcript


class Replay(Case):
    def test_without_a_device_candidates_are_built_and_nothing_is_claimed(self):
        done = self.call("run", SPEC, "--device", "none", "--replay", self.replay(), "--out", "out", code=3)
        self.assertIn("NOT executed", done.stdout)
        states = [attempt["state"] for attempt in self.attempts("out")]
        self.assertIn("built", states)
        self.assertIn("rejected", states)
        self.assertNotIn("measured", states)

    def test_on_the_emulator_wrong_ones_are_refused_and_a_right_one_is_best(self):
        self.call("run", SPEC, "--device", "emulator", "--replay", self.replay([RIGHT, WRONG, TAIL, BROKEN]), "--out", "out", "--in-flight", "2",
                  code=3)   # the right one is the baseline's equal
        attempts = self.attempts("out")
        self.assertEqual(attempts[0]["state"], "measured")
        self.assertEqual(attempts[1]["verdict"]["gate"], "check")
        self.assertEqual(attempts[0]["score"]["method"], "estimate")

    def test_the_run_folder_is_complete_and_relocatable(self):
        self.call("run", SPEC, "--device", "none", "--replay", self.replay(), "--out", "out", code=3)
        out = self.folder / "out"
        for name in ["run.json", "ledger.sqlite", "lessons.jsonl", "lessons.md", "attempts"]:
            self.assertTrue((out / name).exists(), name)
        shutil.move(out, self.folder / "moved")
        self.assertEqual(len(self.attempts("moved")), 5)
        for path in (self.folder / "moved").rglob("*"):
            if path.is_file():
                self.assertNotIn(str(self.folder).encode(), path.read_bytes(), path)

    def test_show_tells_one_attempts_story(self):
        self.call("run", SPEC, "--device", "none", "--replay", self.replay(), "--out", "out", code=3)
        story = self.call("show", "out", "3").stdout
        self.assertIn("undeclared_name", story)
        self.assertIn("refused compile", story)
        self.call("show", "out", "99", code=2)

    def test_json_is_one_object_a_line_from_start_to_stop(self):
        done = self.call("run", SPEC, "--device", "none", "--replay", self.replay(), "--out", "out", "--json", code=3)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(lines[0]["event"], "run_started")
        self.assertEqual(lines[-1]["kfactory_run"], 1)
        self.assertEqual(lines[-1]["exit_code"], 3)

    def test_a_folder_that_holds_a_run_is_not_overwritten(self):
        self.call("run", SPEC, "--device", "none", "--replay", self.replay(), "--out", "out", code=3)
        self.assertIn("--resume", self.call("run", SPEC, "--device", "none", "--replay", self.replay(), "--out", "out", code=2).stderr)

    def test_a_changed_spec_is_not_resumed(self):
        for name in ["vector_add.json", "vector_add.ref.cu", "vector_add.naive.cu"]:
            shutil.copy(SPEC.parent / name, self.folder)
        self.call("run", "vector_add.json", "--device", "none", "--replay", self.replay(), "--out", "out", code=3)
        naive = self.folder / "vector_add.naive.cu"
        naive.write_text(naive.read_text() + "\n// changed\n")
        done = self.call("run", "vector_add.json", "--device", "none", "--replay", self.replay(), "--out", "out", "--resume", code=2)
        self.assertIn("changed since this run began", done.stderr)

    def test_one_that_cannot_begin_leaves_no_folder_at_all(self):
        self.environment.pop("OPENAI_API_KEY", None)
        self.call("run", SPEC, "--device", "none", "--attempts", "1", "--model", "gpt-5", code=2)
        self.assertEqual(list(self.folder.iterdir()), [])
        (self.folder / "out").mkdir()
        self.call("run", SPEC, "--device", "none", "--attempts", "1", "--model", "gpt-5", code=2)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["out"])   # was there before

    def refused(self, change, *words):
        """A run of a changed spec does not begin: nothing is asked, nothing is left."""
        spec = json.loads(SPEC.read_text())
        for name in ["vector_add.ref.cu", "vector_add.naive.cu"]:
            shutil.copy(SPEC.parent / name, self.folder)
        change(spec)
        (self.folder / "spec.json").write_text(json.dumps(spec))
        done = self.call("run", "spec.json", "--device", "emulator", "--exchange", "post", "--no-wait", "--out", "out", code=2)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse((self.folder / "out").exists())
        self.assertEqual(list(self.folder.glob("post/*")), [])

    def test_a_spec_that_is_not_admitted_is_refused(self):
        self.refused(lambda spec: spec["tolerance"]["c"].update(acc=1e9), "admission: null candidate: zeros", "tighten the one")

    def test_a_spec_that_nobody_could_admit_is_refused(self):
        self.refused(lambda spec: spec.pop("baselines"), "admission could not run", "no CUDA baseline", "add a plain kernel")

    def test_a_relation_that_no_check_case_fits_is_refused(self):
        def change(spec):
            spec["relations"] = ["permute:N"]
            spec["cases"]["check"] = [{"N": 1}]
        self.refused(change, "relation permute:N", "N is 1: add a check case in which it is larger")

    def test_what_came_out_of_admission_is_recorded(self):
        self.call("run", SPEC, "--device", "none", "--replay", self.replay(), "--out", "none", code=3)
        self.call("run", SPEC, "--device", "emulator", "--exchange", "post", "--no-wait", "--out", "some", code=4)
        for out, wanted in [("none", "not run: there is no device"), ("some", "admitted")]:
            with contextlib.closing(sqlite3.connect(self.folder / out / "ledger.sqlite")) as ledger:
                events = [json.loads(text) for (text,) in ledger.execute("SELECT json FROM record WHERE stage = 'run'")]
            self.assertEqual([event["detail"] for event in events if event["event"] == "admission"], [wanted])

    def test_reading_a_run_leaves_nothing_in_its_folder(self):
        self.call("run", SPEC, "--device", "none", "--replay", self.replay(), "--out", "out", code=3)
        before = sorted((self.folder / "out").iterdir())
        self.call("show", "out")
        self.call("show", "out", "1")
        self.assertIn("no winner", self.call("bench", "out", code=3).stdout)
        self.assertEqual(json.loads(self.call("bench", "out", "--json", code=3).stdout)["winners"], [])
        self.assertEqual(sorted((self.folder / "out").iterdir()), before)

    def test_lessons_go_into_the_file_and_into_the_next_prompts(self):
        done = self.call("run", SPEC, "--device", "none", "--replay", self.replay(), "--out", "a", "--lessons", "store.jsonl", code=3)
        self.assertIn("--lessons store.jsonl: there is no such file yet", done.stdout)
        self.assertIn("nothing was learnt for certain", (self.folder / "store.jsonl").read_text())
        self.assertIn("conjecture", self.call("lessons", "list", "store.jsonl").stdout)
        self.call("run", SPEC, "--device", "none", "--exchange", "post", "--no-wait", "--out", "b", "--lessons", "store.jsonl", code=4)
        requests = "".join(path.read_text() for path in (self.folder / "post").glob("*.request.md"))
        self.assertIn("nothing was learnt for certain", requests)

    def test_a_recorded_run_replays_to_the_same_sources(self):
        self.call("run", SPEC, "--device", "none", "--replay", self.replay(), "--out", "a", "--record", "again.jsonl", code=3)
        self.call("run", SPEC, "--device", "none", "--replay", "again.jsonl", "--out", "b", code=3)
        sources = [[attempt["source_hash"] for attempt in self.attempts(out)] for out in ("a", "b")]
        self.assertEqual(*sources)


class Resume(Case):
    ARGUMENTS = ["--device", "none", "--in-flight", "2"]

    def arguments(self, replay, out):
        return ["run", SPEC, *self.ARGUMENTS, "--replay", replay, "--out", out]

    def test_kill_9_at_random_points_ends_with_the_undisturbed_content(self):
        replay = self.replay([RIGHT, WRONG, BROKEN, RIGHT_AGAIN, TAIL])
        begun = time.monotonic()
        self.call(*self.arguments(replay, "whole"), code=3)
        whole_seconds = time.monotonic() - begun
        wanted = self.ledger_content(self.folder / "whole")
        random.seed(int(os.environ.get("KF_SEED", "11")))
        for round_ in range(4):
            out = f"cut{round_}"
            kills = 0
            for _ in range(3):
                resume = ["--resume"] if (self.folder / out / "ledger.sqlite").exists() else []
                process = self.start(*self.arguments(replay, out), *resume)
                try:
                    process.wait(timeout=random.uniform(0.05, whole_seconds))
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGKILL)
                    kills += 1
                process.communicate()
            resume = ["--resume"] if (self.folder / out / "ledger.sqlite").exists() else []
            self.call(*self.arguments(replay, out), *resume, code=3)
            found = self.ledger_content(self.folder / out)
            self.assertEqual(found.keys(), wanted.keys(), f"{kills} kills")
            for attempt, records in wanted.items():
                self.assertEqual(found[attempt], records, f"attempt {attempt} after {kills} kills")

    def test_ctrl_c_ends_cleanly_and_resume_goes_on(self):
        process = self.start("run", SPEC, "--device", "none", "--exchange", "post", "--out", "out")
        deadline = time.monotonic() + 60
        while not list(self.folder.glob("post/*.request.md")) and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertIn("--resume --exchange post --device none\n", out)
        self.call("show", "out")
        self.call(*self.arguments(self.replay(), "out"), "--resume", code=3)

    def test_a_second_run_in_the_same_folder_is_told_who_has_it(self):
        process = self.start("run", SPEC, "--device", "none", "--exchange", "post", "--out", "out")
        deadline = time.monotonic() + 60
        while not list(self.folder.glob("post/*.request.md")) and time.monotonic() < deadline:
            time.sleep(0.02)
        try:
            done = self.call("run", SPEC, "--device", "none", "--exchange", "post", "--out", "out", "--resume", code=1)
            self.assertIn(str(process.pid), done.stderr)
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


class Exchange(Case):
    def test_what_a_stop_prints_can_be_pasted_until_the_run_is_over(self):
        post = "post of mine"   # a word that a shell would take for three
        done = self.call("run", SPEC, "--device", "none", "--exchange", post, "--no-wait", "--attempts", "2", "--in-flight", "1",
                         "--out", "it's out", code=4)
        for role in ["writer-1", "writer-2", "librarian-1"]:
            self.assertNotIn("same flags", done.stdout)
            reply = LESSONS if role.startswith("librarian") else fenced(RIGHT if role == "writer-1" else RIGHT_AGAIN)
            (self.folder / post / f"{role}.reply.md").write_text(reply)
            command = next(line.strip() for line in done.stdout.splitlines() if "--resume" in line)
            done = subprocess.run(command, shell=True, cwd=self.folder, env=self.environment, text=True, capture_output=True, timeout=240)
            self.assertEqual(done.returncode, 3 if role.startswith("librarian") else 4, command + done.stdout + done.stderr)
        self.assertIn("--attempts 4", done.stdout)   # only more of it is left
        self.assertEqual(len(self.attempts("it's out")), 2)

    def test_no_wait_ends_with_four_until_every_reply_is_there(self):
        arguments = ["run", SPEC, "--device", "none", "--exchange", "post", "--no-wait", "--attempts", "3", "--in-flight", "2", "--out", "out"]
        self.call(*arguments, code=4)
        post = self.folder / "post"
        self.assertEqual(len(list(post.glob("writer-*.request.md"))), 2)
        self.assertEqual(self.call(*arguments, "--resume", code=4).stderr, "")
        rounds = 0
        code = 4
        while code == 4 and rounds < 10:
            rounds += 1
            for request in post.glob("*.request.md"):
                reply = pathlib.Path(str(request).replace(".request.md", ".reply.md"))
                if not reply.exists():
                    text = LESSONS if request.name.startswith("librarian") else fenced(RIGHT.replace("one thread", request.name))
                    part = reply.with_suffix(".part")
                    part.write_text(text)
                    os.utime(part, (time.time() - 10, time.time() - 10))
                    os.rename(part, reply)
            process = self.start(*arguments, "--resume")
            process.communicate(timeout=120)
            code = process.returncode
        self.assertEqual(code, 3)
        self.assertEqual([attempt["state"] for attempt in self.attempts("out")], ["built"] * 3)


class Secrets(Case):
    def test_no_key_is_in_any_file_or_output(self):
        marker = "sk-marker-9f31c7"
        self.environment["OPENAI_API_KEY"] = marker
        done = self.call("run", SPEC, "--device", "none", "--provider", "openai", "--model", "m", "--base-url", "http://127.0.0.1:9/v1",
                         "--attempts", "1", "--out", "out", "--wall", "1s", code=1)   # nobody listens there
        self.assertNotIn(marker, done.stdout + done.stderr)
        for path in self.folder.rglob("*"):
            if path.is_file():
                self.assertNotIn(marker.encode(), path.read_bytes(), path)

    def test_the_runs_secret_is_in_the_ledger_alone(self):
        self.call("run", SPEC, "--device", "none", "--replay", self.replay(), "--out", "out", code=3)
        import sqlite3
        database = sqlite3.connect(self.folder / "out/ledger.sqlite")
        started = json.loads(database.execute("SELECT json FROM record WHERE stage = 'run' AND json LIKE '%\"event\":\"started\"%'").fetchone()[0])
        database.close()
        secret = started["secret"]
        self.assertEqual(len(secret), 64)
        for path in self.folder.rglob("*"):
            if path.is_file() and not path.name.startswith("ledger.sqlite"):
                self.assertNotIn(secret.encode(), path.read_bytes(), path)


if __name__ == "__main__":
    unittest.main()
