#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Refuses C++ files that clang-format-19 would change."""
import pathlib
import shutil
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
tool = shutil.which("clang-format-19")
if not tool:
    sys.exit("clang-format-19 is not installed: apt-get install clang-format-19")
folders = ["include", "src", "tests", "bench", "kernels/harness"]
files = [str(p) for f in folders for p in sorted((root / f).rglob("*")) if p.suffix in {".h", ".cc", ".cuh"}]
run = subprocess.run([tool, "--dry-run", "--Werror", *files], capture_output=True, text=True)
changed = sorted({line.split(":")[0] for line in run.stderr.splitlines() if "clang-format-violations" in line})
print("\n".join(changed) or f"{len(files)} files are formatted")
if changed:
    print("run: clang-format-19 -i on these")
sys.exit(run.returncode)
