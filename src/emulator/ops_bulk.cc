// SPDX-License-Identifier: Apache-2.0
// cp.async.bulk and cp.reduce.async.bulk without tensor maps, st.async: PTX ISA 9.0 section 9.7.9.27.
#include <cstring>

#include "access.h"
#include "async_copy.h"
#include "atomic_op.h"
#include "global_race.h"
#include "lanes.h"
#include "mbarrier.h"
#include "race.h"
#include "traffic.h"

namespace kf::emulator {

bool bind_bulk(Binder& b);

namespace {

using W = std::uint32_t;

// extras: slot, narrow, offset of target, source, mbarrier; slot of size, of the cluster mask; reduce op, type;
// target and source spaces.
struct BulkForm {
  W to, to_narrow, to_offset, from, from_narrow, from_offset, barrier, barrier_narrow, barrier_offset;
  W size, ctas, reduce, type, to_space, from_space;
};
static_assert(sizeof(BulkForm) == 15 * sizeof(W));

const BulkForm& form_of(const Warp& w, const Inst& i) {
  return *reinterpret_cast<const BulkForm*>(w.launch->program->extras.data() + i.extra);
}

std::uint64_t place(const Warp& w, W slot, W narrow, W offset, int lane) {
  return address_of(w, slot, narrow != 0, static_cast<std::int32_t>(offset), lane);
}

// Where the target's flags and the race checker's notes are, when it lies in shared memory of the cluster.
void note_target(Warp& w, AsyncPart& part) {
  for (auto& peer : w.block->cluster->blocks) {
    const std::byte* base = peer->shared.data();
    if (part.to < base || part.to >= base + peer->shared.size()) continue;
    part.flags = peer->shared_written.data() + (part.to - base);
    part.history = peer->shared_history.data() + (part.to - base) / 4;
    return;
  }
}

// Reading shared memory through the async proxy needs a fence.proxy.async after the generic writes.
void check_proxy(Warp& w, const Inst& i, int lane, const std::byte* from) {
  const Block& block = *w.block;
  const auto offset = static_cast<std::size_t>(from - block.shared.data());
  const Touch& write = block.shared_history[offset / 4].write;
  if (write.time == 0) return;
  const Warp& writer = block.warps[write.warp];
  if (writer.proxy_fence[write.lane] > write.event || w.proxy_fence[static_cast<std::size_t>(lane)] > write.event)
    return;
  Inst where;
  where.source = write.source;
  report(w, i, lane,
         Found{Checker::kAsyncCopy,
               "the bulk copy reads shared memory that " + describe_thread(writer, write.lane) + " wrote at " +
                   describe_source(*w.launch, where) + " without a fence.proxy.async after it",
               {source_place(*w.launch, write.source, "wrote")}});
}

void add_parts(Warp& w, const Inst& i, int lane, AsyncCopy& copy, std::uint64_t to, Space to_space, std::uint64_t from,
               Space from_space, W size) {
  for (W at = 0; at < size; at += 16) {
    AsyncPart part;
    part.from = resolve(w, i, lane, from + at, 16, from_space, Access::kRead);
    if (from_space == Space::kGlobal) check_async_proxy(w, i, lane, from + at, 16);
    keep_source(w, from_space, from + at);
    if (from_space == Space::kShared)
      for (std::size_t k = 0; k < 16; k += 4) check_proxy(w, i, lane, part.from + k);
    part.to = resolve(w, i, lane, to + at, 16, to_space, copy.reduce >= 0 ? Access::kAtomic : Access::kWrite);
    part.bytes = 16;
    if (to_space == Space::kShared) {
      note_target(w, part);
      if (part.flags != nullptr) std::memset(part.flags, kPending, 16);
    }
    copy.parts.push_back(part);
  }
}

void deliver_to(const Warp& w, AsyncCopy& copy, const MBarrierPlace& at) {
  copy.barrier_block = at.block;
  copy.barrier = at.offset;
  if (at.block == w.block) return;
  copy.issuer = w.block;
  copy.clock = w.clock;
}

void bulk(Warp& w, const Inst& i, Mask lanes) {
  const BulkForm& form = form_of(w, i);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const W size = w.reg<W>(form.size)[l];
    if (size % 16 != 0)
      report(w, i, l, "a bulk copy of " + std::to_string(size) + " bytes: a multiple of 16 is needed");
    const std::uint64_t to = place(w, form.to, form.to_narrow, form.to_offset, l);
    const std::uint64_t from = place(w, form.from, form.from_narrow, form.from_offset, l);
    const bool grouped = form.barrier == kNoSlot;
    AsyncCopy copy;
    copy.kind = grouped ? AsyncCopy::Kind::kBulkGroup : AsyncCopy::Kind::kMbarrier;
    copy.warp = w.index;
    copy.lane = l;
    copy.source = i.source;
    copy.group = w.bulk_group[static_cast<std::size_t>(l)];
    copy.bytes = size;
    if (form.reduce != kNoSlot) copy.reduce = static_cast<int>(form.reduce), copy.type = static_cast<int>(form.type);
    const std::uint64_t barrier = grouped ? 0 : place(w, form.barrier, form.barrier_narrow, form.barrier_offset, l);
    const Mask ctas = form.ctas != kNoSlot ? w.reg<std::uint16_t>(form.ctas)[l] : 0;
    const auto space_to = static_cast<Space>(form.to_space), space_from = static_cast<Space>(form.from_space);
    count_row(w, space_from, from, size, false);
    for (std::size_t rank = 0; rank < 16; ++rank) {  // multicast: the same offsets in each named block
      if (ctas == 0 ? rank != 0 : (ctas >> rank & 1) == 0) continue;
      AsyncCopy one = copy;
      const std::uint64_t window = ctas == 0 ? 0 : (rank + 1) << 24;
      const std::uint64_t keep = ctas == 0 ? ~std::uint64_t{0} : 0xff'ffff;
      add_parts(w, i, l, one, (to & keep) | window, space_to, from, space_from, size);
      count_row(w, space_to, (to & keep) | window, size, true);
      if (!grouped) {
        const MBarrierPlace at = find_mbarrier(w, i, l, (barrier & keep) | window);
        deliver_to(w, one, at);
      }
      w.block->copies.push_back(std::move(one));
    }
  }
}

void bulk_commit(Warp& w, const Inst&, Mask lanes) {
  each_lane(lanes, [&](int l) { ++w.bulk_group[static_cast<std::size_t>(l)]; });
}

// imm: groups that may stay open; width 1: only the sources must have been read.
void bulk_wait(Warp& w, const Inst& i, Mask lanes) {
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const W open = w.bulk_group[static_cast<std::size_t>(l)];
    const W limit = static_cast<std::int64_t>(open) > i.imm ? open - static_cast<W>(i.imm) : 0;
    if (i.width == 0) {
      complete_groups(*w.block, AsyncCopy::Kind::kBulkGroup, w.index, l, limit);
      continue;
    }
    for (AsyncCopy& copy : w.block->copies)
      if (copy.kind == AsyncCopy::Kind::kBulkGroup && copy.warp == w.index && copy.lane == l && copy.group < limit)
        capture(copy);
  }
}

// st.async, red.async: a value to a peer's shared memory, counted by an mbarrier there. width: bytes of an element.
void store_async(Warp& w, const Inst& i, Mask lanes) {
  const BulkForm& form = form_of(w, i);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    AsyncCopy copy;
    copy.kind = AsyncCopy::Kind::kMbarrier;
    copy.warp = w.index;
    copy.lane = l;
    copy.source = i.source;
    copy.bytes = i.width * i.extras;
    AsyncPart part;
    part.bytes = copy.bytes;
    const bool reduces = form.reduce != kNoSlot;
    part.to = resolve(w, i, l, place(w, form.to, form.to_narrow, form.to_offset, l), copy.bytes, Space::kShared,
                      reduces ? Access::kAtomic : Access::kWrite);
    note_target(w, part);
    if (reduces) {  // others may update the word at the same time, so it is not marked
      copy.reduce = static_cast<int>(form.reduce), copy.type = static_cast<int>(form.type);
      part.flags = nullptr;
    } else if (part.flags != nullptr) {
      std::memset(part.flags, kPending, copy.bytes);
    }
    const MBarrierPlace at =
        find_mbarrier(w, i, l, place(w, form.barrier, form.barrier_narrow, form.barrier_offset, l));
    deliver_to(w, copy, at);
    copy.read_source = true;
    copy.captured.resize(copy.bytes);
    const W* values = w.launch->program->extras.data() + i.extra + 15;
    for (W k = 0; k < i.extras; ++k)
      std::memcpy(copy.captured.data() + k * i.width, w.regs + values[k] + static_cast<std::size_t>(l) * i.width,
                  i.width);
    copy.parts.push_back(part);
    AsyncCopy& kept = w.block->copies.emplace_back(std::move(copy));
    kept.parts[0].from = kept.captured.data();
  }
}

struct Place {
  W slot = kNoSlot, narrow = 0, offset = 0;
};
Place bind_place(Binder& b, const Operand& what) {
  if (what.kind != Operand::Kind::kAddress || what.parts.size() != 1) b.refuse("an address of this form");
  Place made;
  made.narrow = b.width(what.parts[0]) == 32;
  made.slot = b.source(what.parts[0], made.narrow != 0 ? 32 : 64);
  made.offset = static_cast<W>(what.offset);
  return made;
}

W add_form(Binder& b, const Place& to, const Place& from, const Place& barrier, W size, W ctas, W reduce, W type,
           Space to_space, Space from_space) {
  return b.extras({to.slot, to.narrow, to.offset, from.slot, from.narrow, from.offset, barrier.slot, barrier.narrow,
                   barrier.offset, size, ctas, reduce, type, static_cast<W>(to_space), static_cast<W>(from_space)});
}

bool red_async_exists(int op, Type type) {
  switch (op) {
    case kAdd:
      return bits_of(type) >= 32 && is_integer(type);
    case kInc:
    case kDec:
      return type == Type::kU32;
    case kMin:
    case kMax:
      return type == Type::kU32 || type == Type::kS32;
    default:
      return op <= kXor && type == Type::kB32;
  }
}

bool bind_store_async(Binder& b) {
  b.take("async");
  take_order_words(b);
  const int op =
      b.op() == "red" ? b.take_one({"and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"}) : -1;
  b.take("shared::cluster");
  if (!b.take("mbarrier::complete_tx::bytes")) return false;
  const std::size_t count = b.take("v2") ? 2 : b.take("v4") ? 4 : 1;
  const Type type = b.take_type();
  const int bits = bits_of(type);
  if (bits != 32 && bits != 64) return false;
  if (b.op() == "red" && (op < 0 || !red_async_exists(op, type))) return false;
  const Place to = bind_place(b, b.operand(0)), barrier = bind_place(b, b.operand(2));
  b.out.extra = add_form(b, to, {}, barrier, kNoSlot, kNoSlot, op < 0 ? kNoSlot : static_cast<W>(op),
                         static_cast<W>(type), Space::kShared, Space::kShared);
  const Operand& value = b.operand(1);
  for (std::size_t k = 0; k < count; ++k) {
    if (count > 1 && value.parts.size() != count) b.refuse("a vector of this length");
    b.extras({b.source(count > 1 ? value.parts[k] : value, bits)});
  }
  b.out.width = static_cast<std::uint8_t>(bits / 8);
  b.out.extras = static_cast<W>(count);
  b.out.is_bulk = true;
  b.out.fn = &store_async;
  return true;
}

void nothing(Warp&, const Inst&, Mask) {}

}  // namespace

bool bind_bulk(Binder& b) {
  if (b.op() == "st" || b.op() == "red") return bind_store_async(b);
  if (b.op() != "cp") return false;
  const bool reduces = b.take("reduce");
  b.take("async");
  b.take("bulk");
  if (b.in.has("tensor")) b.refuse("tensor maps");
  if (b.take("commit_group")) {
    b.out.fn = &bulk_commit;
    return true;
  }
  if (b.take("wait_group")) {
    b.out.width = b.take("read") ? 1 : 0;
    b.out.imm = static_cast<std::int64_t>(b.immediate(0));
    b.out.fn = &bulk_wait;
    return true;
  }
  if (b.take("prefetch")) {
    b.take_rest();
    b.out.fn = &nothing;
    return true;
  }
  const Space to_space = take_space(b), from_space = take_space(b);
  const bool grouped = b.take("bulk_group");
  if (!grouped && !b.take("mbarrier::complete_tx::bytes")) return false;
  const bool multicast = b.take("multicast::cluster");
  take_cache_words(b);
  W reduce = kNoSlot, type = 0;
  if (reduces) {
    reduce = static_cast<W>(b.take_one({"and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"}));
    b.take("noftz");
    type = static_cast<W>(b.take_type());
    if (reduce == kNoSlot) return false;
  }
  const Place to = bind_place(b, b.operand(0)), from = bind_place(b, b.operand(1));
  Place barrier;
  if (!grouped) barrier = bind_place(b, b.operand(3));
  const W ctas = multicast ? b.source(4, 16) : kNoSlot;
  b.out.extra = add_form(b, to, from, barrier, b.source(2, 32), ctas, reduce, type, to_space, from_space);
  b.out.fn = &bulk;
  b.out.is_bulk = true;
  return true;
}

}  // namespace kf::emulator
