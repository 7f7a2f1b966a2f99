# SPDX-License-Identifier: Apache-2.0
"""Integers, bits, reals, comparisons, conversions and moves."""
import itertools

from .operands import ROUND, product, reg, same

INTEGER = ["u16", "s16", "u32", "s32", "u64", "s64", "u16x2", "s16x2"]


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
