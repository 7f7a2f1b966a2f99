// SPDX-License-Identifier: Apache-2.0
// atom, red, fences: PTX ISA 9.0 sections 9.7.13. Lanes of one warp act in lane order; every atomic is
// stronger than its qualifiers ask for.
#include <algorithm>
#include <cstring>

#include "access.h"
#include "atomic_op.h"
#include "lanes.h"
#include "race.h"
#include "traffic.h"

namespace kf::emulator {
namespace {

// a: address; imm: offset; mode: Space | narrow << 7; width: type; extra list: operation, elements, register
// bytes, then for each element slots of d, b, c.
void atomic(Warp& w, const Inst& i, Mask lanes) {
  if (i.orders) race_fence(w, i.block_only);
  const std::uint32_t* list = w.launch->program->extras.data() + i.extra;
  const auto op = static_cast<Operation>(list[0]);
  const std::uint32_t elements = list[1], bytes = list[2];
  const auto type = static_cast<Type>(i.width);
  const auto space = static_cast<Space>(i.mode & 0x7f);
  std::uint64_t addresses[kLanes]{};
  if (list[3] == kNoSlot && !i.orders && space <= Space::kGlobal) {  // red, or a result that nobody wants
    each_lane(lanes, [&](int l) { addresses[l] = address_of(w, i.a, (i.mode & 0x80) != 0, i.imm, l); });
    if (delay(w, i, lanes, addresses, bytes * elements)) return;
  }
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const std::uint64_t at = addresses[l] = address_of(w, i.a, (i.mode & 0x80) != 0, i.imm, l);
    if (w.settling) keep_old_value(w, at, bytes * elements);
    std::byte* place = resolve(w, i, l, at, bytes * elements, space, Access::kAtomic);
    if (!w.launch->old_values.empty()) note_read(w, at);
    const bool shared_space = space == Space::kShared || at - kSharedWindow < kWindowBytes;
    for (std::uint32_t k = 0; k < elements; ++k) {
      const std::uint32_t* slots = list + 3 + 3 * k;
      std::uint64_t old = 0, b = 0, c = 0;
      std::memcpy(&old, place + k * bytes, bytes);
      std::memcpy(&b, w.regs + slots[1] + static_cast<std::size_t>(l) * bytes, bytes);
      if (slots[2] != kNoSlot) std::memcpy(&c, w.regs + slots[2] + static_cast<std::size_t>(l) * bytes, bytes);
      const std::uint64_t next = atomic_result(old, b, c, op, type, shared_space);
      std::memcpy(place + k * bytes, &next, bytes);
      if (slots[0] != kNoSlot) std::memcpy(w.regs + slots[0] + static_cast<std::size_t>(l) * bytes, &old, bytes);
    }
  }
  if (i.orders) race_fence(w, i.block_only);
  count_traffic(w, space, addresses, lanes, bytes * elements, true);
  w.launch->counters.atomics += static_cast<std::uint64_t>(std::popcount(lanes));
}

struct Wide {
  std::uint64_t half[2];
  bool operator==(const Wide&) const = default;
};
void atomic128(Warp& w, const Inst& i, Mask lanes) {
  const std::uint32_t* list = w.launch->program->extras.data() + i.extra;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const std::uint64_t at = address_of(w, i.a, (i.mode & 0x80) != 0, i.imm, l);
    std::byte* place = resolve(w, i, l, at, 16, static_cast<Space>(i.mode & 0x7f), Access::kAtomic);
    Wide old;
    std::memcpy(&old, place, 16);
    const Wide b = w.reg<Wide>(list[4])[l];
    if (list[0] == kExch)
      std::memcpy(place, &b, 16);
    else if (old == b)
      std::memcpy(place, &w.reg<Wide>(list[5])[l], 16);
    if (list[3] != kNoSlot) w.reg<Wide>(list[3])[l] = old;
  }
}

bool allowed(Operation op, Type type) {
  const int bits = bits_of(type);
  switch (type) {
    case Type::kB128:
      return op == kExch || op == kCas;
    case Type::kB16:
    case Type::kU16:
      return op == kCas || op == kExch;
    case Type::kF64:
    case Type::kF32:
      return op == kAdd;
    case Type::kF16:
    case Type::kBf16:
    case Type::kF16x2:
    case Type::kBf16x2:
      return op == kAdd || op == kMin || op == kMax;
    case Type::kB32:
    case Type::kB64:
      return op <= kCas;
    case Type::kU32:
      return true;
    case Type::kU64:
      return op != kInc && op != kDec;
    default:
      return is_signed(type) && bits >= 32 && (op == kAdd || op == kMin || op == kMax || op <= kXor);
  }
}

bool bind_update(Binder& b, bool returns) {
  const int op = b.take_one({"and", "or", "xor", "exch", "cas", "add", "inc", "dec", "min", "max"});
  take_order_words(b);
  take_cache_words(b);
  b.take("noftz");
  const std::size_t elements = b.take("v2") ? 2 : b.take("v4") ? 4 : b.take("v8") ? 8 : 1;
  const Type type = b.take_type();
  const std::size_t first = returns ? 1 : 0;
  const Address address = bind_address(b, b.operand(first));
  if (op < 0 || !allowed(static_cast<Operation>(op), type)) return false;
  const int bits = bits_of(type);
  auto part = [&](const Operand& operand, std::size_t k) -> const Operand& {
    if (elements == 1) return operand;
    if (operand.kind != Operand::Kind::kVector || operand.parts.size() != elements) b.refuse("a vector of this length");
    return operand.parts[k];
  };
  b.out.extra = b.extras(
      {static_cast<std::uint32_t>(op), static_cast<std::uint32_t>(elements), static_cast<std::uint32_t>(bits / 8)});
  for (std::size_t k = 0; k < elements; ++k) {
    const bool drops = returns && b.operand(0).kind == Operand::Kind::kSink;
    b.extras({returns && !drops ? b.dest(part(b.operand(0), k), bits) : kNoSlot,
              b.source(part(b.operand(first + 1), k), bits), op == kCas ? b.source(first + 2, bits) : kNoSlot});
  }
  b.out.a = address.slot;
  b.out.imm = address.offset;
  b.out.mode = static_cast<std::uint8_t>(static_cast<int>(address.space) | (address.narrow ? 0x80 : 0));
  b.out.width = static_cast<std::uint8_t>(type);
  b.out.fn = type == Type::kB128 ? &atomic128 : &atomic;
  if (returns && address.space <= Space::kGlobal) b.out.flow = Flow::kSwitch;
  return true;
}

// Memory is always consistent here; what is kept is that a lane has fenced the async proxy.
void fence(Warp& w, const Inst& i, Mask) {
  race_fence(w, i.block_only);
}
void proxy_fence(Warp& w, const Inst&, Mask lanes) {
  const auto now = static_cast<std::uint32_t>(++w.block->events);
  w.launch->proxy_fenced[w.block->linear] = ++w.launch->proxy_fences;
  each_lane(lanes, [&](int l) { w.proxy_fence[static_cast<std::size_t>(l)] = now; });
}

}  // namespace

bool bind_atomic(Binder& b) {
  const std::string_view op = b.op();
  if ((op == "atom" || op == "red") && !b.in.has("async")) return bind_update(b, op == "atom");
  if (op == "fence" || op == "membar") {
    if (b.in.has("tensormap::generic")) b.refuse("tensor maps");
    b.out.block_only = b.in.has("cta");
    b.take_rest();
    b.out.fn = b.in.text.find("proxy.async") != std::string::npos ? &proxy_fence : &fence;
    return true;
  }
  return false;
}

}  // namespace kf::emulator
