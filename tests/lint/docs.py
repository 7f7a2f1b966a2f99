#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Docs must not lie about what can be looked up: JSON examples parse, relative links and named paths exist, every page
is in the index, and every flag of a shown kfactory command is in that command's help.
  docs.py ROOT [BINARY]"""
import glob
import json
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
binary = sys.argv[2] if len(sys.argv) > 2 else None
pages = sorted([root / "README.md", root / "CHANGELOG.md", *(root / "docs").rglob("*.md")])
faults = []


def fault(page, number, text):
    faults.append(f"{page.relative_to(root)}:{number}: {text}")


def json_blocks(page, lines):
    """(line, language, text) of each fenced block of JSON or JSON lines."""
    language, start, block = None, 0, []
    for number, line in enumerate(lines, 1):
        mark = re.match(r"\s*```(\w*)", line)
        if mark and language is None:
            language, start, block = mark[1], number, []
        elif mark:
            if language in ("json", "jsonl"):
                yield start, language, block
            language = None
        elif language is not None:
            block.append(line)
    if language is not None:
        fault(page, start, "a code block is not closed")


def check_json(page, lines):
    for start, language, block in json_blocks(page, lines):
        for text in block if language == "jsonl" else ["\n".join(block)]:
            try:
                json.loads(text)
            except ValueError as error:
                fault(page, start, f"this {language} does not parse: {error}")


def check_links(page, number, line):
    for target in re.findall(r"\]\(([^)\s]+)\)", line):
        if re.match(r"[a-z]+://|mailto:|#", target):
            continue
        if not (page.parent / target.split("#")[0]).exists():
            fault(page, number, f"the link {target} leads nowhere")


def check_paths(page, number, line):
    for path in re.findall(r"(?<![\w./<-])(?:docs|src|tests|specs|include|kernels|bench|cmake|third_party)/[\w./*-]+", line):
        path = path.rstrip(".-")
        made = path.startswith("specs/transcripts/") or "<" in line and not (root / path).exists()
        if not made and not glob.glob(str(root / path)) and not glob.glob(str(root / path) + ".*"):
            fault(page, number, f"there is no {path}")


helps = {}


def help_of(command):
    if command not in helps:
        done = subprocess.run([binary, command, "--help"], capture_output=True, text=True)
        helps[command] = done.stdout if done.returncode == 0 else None
    return helps[command]


def check_command(page, number, line):
    for command, rest in re.findall(r"(?:^|[\s`/])kfactory ([a-z]+)((?:\s[^`#|;]*)?)", line):
        flags = re.findall(r"(?<=\s)--[a-z-]+", rest)
        if not flags or (text := help_of(command)) is None:
            continue
        for flag in flags:
            if flag != "--help" and not re.search(re.escape(flag) + r"(?![a-z-])", text):
                fault(page, number, f"kfactory {command} has no {flag}")


for page in pages:
    lines = page.read_text(encoding="utf-8").splitlines()
    check_json(page, lines)
    for number, line in enumerate(lines, 1):
        check_links(page, number, line)
        check_paths(page, number, line)
        if binary:
            check_command(page, number, line)

index = (root / "docs/README.md").read_text(encoding="utf-8")
linked = {(root / "docs" / target.split("#")[0]).resolve() for target in re.findall(r"\]\(([^)\s]+)\)", index)}
for page in pages[2:]:
    if page.resolve() not in linked and page != root / "docs/README.md" and page.is_relative_to(root / "docs"):
        fault(page, 1, "docs/README.md does not link to this page")
print("\n".join(faults) or f"{len(pages)} pages hold")
sys.exit(1 if faults else 0)
