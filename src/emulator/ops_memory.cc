// SPDX-License-Identifier: Apache-2.0
// ld, st, and the hints that only change speed: PTX ISA 9.0 section 9.7.9.
#include <cstring>

#include "access.h"
#include "global_race.h"
#include "lanes.h"
#include "race.h"
#include "traffic.h"

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

// All lanes of a global access inside the region of the last one, aligned, and (for loads) with values: no
// lane needs a look of its own. `to` gets the host places.
bool resolve_together(Warp& w, const Inst& i, const std::uint64_t* at, Mask lanes, std::uint32_t bytes, bool is_store,
                      std::byte** to) {
  const Region* region = w.last_region;
  if (lanes != kAllLanes || region == nullptr || (is_store ? region->read_only : region->written != nullptr))
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
  for (int l = 0; l < kLanes; ++l) to[l] = region->data + (at[l] - region->base);
  if (is_store && region->written != nullptr)
    for (int l = 0; l < kLanes; ++l) std::memset(region->written + (at[l] - region->base), 1, bytes);
  if (is_store ? w.launch->check_races : global_read_needs_check(w, low, high + bytes - 1))
    for (int l = 0; l < kLanes; ++l)
      global_race_check(w, i, l, at[l], bytes, is_store ? Access::kWrite : Access::kRead);
  return true;
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

void load(Warp& w, const Inst& i, Mask lanes) {
  const auto space = static_cast<Space>(i.mode & 0x7f);
  const std::uint32_t bytes = i.width * i.extras;
  std::byte* from[kLanes];
  std::uint64_t at[kLanes];
  addresses(w, i, lanes, at);
  if (space > Space::kGlobal || !resolve_together(w, i, at, lanes, bytes, false, from))
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
      const int l = std::countr_zero(rest);
      from[l] = resolve(w, i, l, at[l], bytes, space, Access::kRead);
    }
  if (i.orders) race_fence(w);
  count_traffic(w, space, at, lanes, bytes, false);
  const std::uint32_t* list = w.launch->program->extras.data() + i.extra;
  for (std::uint32_t k = 0; k < i.extras; ++k)
    load_element(w, list[2 * k], list[2 * k + 1], i.width, from, std::size_t{k} * i.width, lanes);
}

template <class T>
void gather(Warp& w, Slot slot, std::uint32_t reg_bytes, std::byte* const* to, std::size_t offset, Mask lanes) {
  const std::uint8_t* from = w.regs + slot;
  each_lane(lanes,
            [=](int l) { std::memcpy(to[l] + offset, from + static_cast<std::size_t>(l) * reg_bytes, sizeof(T)); });
}

void store(Warp& w, const Inst& i, Mask lanes) {
  if (i.orders) race_fence(w);
  const auto space = static_cast<Space>(i.mode & 0x7f);
  const std::uint32_t bytes = i.width * i.extras;
  std::byte* to[kLanes];
  std::uint64_t at[kLanes];
  addresses(w, i, lanes, at);
  if (space > Space::kGlobal || !resolve_together(w, i, at, lanes, bytes, true, to))
    for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
      const int l = std::countr_zero(rest);
      to[l] = resolve(w, i, l, at[l], bytes, space, Access::kWrite);
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
  }
  ++w.block->progress;
}

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
  return true;
}

// createpolicy: any 64-bit value will do, since policies change nothing here.
void create_policy(Warp& w, const Inst& i, Mask lanes) {
  each_lane(lanes, [&](int l) { w.reg<std::uint64_t>(i.d)[l] = 0x1000'0000'0000'0000u; });
}

}  // namespace

bool bind_memory(Binder& b) {
  const std::string_view op = b.op();
  if (op == "ld" || op == "ldu") return bind_access(b, false);
  if (op == "st") return b.in.has("async") ? false : bind_access(b, true);
  if (op == "prefetch" || op == "prefetchu" || op == "applypriority") {
    if (b.in.has("tensormap")) b.refuse("tensor maps");
    b.take_rest();
    b.out.fn = &nothing;
    return true;
  }
  if (op == "createpolicy") {
    b.take_rest();
    b.out.d = b.dest(0, 64);
    b.out.fn = &create_policy;
    return true;
  }
  return false;
}

}  // namespace kf::emulator
