#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The gates against candidates whose verdict is known: `suite.py cheats` must all be refused, `suite.py honest` must all pass.

Each candidate says in its first lines what is expected of it:

    // spec: tests/specs/vector_add.json
    // refused by: check: unwritten          gate: reason[, other reason][ or gate: reason]   (cheats)
    // on cuda: check: red_zone              where a GPU sees it otherwise than the emulator; "check: mismatch or passes": without the
                                             emulator in front (--emulator-first false) it may pass
    // not on the emulator: why
    // says: of each row is not covered      part of the refusal's message
    // options: --confirm                    further options of the gauntlet

Candidates of one spec go through one `kfactory gauntlet`; with `--passes N` each goes through one `kfactory eval --repeat N` (fresh
seeds each, builds kept). Prints a table; fails on a cheat that passes or is refused for another
reason than its own, and on an honest kernel that is refused. `--device cuda` for a GPU, `--repeat N` for so many gauntlets, `--no-time` for the checks alone, `--only NAME`.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def header(path):
    facts = {}
    for line in path.read_text().splitlines():
        if not line.startswith("//"):
            break
        key, found, value = line[2:].partition(":")
        if found:
            facts[key.strip()] = value.strip()
        else:
            facts[line[2:].strip()] = ""
    if "spec" not in facts:
        sys.exit(f"{path}: the header names no spec (// spec: tests/specs/NAME.json)")
    return facts


def verdicts(binary, device, spec, paths, more):
    """One gauntlet over all candidates of a spec: {file name: evaluation}. Each verdict goes to stderr as it comes, so that a suite that is
    cut off leaves what it had."""
    command = [binary, "gauntlet", spec, *map(str, paths), "--json", "--first-refusal", "--device", device, *more]
    found = {}
    with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True) as run:
        for line in run.stdout:
            evaluation = json.loads(line)
            name = pathlib.Path(evaluation["candidate"]).name
            found[name] = evaluation
            verdict = evaluation.get("verdict", {"passed": False, "gate": "rig", "reason": "no verdict"})
            print(f"  {name}: " + ("passed" if verdict["passed"] else f'{verdict["gate"]}: {verdict["reason"]}'), file=sys.stderr, flush=True)
        run.wait()
        errors.seek(0)
        if len(found) != len(paths):
            print(errors.read()[-2000:], file=sys.stderr)
    return found


def passes(binary, device, spec, path, count, more):
    """One process on the device: all checks of one candidate `count` times with fresh seeds, or up to the first refusal."""
    command = [binary, "eval", spec, str(path), "--json", "--repeat", str(count), "--device", device, *more]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if not done.stdout.strip():
        print(done.stderr[-2000:], file=sys.stderr)
        return None
    return json.loads(done.stdout)


def judge(kind, device, alone, facts, evaluation):
    """(expected, found, is it right?). `alone`: no emulator goes before the GPU."""
    expected = facts.get("refused by", "passes")
    elsewhere = device == "cuda" and "on cuda" in facts
    if elsewhere:  # by the GPU, or by the emulator that goes first
        expected = facts["on cuda"] if alone else f'{expected} or {facts["on cuda"]}'
    if evaluation is None:
        return expected, "no verdict: the gauntlet ended", False
    if "rig_fault" in evaluation:
        return expected, "rig: " + evaluation["rig_fault"]["what"][:80], False
    verdict = evaluation["verdict"]
    # A race comes out right by chance, or shows only at a later gate than the first.
    by_chance = device == "cuda" and alone and "may run right by chance" in " ".join(facts)
    if verdict["passed"]:
        may_pass = elsewhere and alone and "passes" in expected.split(" or ")
        return expected, "passed", kind == "honest" or by_chance or may_pass
    found = f'{verdict["gate"]}: {verdict["reason"]}'
    in_front = verdict["message"].startswith("on the emulator, which goes first: ")
    gates = [verdict["gate"]]
    if in_front and verdict["gate"] in ("repeat", "relations", "perturbation"):
        gates.append("check")  # its few contents and small cases show some faults only when there are more of them
    right = False
    for alternative in expected.split(" or "):
        gate, _, reasons = alternative.partition(": ")
        right = right or ((gate in gates or by_chance) and verdict["reason"] in re.split(r",\s*", reasons))
    # What the emulator's checker says, a GPU that runs into the same fault cannot.
    by_emulator = device == "emulator" or in_front
    says = facts.get("says", "") if by_emulator or not elsewhere else ""
    if right and says not in verdict["message"]:
        return expected, f"{found}, without saying so", False
    return expected, found, right and kind == "cheats"


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("kind", choices=["cheats", "honest"])
    options.add_argument("--device", default="emulator")
    options.add_argument("--binary", default=os.environ.get("KFACTORY", "kfactory"))
    options.add_argument("--repeat", type=int, default=1)
    options.add_argument("--passes", type=int, default=0)
    options.add_argument("--only", action="append", help="the candidate of this name, else those whose names have this in them; may be given several times")
    options.add_argument("--markdown", action="store_true")
    arguments, more = options.parse_known_args()

    alone = "--emulator-first false" in " ".join(more).replace("=", " ")
    by_spec = collections.defaultdict(list)
    skipped = []
    paths = sorted((ROOT / "tests" / arguments.kind).glob("*.cu"))
    names = {path.stem for path in paths}
    for path in paths:
        wanted = any(only == path.stem or (only not in names and only in path.stem) for only in arguments.only or [])
        if arguments.only and not wanted:
            continue
        facts = header(path)
        if arguments.device == "emulator" and "not on the emulator" in facts:
            skipped.append((path.stem, facts["not on the emulator"]))
        else:
            by_spec[facts["spec"], facts.get("options", "")].append((path, facts))
    if not by_spec:
        sys.exit(f"no candidates for {arguments.kind}")

    rows, wrong, start, evaluations = [], 0, time.monotonic(), 0
    for (spec, own), candidates in by_spec.items():
        for _ in range(arguments.repeat):
            if arguments.passes:
                found = {}
                for path, _ in candidates:
                    begun = time.monotonic()
                    found[path.name] = passes(
                        arguments.binary, arguments.device, spec, path.relative_to(ROOT), arguments.passes, more)
                    done = (found[path.name] or {}).get("passes", 0)
                    evaluations += done
                    print(f"{path.stem}: {done} passes in {time.monotonic() - begun:.1f} s", flush=True)
            else:
                found = verdicts(arguments.binary, arguments.device, spec, [p.relative_to(ROOT) for p, _ in candidates], [*own.split(), *more])
            for path, facts in candidates:
                evaluation = found.get(path.name)
                expected, got, right = judge(arguments.kind, arguments.device, alone, facts, evaluation)
                message = evaluation["verdict"].get("message", "") if evaluation else ""
                rows.append((path.stem, expected, got, "ok" if right else "WRONG", message))
                wrong += not right
    rows.sort(key=lambda row: row[3] != "ok")  # What is wrong comes last: the end of a long log is what is kept of it.
    for name, expected, got, mark, message in rows:
        first = message.splitlines()[0][:100] if message else ""
        if arguments.markdown:
            what = header(ROOT / "tests" / arguments.kind / f"{name}.cu").get("cheat" if arguments.kind == "cheats" else "honest", "")
            print(f"| {name} | {what} | {got} |" + ("" if mark == "ok" else f" {mark}: expected {expected} |"))
        else:
            print(f"{mark:5} {name:34} {expected:38} {got:34} {first if mark != 'ok' or arguments.kind == 'cheats' else ''}")
    for name, why in skipped:
        print(f"skip  {name:34} {why}")
    if evaluations:
        print(f"{evaluations} passes of all checks with fresh seeds")
    print(f"{len(rows)} verdicts, {wrong} wrong, {len(skipped)} not executable here, {time.monotonic() - start:.1f} s")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
