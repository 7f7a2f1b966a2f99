#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy-19 over our sources (.clang-tidy: few checks, all errors), two at a time."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

root, build = pathlib.Path(sys.argv[1]), sys.argv[2]
tool = shutil.which("clang-tidy-19")
if not tool:
    sys.exit("clang-tidy-19 is not installed: apt-get install clang-tidy-19")
database = json.loads(pathlib.Path(build, "compile_commands.json").read_text())
files = sorted({entry["file"] for entry in database if entry["file"].startswith(str(root / "src"))})


def check(path):
    run = subprocess.run([tool, "-p", build, "--quiet", "--extra-arg=-Wno-unknown-warning-option",
                          "--extra-arg=-Wno-deprecated-declarations", path], capture_output=True, text=True)
    return path, run.returncode, run.stdout + run.stderr


failed = 0
with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
    for path, code, output in pool.map(check, files):
        if code:
            failed += 1
            print(output)
print(f"{len(files)} files checked, {failed} with findings")
sys.exit(1 if failed or not files else 0)
