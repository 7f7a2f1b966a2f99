# SPDX-License-Identifier: Apache-2.0
"""Registers of a PTX type, and the products that the families are made of."""
import itertools

ALL = ["b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "b128",
       "f16", "f16x2", "bf16", "bf16x2", "f32", "f64"]
ROUND = ["", ".rn", ".rz", ".rm", ".rp"]
SCOPE = [".cta", ".cluster", ".gpu", ".sys"]


def letter(kind):
    if kind in ("b128",):
        return "x"
    if kind.endswith("64"):
        return "d"
    if kind.endswith("x4") or kind.endswith("32") or (kind.endswith("16x2") or kind.endswith("6x2")):
        return "r"
    if kind.endswith("16") or kind in ("e4m3x2", "e5m2x2", "b8", "u8", "s8"):
        return "h"
    return "r"


def reg(kind, n):
    return f"%{letter(kind)}{n}"


def product(*lists):
    for parts in itertools.product(*lists):
        yield "".join(parts)


def same(op, modifiers, kinds, sources):
    for mods in product(*modifiers):
        for kind in kinds:
            operands = ", ".join(reg(kind, n) for n in range(sources + 1))
            yield f"{op}{mods}.{kind} {operands};"


def vector(kind, count):
    return reg(kind, 1) if count == "" else "{" + ", ".join(reg(kind, n + 4) for n in range(int(count[2:]))) + "}"


def fragment(kind, count, first):
    return "{" + ", ".join(f"%{kind}{first + n}" for n in range(count)) + "}"
