#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes forms.txt: every combination of modifiers and types that ptxas accepts for sm_90a, family by family.

Usage: record_forms.py PTXAS OUTPUT. Candidates are the products of the modifiers that PTX ISA 9.0 names for each
instruction; ptxas says which of them exist. tests/unit/emulator/forms_test.cc decodes each accepted one.
"""
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

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

INTEGER = ["u16", "s16", "u32", "s32", "u64", "s64", "u16x2", "s16x2"]
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


def integer():
    for op in ("add", "sub"):
        yield from same(op, [["", ".sat"]], INTEGER, 2)
    for op in ("min", "max"):
        yield from same(op, [["", ".relu"]], INTEGER, 2)
    for op in ("div", "rem"):
        yield from same(op, [[""]], INTEGER, 2)
    for op in ("abs", "neg"):
        yield from same(op, [[""]], INTEGER, 1)
    yield from same("sad", [[""]], INTEGER, 3)
    for part in ("lo", "hi"):
        yield from same("mul." + part, [[""]], INTEGER, 2)
        yield from same("mad." + part, [["", ".sat"]], INTEGER, 3)
        for op, sources in (("mul24", 2), ("mad24", 3)):
            yield from same(f"{op}.{part}", [["", ".sat"]], ["u32", "s32"], sources)
    for kind, wide in (("u16", "r"), ("s16", "r"), ("u32", "d"), ("s32", "d")):
        yield f"mul.wide.{kind} %{wide}0, {reg(kind, 1)}, {reg(kind, 2)};"
        yield f"mad.wide.{kind} %{wide}0, {reg(kind, 1)}, {reg(kind, 2)}, %{wide}3;"
    for kind in ("u32", "s32", "u64", "s64"):
        for op in ("add.cc", "addc", "addc.cc", "sub.cc", "subc", "subc.cc"):
            yield from same(op, [[""]], [kind], 2)
        for op in ("mad.lo.cc", "mad.hi.cc", "madc.lo", "madc.hi", "madc.lo.cc", "madc.hi.cc"):
            yield from same(op, [[""]], [kind], 3)
    for a, b in itertools.product(("u32", "s32"), repeat=2):
        yield f"dp4a.{a}.{b} %r0, %r1, %r2, %r3;"
        for part in ("lo", "hi"):
            yield f"dp2a.{part}.{a}.{b} %r0, %r1, %r2, %r3;"


def bits():
    for op in ("and", "or", "xor"):
        yield from same(op, [[""]], ["b16", "b32", "b64"], 2)
        yield f"{op}.pred %p0, %p1, %p2;"
    for op in ("not", "cnot"):
        yield from same(op, [[""]], ["b16", "b32", "b64"], 1)
    yield "not.pred %p0, %p1;"
    for kind in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"):
        for op in ("shl", "shr"):
            yield f"{op}.{kind} {reg(kind, 0)}, {reg(kind, 1)}, %r2;"
            yield f"{op}.{kind} {reg(kind, 0)}, {reg(kind, 1)}, 3;"
    for kind in ("b32", "b64", "u32", "s32", "u64", "s64"):
        yield f"popc.{kind} %r0, {reg(kind, 1)};"
        yield f"clz.{kind} %r0, {reg(kind, 1)};"
        yield f"brev.{kind} {reg(kind, 0)}, {reg(kind, 1)};"
        for more in ("", ".shiftamt"):
            yield f"bfind{more}.{kind} %r0, {reg(kind, 1)};"
        yield f"bfe.{kind} {reg(kind, 0)}, {reg(kind, 1)}, %r2, %r3;"
        yield f"bfi.{kind} {reg(kind, 0)}, {reg(kind, 1)}, {reg(kind, 2)}, %r3, %r4;"
    for mode in ("", ".clamp", ".wrap"):
        yield f"bmsk{mode}.b32 %r0, %r1, %r2;"
        for kind in ("u32", "s32"):
            yield f"szext{mode}.{kind} %r0, %r1, %r2;"
        for way in ("l", "r"):
            yield f"shf.{way}{mode}.b32 %r0, %r1, %r2, %r3;"
    yield "fns.b32 %r0, %r1, %r2, %r3;"
    for mode in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"):
        yield f"prmt.b32{mode} %r0, %r1, %r2, %r3;"
    yield "lop3.b32 %r0, %r1, %r2, %r3, 0x96;"
    for op in ("or", "and"):
        yield f"lop3.{op}.b32 %r0|%p0, %r1, %r2, %r3, 0x96, %p1;"
        yield f"lop3.{op}.b32 _|%p0, %r1, %r2, %r3, 0x96, %p1;"


def reals():
    real = ["f32", "f64", "f16", "f16x2", "bf16", "bf16x2"]
    for op in ("add", "sub", "mul"):
        yield from same(op, [ROUND, ["", ".ftz"], ["", ".sat"]], real, 2)
    for op in ("fma", "mad"):
        yield from same(op, [ROUND, ["", ".ftz"], ["", ".sat", ".relu", ".oob", ".oob.relu"]], real, 3)
    for op in ("min", "max"):
        yield from same(op, [["", ".ftz"], ["", ".NaN"], ["", ".xorsign.abs"]], real, 2)
    for op in ("abs", "neg"):
        yield from same(op, [["", ".ftz"]], real, 1)
    yield from same("div", [ROUND + [".approx", ".full"], ["", ".ftz"]], real, 2)
    for op in ("rcp", "sqrt"):
        yield from same(op, [ROUND + [".approx"], ["", ".ftz"]], real, 1)
    for op in ("rsqrt", "sin", "cos", "lg2", "ex2", "tanh"):
        yield from same(op, [[".approx"], ["", ".ftz"]], real, 1)
    for what in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
        for kind in ("f32", "f64"):
            yield f"testp.{what}.{kind} %p0, {reg(kind, 1)};"
    yield from same("copysign", [[""]], ["f32", "f64"], 2)


def comparisons():
    relations = "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan".split()
    kinds = ["b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64",
             "f16", "f16x2", "bf16", "bf16x2", "f32", "f64"]
    for relation, ftz, kind in itertools.product(relations, ("", ".ftz"), kinds):
        a, b = reg(kind, 1), reg(kind, 2)
        yield f"setp.{relation}{ftz}.{kind} %p0, {a}, {b};"
        yield f"setp.{relation}{ftz}.{kind} %p0|%p1, {a}, {b};"
        for combine in ("and", "or", "xor"):
            yield f"setp.{relation}.{combine}{ftz}.{kind} %p0|%p1, {a}, {b}, !%p2;"
        for to in ("u16", "s16", "u32", "s32", "f32", "f16", "bf16", "f16x2", "bf16x2"):
            yield f"set.{relation}{ftz}.{to}.{kind} {reg(to, 0)}, {a}, {b};"
            if relation in ("lt", "hi", "nan"):
                yield f"set.{relation}.and{ftz}.{to}.{kind} {reg(to, 0)}, {a}, {b}, %p2;"
    for kind in kinds:
        yield f"selp.{kind} {reg(kind, 0)}, {reg(kind, 1)}, {reg(kind, 2)}, %p0;"
        for ftz in ("", ".ftz"):
            for by in ("s32", "f32"):
                yield f"slct{ftz}.{kind}.{by} {reg(kind, 0)}, {reg(kind, 1)}, {reg(kind, 2)}, %r3;"


def conversions():
    kinds = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64", "tf32"]
    rounds = ["", ".rn", ".rz", ".rm", ".rp", ".rna", ".rni", ".rzi", ".rmi", ".rpi"]
    more = ["", ".ftz", ".sat", ".ftz.sat", ".relu", ".satfinite", ".relu.satfinite"]
    for r, m, to, source in itertools.product(rounds, more, kinds, kinds):
        def register(kind, n):
            return f"%r{n}" if kind in ("u8", "s8", "tf32") else reg(kind, n)
        yield f"cvt{r}{m}.{to}.{source} {register(to, 0)}, {register(source, 1)};"
        if r in (".rn", ".rz") and "satfinite" in m:
            swapped = m.replace(".relu.satfinite", ".satfinite.relu")
            yield f"cvt{r}{swapped}.{to}.{source} {register(to, 0)}, {register(source, 1)};"
    packed = ["f16x2", "bf16x2", "e4m3x2", "e5m2x2", "ue8m0x2", "e2m1x2", "e2m3x2", "e3m2x2"]
    for r, m, to in itertools.product(["", ".rn", ".rz", ".rs"], ["", ".satfinite", ".relu", ".satfinite.relu",
                                                                 ".relu.satfinite"], packed):
        yield f"cvt{r}{m}.{to}.f32 {reg(to, 0)}, %r1, %r2;"
        for source in packed:
            yield f"cvt{r}{m}.{to}.{source} {reg(to, 0)}, {reg(source, 1)};"
    for to in ("u2", "s2", "u4", "s4", "u8", "s8", "u16", "s16"):
        yield f"cvt.pack.sat.{to}.s32 %r0, %r1, %r2;"
        yield f"cvt.pack.sat.{to}.s32.b32 %r0, %r1, %r2, %r3;"


def moves():
    for kind in ("b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64", "b128", "f16", "bf16",
                 "f16x2"):
        yield f"mov.{kind} {reg(kind, 0)}, {reg(kind, 1)};"
    yield "mov.pred %p0, %p1;"
    for whole, part, count in (("b16", "h", 2), ("b32", "h", 2), ("b32", "h", 4), ("b64", "r", 2), ("b64", "h", 4),
                               ("b128", "d", 2), ("b128", "r", 4)):
        parts = "{" + ", ".join(f"%{part}{n + 4}" for n in range(count)) + "}"
        yield f"mov.{whole} {reg(whole, 0)}, {parts};"
        yield f"mov.{whole} {parts}, {reg(whole, 0)};"
        sunk = "{" + ", ".join(f"%{part}{n + 4}" if n else "_" for n in range(count)) + "}"
        yield f"mov.{whole} {sunk}, {reg(whole, 0)};"
    specials = """tid.x tid.y tid.z ntid.x ntid.y ntid.z laneid warpid nwarpid ctaid.x ctaid.y ctaid.z nctaid.x nctaid.y
        nctaid.z smid nsmid is_explicit_cluster clusterid.x clusterid.y clusterid.z nclusterid.x nclusterid.y
        nclusterid.z cluster_ctaid.x cluster_ctaid.y cluster_ctaid.z cluster_nctaid.x cluster_nctaid.y
        cluster_nctaid.z cluster_ctarank cluster_nctarank lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt
        clock clock_hi globaltimer_lo globaltimer_hi reserved_smem_offset_begin reserved_smem_offset_end
        reserved_smem_offset_cap reserved_smem_offset_0 reserved_smem_offset_1 total_smem_size aggr_smem_size
        dynamic_smem_size pm0 pm1 pm7""".split()
    specials += [f"envreg{n}" for n in range(32)]
    for name in specials:
        for kind in ("u32", "b32", "s32"):
            yield f"mov.{kind} %r0, %{name};"
        yield f"mov.pred %p0, %{name};"
        yield f"add.u32 %r0, %{name}, 1;"
    for name in ("tid.x", "ctaid.x", "ntid.x"):
        yield f"cvt.u16.u32 %h0, %{name};"
        yield f"mov.u16 %h0, %{name};"
    for name in ("gridid", "clock64", "globaltimer", "current_graph_exec", "pm0_64", "pm7_64"):
        yield f"mov.u64 %d0, %{name};"
    for name, kind in itertools.product(("shared_words", "frame"), ("u32", "u64", "b32", "b64")):
        yield f"mov.{kind} {reg(kind, 0)}, {name};"
        yield f"mov.{kind} {reg(kind, 0)}, {name}+16;"
    for to, space in itertools.product(("", ".to"), ("global", "const", "shared", "shared::cta", "shared::cluster",
                                                     "local", "param", "param::entry")):
        for kind in ("u64", "u32"):
            yield f"cvta{to}.{space}.{kind} {reg(kind, 0)}, {reg(kind, 1)};"
    for space in ("global", "const", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry"):
        yield f"isspacep.{space} %p0, %d0;"
        yield f"isspacep.{space} %p0, %r0;"


def vector(kind, count):
    return reg(kind, 1) if count == "" else "{" + ", ".join(reg(kind, n + 4) for n in range(int(count[2:]))) + "}"


def memory():
    spaces = ["", ".global", ".shared", ".shared::cta", ".shared::cluster", ".local", ".const", ".param"]
    caches = ["", ".ca", ".cg", ".cs", ".lu", ".cv"]
    for space, cache, count, kind in itertools.product(spaces, caches, ["", ".v2", ".v4", ".v8"], ALL):
        if cache and kind not in ("u8", "b32", "f64"):
            continue
        yield f"ld{space}{cache}{count}.{kind} {vector(kind, count)}, [%d0];"
    for space, cache, count, kind in itertools.product(spaces, ["", ".wb", ".cg", ".cs", ".wt"],
                                                       ["", ".v2", ".v4", ".v8"], ALL):
        if cache and kind not in ("u8", "b32", "f64"):
            continue
        yield f"st{space}{cache}{count}.{kind} [%d0], {vector(kind, count)};"
    orders = [".weak", ".volatile", ".mmio.relaxed.sys"]
    for space in spaces:
        for kind, count in (("b32", ""), ("u64", ""), ("f32", ".v4"), ("b128", "")):
            for order in orders + [".relaxed" + s for s in SCOPE] + [".acquire" + s for s in SCOPE]:
                yield f"ld{order}{space}{count}.{kind} {vector(kind, count)}, [%d0];"
            for order in orders + [".relaxed" + s for s in SCOPE] + [".release" + s for s in SCOPE]:
                yield f"st{order}{space}{count}.{kind} [%d0], {vector(kind, count)};"
    one = [".L1::evict_normal", ".L1::evict_unchanged", ".L1::evict_first", ".L1::evict_last", ".L1::no_allocate"]
    two = ["", ".L2::evict_normal", ".L2::evict_first", ".L2::evict_last"]
    size = ["", ".L2::64B", ".L2::128B", ".L2::256B"]
    for space, nc, a, b, hint, s, (kind, count) in itertools.product(
            ["", ".global"], ["", ".nc"], [""] + one, two, ["", ".L2::cache_hint"], size,
            (("b32", ""), ("f64", ".v2"), ("f32", ".v8"))):
        policy = ", %d9" if hint else ""
        yield f"ld{space}{nc}{a}{b}{hint}{s}{count}.{kind} {vector(kind, count)}, [%d0]{policy};"
        if not nc and not s:
            yield f"st{space}{a}{b}{hint}{count}.{kind} [%d0], {vector(kind, count)}{policy};"
        if nc:
            yield f"ld{space}.ca{nc}{hint}{s}{count}.{kind} {vector(kind, count)}, [%d0]{policy};"
            yield f"ld{space}.cs{nc}{hint}{s}{count}.{kind} {vector(kind, count)}, [%d0]{policy};"
    for count, kind in itertools.product(["", ".v2", ".v4"], ALL):
        yield f"ldu.global{count}.{kind} {vector(kind, count)}, [%d0];"
        yield f"ldu{count}.{kind} {vector(kind, count)}, [%d0];"
    for space in ("", ".global", ".local"):
        for level in ("L1", "L2"):
            yield f"prefetch{space}.{level} [%d0];"
    for level in ("L2::evict_last", "L2::evict_normal"):
        yield f"prefetch.global.{level} [%d0];"
    yield "prefetchu.L1 [%d0];"
    for space in ("", ".global"):
        yield f"applypriority{space}.L2::evict_normal [%d0], 128;"
        yield f"discard{space}.L2 [%d0], 128;"
    for primary in ("L2::evict_last", "L2::evict_normal", "L2::evict_first", "L2::evict_unchanged"):
        for secondary in ("", ".L2::evict_first", ".L2::evict_unchanged"):
            yield f"createpolicy.fractional.{primary}{secondary}.b64 %d1, 0f3F000000;"
            yield f"createpolicy.fractional.{primary}{secondary}.b64 %d1;"
            yield f"createpolicy.range.{primary}{secondary}.b64 %d1, [%d0], %r1, %r2;"
            yield f"createpolicy.range.global.{primary}{secondary}.b64 %d1, [%d0], 4096, 8192;"
    yield "createpolicy.cvt.L2.b64 %d1, %d2;"
    for space in ("", ".shared::cluster"):
        for kind in ("u32", "u64"):
            yield f"mapa{space}.{kind} {reg(kind, 0)}, {reg(kind, 1)}, %r2;"
            yield f"mapa{space}.{kind} {reg(kind, 0)}, shared_words, 1;"
            yield f"mapa{space}.{kind} {reg(kind, 0)}, shared_words+4, 1;"
            yield f"getctarank{space}.{kind} %r0, {reg(kind, 1)};"
            yield f"getctarank{space}.{kind} %r0, shared_words;"


def atomics():
    orders = [""] + ["." + o for o in ("relaxed", "acquire", "release", "acq_rel")]
    scopes = [""] + SCOPE
    kinds = ["b16", "b32", "b64", "b128", "u16", "u32", "s32", "u64", "s64", "f32", "f64", "f16", "f16x2", "bf16",
             "bf16x2"]
    spaces = ["", ".global", ".shared", ".shared::cta", ".shared::cluster"]
    for op, kind in itertools.product("and or xor exch cas add inc dec min max".split(), kinds):
        third = f", {reg(kind, 3)}" if op == "cas" else ""
        for space, noftz in itertools.product(spaces, ("", ".noftz")):
            combos = itertools.product(orders, scopes) if op in ("add", "cas") and kind in ("u32", "b32") else [("", "")]
            for order, scope in combos:
                yield (f"atom{order}{scope}{space}.{op}{noftz}.{kind} {reg(kind, 1)}, [%d0], "
                       f"{reg(kind, 2)}{third};")
                yield f"atom{order}{scope}{space}.{op}{noftz}.{kind} _, [%d0], {reg(kind, 2)}{third};"
                yield f"red{order}{scope}{space}.{op}{noftz}.{kind} [%d0], {reg(kind, 2)};"
        yield f"atom.global.{op}.L2::cache_hint.{kind} {reg(kind, 1)}, [%d0], {reg(kind, 2)}{third}, %d9;"
        yield f"red.global.{op}.L2::cache_hint.{kind} [%d0], {reg(kind, 2)}, %d9;"
        for space, noftz, count in itertools.product(["", ".global"], ["", ".noftz"], [".v2", ".v4", ".v8"]):
            one, two = vector(kind, count), vector(kind, count).replace("%" + letter(kind) + "1", "%" + letter(kind) + "1")
            yield f"atom{space}.{op}{noftz}{count}.{kind} {one}, [%d0], {two};"
            yield f"red{space}.{op}{noftz}{count}.{kind} [%d0], {two};"
            yield f"red.relaxed.gpu{space}.{op}{noftz}{count}.{kind} [%d0], {two};"
            yield f"red{space}.{op}{noftz}.L2::cache_hint{count}.{kind} [%d0], {two}, %d9;"
    for level in ("cta", "gl", "sys"):
        yield f"membar.{level};"
    for kind in ("", ".sc", ".acq_rel", ".acquire", ".release"):
        for scope in SCOPE:
            yield f"fence{kind}{scope};"
    for kind in ("acquire", "release"):
        for more in (".sync_restrict::shared::cluster", ".sync_restrict::shared::cta"):
            yield f"fence.{kind}{more}.cluster;"
            yield f"fence.{kind}{more}.cta;"
    yield "fence.mbarrier_init.release.cluster;"
    for word in ("membar", "fence"):
        for proxy in ("alias", "async", "async.global", "async.shared::cta", "async.shared::cluster"):
            yield f"{word}.proxy.{proxy};"
    yield "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;"
    yield "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;"


def warps():
    for mode in ("up", "down", "bfly", "idx"):
        for target in ("%r0", "%r0|%p0", "_|%p0"):
            for lane, clamp, mask in (("%r2", "%r3", "%r4"), ("1", "31", "-1"), ("%r2", "31", "0xffffffff")):
                yield f"shfl.sync.{mode}.b32 {target}, %r1, {lane}, {clamp}, {mask};"
    for mode in ("all", "any", "uni"):
        for source in ("%p1", "!%p1"):
            yield f"vote.sync.{mode}.pred %p0, {source}, %r1;"
    yield "vote.sync.ballot.b32 %r0, %p1, -1;"
    yield "vote.sync.ballot.b32 %r0, !%p1, %r1;"
    for kind in ("b32", "b64"):
        yield f"match.any.sync.{kind} %r0, {reg(kind, 1)}, %r2;"
        yield f"match.all.sync.{kind} %r0, {reg(kind, 1)}, %r2;"
        yield f"match.all.sync.{kind} %r0|%p0, {reg(kind, 1)}, %r2;"
        yield f"match.all.sync.{kind} _|%p0, {reg(kind, 1)}, %r2;"
    for op, kind in itertools.product("add min max and or xor".split(), ("u32", "s32", "b32", "f32")):
        yield f"redux.sync.{op}.{kind} %r0, %r1, %r2;"
        for more in (".abs", ".NaN", ".abs.NaN"):
            yield f"redux.sync.{op}{more}.{kind} %r0, %r1, %r2;"
    yield "activemask.b32 %r0;"
    for target in ("%r0|%p0", "_|%p0"):
        yield f"elect.sync {target}, %r1;"
        yield f"elect.sync {target}, -1;"
    yield "bar.warp.sync %r0;"
    yield "bar.warp.sync 0xffffffff;"


def barriers():
    for head in ("bar", "bar.cta", "barrier", "barrier.cta"):
        for aligned in ("", ".aligned"):
            for a, b in (("0", ""), ("%r0", ""), ("1", ", 64"), ("%r0", ", %r1"), ("2", ", %r1")):
                for op in ("sync", "arrive"):
                    yield f"{head}.{op}{aligned} {a}{b};"
                yield f"{head}.red.popc{aligned}.u32 %r2, {a}{b}, %p0;"
                for op in ("and", "or"):
                    yield f"{head}.red.{op}{aligned}.pred %p1, {a}{b}, !%p0;"
    for op, orders in (("arrive", ["", ".release", ".relaxed"]), ("wait", ["", ".acquire"])):
        for order, aligned in itertools.product(orders, ["", ".aligned"]):
            yield f"barrier.cluster.{op}{order}{aligned};"
    for more in ("launch_dependents", "wait"):
        yield f"griddepcontrol.{more};"
    for n in (24, 32, 128, 240, 256, 28, 16):
        yield f"setmaxnreg.inc.sync.aligned.u32 {n};"
        yield f"setmaxnreg.dec.sync.aligned.u32 {n};"
    yield "nanosleep.u32 %r0;"
    yield "nanosleep.u32 100;"
    yield "pmevent 1;"
    yield "pmevent.mask 3;"
    yield "brkpt;"
    yield "trap;"
    yield "ret;"
    yield "ret.uni;"
    yield "exit;"
    for kind in ("u32", "u64"):
        yield f"stacksave.{kind} {reg(kind, 0)};"
        yield f"stackrestore.{kind} {reg(kind, 0)};"
        yield f"alloca.{kind} {reg(kind, 0)}, {reg(kind, 1)};"
        yield f"alloca.{kind} {reg(kind, 0)}, {reg(kind, 1)}, 16;"


def mbarriers():
    spaces = ["", ".shared", ".shared::cta", ".shared::cluster"]
    for space, a in itertools.product(spaces, ("%d0", "%r0", "shared_words", "shared_words+8")):
        if a == "%r0" and not space:
            continue
        yield f"mbarrier.init{space}.b64 [{a}], %r1;"
        yield f"mbarrier.init{space}.b64 [{a}], 4;"
        yield f"mbarrier.inval{space}.b64 [{a}];"
        for order in ("", ".relaxed.cta", ".relaxed.cluster"):
            yield f"mbarrier.expect_tx{order}{space}.b64 [{a}], %r1;"
            yield f"mbarrier.complete_tx{order}{space}.b64 [{a}], %r1;"
        for order in ("", ".release", ".relaxed", ".release.cta", ".release.cluster", ".relaxed.cta",
                      ".relaxed.cluster"):
            for op, to in itertools.product(("arrive", "arrive_drop"), ("%d2, ", "_, ", "")):
                yield f"mbarrier.{op}{order}{space}.b64 {to}[{a}];"
                yield f"mbarrier.{op}{order}{space}.b64 {to}[{a}], %r1;"
                yield f"mbarrier.{op}.expect_tx{order}{space}.b64 {to}[{a}], %r1;"
                yield f"mbarrier.{op}.noComplete{order}{space}.b64 {to}[{a}], %r1;"
        for order in ("", ".acquire", ".relaxed", ".acquire.cta", ".acquire.cluster", ".relaxed.cta",
                      ".relaxed.cluster"):
            for op in ("test_wait", "try_wait"):
                yield f"mbarrier.{op}{order}{space}.b64 %p0, [{a}], %d2;"
                yield f"mbarrier.{op}.parity{order}{space}.b64 %p0, [{a}], %r2;"
                yield f"mbarrier.{op}.parity{order}{space}.b64 %p0, [{a}], 1;"
            yield f"mbarrier.try_wait{order}{space}.b64 %p0, [{a}], %d2, %r3;"
            yield f"mbarrier.try_wait.parity{order}{space}.b64 %p0, [{a}], %r2, %r3;"
    yield "mbarrier.pending_count.b64 %r0, %d0;"


def copies():
    hints = ["", ".L2::cache_hint"]
    for how, size in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16), ("cg", 4)):
        for to, hint, level in itertools.product(("shared", "shared::cta"), hints, ("", ".L2::64B", ".L2::128B",
                                                                                   ".L2::256B")):
            policy = ", %d9" if hint else ""
            for more in ("", ", %r3", ", 2", ", 0", ", %p0", ", !%p0"):
                yield f"cp.async.{how}.{to}.global{hint}{level} [%r0], [%d1], {size}{more}{policy};"
    yield "cp.async.ca.shared.global [shared_words+16], [%d1+32], 16;"
    yield "cp.async.ca.shared.global [%d0], [%d1+-16], 16;"
    yield "cp.async.commit_group;"
    yield "cp.async.wait_group 0;"
    yield "cp.async.wait_group 3;"
    yield "cp.async.wait_all;"
    for noinc, space, a in itertools.product(("", ".noinc"), ("", ".shared", ".shared::cta"), ("%d0", "%r0")):
        if a == "%d0" or space:
            yield f"cp.async.mbarrier.arrive{noinc}{space}.b64 [{a}];"
    for hint in hints:
        policy = ", %d9" if hint else ""
        for size in ("%r2", "64"):
            for to in ("shared::cluster", "shared::cta"):
                yield (f"cp.async.bulk.{to}.global.mbarrier::complete_tx::bytes{hint} [%r0], [%d1], {size}, "
                       f"[%r3]{policy};")
            yield (f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster{hint} "
                   f"[%r0], [%d1], {size}, [%r3], %h4{policy};")
            yield f"cp.async.bulk.global.shared::cta.bulk_group{hint} [%d0], [%r1], {size}{policy};"
            yield f"cp.async.bulk.global.shared::cta.bulk_group.cp_mask{hint} [%d0], [%r1], {size}{policy}, %h3;"
            yield f"cp.async.bulk.prefetch.L2.global{hint} [%d0], {size}{policy};"
            for op, kind in itertools.product("and or xor add inc dec min max".split(),
                                              "b32 b64 u32 s32 u64 s64 f16 bf16 f32 f64".split()):
                for noftz in ("", ".noftz"):
                    yield (f"cp.reduce.async.bulk.global.shared::cta.bulk_group{hint}.{op}{noftz}.{kind} "
                           f"[%d0], [%r1], {size}{policy};")
                if not hint:
                    yield (f"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op}.{kind} "
                           f"[%r0], [%r1], {size}, [%r3];")
    yield "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r0], [%r1], %r2, [%r3];"
    yield "cp.async.bulk.commit_group;"
    for read in ("", ".read"):
        for n in (0, 1, 7):
            yield f"cp.async.bulk.wait_group{read} {n};"
    for order, kind, count in itertools.product(("", ".weak"), ("b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"),
                                                ("", ".v2", ".v4")):
        for space in ("", ".shared::cluster"):
            yield (f"st.async{order}{space}.mbarrier::complete_tx::bytes{count}.{kind} [%r0], {vector(kind, count)}, "
                   f"[%r3];")
    for op, kind in itertools.product("inc dec min max and or xor add".split(), "u32 s32 b32 u64 s64 b64".split()):
        for order, space in itertools.product(("", ".relaxed.cluster"), ("", ".shared::cluster")):
            yield (f"red.async{order}{space}.mbarrier::complete_tx::bytes.{op}.{kind} [%r0], {reg(kind, 1)}, [%r3];")


def fragment(kind, count, first):
    return "{" + ", ".join(f"%{kind}{first + n}" for n in range(count)) + "}"


def matrices():
    for op, shape, count, trans, space in itertools.product(
            ("ldmatrix", "stmatrix"), ("m8n8", "m16n16", "m8n16", "m16n8"), (1, 2, 4), ("", ".trans"),
            ("", ".shared", ".shared::cta")):
        parts = fragment("r", count, 4)
        for kind in ("b16", "b8", "b8x16.b6x16_p32", "b8x16.b4x16_p64"):
            head = f"{op}.sync.aligned.{shape}.x{count}{trans}{space}.{kind}"
            for a in ("%r0", "%d0", "shared_words"):
                if a == "%r0" and not space:
                    continue
                yield f"{head} {parts}, [{a}];" if op == "ldmatrix" else f"{head} [{a}], {parts};"
    yield "movmatrix.sync.aligned.m8n8.trans.b16 %r0, %r1;"
    # registers of a, b, c, d by shape and types
    def mma(shape, layout, d, a, b, c, na, nb, nc, nd, more="", ka="r", kc="r", order=""):
        return (f"mma.sync.aligned.{shape}{layout}{order}.{d}.{a}.{b}.{c}{more} {fragment(kc, nd, 0)}, "
                f"{fragment(ka, na, 8)}, {fragment(ka, nb, 16)}, {fragment(kc, nc, 20)};")
    rc = ".row.col"
    for la, lb in itertools.product(("row", "col"), repeat=2):
        for d, c in itertools.product(("f16", "f32"), repeat=2):
            yield mma("m8n8k4", f".{la}.{lb}", d, "f16", "f16", c, 2, 2, 4 if c == "f16" else 8, 4 if d == "f16" else 8)
    for d, c in itertools.product(("f16", "f32"), repeat=2):
        nd, nc = (2 if d == "f16" else 4), (2 if c == "f16" else 4)
        for kind in ("f16", "bf16", "tf32", "e4m3", "e5m2"):
            for other in ("f16", "bf16", "tf32", "e4m3", "e5m2"):
                for shape, na in (("m16n8k4", 2), ("m16n8k8", 2), ("m16n8k8", 4), ("m16n8k16", 4), ("m16n8k16", 2),
                                  ("m16n8k32", 4)):
                    yield mma(shape, rc, d, kind, other, c, na, na // 2, nc, nd)
    for sat in ("", ".satfinite"):
        for a, b in itertools.product(("u8", "s8"), repeat=2):
            yield mma("m8n8k16", rc + sat, "s32", a, b, "s32", 1, 1, 2, 2)
            yield mma("m16n8k16", rc + sat, "s32", a, b, "s32", 2, 1, 4, 4)
            yield mma("m16n8k32", rc + sat, "s32", a, b, "s32", 4, 2, 4, 4)
        for a, b in itertools.product(("u4", "s4"), repeat=2):
            yield mma("m8n8k32", rc + sat, "s32", a, b, "s32", 1, 1, 2, 2)
            yield mma("m16n8k32", rc + sat, "s32", a, b, "s32", 2, 1, 4, 4)
            yield mma("m16n8k64", rc + sat, "s32", a, b, "s32", 4, 2, 4, 4)
    for op in (".xor.popc", ".and.popc"):
        yield mma("m8n8k128", rc, "s32", "b1", "b1", "s32", 1, 1, 2, 2, op)
        yield mma("m16n8k128", rc, "s32", "b1", "b1", "s32", 2, 1, 4, 4, op)
        yield mma("m16n8k256", rc, "s32", "b1", "b1", "s32", 4, 2, 4, 4, op)
    for r in ("", ".rn", ".rz", ".rm", ".rp"):
        yield mma("m8n8k4", rc, "f64", "f64", "f64", "f64", 1, 1, 2, 2, "", "d", "d", r)
        yield mma("m16n8k4", rc, "f64", "f64", "f64", "f64", 2, 1, 4, 4, "", "d", "d", r)
        yield mma("m16n8k8", rc, "f64", "f64", "f64", "f64", 4, 2, 4, 4, "", "d", "d", r)
        yield mma("m16n8k16", rc, "f64", "f64", "f64", "f64", 8, 4, 4, 4, "", "d", "d", r)


def wmma():
    shapes = ("m16n16k16", "m8n32k16", "m32n8k16", "m16n16k8", "m8n8k4", "m8n8k32", "m8n8k128")
    spaces = ("", ".global", ".shared")
    stride = ", %r9"
    for shape, layout, space in itertools.product(shapes, ("row", "col"), spaces):
        for op in ("a", "b"):
            for kind, file, counts in (("f16", "r", (8,)), ("bf16", "r", (2, 4, 8)), ("tf32", "r", (4,)),
                                       ("f64", "d", (1,)), ("u8", "r", (1, 2, 4)), ("s8", "r", (1, 2, 4))):
                for count in counts:
                    yield f"wmma.load.{op}.sync.aligned.{layout}.{shape}{space}.{kind} {fragment(file, count, 0)}, [%d20]{stride};"
                    if count == counts[0]:
                        yield f"wmma.load.{op}.sync.aligned.{layout}.{shape}{space}.{kind} {fragment(file, count, 0)}, [%d20];"
        for kind, file, count in (("f16", "r", 4), ("f32", "r", 8), ("s32", "r", 8), ("f64", "d", 2)):
            yield f"wmma.load.c.sync.aligned.{layout}.{shape}{space}.{kind} {fragment(file, count, 0)}, [%d20]{stride};"
            yield f"wmma.store.d.sync.aligned.{layout}.{shape}{space}.{kind} [%d20], {fragment(file, count, 0)}{stride};"
    for shape, la, lb in itertools.product(shapes, ("row", "col"), ("row", "col")):
        head = f"wmma.mma.sync.aligned.{la}.{lb}.{shape}"
        for sat in ("", ".satfinite"):
            for d, c in itertools.product(("f16", "f32"), repeat=2):
                yield (f"{head}.{d}.{c}{sat} {fragment('r', 4 if d == 'f16' else 8, 0)}, {fragment('r', 8, 8)}, "
                       f"{fragment('r', 8, 16)}, {fragment('r', 4 if c == 'f16' else 8, 24)};")
            for kind in ("u8", "s8"):
                for na, nb in ((2, 2), (1, 4), (4, 1)):
                    yield (f"{head}.s32.{kind}.{kind}.s32{sat} {fragment('r', 8, 0)}, {fragment('r', na, 8)}, "
                           f"{fragment('r', nb, 16)}, {fragment('r', 8, 24)};")
        for na, nb in ((4, 4), (2, 8), (8, 2)):
            yield (f"{head}.f32.bf16.bf16.f32 {fragment('r', 8, 0)}, {fragment('r', na, 8)}, {fragment('r', nb, 16)}, "
                   f"{fragment('r', 8, 24)};")
        yield (f"{head}.f32.tf32.tf32.f32 {fragment('r', 8, 0)}, {fragment('r', 4, 8)}, {fragment('r', 4, 16)}, "
               f"{fragment('r', 8, 24)};")
        for r in ROUND:
            yield (f"{head}{r}.f64.f64.f64.f64 {fragment('d', 2, 0)}, {fragment('d', 1, 8)}, {fragment('d', 1, 16)}, "
                   f"{fragment('d', 2, 24)};")


def video():
    for op in ("vadd", "vsub", "vabsdiff", "vmin", "vmax"):
        for d, a, b, sat in itertools.product(("u32", "s32"), ("u32", "s32"), ("u32", "s32"), ("", ".sat")):
            yield f"{op}.{d}.{a}.{b}{sat} %r0, %r1.b0, %r2.h1;"
            yield f"{op}.{d}.{a}.{b}{sat}.add %r0, %r1, %r2, %r3;"
            yield f"{op}.{d}.{a}.{b}{sat} %r0.b1, %r1, %r2, %r3;"
        for width in ("2", "4"):
            for d, a, b, sat in itertools.product(("u32", "s32"), ("u32", "s32"), ("u32", "s32"), ("", ".sat", ".add")):
                yield f"{op}{width}.{d}.{a}.{b}{sat} %r0, %r1, %r2, %r3;"


FAMILIES = [integer, bits, reals, comparisons, conversions, moves, memory, atomics, warps, barriers, mbarriers, copies,
            matrices, wmma, video]


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
