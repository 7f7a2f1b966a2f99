# SPDX-License-Identifier: Apache-2.0
"""The command line: help, exit codes, settings, output for people and for programs."""
import json
import pty
import os
import subprocess
import unittest

from factory import BEYOND, BINARY, BROKEN, Case, RIGHT, SOURCE, SPEC, TAIL, WRONG

COMMANDS = ["run", "bench", "eval", "check", "gauntlet", "show", "lessons", "doctor", "config"]


class Help(Case):
    def test_every_command_has_an_example_that_names_it(self):
        for command in COMMANDS:
            text = self.call(command, "--help").stdout
            self.assertIn("Example:", text)
            self.assertIn(f"kfactory {command}", text.split("Example:")[1])

    def test_the_overview_lists_commands_and_exit_codes_but_not_the_worker(self):
        text = self.call("--help").stdout
        for command in COMMANDS:
            self.assertIn(f"  {command} ", text)
        self.assertIn("130 interrupted", text)
        self.assertNotIn("worker", text)

    def test_version(self):
        self.assertRegex(self.call("--version").stdout, r"^kfactory \d+\.\d+\.\d+\n$")


class Usage(Case):
    def test_mistakes_end_with_two_and_say_what_to_do(self):
        for arguments, words in [
            ([], "which command?"),
            (["frobnicate"], "no command"),
            (["evla", SPEC], 'did you mean "eval"?'),
            (["run", SPEC, "--atempts", "3"], 'did you mean "--attempts"?'),
            (["run", SPEC, "--price", "cheap"], "dollars a million tokens"),
            (["run", SPEC, "--command", "ask 'me"], "not closed"),
            (["eval", SPEC], "candidate"),
            (["lessons", "a.jsonl"], 'first comes list or merge, not "a.jsonl"'),
            (["config", "shwo"], 'first comes show, not "shwo"'),
            (["eval", "no/such.json", "x.cu"], "no/such.json"),
            (["run", SPEC, "--device", "abacus"], "auto, cuda, emulator, none"),
            (["run", SPEC, "--attempts", "many"], "whole number"),
            (["run", SPEC, "--wall", "soon"], "90s"),
            (["run", SPEC, "--resume"], "--out"),
            (["run", SPEC, "--out", "empty", "--resume", "--replay", "x"], ""),
            (["show", "nowhere"], "ledger.sqlite"),
            (["eval", SPEC, SPEC, "--device", "none"], ""),
            (["eval", SPEC, SPEC, "--device", "none", "--target", "Z80"], ""),
        ]:
            done = self.call(*arguments, code=2)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "", arguments)

    def test_a_wrong_spec_lists_every_mistake_with_its_path(self):
        spec = json.loads(SPEC.read_text())
        spec["axes"]["N"] = {"type": "vra"}
        spec["cases"]["check"].append({"N": "many"})
        (self.folder / "bad.json").write_text(json.dumps(spec))
        done = self.call("check", "bad.json", code=2)
        self.assertIn("$.axes.N", done.stderr)


class Settings(Case):
    def show(self, *arguments, code=0):
        return self.call("config", "show", *arguments, code=code)

    def test_show_is_what_config_does(self):
        self.assertEqual(self.call("config").stdout, self.show().stdout)

    def row(self, key, *arguments):
        return next(line.split() for line in self.show(*arguments).stdout.splitlines() if line.startswith(key))

    def test_flag_beats_environment_beats_project_beats_user(self):
        self.assertEqual(self.row("run.attempts")[1], "16")
        (self.folder / "kfactory").mkdir()
        (self.folder / "kfactory/config.toml").write_text("[run]\nattempts = 3\n")
        self.assertEqual(self.row("run.attempts")[1], "3")
        (self.folder / "kfactory.toml").write_text("[run]\nattempts = 4\n")
        self.assertEqual(self.row("run.attempts")[1:3], ["4", "kfactory.toml"])
        self.environment["KFACTORY_RUN_ATTEMPTS"] = "5"
        self.assertEqual(self.row("run.attempts")[1:3], ["5", "KFACTORY_RUN_ATTEMPTS"])
        self.assertEqual(self.row("run.attempts", "--attempts", "6")[1], "6")

    def test_a_project_file_may_not_say_where_keys_go_unless_trusted(self):
        for line in ['[model]\nbase_url = "http://evil.example/v1"', '[model]\napi_key_env = "AWS_SECRET"', '[device]\nlauncher = "sh -c"',
                     '[model]\ncommand = "rm"']:
            (self.folder / "kfactory.toml").write_text(line + "\n")
            self.assertIn("--trust-project", self.show(code=2).stderr)
            self.show("--trust-project")

    def test_an_unknown_setting_names_its_line(self):
        (self.folder / "kfactory.toml").write_text("[run]\nattempts = 4\nattemps = 5\n")
        self.assertIn("kfactory.toml:3", self.show(code=2).stderr)

    def test_keys_are_never_shown(self):
        self.environment["OPENAI_API_KEY"] = "sk-marker-0451"
        text = self.show().stdout
        self.assertIn("OPENAI_API_KEY: set (not shown)", text)
        self.assertNotIn("0451", text)


class Evaluating(Case):
    def write(self, text):
        path = self.folder / "candidate.cu"
        path.write_text(text)
        return path

    def evaluate(self, text, *arguments, code):
        done = self.call("eval", SPEC, self.write(text), "--json", *arguments, code=code)
        return json.loads(done.stdout)

    def test_a_right_candidate_passes_on_the_emulator_and_is_labelled_an_estimate(self):
        result = self.evaluate(RIGHT, "--device", "emulator", code=0)
        self.assertEqual(result["kfactory_eval"], 1)
        self.assertEqual(result["state"], "measured")
        self.assertTrue(result["verdict"]["passed"])
        self.assertEqual(result["score"]["method"], "estimate")
        self.assertEqual(result["device"]["kind"], "emulator")

    def test_every_gate_that_passed_is_named_and_its_launches_counted_over_all(self):
        done = self.call("eval", SPEC, self.write(RIGHT), "--device", "emulator")
        line = next(line for line in done.stdout.splitlines() if line.startswith("passed"))
        self.assertRegex(line, "^passed  source audit, compile, binary audit, plan, check, repeat, perturbation, timed run: "
                               r"\d+ launches compared in all$")
        done = self.call("eval", SPEC, self.write('#include "/etc/passwd"\n' + RIGHT), "--device", "emulator", code=3)
        self.assertNotIn("passed  ", done.stdout)
        self.assertNotIn("cost:", done.stdout)   # nothing that took time to speak of

    def test_builds_are_kept_in_the_folder_of_the_setting(self):
        self.environment["KFACTORY_TOOLKIT_BUILD_CACHE"] = f"{self.folder}/builds"
        first = self.evaluate(RIGHT, "--device", "none", code=3)
        kept = {path: path.stat().st_mtime_ns for path in (self.folder / "builds").rglob("*.build")}
        self.assertTrue(kept)
        again = self.evaluate(RIGHT, "--device", "none", code=3)
        self.assertEqual(again["kernels"], first["kernels"])
        self.assertEqual({path: path.stat().st_mtime_ns for path in (self.folder / "builds").rglob("*.build")}, kept)

    def test_an_estimate_is_scaled_to_timed_cases_and_says_from_which(self):
        cases = self.evaluate(RIGHT, "--device", "emulator", code=0)["score"]["cases"]
        ran = {case["case_id"] for case in cases if not case["scaled_from"]}
        scaled = [case for case in cases if case["scaled_from"]]
        self.assertTrue(ran and scaled)
        for case in scaled:
            self.assertTrue(case["case_id"].startswith("time/"))
            self.assertIn(case["scaled_from"], ran)
            self.assertIn("estimate, scaled from " + case["scaled_from"], " ".join(case["notes"]))
            self.assertGreater(case["candidate"]["median"], case["estimate"]["latency"])
            self.assertGreater(case["counts"][0]["dram_bytes"], 0)

    def test_a_finding_of_the_emulator_is_data_with_its_source_lines(self):
        result = self.evaluate(BEYOND, "--device", "emulator", code=3)
        found = [one for one in result["explain"] if "finding" in one]
        self.assertTrue(found, result["explain"])
        self.assertEqual(found[0]["finding"], "out_of_bounds")
        self.assertEqual(len(found[0]["thread"]), 3)
        place = found[0]["places"][0]
        self.assertEqual(place["role"], "here")
        self.assertEqual(place["lines"][place["line"] - place["first_line"]], BEYOND.splitlines()[place["line"] - 1])

    def test_a_target_that_does_not_exist_is_refused_with_those_that_do(self):
        done = self.call("eval", SPEC, self.write(RIGHT), "--device", "none", "--target", "H900", code=2)
        for name in ["H100", "H200", "B200", "sm_90a"]:
            self.assertIn(name, done.stderr)

    def test_wrong_candidates_are_refused_with_gate_and_reason(self):
        for text, gate in [(WRONG, "check"), (TAIL, "check"), (BROKEN, "compile"), ('#include "/etc/passwd"\n' + RIGHT, "source audit")]:
            result = self.evaluate(text, "--device", "emulator", code=3)
            self.assertEqual(result["state"], "rejected")
            self.assertEqual(result["verdict"]["gate"], gate)
            self.assertNotIn("root:", json.dumps(result))

    def test_without_a_device_it_is_built_and_said_not_to_be_executed(self):
        result = self.evaluate(WRONG, "--device", "none", code=3)
        self.assertEqual(result["state"], "built")
        self.assertFalse(result["executed"])
        done = self.call("eval", SPEC, self.write(RIGHT), "--device", "none", code=3)
        self.assertIn("NOT executed", done.stdout)

    def test_explain_shows_the_lines_that_an_error_names(self):
        done = self.call("eval", SPEC, self.write(BROKEN), "--device", "none", "--explain", code=3)
        self.assertIn("| " + next(line for line in BROKEN.splitlines() if "undeclared_name" in line), done.stdout)

    def test_a_plan_that_breaks_a_limit_is_refused_at_the_plan_gate(self):
        result = self.evaluate(RIGHT.replace('"block": ["256"]', '"block": ["4096"]'), "--device", "none", code=3)
        self.assertEqual(result["verdict"]["gate"], "plan")

    def test_every_architecture_that_is_named_compiles(self):
        for target in ["H200", "B200"]:
            self.evaluate(RIGHT, "--device", "none", "--target", target, code=3)


class Checking(Case):
    def test_the_spec_is_admitted_on_the_emulator(self):
        done = self.call("check", SPEC, "--device", "emulator")
        self.assertIn("admitted", done.stdout)
        self.assertIn("its figures are estimates", done.stderr)

    def test_how_the_device_was_come_by_is_on_stderr_or_in_the_json(self):
        candidate = self.folder / "right.cu"
        candidate.write_text(RIGHT)
        for command, names in (("check", ()), ("eval", (candidate, "--no-time")), ("gauntlet", (candidate, "--no-time"))):
            done = self.call(command, SPEC, *names, "--device", "emulator")
            self.assertRegex(done.stderr, r"^device: NVIDIA H200 \(emulated; estimates\): .*\n$", command)
            done = self.call(command, SPEC, *names, "--device", "emulator", "--json")
            self.assertEqual(done.stderr, "", command)
            self.assertIn("its figures are estimates", json.loads(done.stdout)["device"]["note"])

    def test_what_a_device_could_not_admit_is_no_success(self):
        spec = json.loads(SPEC.read_text())
        del spec["baselines"]
        (self.folder / "spec.json").write_text(json.dumps(spec))
        reference = spec["reference"]["cuda"]
        (self.folder / reference).write_text((SPEC.parent / reference).read_text())
        done = self.call("check", "spec.json", "--device", "emulator", code=2)
        self.assertRegex(done.stdout, "(?s)not admitted: .*no CUDA baseline")
        self.call("check", "spec.json", "--device", "none")

    def test_without_a_device_admission_is_said_not_to_have_run(self):
        done = self.call("check", SPEC, "--device", "none")
        self.assertTrue(done.stdout.splitlines()[-1].startswith("admission not run: there is no device"), done.stdout)
        self.assertIsNone(json.loads(self.call("check", SPEC, "--device", "none", "--json").stdout)["admission"])


class Output(Case):
    def on_terminal(self, *arguments):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([BINARY, *map(str, arguments)], cwd=self.folder, env=self.environment, stdout=theirs, stderr=theirs)
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
        process.wait(timeout=60)
        os.close(ours)
        return text.decode()

    def test_a_pipe_gets_plain_lines(self):
        path = self.folder / "candidate.cu"
        path.write_text(BROKEN)
        done = self.call("eval", SPEC, path, "--device", "none", code=3)
        self.assertNotIn("\x1b", done.stdout)
        self.assertNotIn("\r", done.stdout)

    def test_what_does_not_fit_on_a_full_disk_is_said_and_no_success(self):
        path = self.folder / "candidate.cu"
        path.write_text(BROKEN)
        for arguments in [("--help",), ("config", "show"), ("eval", SPEC, path, "--device", "none", "--json")]:
            with open("/dev/full", "w") as full:
                done = subprocess.run([BINARY, *map(str, arguments)], cwd=self.folder, env=self.environment, text=True,
                                      stdout=full, stderr=subprocess.PIPE, timeout=240)
            self.assertIn("stdout: No space left on device", done.stderr)
            self.assertEqual(done.returncode, 1, arguments)

    def test_a_reader_that_leaves_early_is_no_fault(self):
        ours, theirs = os.pipe()
        os.close(ours)
        done = subprocess.run([BINARY, "config", "show"], cwd=self.folder, env=self.environment, text=True, stdout=theirs,
                              stderr=subprocess.PIPE, timeout=60)
        os.close(theirs)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_terminal_gets_colour_unless_no_color_is_set(self):
        path = self.folder / "candidate.cu"
        path.write_text(BROKEN)
        self.assertIn("\x1b[31m", self.on_terminal("eval", SPEC, path, "--device", "none"))
        self.environment["NO_COLOR"] = "1"
        self.assertNotIn("\x1b[31m", self.on_terminal("eval", SPEC, path, "--device", "none"))

    def test_a_terminal_gets_a_live_line_during_a_run(self):
        text = self.on_terminal("run", SPEC, "--device", "none", "--replay", self.replay(), "--out", "out")
        self.assertIn("\r\x1b[K", text)
        self.assertIn("right, ", text)

    def test_a_terminal_gets_a_live_line_while_a_candidate_is_judged(self):
        (self.folder / "right.cu").write_text(RIGHT)
        for command, of in (("eval", ["right.cu", "--no-time"]), ("gauntlet", ["right.cu", "--no-time"]), ("check", [])):
            text = self.on_terminal(command, SPEC, *of, "--device", "emulator")
            self.assertRegex(text, r"\r\x1b\[K.*: under way", command)
        self.assertIn("perturbation: passed", self.on_terminal("eval", SPEC, "right.cu", "--no-time", "--device", "emulator").split("passed  ")[0])

    def test_control_characters_of_a_candidate_never_reach_the_terminal(self):
        path = self.folder / "candidate.cu"
        path.write_text(RIGHT.replace("one thread an element", "\\u001b]0;owned\\u0007"))
        done = self.call("eval", SPEC, path, "--device", "none", code=3)
        self.assertNotIn("\x1b", done.stdout + done.stderr)

    def test_doctor_says_what_it_found_and_how(self):
        text = self.call("doctor").stdout
        for word in ["NVRTC", "found via", "driver", "sandbox", "model", "disk"]:
            self.assertIn(word, text)

    def test_tables_and_findings_fit_eighty_columns(self):
        self.environment["COLUMNS"] = "80"
        for command in ("doctor", "config"):
            for line in self.call(command).stdout.splitlines():
                self.assertLessEqual(len(line), 80, command)
        names = self.call("config", "show").stdout
        self.assertIn("run.confirmed_attempts ", names)      # whole, to be copied
        self.assertIn("KFACTORY_RUN_WALL", names)
        self.environment["COLUMNS"] = "120"
        self.assertIn("KFACTORY_RUN_ATTEMPTS", self.call("config", "show").stdout)

    def test_doctor_takes_a_model_that_nobody_named_for_no_fault(self):
        model = next(line for line in self.call("doctor").stdout.splitlines() if line.startswith("model"))
        self.assertNotIn("missing", model)
        self.assertIn("--exchange", model)


if __name__ == "__main__":
    unittest.main()
