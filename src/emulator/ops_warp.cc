// SPDX-License-Identifier: Apache-2.0
// Exchanges inside a warp: PTX ISA 9.0 sections 9.7.9.6, 9.7.13. The executor has gathered the lanes.
// Every form with a membermask keeps its slot in Inst::e.
#include "access.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

using W = std::uint32_t;
enum ShuffleMode : std::uint8_t { kUp, kDown, kBfly, kIdx };

// d: result, a: value, b: lane operand, c: clamp and segment mask, imm: predicate or -1.
void shfl(Warp& w, const Inst& i, Mask lanes) {
  const W *a = w.reg<W>(i.a), *b = w.reg<W>(i.b), *c = w.reg<W>(i.c), *members = w.reg<W>(i.e);
  W result[kLanes];
  Mask in_range = 0;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const int step = static_cast<int>(b[lane] & 31), clamp = static_cast<int>(c[lane] & 31),
              segment = static_cast<int>(c[lane] >> 8 & 31);
    const int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int from = lane;
    bool inside = false;
    switch (i.mode) {
      case kUp:
        from = lane - step;
        inside = from >= most;
        break;
      case kDown:
        from = lane + step;
        inside = from <= most;
        break;
      case kBfly:
        from = lane ^ step;
        inside = from <= most;
        break;
      default:
        from = least | (step & ~segment);
        inside = from <= most;
    }
    if (!inside) from = lane;
    in_range |= Mask{inside} << lane;
    if ((lanes >> from & 1) != 0) {
      result[lane] = a[from];
    } else if ((members[lane] >> from & 1) != 0) {
      report(w, i, lane,
             Found{Checker::kMask, "takes the value of lane " + std::to_string(from) +
                                       ", which its member mask names but which has exited or never existed"});
    } else {  // undefined by PTX: a value that no one can rely on
      result[lane] = static_cast<W>(w.block->cluster->draw());
    }
  }
  W* d = w.reg<W>(i.d);
  each_lane(lanes, [&](int l) { d[l] = result[l]; });
  if (i.imm >= 0) set_pred(w, static_cast<std::uint32_t>(i.imm), lanes, in_range);
}

enum VoteMode : std::uint8_t { kAll, kAny, kUni, kBallot };
void vote(Warp& w, const Inst& i, Mask lanes) {
  const Mask yes = pred(w, i.a) & lanes;
  if (i.mode == kBallot) {
    each_lane(lanes, [&](int l) { w.reg<W>(i.d)[l] = yes; });
    return;
  }
  const bool result = i.mode == kAll ? yes == lanes : i.mode == kAny ? yes != 0 : yes == lanes || yes == 0;
  set_pred(w, i.d, lanes, result ? kAllLanes : 0);
}

template <class T, bool kAllMode>
void match(Warp& w, const Inst& i, Mask lanes) {
  const T* a = w.reg<T>(i.a);
  W result[kLanes];
  Mask same = 0;
  each_lane(lanes, [&](int l) {
    Mask equal = 0;
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
      const int other = std::countr_zero(rest);
      if (a[other] == a[l]) equal |= Mask{1} << other;
    }
    result[l] = kAllMode && equal != lanes ? 0 : equal;
    if (equal == lanes) same |= Mask{1} << l;
  });
  each_lane(lanes, [&](int l) { w.reg<W>(i.d)[l] = result[l]; });
  if (i.imm >= 0) set_pred(w, static_cast<std::uint32_t>(i.imm), lanes, same);
}

enum ReduceMode : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor };
void redux(Warp& w, const Inst& i, Mask lanes) {
  const W* a = w.reg<W>(i.a);
  W total = a[std::countr_zero(lanes)];
  for (Mask rest = lanes & (lanes - 1); rest != 0; rest &= rest - 1) {
    const W x = a[std::countr_zero(rest)];
    const bool less = i.width != 0 ? static_cast<std::int32_t>(x) < static_cast<std::int32_t>(total) : x < total;
    switch (i.mode) {
      case kAdd:
        total += x;
        break;
      case kMin:
        total = less ? x : total;
        break;
      case kMax:
        total = less ? total : x;
        break;
      case kAnd:
        total &= x;
        break;
      case kOr:
        total |= x;
        break;
      default:
        total ^= x;
    }
  }
  each_lane(lanes, [&](int l) { w.reg<W>(i.d)[l] = total; });
}

void elect(Warp& w, const Inst& i, Mask lanes) {
  const int leader = std::countr_zero(lanes);
  if (i.d != kNoSlot) each_lane(lanes, [&](int l) { w.reg<W>(i.d)[l] = static_cast<W>(leader); });
  set_pred(w, static_cast<std::uint32_t>(i.imm), lanes, Mask{1} << leader);
}

void activemask(Warp& w, const Inst& i, Mask lanes) {
  each_lane(lanes, [&](int l) { w.reg<W>(i.d)[l] = lanes; });
}

void warp_barrier(Warp&, const Inst&, Mask) {}

// d or d|p; `p` alone may be the sink.
void bind_result(Binder& b, bool value_needed) {
  const Operand& target = b.operand(0);
  b.out.imm = -1;
  const Operand& value = target.kind == Operand::Kind::kPair ? target.parts[0] : target;
  if (target.kind == Operand::Kind::kPair) b.out.imm = b.pred_dest(target.parts[1]);
  if (value_needed || value.kind != Operand::Kind::kSink) b.out.d = b.dest(value, 32);
}

}  // namespace

bool bind_warp(Binder& b) {
  const std::string_view op = b.op();
  Inst& out = b.out;
  if (op == "activemask") {
    b.take("b32");
    out.d = b.dest(0, 32);
    out.fn = &activemask;
    return true;
  }
  if (op == "bar" && b.take("warp")) {
    b.take("sync");
    out.e = b.source(0, 32);
    out.fn = &warp_barrier;
    out.flow = Flow::kWarpSync;
    return true;
  }
  if (op != "shfl" && op != "vote" && op != "match" && op != "redux" && op != "elect") return false;
  if (!b.take("sync")) b.refuse("only .sync forms exist on this target");
  out.flow = Flow::kWarpSync;
  if (op == "elect") {
    if (b.operand(0).kind != Operand::Kind::kPair) b.refuse("elect without a predicate");
    bind_result(b, false);
    out.e = b.source(1, 32);
    out.fn = &elect;
    return true;
  }
  if (op == "shfl") {
    const int mode = b.take_one({"up", "down", "bfly", "idx"});
    b.take("b32");
    bind_result(b, true);
    out.mode = static_cast<std::uint8_t>(mode);
    out.a = b.source(1, 32);
    out.b = b.source(2, 32);
    out.c = b.source(3, 32);
    out.e = b.source(4, 32);
    out.fn = &shfl;
    return mode >= 0;
  }
  if (op == "vote") {
    const int mode = b.take_one({"all", "any", "uni", "ballot"});
    b.take_type();
    out.mode = static_cast<std::uint8_t>(mode);
    out.d = mode == kBallot ? b.dest(0, 32) : b.pred_dest(b.operand(0));
    out.a = b.pred_source(b.operand(1));
    out.e = b.source(2, 32);
    out.fn = &vote;
    return mode >= 0;
  }
  if (op == "match") {
    const int mode = b.take_one({"any", "all"});
    const bool wide = bits_of(b.take_type()) == 64;
    bind_result(b, true);
    out.a = b.source(1, wide ? 64 : 32);
    out.e = b.source(2, 32);
    out.fn = mode == 1 ? (wide ? &match<std::uint64_t, true> : &match<W, true>)
                       : (wide ? &match<std::uint64_t, false> : &match<W, false>);
    return mode >= 0;
  }
  const int mode = b.take_one({"add", "min", "max", "and", "or", "xor"});
  const Type type = b.take_type();
  if (mode < 0 || bits_of(type) != 32 || !is_integer(type)) return false;
  out.mode = static_cast<std::uint8_t>(mode);
  out.width = is_signed(type);
  out.d = b.dest(0, 32);
  out.a = b.source(1, 32);
  out.e = b.source(2, 32);
  out.fn = &redux;
  return true;
}

}  // namespace kf::emulator
