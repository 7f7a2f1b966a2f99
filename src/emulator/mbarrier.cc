// SPDX-License-Identifier: Apache-2.0
// mbarrier.*: PTX ISA 9.0 section 9.7.13.15.
#include "mbarrier.h"

#include "access.h"
#include "lanes.h"
#include "peers.h"
#include "race.h"

namespace kf::emulator {
namespace {

void settle(Block& block, MBarrier& barrier) {
  if (barrier.pending > 0 || barrier.tx != 0) return;
  ++barrier.phase;
  barrier.pending = barrier.expected;
  ++block.progress;
}

// The opaque state that an arrival returns: the phase, and how many arrivals the phase still missed.
constexpr std::uint64_t kPhaseBits = 43, kPhaseMask = (std::uint64_t{1} << kPhaseBits) - 1;
std::uint64_t state_of(const MBarrier& barrier) {
  return (barrier.phase & kPhaseMask) | static_cast<std::uint64_t>(barrier.pending) << kPhaseBits;
}

// Inst: a address, imm offset, mode = Space | narrow << 7, b count or tx or state, d result, width: flags.
enum : std::uint8_t { kExpectTx = 1, kDrop = 2, kParity = 4, kBlocking = 8, kNoComplete = 16 };

MBarrier& barrier_of(Warp& w, const Inst& i, int lane, MBarrierPlace& place) {
  place = find_mbarrier(w, i, lane, address_of(w, i.a, (i.mode & 0x80) != 0, i.imm, lane));
  return place.block->mbarriers.at(place.offset);
}

void init(Warp& w, const Inst& i, Mask lanes) {
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const std::uint64_t at = address_of(w, i.a, (i.mode & 0x80) != 0, i.imm, l);
    resolve(w, i, l, at, 8, static_cast<Space>(i.mode & 0x7f), Access::kWrite);
    const std::uint32_t count = w.reg<std::uint32_t>(i.b)[l];
    if (count == 0 || count >= 1u << 20)
      report(w, i, l, "mbarrier for " + std::to_string(count) + " arrivals: 1 to 1048575 are allowed");
    w.block->mbarriers[static_cast<std::uint32_t>(at) - kSharedBase] = {count, count, 0, 0, false, {}};
  }
}

void invalidate(Warp& w, const Inst& i, Mask lanes) {
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    MBarrierPlace place;
    barrier_of(w, i, std::countr_zero(rest), place);
    place.block->mbarriers.erase(place.offset);
  }
}

void arrive(Warp& w, const Inst& i, Mask lanes) {
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    MBarrierPlace place;
    MBarrier& barrier = barrier_of(w, i, l, place);
    if (i.d != kNoSlot) w.reg<std::uint64_t>(i.d)[l] = state_of(barrier);
    if (place.block == w.block)
      race_publish(w, barrier.clock);
    else
      race_release(w);
    std::int64_t count = 1;
    if ((i.width & kExpectTx) != 0)
      barrier.tx += w.reg<std::uint32_t>(i.b)[l];
    else if (i.b != kNoSlot)
      count = w.reg<std::uint32_t>(i.b)[l];
    if ((i.width & kDrop) != 0) barrier.expected -= count;
    if (count > barrier.pending)
      report(w, i, l, "more arrivals at an mbarrier than its " + std::to_string(barrier.expected) + " of a phase");
    if ((i.width & kNoComplete) != 0 && count == barrier.pending && barrier.tx == 0)
      report(w, i, l, "an arrival that says .noComplete completes the mbarrier's phase");
    mbarrier_arrive(*place.block, barrier, count);
  }
}

void expect_tx(Warp& w, const Inst& i, Mask lanes) {
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    MBarrierPlace place;
    MBarrier& barrier = barrier_of(w, i, l, place);
    const std::int64_t bytes = w.reg<std::uint32_t>(i.b)[l];
    barrier.tx += i.width != 0 ? -bytes : bytes;  // complete_tx
    if (i.width != 0) settle(*place.block, barrier);
  }
}

// A wait that fails lets one copy arrive, and other warps run.
void wait(Warp& w, const Inst& i, Mask lanes) {
  Mask done = 0;
  bool joined = false;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    MBarrierPlace place;
    MBarrier& barrier = barrier_of(w, i, l, place);
    const bool complete = (i.width & kParity) != 0 ? (barrier.phase & 1) != (w.reg<std::uint32_t>(i.b)[l] & 1)
                                                   : ((barrier.phase ^ w.reg<std::uint64_t>(i.b)[l]) & kPhaseMask) != 0;
    if (complete) done |= Mask{1} << l;
    if (complete && !joined) race_join(w, barrier.clock);
    if (complete && !joined && barrier.from_peers) race_acquire(w, w.launch->fences);
    joined |= complete;
  }
  set_pred(w, i.d, lanes, done);
  if (done == lanes) return;
  bool arrived = complete_one(*w.block);
  for (auto& peer : w.block->cluster->blocks) arrived = arrived || complete_one(*peer);
}

void pending_count(Warp& w, const Inst& i, Mask lanes) {
  const std::uint64_t* state = w.reg<std::uint64_t>(i.a);
  each_lane(lanes, [&](int l) { w.reg<std::uint32_t>(i.d)[l] = static_cast<std::uint32_t>(state[l] >> kPhaseBits); });
}

void bind_place(Binder& b, std::size_t n) {
  const Address address = bind_address(b, b.operand(n));
  b.out.a = address.slot;
  b.out.imm = address.offset;
  b.out.mode = static_cast<std::uint8_t>(static_cast<int>(address.space) | (address.narrow ? 0x80 : 0));
}

bool bind_arrive(Binder& b, bool drop) {
  b.out.width = drop ? kDrop : 0;
  if (b.take("expect_tx")) b.out.width |= kExpectTx;
  if (b.take("noComplete")) b.out.width |= kNoComplete;
  take_order_words(b);
  const bool result = b.operand(0).kind != Operand::Kind::kAddress;
  if (result && b.operand(0).kind != Operand::Kind::kSink) b.out.d = b.dest(0, 64);
  bind_place(b, result ? 1 : 0);
  const std::size_t n = result ? 2 : 1;
  if (b.operands() > n) b.out.b = b.source(n, 32);
  b.out.fn = &arrive;
  return (b.out.width & kExpectTx) == 0 || b.out.b != kNoSlot;
}

}  // namespace

void mbarrier_arrive(Block& block, MBarrier& barrier, std::int64_t count) {
  barrier.pending -= count;
  settle(block, barrier);
}

void mbarrier_complete_tx(Block& block, std::uint32_t offset, std::uint32_t bytes) {
  auto found = block.mbarriers.find(offset);
  if (found == block.mbarriers.end()) return;  // invalidated meanwhile
  found->second.tx -= bytes;
  settle(block, found->second);
}

MBarrierPlace find_mbarrier(Warp& w, const Inst& i, int lane, std::uint64_t address) {
  if (address - kSharedWindow < kWindowBytes) address -= kSharedWindow;
  Block* block = w.block;
  const std::uint64_t rank = address >> 24 & 0xff;
  if (rank > w.block->cluster->blocks.size())
    report(w, i, lane, "an mbarrier of a block that the cluster does not have");
  if (rank != 0) block = w.block->cluster->blocks[rank - 1].get();
  const auto offset = static_cast<std::uint32_t>((address & 0xff'ffff) - kSharedBase);
  if (block != w.block) peer_access(w, i, lane, *block, "uses an mbarrier in shared memory");
  if (!block->mbarriers.contains(offset))
    report(w, i, lane, "no mbarrier was initialised at byte " + std::to_string(offset) + " of shared memory");
  block->mbarriers.at(offset).from_peers |= block != w.block;
  return {block, offset};
}

bool bind_mbarrier(Binder& b) {
  if (b.op() != "mbarrier") return false;
  Inst& out = b.out;
  b.take("b64");
  if (b.take("init")) {
    bind_place(b, 0);
    out.b = b.source(1, 32);
    out.fn = &init;
    return true;
  }
  if (b.take("inval")) {
    bind_place(b, 0);
    out.fn = &invalidate;
    return true;
  }
  if (b.take("arrive")) return bind_arrive(b, false);
  if (b.take("arrive_drop")) return bind_arrive(b, true);
  if (b.take("complete_tx")) out.width = 1;
  if (out.width == 1 || b.take("expect_tx")) {
    take_order_words(b);
    bind_place(b, 0);
    out.b = b.source(1, 32);
    out.fn = &expect_tx;
    return true;
  }
  if (b.take("pending_count")) {
    out.d = b.dest(0, 32);
    out.a = b.source(1, 64);
    out.fn = &pending_count;
    return true;
  }
  if (b.take_one({"test_wait", "try_wait"}) < 0) return false;
  if (b.take("parity")) out.width = kParity;
  take_order_words(b);
  out.d = b.pred_dest(b.operand(0));
  bind_place(b, 1);
  out.b = b.source(2, out.width != 0 ? 32 : 64);
  out.fn = &wait;
  out.flow = Flow::kYield;
  return true;
}

}  // namespace kf::emulator
