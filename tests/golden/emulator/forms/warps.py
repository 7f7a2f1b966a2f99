# SPDX-License-Identifier: Apache-2.0
"""What a warp or a block does together, matrices, and video instructions."""
import itertools

from .operands import ROUND, fragment, product, reg


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
