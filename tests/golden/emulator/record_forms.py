#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes forms.txt: every combination of modifiers and types that ptxas accepts for sm_90a, family by family.

Usage: record_forms.py PTXAS OUTPUT. Candidates (forms/) are the products of the modifiers that PTX ISA 9.0 names for each
instruction; ptxas says which of them exist. tests/unit/emulator/forms_test.cc decodes each accepted one.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from forms import FAMILIES

HEADER = """.version 9.0
.target sm_90a
.address_size 64
.extern .shared .align 128 .b8 shared_words[];
.visible .entry k(.param .u64 pointer)
{
.reg .pred %p<9>;
.reg .b16 %h<17>;
.reg .b32 %r<33>;
.reg .b64 %d<33>;
.reg .b128 %x<5>;
.local .align 16 .b8 frame[256];
"""


def assemble(ptxas, lines):
    """Whether ptxas takes a module of these lines, and which of them it names in errors."""
    first = HEADER.count("\n") + 1
    with tempfile.TemporaryDirectory() as folder:
        source, output = pathlib.Path(folder) / "forms.ptx", pathlib.Path(folder) / "forms.cubin"
        source.write_text(HEADER + "".join(line + "\n" for line in lines) + "ret;\n}\n")
        done = subprocess.run([ptxas, "-arch=sm_90a", "-O0", "-o", output, source], capture_output=True, text=True,
                              check=False)
    numbers = re.findall(r"line (\d+); (?:error|fatal)", done.stdout + done.stderr)
    return done.returncode == 0, {int(n) - first for n in numbers if 0 <= int(n) - first < len(lines)}


def accepted(ptxas, candidates):
    """The candidates that ptxas assembles, in order. All go into one module; lines with errors are dropped until there
    are none. Where the assembler fails without naming a line, the halves are tried."""
    alive = list(candidates)
    while alive:
        fine, bad = assemble(ptxas, alive)
        if fine:
            return alive
        if not bad:
            half = len(alive) // 2
            return accepted(ptxas, alive[:half]) + accepted(ptxas, alive[half:]) if half else []
        alive = [line for n, line in enumerate(alive) if n not in bad]
    return []


def main():
    ptxas, output = sys.argv[1:]
    version = subprocess.run([ptxas, "--version"], capture_output=True, text=True, check=True).stdout
    release = re.search(r"V[\d.]+", version).group(0)
    lines = [f"# Accepted by ptxas {release} for sm_90a; written by record_forms.py.\n"]
    for family in FAMILIES:
        candidates = list(dict.fromkeys(family()))
        good = accepted(ptxas, candidates)
        print(f"{family.__name__}: {len(good)} of {len(candidates)}")
        lines.append(f"# {family.__name__}\n")
        lines += [line + "\n" for line in good]
    pathlib.Path(output).write_text("".join(lines))


if __name__ == "__main__":
    main()
