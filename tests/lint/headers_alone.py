#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles each public header alone, twice included, with warnings as errors."""
import pathlib
import subprocess
import sys

root, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
failed = []
headers = sorted((root / "include/kfactory").glob("*.h"))
for header in headers:
    include = f"#include <kfactory/{header.name}>\n"
    run = subprocess.run([compiler, "-std=c++23", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I",
                          str(root / "include"), "-x", "c++", "-"], input=include * 2, text=True, capture_output=True)
    if run.returncode:
        failed.append(f"{header.name}:\n{run.stderr}")
print("\n".join(failed) or f"{len(headers)} headers compile alone")
sys.exit(1 if failed or not headers else 0)
