#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What each gate costs for one candidate, as a markdown table.

    python3 bench/gate_costs.py specs/rmsnorm_fwd.json winner.cu --device cuda --runs 5 --confirm
    python3 bench/gate_costs.py --from eval1.json eval2.json

Runs `kfactory eval --json` (KFACTORY or --binary names the program) and gives the median over the runs of each step's wall time. A step
that goes on beside another one (the rest is compiled while the probe is checked) is counted in both: the steps do not add up to the total.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

# Step of `costs`, what it is. Steps inside a job's process are named after the job.
ROWS = [
    ("source audit", "source audit"),
    ("compile", "compile (beside the checks)"),
    ("binary audit", "binary audit"),
    ("plan", "plan"),
    ("references and harness", "references and harness (once a run)"),
    ("emulator", "emulator, which goes first"),
    ("check", "**check jobs**, processes included"),
    ("check: gate check", "check"),
    ("check: gate repeat", "repeat"),
    ("check: gate relations", "relations"),
    ("check: gate perturbation", "perturbation"),
    ("check: gate cliffs", "cliffs"),
    ("confirm", "**confirm jobs**, processes included"),
    ("confirm: gate check", "confirm: check"),
    ("confirm: gate repeat", "confirm: repeat"),
    ("confirm: gate relations", "confirm: relations"),
    ("confirm: gate perturbation", "confirm: perturbation"),
    ("confirm: gate cliffs", "confirm: cliffs"),
    ("baseline checks", "baseline checks (once a run)"),
    ("baselines and copy row", "baselines and copy row (once a run)"),
    ("timing", "**timed run**, process included"),
    ("timing: timed batches", "timed batches"),
    ("kernel records", "launch truth (kernel records)"),
    ("counters", "physics (counters; when SUSPECT, and to confirm)"),
    ("compute-sanitizer", "compute-sanitizer, four tools"),
    ("compute-sanitizer: memcheck", "memcheck"),
    ("compute-sanitizer: racecheck", "racecheck"),
    ("compute-sanitizer: initcheck", "initcheck"),
    ("compute-sanitizer: synccheck", "synccheck"),
    ("total", "**total**"),
]


def evaluations(arguments, more):
    if arguments.saved:
        for path in arguments.saved:
            with open(path, encoding="utf-8") as file:
                yield json.load(file)
        return
    command = [arguments.binary, "eval", arguments.spec, arguments.candidate, "--json", "--device", arguments.device, *more]
    if arguments.confirm:
        command.append("--confirm")
    for _ in range(arguments.runs):
        done = subprocess.run(command, capture_output=True, text=True)
        if not done.stdout.strip():
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
        yield json.loads(done.stdout)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("spec", nargs="?")
    options.add_argument("candidate", nargs="?")
    options.add_argument("--from", dest="saved", nargs="+", help="outputs of `kfactory eval --json` instead of new ones")
    options.add_argument("--binary", default=os.environ.get("KFACTORY", "kfactory"))
    options.add_argument("--device", default="auto")
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--confirm", action="store_true")
    arguments, more = options.parse_known_args()
    if not arguments.saved and not (arguments.spec and arguments.candidate):
        options.error("a spec and a candidate, or --from")

    times, counts, verdicts, device = {}, {}, [], {}
    for evaluation in evaluations(arguments, more):
        device = evaluation["device"]
        verdict = evaluation["verdict"]
        verdicts.append("passed" if verdict["passed"] else f'{verdict["gate"]}: {verdict.get("reason", "")}')
        for cost in evaluation["costs"]:
            times.setdefault(cost["step"], []).append(cost["milliseconds"])
            counts[cost["step"]] = cost["count"]

    print(f'{len(verdicts)} evaluations on {device.get("name", "?")} ({device.get("kind", "?")}): {", ".join(sorted(set(verdicts)))}. '
          "Medians.\n")
    print("| step | ms | times |\n|---|---:|---:|")
    for step, name in ROWS:
        if step in times:
            print(f"| {name} | {statistics.median(times[step]):.1f} | {counts[step]} |")


if __name__ == "__main__":
    main()
