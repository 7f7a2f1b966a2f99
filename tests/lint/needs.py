#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""needs.py BINARY: the program starts without driver, NVRTC, CUPTI, NVML and libcurl, so the loader is asked for nothing but the C and C++ run time."""
import re
import subprocess
import sys

ALLOWED = re.compile(r"(lib(c|m|dl|pthread|rt|gcc_s|stdc\+\+|asan|tsan|ubsan)|ld-linux-[a-z0-9-]+)\.so\.\d+")

dynamic = subprocess.run(["readelf", "--dynamic", "--wide", sys.argv[1]], capture_output=True, text=True, check=True).stdout
needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
others = [name for name in needed if not ALLOWED.fullmatch(name)]
for name in others:
    print(f"{sys.argv[1]} does not start without {name}: open it when it is first needed (src/os/shared_library.h), or link it statically")
if not needed:
    print(f"{sys.argv[1]}: readelf shows no NEEDED entry; it said:\n{dynamic}")
sys.exit(1 if others or not needed else 0)
