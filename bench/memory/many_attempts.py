#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peak memory of `kfactory run` over many attempts: bench/memory/many_attempts.py KFACTORY [--attempts 10000].

Replays a transcript that it writes itself, with --device none. Each reply is another candidate of about 3 KB that its
source audit refuses (an include that is not allowed), so that nothing is compiled but the references: what is measured is
what a run keeps of its attempts. Then times `show` and a `--resume` that has nothing left to do. Prints one line of JSON;
exit code 1 above --limit megabytes.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

SPEC = pathlib.Path(__file__).resolve().parents[2] / "specs" / "rmsnorm_fwd.json"
PLAN = """/*kfactory
{ "plan": 1, "hypothesis": "attempt %d of many", "kernels": [{"name": "rms", "grid": ["M"], "block": ["256"], "args": ["x", "y"]}] }
*/
#include "/not/allowed/%d.h"
"""


def reply(number):
    body = "".join(f"// line {line} of candidate {number}: nothing that a compiler would see\n" for line in range(45))
    return "```cuda\n" + PLAN % (number, number) + body + "```\n"


def write_transcript(path, attempts):
    with open(path, "w", encoding="utf-8") as file:
        for role in ("writer", "repairer"):
            for number in range(1, attempts + 1):
                text = reply(number + (attempts if role == "repairer" else 0))
                file.write(json.dumps({"role": role, "ordinal": number, "text": text}) + "\n")
        for number in range(1, 40):
            file.write(json.dumps({"role": "librarian", "ordinal": number, "text": "[]"}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kfactory")
    parser.add_argument("--attempts", type=int, default=10_000)
    parser.add_argument("--limit", type=float, default=300, help="megabytes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        transcript = pathlib.Path(folder) / "transcript.jsonl"
        write_transcript(transcript, options.attempts)
        command = [options.kfactory, "run", str(SPEC), "--replay", str(transcript), "--device", "none",
                   "--attempts", str(options.attempts), "--out", str(pathlib.Path(folder) / "out")]
        start = time.monotonic()
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        wall = time.monotonic() - start
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024  # of the largest process: the factory
        start = time.monotonic()
        shown = subprocess.run([options.kfactory, "show", str(pathlib.Path(folder) / "out"), "--json"],
                               stdout=subprocess.PIPE, text=True, check=False)
        show = time.monotonic() - start
        start = time.monotonic()
        subprocess.run([*command, "--resume"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        resume = time.monotonic() - start
        attempts = len(json.loads(shown.stdout)["attempts"]) if shown.returncode == 0 else 0
        print(json.dumps({"attempts": attempts, "peak_megabytes": round(peak, 1), "seconds": round(wall, 1),
                          "show_seconds": round(show, 1), "resume_seconds": round(resume, 1),
                          "exit_code": done.returncode, "stderr": done.stderr[-300:] if attempts < options.attempts else ""}))
        return 0 if attempts == options.attempts and peak <= options.limit else 1


if __name__ == "__main__":
    sys.exit(main())
