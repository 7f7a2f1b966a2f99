#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every #include under include/ and src/ and refuses those that docs/architecture.md does not allow."""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
FOLDERS = {p.name for p in (ROOT / "src").iterdir() if p.is_dir()}
# Beside its own folder, include/kfactory and src/format, a folder may include ...
ALLOWED = {
    "format": set(),
    "os": set(),
    "spec": set(),
    "factory": set(),
    "agent": set(),
    "gates": set(),
    "measure": {"gates"},   # timed outputs are verified by the gates' own comparison
    "compile": {"os"},
    "cuda": {"os"},
    "emulator": {"os"},
    "rig": {"os", "gates", "measure"},
    "model": {"os"},
    "ledger": {"os"},
    "cli": FOLDERS,
}
# Device code shared by host and GPU: kernels/harness.
HARNESS = {"cuda", "emulator"}
# Outside libraries stay out of the vocabulary.
FOREIGN = re.compile(r"^(nlohmann|CLI|spdlog|fmt|toml\+\+|curl|SQLiteCpp|sqlite3|cuda|cupti|nvrtc|gtest|gmock)\b")

faults = []


def fault(path, text, why):
    faults.append(f"{path.relative_to(ROOT)}: #include {text}: {why}")


for path in sorted((ROOT / "include").rglob("*.h")):
    for quote, name in INCLUDE.findall(path.read_text()):
        if quote == '"' or FOREIGN.match(name):
            fault(path, name, "include/kfactory may include <kfactory/...> and the standard library only")

for path in sorted((ROOT / "src").rglob("*.cc")) + sorted((ROOT / "src").rglob("*.h")):
    folder = path.relative_to(ROOT / "src").parts[0]
    if folder not in ALLOWED:
        faults.append(f"src/{folder}: not a folder of docs/architecture.md; add it there and to tests/lint/layering.py")
        continue
    for quote, name in INCLUDE.findall(path.read_text()):
        if path.suffix == ".h" and re.match(r"^(nlohmann/json\.hpp|CLI/|spdlog/)", name):
            fault(path, name, "a heavy header; include it in a .cc file (docs/contributing.md)")
        if quote != '"':
            continue
        first = name.split("/")[0]
        if name.startswith("kernels/harness/"):
            if folder not in HARNESS:
                fault(path, name, "only cuda and emulator may use the harness")
        elif first in FOLDERS and "/" in name:
            if first not in ALLOWED[folder] | {folder, "format"}:
                fault(path, name, f"{folder} may include {', '.join(sorted(ALLOWED[folder])) or 'nothing else'}")
        elif not (path.parent / name).exists():
            fault(path, name, "not beside this file")

print("\n".join(faults) or "layering: every #include is allowed")
sys.exit(1 if faults else 0)
