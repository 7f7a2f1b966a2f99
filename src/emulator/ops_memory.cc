// SPDX-License-Identifier: Apache-2.0
// ld, st, and the hints that only change speed: PTX ISA 9.0 section 9.7.9.
#include <algorithm>
#include <cstring>

#include "access.h"
#include "async_copy.h"
#include "global_race.h"
#include "lanes.h"
#include "plan_touches.h"
#include "race.h"
#include "read_only.h"
#include "traffic.h"
#include "undefined.h"

namespace kf::emulator {
namespace {

// Inst: a address slot, imm offset, mode = Space | narrow << 7, width = bytes of an element,
// extras = elements; extras list: slot and register bytes of each (bit 31 of the bytes: sign-extend).
constexpr std::uint32_t kSignExtend = 0x8000'0000u;

template <class T, class R>
void spread(Warp& w, Slot slot, std::byte* const* from, std::size_t offset, Mask lanes) {
  R* d = w.reg<R>(slot);
  each_lane(lanes, [=](int l) {
    T value;
    std::memcpy(&value, from[l] + offset, sizeof value);
    d[l] = static_cast<R>(value);
  });
}
template <class T>
void spread_to(Warp& w, Slot slot, std::uint32_t reg_bytes, std::byte* const* from, std::size_t offset, Mask lanes) {
  if (reg_bytes == 2)
    spread<T, std::uint16_t>(w, slot, from, offset, lanes);
  else if (reg_bytes == 4)
    spread<T, std::uint32_t>(w, slot, from, offset, lanes);
  else
    spread<T, std::uint64_t>(w, slot, from, offset, lanes);
}
struct Wide {
  std::uint64_t half[2];
};

void load_element(Warp& w, Slot slot, std::uint32_t form, int bytes, std::byte* const* from, std::size_t offset,
                  Mask lanes) {
  const std::uint32_t reg_bytes = form & 0xff;
  const bool sign = (form & kSignExtend) != 0;
  switch (bytes) {
    case 1:
      return sign ? spread_to<std::int8_t>(w, slot, reg_bytes, from, offset, lanes)
                  : spread_to<std::uint8_t>(w, slot, reg_bytes, from, offset, lanes);
    case 2:
      return sign ? spread_to<std::int16_t>(w, slot, reg_bytes, from, offset, lanes)
                  : spread_to<std::uint16_t>(w, slot, reg_bytes, from, offset, lanes);
    case 4:
      return sign ? spread_to<std::int32_t>(w, slot, reg_bytes, from, offset, lanes)
                  : spread_to<std::uint32_t>(w, slot, reg_bytes, from, offset, lanes);
    case 8:
      return spread_to<std::uint64_t>(w, slot, reg_bytes, from, offset, lanes);
    default:
      each_lane(lanes, [=, &w](int l) { std::memcpy(&w.reg<Wide>(slot)[l], from[l] + offset, 16); });
  }
}

// The same where several threads carry out the launch; only within one page.
bool place_in_overlay(Overlay& overlay, const Region& region, const std::uint64_t* at, std::uint64_t low,
                      std::uint64_t high, std::uint32_t bytes, bool is_store, std::byte** to) {
  const std::uint64_t last = high + bytes - 1;
  if (low / Overlay::kPageBytes != last / Overlay::kPageBytes) return false;
  if (!is_store) {
    if (!overlay.read_range(region, low, last)) return false;
    for (int l = 0; l < kLanes; ++l) to[l] = region.data + (at[l] - region.base);
    return true;
  }
  Overlay::Own& own = overlay.own_page(region, low);
  for (int l = 0; l < kLanes; ++l) {
    overlay.mark_written(own, at[l], bytes);
    const Overlay::Place place = Overlay::place_in(own, at[l]);
    to[l] = place.data;
    if (place.written != nullptr) std::memset(place.written, kWritten, bytes);
  }
  return true;
}

// All lanes of a global access inside the region of the last one, aligned, and (for loads) with values: no
// lane needs a look of its own. `to` gets the host places.
bool resolve_together(Warp& w, const Inst& i, const std::uint64_t* at, Mask lanes, std::uint32_t bytes, bool is_store,
                      std::byte** to) {
  const Region* region = w.last_region;
  if (lanes != kAllLanes || region == nullptr ||
      (is_store ? region->read_only || region->input : region->written != nullptr))
    return false;
  std::uint64_t low = at[0], high = at[0], bits = 0;
  for (int l = 0; l < kLanes; ++l) {
    low = std::min(low, at[l]);
    high = std::max(high, at[l]);
    bits |= at[l];
  }
  if ((bits & (bytes - 1)) != 0 || low < region->base || high - region->base >= region->bytes ||
      region->bytes - (high - region->base) < bytes)
    return false;
  if (w.launch->overlay != nullptr) {
    if (i.strong || !place_in_overlay(*w.launch->overlay, *region, at, low, high, bytes, is_store, to)) return false;
  } else {
    for (int l = 0; l < kLanes; ++l) to[l] = region->data + (at[l] - region->base);
    if (is_store && region->written != nullptr)
      for (int l = 0; l < kLanes; ++l) std::memset(region->written + (at[l] - region->base), 1, bytes);
  }
  if (is_store ? w.launch->check_races : global_read_needs_check(w, low, high + bytes - 1))
    for (int l = 0; l < kLanes; ++l)
      global_race_check(w, i, l, at[l], bytes, is_store ? Access::kWrite : Access::kRead);
  return true;
}

// All lanes of an access to the block's own shared memory, aligned and inside, of bytes that have values.
bool resolve_shared_together(Warp& w, const Inst& i, const std::uint64_t* at, Mask lanes, std::uint32_t bytes,
                             bool is_store, std::byte** to) {
  Block& block = *w.block;
  if (bytes % 4 != 0 || block.shared.size() < bytes) return false;
  std::uint32_t offset[kLanes];
  const auto last = static_cast<std::uint32_t>(block.shared.size()) - bytes;
  std::uint32_t all = 0x01010101u;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    offset[l] = static_cast<std::uint32_t>(at[l]) - kSharedBase;
    if (offset[l] > last || (at[l] & (bytes - 1)) != 0) return false;
    for (std::uint32_t k = 0; k < bytes; k += 4) {
      std::uint32_t four;
      std::memcpy(&four, block.shared_written.data() + offset[l] + k, 4);
      all &= four & ~(four >> 1);  // kPending is no value
    }
    to[l] = block.shared.data() + offset[l];
  }
  if (all != 0x01010101u) return false;
  race_check_lanes(w, i, lanes, offset, bytes, is_store ? Access::kWrite : Access::kRead);
  return true;
}

// Fills `to` with the host places of an access, after every check.
void resolve_all(Warp& w, const Inst& i, const std::uint64_t* at, Mask lanes, std::uint32_t bytes, Space space,
                 bool is_store, std::byte** to) {
  if (space == Space::kShared ? resolve_shared_together(w, i, at, lanes, bytes, is_store, to)
                              : space <= Space::kGlobal && resolve_together(w, i, at, lanes, bytes, is_store, to))
    return;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    to[l] = resolve(w, i, l, at[l], bytes, space, is_store ? Access::kWrite : Access::kRead);
  }
}

void addresses(const Warp& w, const Inst& i, Mask lanes, std::uint64_t* at) {
  if ((i.mode & 0x80) != 0) {
    each_lane(lanes, [&](int l) { at[l] = w.reg<std::uint32_t>(i.a)[l] + static_cast<std::uint64_t>(i.imm); });
  } else {
    const std::uint64_t* a = w.reg<std::uint64_t>(i.a);
    const auto offset = static_cast<std::uint64_t>(i.imm);
    each_lane(lanes, [=](int l) { at[l] = a[l] + offset; });
  }
}

void settle_overlaps(Warp& w, Space space, const std::uint64_t* at, Mask lanes, std::uint32_t bytes) {
  if ((w.delayed.empty() && w.block->met_writes == 0) || w.settling || space > Space::kGlobal) return;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    settle_overlap(w, l, at[l], bytes);
  }
}

// The registers of lanes that have read bytes without a value.
void load_unwritten(Warp& w, const Inst& i, const std::uint32_t* list, std::uint32_t bytes) {
  for (Mask rest = w.unwritten_lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const auto all = unwritten_bytes(w, l, bytes);
    for (std::uint32_t k = 0; k < i.extras; ++k) {
      const std::uint32_t form = list[2 * k + 1], reg_bytes = form & 0xff;
      std::uint8_t bits[16]{};
      std::memcpy(bits, all.data() + std::size_t{k} * i.width, i.width);
      if ((form & kSignExtend) != 0 && i.width < reg_bytes)
        std::memset(bits + i.width, bits[i.width - 1], reg_bytes - i.width);
      if (std::any_of(bits, bits + reg_bytes, [](std::uint8_t b) { return b != 0; }))
        make_undefined(w, i, l, list[2 * k], reg_bytes, bits);
    }
  }
}

// A lane reads what a place held before a write that it has not seen: also whether that was a value.
std::byte* take_old(Warp& w, int lane, std::uint64_t address, const OldValue& old, std::uint32_t bytes) {
  w.unwritten_lanes &= ~(Mask{1} << lane);
  if (std::find(old.written.begin(), old.written.begin() + bytes, std::uint8_t{0}) != old.written.begin() + bytes)
    note_unwritten(w, lane, old.written.data(),
                   "global memory that nothing had to have written yet, in " + name_at(w, address));
  return const_cast<std::byte*>(old.value.data());
}

void load(Warp& w, const Inst& i, Mask lanes) {
  const auto space = static_cast<Space>(i.mode & 0x7f);
  const std::uint32_t bytes = i.width * i.extras;
  std::byte* from[kLanes];
  std::uint64_t at[kLanes];
  addresses(w, i, lanes, at);
  settle_overlaps(w, space, at, lanes, bytes);
  w.unwritten_lanes = 0;
  w.may_be_unwritten = true;
  resolve_all(w, i, at, lanes, bytes, space, false, from);
  w.may_be_unwritten = false;
  if (i.non_coherent) note_read_only(w, i, at, lanes, bytes);
  if (space <= Space::kGlobal && !w.launch->old_values.empty())
    each_lane(lanes, [&](int l) {
      if (!i.strong || i.orders)
        note_read(w, at[l]);
      else if (const OldValue* old = old_value(w, at[l], bytes))
        from[l] = take_old(w, l, at[l], *old, bytes);
    });
  if (space <= Space::kGlobal && i.strong && w.launch->touches != nullptr)
    each_lane(lanes, [&](int l) {
      if (const OldValue* old = w.launch->touches->earlier_value(w, at[l], bytes))
        from[l] = take_old(w, l, at[l], *old, bytes);
    });
  if (i.orders) race_fence(w, i.block_only);
  count_traffic(w, space, at, lanes, bytes, false);
  const std::uint32_t* list = w.launch->program->extras.data() + i.extra;
  for (std::uint32_t k = 0; k < i.extras; ++k)
    load_element(w, list[2 * k], list[2 * k + 1], i.width, from, std::size_t{k} * i.width, lanes);
  if (w.unwritten_lanes != 0) load_unwritten(w, i, list, bytes);
}

template <class T>
void gather(Warp& w, Slot slot, std::uint32_t reg_bytes, std::byte* const* to, std::size_t offset, Mask lanes) {
  const std::uint8_t* from = w.regs + slot;
  each_lane(lanes,
            [=](int l) { std::memcpy(to[l] + offset, from + static_cast<std::size_t>(l) * reg_bytes, sizeof(T)); });
}

// Until it goes, the race checker knows what the store writes.
class StoringNow {
 public:
  StoringNow(Warp& w, const Storing& what) : w_(w) { w.storing = &what; }
  ~StoringNow() { w_.storing = nullptr; }
  StoringNow(const StoringNow&) = delete;

 private:
  Warp& w_;
};

void store(Warp& w, const Inst& i, Mask lanes) {
  if (i.orders) race_fence(w, i.block_only);
  const auto space = static_cast<Space>(i.mode & 0x7f);
  const std::uint32_t bytes = i.width * i.extras;
  std::byte* to[kLanes];
  std::uint64_t at[kLanes];
  addresses(w, i, lanes, at);
  if (i.strong && !i.orders && space <= Space::kGlobal && delay(w, i, lanes, at, bytes)) return;
  settle_overlaps(w, space, at, lanes, bytes);
  if (w.settling) each_lane(lanes, [&](int l) { keep_old_value(w, at[l], bytes); });
  {
    const Storing storing{&i, at, static_cast<std::uint32_t>(w.block->events)};
    const StoringNow now(w, storing);
    resolve_all(w, i, at, lanes, bytes, space, true, to);
  }
  count_traffic(w, space, at, lanes, bytes, true);
  const std::uint32_t* list = w.launch->program->extras.data() + i.extra;
  for (std::uint32_t k = 0; k < i.extras; ++k) {
    const std::uint32_t reg_bytes = list[2 * k + 1] & 0xff;
    const std::size_t offset = std::size_t{k} * i.width;
    switch (i.width) {
      case 1:
        gather<std::uint8_t>(w, list[2 * k], reg_bytes, to, offset, lanes);
        break;
      case 2:
        gather<std::uint16_t>(w, list[2 * k], reg_bytes, to, offset, lanes);
        break;
      case 4:
        gather<std::uint32_t>(w, list[2 * k], reg_bytes, to, offset, lanes);
        break;
      case 8:
        gather<std::uint64_t>(w, list[2 * k], reg_bytes, to, offset, lanes);
        break;
      default:
        gather<Wide>(w, list[2 * k], reg_bytes, to, offset, lanes);
    }
    if (w.has_undefined)
      each_lane(lanes, [&](int l) {
        store_undefined(w, i, l, at[l], space, list[2 * k], reg_bytes, static_cast<std::uint32_t>(offset), i.width);
      });
  }
  ++w.block->progress;
}

}  // namespace

std::byte byte_stored(const Warp& w, int lane, std::uint64_t shared_offset) {
  const Inst& i = *w.storing->inst;
  const std::uint64_t offset = shared_offset - ((w.storing->at[lane] & 0xff'ffff) - kSharedBase);
  const std::uint32_t* element = w.launch->program->extras.data() + i.extra + 2 * (offset / i.width);
  const std::uint64_t reg_bytes = element[1] & 0xff;
  return std::byte{w.regs[element[0] + static_cast<std::uint64_t>(lane) * reg_bytes + offset % i.width]};
}

namespace {

void nothing(Warp&, const Inst&, Mask) {}

bool bind_access(Binder& b, bool is_store) {
  take_order_words(b);
  take_cache_words(b);
  const bool weak_pair = b.take("v2"), quad = !weak_pair && b.take("v4"), eight = !weak_pair && !quad && b.take("v8");
  const Type type = b.take_type();
  const int bytes = bits_of(type) / 8;
  if (bytes == 0) return false;
  const Operand& where = b.operand(is_store ? 0 : 1);
  const Operand& what = b.operand(is_store ? 1 : 0);
  const Address address = bind_address(b, where);
  const std::size_t count = weak_pair ? 2 : quad ? 4 : eight ? 8 : 1;
  if (count * static_cast<std::size_t>(bytes) > 32 ||
      (count > 1 && (what.kind != Operand::Kind::kVector || what.parts.size() != count)))
    b.refuse("a vector of this length");
  std::vector<std::uint32_t> list;
  for (std::size_t k = 0; k < count; ++k) {
    const Operand& element = count > 1 || what.kind == Operand::Kind::kVector ? what.parts.at(0 + k) : what;
    const int bits = std::max({b.width(element), bytes * 8, 16});
    list.push_back(is_store ? b.source(element, bits) : b.dest(element, bits));
    list.push_back(static_cast<std::uint32_t>(bits / 8) | (is_signed(type) ? kSignExtend : 0));
  }
  b.out.a = address.slot;
  b.out.imm = address.offset;
  b.out.mode = static_cast<std::uint8_t>(static_cast<int>(address.space) | (address.narrow ? 0x80 : 0));
  b.out.width = static_cast<std::uint8_t>(bytes);
  b.out.extras = static_cast<std::uint32_t>(count);
  for (std::size_t k = 0; k < list.size(); ++k) {
    const std::uint32_t at = b.extras({list[k]});
    if (k == 0) b.out.extra = at;
  }
  b.out.fn = is_store ? &store : &load;
  if (b.out.strong && address.space <= Space::kGlobal) b.out.flow = Flow::kSwitch;
  return true;
}

// createpolicy: any 64-bit value will do, since policies change nothing here.
void create_policy(Warp& w, const Inst& i, Mask lanes) {
  each_lane(lanes, [&](int l) { w.reg<std::uint64_t>(i.d)[l] = 0x1000'0000'0000'0000u; });
}

// discard.L2: what 128 bytes hold is lost, as if something unknown had been stored.
void discard(Warp& w, const Inst& i, Mask lanes) {
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const std::uint64_t at = address_of(w, i.a, (i.mode & 0x80) != 0, i.imm, l);
    if (w.launch->overlay != nullptr) throw Entangled{};
    if (at % 128 != 0) report(w, i, l, "discard.L2 at an address that is no multiple of 128");
    for (std::uint32_t k = 0; k < 128; k += 16) {
      std::byte* place = resolve(w, i, l, at + k, 16, Space::kGlobal, Access::kWrite);
      std::memset(place, 0xd7, 16);
      const Region* region = w.launch->memory->below(at + k);
      if (region->written != nullptr) std::memset(region->written + (at + k - region->base), 0, 16);
    }
  }
}

bool bind_discard(Binder& b) {
  b.take("L2");
  const Address address = bind_address(b, b.operand(0));
  if (b.immediate(1) != 128) return false;
  b.out.a = address.slot;
  b.out.imm = address.offset;
  b.out.mode = address.narrow ? 0x80 : 0;
  b.out.fn = &discard;
  return true;
}

}  // namespace

bool bind_memory(Binder& b) {
  const std::string_view op = b.op();
  if (op == "ld" || op == "ldu") {
    if (!bind_access(b, false)) return false;
    b.out.non_coherent |= op == "ldu";
    return true;
  }
  if (op == "st") return b.in.has("async") ? false : bind_access(b, true);
  if (op == "prefetch" || op == "prefetchu" || op == "applypriority") {
    if (b.in.has("tensormap")) b.refuse("tensor maps");
    b.take_rest();
    b.out.fn = &nothing;
    return true;
  }
  if (op == "discard") return bind_discard(b);
  if (op == "createpolicy") {
    b.take_rest();
    b.out.d = b.dest(0, 64);
    b.out.fn = &create_policy;
    return true;
  }
  return false;
}

}  // namespace kf::emulator
