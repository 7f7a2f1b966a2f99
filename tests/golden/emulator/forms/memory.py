# SPDX-License-Identifier: Apache-2.0
"""Loads, stores, atomics, mbarriers and asynchronous copies."""
import itertools

from .operands import ALL, SCOPE, letter, product, reg, vector


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
