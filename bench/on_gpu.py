#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everything that this project says about a GPU, measured again on this machine.

    python3 bench/on_gpu.py BINARIES OUT [--seconds 1700] [--only replay bench] [--skip honest] [--resume]

BINARIES holds kfactory, gpu_test and record_conformance (build/portable/bin). OUT gets STEP.txt, the whole output of each step, the
run folder of the replay, and summary.md: provenance, and for each step its command, exit code, seconds and the lines that matter. The
steps run one after the other in order of importance. One that is not done within its share is ended (SIGINT, then SIGKILL) and the
next one starts; when the seconds are spent the rest is listed as not run. --resume leaves out what summary.json already has.
Nothing on the machine is changed outside of OUT. Exit code 1 when a step failed or was not run.
"""
import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
SMALL_SPEC = "tests/specs/rmsnorm.json"  # whose wrong kernels are timed to their verdicts
SPEC, TRANSCRIPT = "specs/rmsnorm_fwd.json", "specs/transcripts/rmsnorm_fwd.jsonl"


@dataclasses.dataclass
class Step:
    name: str
    command: list
    limit: int  # seconds
    shows: str  # lines of its output for the summary: a regular expression
    needs: str = ""  # a step whose result it works on


def steps(binaries, out, device):
    kfactory, run = str(binaries / "kfactory"), str(out / "run")
    suite = [sys.executable, "tests/cheats/suite.py"]
    on = ["--device", device]
    return [
        Step("doctor", [kfactory, "doctor"], 60, "."),
        Step("gpu_test", [str(binaries / "gpu_test"), "--gtest_color=no"], 120, r"^\[  (PASSED|FAILED|SKIPPED)|tests ran"),
        Step("gates", [sys.executable, "tests/gpu/gates_on_gpu.py"], 240, r"^(FAIL|ERROR|Ran|OK|skipped)|Error:"),
        Step("replay", [kfactory, "run", SPEC, "--replay", TRANSCRIPT, *on, "--out", run], 500,
             r"refused:|measured|winner|confirmed|settled|lesson|error"),
        Step("bench", [kfactory, "bench", run, *on, "--out", str(out / "bench.json"), "--csv", str(out / "bench.csv")], 150, ".", "replay"),
        Step("cheats", [*suite, "cheats", *on, "--markdown"], 240, r"WRONG|verdicts|expected"),
        Step("conformance", [str(binaries / "record_conformance"), "tests/golden/emulator/forms.txt", str(out), "PROVENANCE"], 120,
             r"cases|forms|failed"),
        Step("wrong", [kfactory, "gauntlet", SMALL_SPEC, "WRONG", *on, "--first-refusal", "--no-time", "--json"], 90, r"$^"),
        Step("costs", [sys.executable, "bench/gate_costs.py", SPEC, "WINNER", *on, "--runs", "2", "--confirm"], 300, ".", "replay"),
        Step("honest", [*suite, "honest", *on, "--no-time", "--passes", "100"], 900, r"passes|WRONG|verdicts"),
        Step("honest_many", [*suite, "honest", *on, "--no-time", "--passes", "1000", "--only", "add_"], 600, r"passes|WRONG|verdicts"),
    ]


def provenance(binaries):
    facts = [datetime.date.today().isoformat()]
    for command in (["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], [str(binaries / "kfactory"), "--version"]):
        try:
            facts.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0])
        except (OSError, subprocess.CalledProcessError, IndexError) as why:
            facts.append(f"{command[0]}: {type(why).__name__}")
    return ", ".join(facts)


def carry_out(step, seconds, output, environment):
    """(exit code, seconds it took); None: ended at its limit."""
    begun = time.monotonic()
    with open(output, "wb") as file:
        try:
            process = subprocess.Popen(step.command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, env=environment, start_new_session=True)
        except OSError as why:
            file.write(f"{step.command[0]}: {why.strerror}\n".encode())
            return 127, 0.0
        code = None
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            for sign, grace in ((signal.SIGINT, 15), (signal.SIGKILL, 15)):
                try:
                    os.killpg(process.pid, sign)
                    process.wait(grace)
                except (ProcessLookupError, subprocess.TimeoutExpired):
                    pass
    return code, time.monotonic() - begun


def winner_of(run):
    found = sorted(run.glob("winners/**/*.cu"))
    return str(found[0]) if found else None


def wrong_median(text):
    """Milliseconds from a wrong kernel's source to its verdict: median, largest, count."""
    totals = sorted(cost["milliseconds"] for line in text.splitlines() if line.startswith("{")
                    for cost in json.loads(line)["costs"] if cost["step"] == "total")
    return f"median {totals[len(totals) // 2]:.0f} ms, largest {totals[-1]:.0f} ms, {len(totals)} kernels" if totals else "no verdict"


def write_summary(out, facts, results):
    (out / "summary.json").write_text(json.dumps({"provenance": facts, "steps": results}, indent=1))
    lines = [f"# {facts}", "", "| step | exit code | seconds |", "|---|---|---|"]
    lines += [f"| {name} | {result['code']} | {result['seconds']:.1f} |" for name, result in results.items()]
    for name, result in results.items():
        lines += ["", f"## {name}", "", f"    {result['command']}", "", *result["lines"]]
    (out / "summary.md").write_text("\n".join(lines) + "\n")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("binaries", type=pathlib.Path)
    options.add_argument("out", type=pathlib.Path)
    options.add_argument("--seconds", type=float, default=3600, help="for all of them (default 3600)")
    options.add_argument("--only", nargs="+", default=[])
    options.add_argument("--skip", nargs="+", default=[])
    options.add_argument("--device", default="cuda", help="for trying this script where there is no GPU: emulator")
    options.add_argument("--resume", action="store_true")
    arguments = options.parse_args()
    binaries, out = arguments.binaries.resolve(), arguments.out.resolve()
    every = steps(binaries, out, arguments.device)
    unknown = {*arguments.only, *arguments.skip} - {step.name for step in every}
    if unknown:
        options.error(f"no step is called {', '.join(sorted(unknown))}; there are {', '.join(step.name for step in every)}")
    out.mkdir(parents=True, exist_ok=True)

    end = time.monotonic() + arguments.seconds
    facts, results = provenance(binaries), {}
    if arguments.resume and (out / "summary.json").exists():
        before = json.loads((out / "summary.json").read_text())["steps"]
        results = {name: result for name, result in before.items() if not str(result["code"]).startswith("not run")}
    environment = {**os.environ, "KFACTORY": str(binaries / "kfactory")}
    if arguments.device == "cuda":
        environment["KFACTORY_REQUIRE_GPU"] = "1"
    wrong = [str(path.relative_to(ROOT)) for path in sorted((ROOT / "tests/cheats").glob("rmsnorm_*.cu"))
             if f"// spec: {SMALL_SPEC}\n" in path.read_text()]
    for step in every:
        if step.name in results or step.name in arguments.skip or (arguments.only and step.name not in arguments.only):
            continue
        winner = winner_of(out / "run")
        swapped = {"PROVENANCE": [facts], "WRONG": wrong, "WINNER": [winner or ""]}
        step.command = [word for part in step.command for word in swapped.get(part, [part])]
        left, output = end - time.monotonic(), out / f"{step.name}.txt"
        if step.needs and winner is None:
            result = {"code": f"not run: no winner of {step.needs}", "seconds": 0, "lines": []}
        elif left < 5:
            result = {"code": "not run: no time left", "seconds": 0, "lines": []}
        else:
            print(f"{step.name} ...", flush=True)
            code, seconds = carry_out(step, min(step.limit, left), output, environment)
            text = output.read_text(errors="replace")
            lines = [line[:300] for line in text.splitlines() if re.search(step.shows, line)][:150]
            if step.name == "wrong":
                lines = [wrong_median(text)]
            result = {"code": "ended at its limit" if code is None else code, "seconds": seconds, "lines": lines}
            print("\n".join(lines[-12:]), f"\n{step.name}: {result['code']}, {seconds:.1f} s", flush=True)
        result["command"] = " ".join(step.command)[:400].replace(str(out), "OUT").replace(str(binaries) + "/", "")
        if str(result["code"]).startswith("not run"):
            print(f"{step.name}: {result['code']}", flush=True)
        results[step.name] = result
        write_summary(out, facts, results)
    failed = [name for name, result in results.items() if result["code"] != 0 and not (name == "wrong" and result["code"] == 3)]
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
