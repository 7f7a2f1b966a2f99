// SPDX-License-Identifier: Apache-2.0
// Asynchronous copies: PTX ISA 9.0 sections 9.7.9.25 and st.async. Issuing checks both ends and marks the
// target; async_copy.cc makes the bytes visible later.
#include <algorithm>
#include <cstring>

#include "access.h"
#include "async_copy.h"
#include "atomic_op.h"
#include "lanes.h"
#include "mbarrier.h"
#include "race.h"
#include "traffic.h"

namespace kf::emulator {
namespace {

using W = std::uint32_t;

// Flags of a shared place, so that early readers are caught; null for global memory.
std::uint8_t* pending_flags(Warp& w, std::byte* place, std::uint32_t bytes) {
  for (auto& peer : w.block->cluster->blocks) {
    const std::byte* base = peer->shared.data();
    if (place < base || place >= base + peer->shared.size()) continue;
    std::uint8_t* flags = peer->shared_written.data() + (place - base);
    std::memset(flags, kPending, bytes);
    return flags;
  }
  return nullptr;
}

AsyncCopy start(const Warp& w, const Inst& i, int lane, AsyncCopy::Kind kind) {
  AsyncCopy copy;
  copy.kind = kind;
  copy.warp = w.index;
  copy.lane = lane;
  copy.source = i.source;
  copy.group = kind == AsyncCopy::Kind::kThread ? w.copy_group[static_cast<std::size_t>(lane)]
                                                : w.bulk_group[static_cast<std::size_t>(lane)];
  return copy;
}

std::uint64_t lane_value(const Warp& w, Slot slot, bool narrow, int lane) {
  return narrow ? w.reg<W>(slot)[lane] : w.reg<std::uint64_t>(slot)[lane];
}

// cp.async: a target, b source, c source size (or none), e predicate to ignore the source; width bytes;
// extra: offset of the source, narrow flags.
void copy_async(Warp& w, const Inst& i, Mask lanes) {
  const W* more = w.launch->program->extras.data() + i.extra;
  std::uint64_t targets[kLanes], sources[kLanes];
  Mask read = 0;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    W size = i.c != kNoSlot ? w.reg<W>(i.c)[l] : i.width;
    if (i.e != kNoSlot && (pred(w, i.e) >> l & 1) != 0) size = 0;
    if (size > i.width)
      report(w, i, l, "cp.async of " + std::to_string(size) + " source bytes into " + std::to_string(int{i.width}));
    const std::uint64_t to = lane_value(w, i.a, (more[1] & 1) != 0, l) + static_cast<std::uint64_t>(i.imm);
    const std::uint64_t from = lane_value(w, i.b, (more[1] & 2) != 0, l) +
                               static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(more[0])});
    targets[l] = to;
    sources[l] = from;
    read |= Mask{size != 0} << l;
    AsyncCopy copy = start(w, i, l, AsyncCopy::Kind::kThread);
    AsyncPart part;
    part.to = resolve(w, i, l, to, i.width, Space::kShared, Access::kWrite);
    part.flags = pending_flags(w, part.to, i.width);
    part.bytes = i.width;
    if ((from & (i.width - 1u)) != 0) resolve(w, i, l, from, i.width, Space::kGlobal, Access::kRead);  // misaligned
    std::byte bytes[16]{};
    for (W k = 0; k < size; ++k) bytes[k] = *resolve(w, i, l, from + k, 1, Space::kGlobal, Access::kRead);
    if (size == i.width) {
      part.from = resolve(w, i, l, from, i.width, Space::kGlobal, Access::kRead);
      keep_source(w, Space::kGlobal, from);
    } else if (size != 0) {
      copy.captured.assign(bytes, bytes + i.width);
      copy.read_source = true;
    }
    copy.parts.push_back(part);
    AsyncCopy& kept = w.block->copies.emplace_back(std::move(copy));
    if (kept.read_source) kept.parts[0].from = kept.captured.data();
  }
  count_traffic(w, Space::kGlobal, sources, read, i.width, false);
  count_traffic(w, Space::kShared, targets, lanes, i.width, true);
}

void commit_group(Warp& w, const Inst&, Mask lanes) {
  each_lane(lanes, [&](int l) { ++w.copy_group[static_cast<std::size_t>(l)]; });
}

// imm: groups that may stay open; -1: wait_all.
void wait_group(Warp& w, const Inst& i, Mask lanes) {
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const W open = w.copy_group[static_cast<std::size_t>(l)];
    const W limit = i.imm < 0 ? open + 1 : static_cast<std::int64_t>(open) > i.imm ? open - static_cast<W>(i.imm) : 0;
    for (const AsyncCopy& copy : w.block->copies)  // the writes happen now, for the race checker
      if (copy.kind == AsyncCopy::Kind::kThread && copy.warp == w.index && copy.lane == l && copy.group < limit)
        race_check(w, i, l, *w.block, static_cast<std::uint64_t>(copy.parts[0].to - w.block->shared.data()),
                   copy.parts[0].bytes, Access::kWrite);
    complete_groups(*w.block, AsyncCopy::Kind::kThread, w.index, l, limit);
  }
}

// cp.async.mbarrier.arrive: it arrives once the lane's copies are complete. `.noinc` counts as expected.
void arrive_after_copies(Warp& w, const Inst& i, Mask lanes) {
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const MBarrierPlace place = find_mbarrier(w, i, l, address_of(w, i.a, (i.mode & 0x80) != 0, i.imm, l));
    MBarrier& barrier = place.block->mbarriers.at(place.offset);
    race_publish(w, barrier.clock);
    if (i.width == 0) ++barrier.pending;  // counted now, arrives later: no change in sum
    const bool waits = std::ranges::any_of(w.block->copies, [&](const AsyncCopy& copy) {
      return copy.kind == AsyncCopy::Kind::kThread && copy.warp == w.index && copy.lane == l;
    });
    if (!waits) {
      mbarrier_arrive(*place.block, barrier, 1);
      continue;
    }
    AsyncCopy arrival = start(w, i, l, AsyncCopy::Kind::kArrival);
    arrival.barrier_block = place.block;
    arrival.barrier = place.offset;
    w.block->copies.push_back(std::move(arrival));
  }
}

bool bind_thread_copy(Binder& b) {
  if (b.take("wait_all")) {
    b.out.imm = -1;
    b.out.fn = &wait_group;
    return true;
  }
  if (b.take("commit_group")) {
    b.out.fn = &commit_group;
    return true;
  }
  if (b.take("wait_group")) {
    b.out.imm = static_cast<std::int64_t>(b.immediate(0));
    b.out.fn = &wait_group;
    return true;
  }
  if (b.take("mbarrier")) {
    if (!b.take("arrive")) return false;
    b.out.width = b.take("noinc") ? 1 : 0;
    b.take("b64");
    const Address address = bind_address(b, b.operand(0));
    b.out.a = address.slot;
    b.out.imm = address.offset;
    b.out.mode = static_cast<std::uint8_t>(static_cast<int>(address.space) | (address.narrow ? 0x80 : 0));
    b.out.fn = &arrive_after_copies;
    return true;
  }
  take_cache_words(b);
  const Address to = bind_address(b, b.operand(0)), from = bind_address(b, b.operand(1));
  const std::uint64_t bytes = b.immediate(2);
  if (bytes != 4 && bytes != 8 && bytes != 16) b.refuse("a copy of " + std::to_string(bytes) + " bytes");
  b.out.width = static_cast<std::uint8_t>(bytes);
  b.out.a = to.slot;
  b.out.imm = to.offset;
  b.out.b = from.slot;
  const bool policy = b.in.text.find("cache_hint") != std::string::npos;
  if (b.operands() > (policy ? 4u : 3u)) {
    const Operand& third = b.operand(3);
    if (b.width(third) == 1)
      b.out.e = b.pred_source(third);
    else
      b.out.c = b.source(third, 32);
  }
  b.out.extra = b.extras({static_cast<W>(from.offset), (to.narrow ? 1u : 0) | (from.narrow ? 2u : 0)});
  b.out.fn = &copy_async;
  return true;
}

}  // namespace

bool bind_bulk(Binder& b);

bool bind_copy(Binder& b) {
  if (b.op() != "cp") return b.op() == "st" || b.op() == "red" ? b.in.has("async") && bind_bulk(b) : false;
  if (b.in.has("bulk")) return bind_bulk(b);
  return b.take("async") && bind_thread_copy(b);
}

}  // namespace kf::emulator
