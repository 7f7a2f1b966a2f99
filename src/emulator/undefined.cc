// SPDX-License-Identifier: Apache-2.0
#include "undefined.h"

#include <algorithm>
#include <cstring>

#include "access.h"
#include "async_copy.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

constexpr std::uint32_t kLookEvery = 4096;

std::uint8_t* bits_of_lane(const Warp& w, Slot slot, std::uint32_t bytes, int lane) {
  return w.undefined->registers + slot + static_cast<std::size_t>(lane) * bytes;
}
bool any(const std::uint8_t* bits, std::uint32_t bytes) {
  return std::any_of(bits, bits + bytes, [](std::uint8_t b) { return b != 0; });
}
Mask undefined_lanes(const Warp& w, const RegisterUse& use, Mask lanes) {
  Mask result = 0;
  each_lane(lanes, [&](int l) { result |= Mask{any(bits_of_lane(w, use.slot, use.bytes, l), use.bytes)} << l; });
  return result;
}
Mask undefined_predicate(const Warp& w, std::uint32_t index) {
  return w.undefined->predicates[index & ~kNegated];
}
void set_predicate(Warp& w, std::uint32_t index, Mask lanes, Mask value) {
  Mask& bits = w.undefined->predicates[index];
  bits = (bits & ~lanes) | (value & lanes);
}
void fill(Warp& w, const RegisterUse& use, Mask lanes, std::uint8_t value) {
  each_lane(lanes, [&](int l) { std::memset(bits_of_lane(w, use.slot, use.bytes, l), value, use.bytes); });
}

[[noreturn]] void used(Warp& w, const Inst& inst, Mask lanes, const std::string& how) {
  const int l = std::countr_zero(lanes);
  const auto& origin = w.undefined->origin;
  std::size_t from = static_cast<std::size_t>(l);
  while (origin[from].empty()) from = (from + 1) % origin.size();  // it came from another lane
  report(w, inst, l, how + " a value of " + origin[from]);
}

// Runs the handler on the bits instead of the values.
void run_on_bits(Warp& w, const Inst& inst, Mask lanes) {
  std::uint8_t* const values = w.regs;
  w.regs = w.undefined->registers;
  inst.fn(w, inst, lanes);
  w.regs = values;
}

Mask sources(Warp& w, const Uses& uses, Mask lanes) {
  Mask result = 0;
  for (const RegisterUse& read : uses.reads) result |= undefined_lanes(w, read, lanes);
  for (const std::uint32_t p : uses.predicate_reads) result |= undefined_predicate(w, p) & lanes;
  return result;
}
void combine(Warp& w, const Uses& uses, Mask lanes, Mask undefined) {
  for (const RegisterUse& write : uses.writes) {
    fill(w, write, lanes & ~undefined, 0);
    fill(w, write, undefined, 0xff);
  }
  for (const std::uint32_t p : uses.predicate_writes) set_predicate(w, p, lanes, undefined);
}

void halves(Warp& w, const Uses& uses, Mask lanes) {
  each_lane(lanes, [&](int l) {
    std::uint8_t result[4]{};
    for (const RegisterUse& read : uses.reads)
      for (std::uint32_t half = 0; half < 4 && read.bytes == 4; half += 2)
        if (any(bits_of_lane(w, read.slot, 4, l) + half, 2)) result[half] = result[half + 1] = 0xff;
    for (const RegisterUse& write : uses.writes) std::memcpy(bits_of_lane(w, write.slot, write.bytes, l), result, 4);
  });
}

// Bits move as the handler says; sources from `first` on are what they are, and must be defined for that.
void move_bits(Warp& w, const Inst& inst, const Uses& uses, Mask lanes, std::size_t first, Mask unknown) {
  for (std::size_t n = first; n < uses.reads.size(); ++n) {
    unknown |= undefined_lanes(w, uses.reads[n], lanes);
    for (std::size_t data = 0; data < first; ++data)
      if (uses.reads[n].slot == uses.reads[data].slot) return combine(w, uses, lanes, sources(w, uses, lanes));
  }
  const Mask whole = unknown & lanes;
  if (whole != lanes) {
    std::vector<std::vector<std::uint8_t>> kept;
    for (std::size_t n = first; n < uses.reads.size(); ++n) {
      const std::size_t size = std::size_t{uses.reads[n].bytes} * kLanes;
      std::uint8_t* bits = w.undefined->registers + uses.reads[n].slot;
      kept.emplace_back(bits, bits + size);
      std::memcpy(bits, w.regs + uses.reads[n].slot, size);
    }
    std::vector<std::vector<std::uint8_t>> made;
    run_on_bits(w, inst, lanes);
    for (const RegisterUse& write : uses.writes) {
      const std::uint8_t* bits = w.undefined->registers + write.slot;
      made.emplace_back(bits, bits + std::size_t{write.bytes} * kLanes);
    }
    for (std::size_t n = first; n < uses.reads.size(); ++n)
      std::memcpy(w.undefined->registers + uses.reads[n].slot, kept[n - first].data(), kept[n - first].size());
    for (std::size_t n = 0; n < uses.writes.size(); ++n)
      each_lane(lanes, [&](int l) {
        const RegisterUse& write = uses.writes[n];
        std::memcpy(bits_of_lane(w, write.slot, write.bytes, l),
                    made[n].data() + static_cast<std::size_t>(l) * write.bytes, write.bytes);
      });
  }
  for (const RegisterUse& write : uses.writes) fill(w, write, whole, 0xff);
  for (const std::uint32_t p : uses.predicate_writes) set_predicate(w, p, lanes, whole);
}

// d = a & b, or a | b: the other side's bit may decide whatever is undefined.
void logic(Warp& w, const Uses& uses, Mask lanes, bool is_and) {
  if (!uses.predicate_writes.empty() && uses.predicate_reads.size() == 2) {
    const std::uint32_t p = uses.predicate_reads[0], q = uses.predicate_reads[1];
    const Mask up = undefined_predicate(w, p), uq = undefined_predicate(w, q);
    const Mask open_p = is_and ? pred(w, p) : ~pred(w, p), open_q = is_and ? pred(w, q) : ~pred(w, q);
    set_predicate(w, uses.predicate_writes[0], lanes, (up & (uq | open_q)) | (uq & (up | open_p)));
    return;
  }
  if (uses.reads.size() != 2 || uses.writes.size() != 1) return combine(w, uses, lanes, sources(w, uses, lanes));
  const std::uint32_t bytes = uses.writes[0].bytes;
  each_lane(lanes, [&](int l) {
    const std::size_t at = static_cast<std::size_t>(l) * bytes;
    const std::uint8_t *ua = w.undefined->registers + uses.reads[0].slot + at,
                       *ub = w.undefined->registers + uses.reads[1].slot + at;
    const std::uint8_t *a = w.regs + uses.reads[0].slot + at, *b = w.regs + uses.reads[1].slot + at;
    std::uint8_t* d = w.undefined->registers + uses.writes[0].slot + at;
    for (std::uint32_t k = 0; k < bytes; ++k) {
      const int open_a = is_and ? a[k] : ~a[k], open_b = is_and ? b[k] : ~b[k];
      d[k] = static_cast<std::uint8_t>((ua[k] & (ub[k] | open_b)) | (ub[k] & (ua[k] | open_a)));
    }
  });
}

// mma of 16 x 8 results: lane / 4 says which row of A and C and which column of B a lane holds.
void product(Warp& w, const Uses& uses, Mask lanes) {
  const std::size_t d = uses.writes.size(), c = d, rest = uses.reads.size() - c;
  const std::size_t b = rest / 3, a = rest - b;  // A has twice as many registers
  if (rest % 3 != 0) return combine(w, uses, lanes, sources(w, uses, lanes) != 0 ? lanes : 0);
  bool row[16]{}, column[8]{};
  for (int l = 0; l < kLanes; ++l) {
    for (std::size_t n = 0; n < a; ++n)
      row[l / 4 + 8 * (n & 1)] |= any(bits_of_lane(w, uses.reads[n].slot, uses.reads[n].bytes, l), uses.reads[n].bytes);
    for (std::size_t n = a; n < rest; ++n)
      column[l / 4] |= any(bits_of_lane(w, uses.reads[n].slot, uses.reads[n].bytes, l), uses.reads[n].bytes);
  }
  for (int l = 0; l < kLanes; ++l)
    for (std::size_t n = 0; n < d; ++n) {
      const bool pair = d == 2;  // two halves a register: row by register
      const std::size_t half = pair ? n : n / 2;
      const int first = l % 4 * 2;
      const bool lost =
          row[l / 4 + 8 * static_cast<int>(half)] ||
          (pair ? column[first] || column[first + 1] : column[first + static_cast<int>(n & 1)]) ||
          any(bits_of_lane(w, uses.reads[rest + n].slot, uses.reads[rest + n].bytes, l), uses.reads[rest + n].bytes);
      std::memset(bits_of_lane(w, uses.writes[n].slot, uses.writes[n].bytes, l), lost ? 0xff : 0, uses.writes[n].bytes);
    }
}

bool nothing_left(const Undefined& undefined) {
  return std::ranges::all_of(undefined.storage, [](std::uint8_t b) { return b == 0; }) &&
         std::ranges::all_of(undefined.predicates, [](Mask m) { return m == 0; });
}

void require_defined(Warp& w, const Inst& inst, const Uses& uses, Mask lanes, bool everything) {
  for (const RegisterUse& read : uses.reads) {
    if (!everything && !read.address) continue;
    if (const Mask found = undefined_lanes(w, read, lanes); found != 0)
      used(w, inst, found, read.address ? "uses as an address" : "uses");
  }
  if (!everything) return;
  for (const std::uint32_t p : uses.predicate_reads)
    if (const Mask found = undefined_predicate(w, p) & lanes; found != 0) used(w, inst, found, "uses");
}

}  // namespace

Program::Program() = default;
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Warp::Warp() = default;
Warp::~Warp() = default;
Warp::Warp(Warp&&) noexcept = default;

void follow_exchange(Warp& w, const Inst& inst, std::uint32_t pc, Mask lanes) {
  const Uses& uses = w.launch->program->uses[pc];
  Mask undefined = sources(w, uses, lanes);
  if (uses.spread == Spread::kShuffle) return move_bits(w, inst, uses, lanes, 1, 0);
  if (undefined != 0) undefined = lanes;
  combine(w, uses, lanes, undefined);
}

void follow_undefined(Warp& w, const Inst& inst, std::uint32_t pc, Mask lanes, Mask exec) {
  if (++w.undefined->followed % kLookEvery == 0 && nothing_left(*w.undefined)) {
    w.has_undefined = false;
    return;
  }
  if (inst.guard != kNoSlot)
    if (const Mask found = undefined_predicate(w, inst.guard) & lanes; found != 0)
      used(w, inst, found, inst.flow == Flow::kBranch ? "branches on" : "is guarded by");
  if (exec == 0) return;
  const Uses& uses = w.launch->program->uses[pc];
  if (inst.flow == Flow::kWarpSync) {  // its member mask is the last source
    if (const Mask found = uses.reads.empty() ? 0 : undefined_lanes(w, uses.reads.back(), exec); found != 0)
      used(w, inst, found, "takes as its member mask");
    return;
  }
  switch (inst.flow > Flow::kSwitch && uses.spread != Spread::kUse ? Spread::kUse : uses.spread) {
    case Spread::kUse:
      require_defined(w, inst, uses, exec, true);
      return combine(w, uses, exec, 0);
    case Spread::kLoad:
      require_defined(w, inst, uses, exec, false);
      return combine(w, uses, exec, 0);
    case Spread::kStore:
      return require_defined(w, inst, uses, exec, false);
    case Spread::kHalves:
      return halves(w, uses, exec);
    case Spread::kCopy: {
      Mask unknown = 0;
      for (const std::uint32_t p : uses.predicate_reads) unknown |= undefined_predicate(w, p);
      return move_bits(w, inst, uses, exec, uses.reads.size(), unknown);
    }
    case Spread::kShift:
      return move_bits(w, inst, uses, exec, 1, 0);
    case Spread::kPermute:
      return move_bits(w, inst, uses, exec, 2, 0);
    case Spread::kAnd:
    case Spread::kOr:
      return logic(w, uses, exec, uses.spread == Spread::kAnd);
    case Spread::kProduct:
      return product(w, uses, exec);
    case Spread::kWarp:
      return combine(w, uses, exec, sources(w, uses, exec) != 0 ? exec : 0);
    default:
      return combine(w, uses, exec, sources(w, uses, exec));
  }
}

void note_unwritten(Warp& w, int lane, const std::uint8_t* flags, std::string where) {
  if (w.undefined == nullptr) {
    w.undefined = std::make_unique<Undefined>();
    w.undefined->storage.resize(w.launch->program->register_bytes + 64);
    auto* begin = w.undefined->storage.data();
    w.undefined->registers = begin + (64 - reinterpret_cast<std::uintptr_t>(begin) % 64) % 64;
    w.undefined->predicates.resize(w.launch->program->predicates);
  }
  w.unwritten_lanes |= Mask{1} << lane;
  w.unwritten[static_cast<std::size_t>(lane)] = flags;
  w.undefined->origin[static_cast<std::size_t>(lane)] = std::move(where);
}

std::array<std::uint8_t, 32> unwritten_bytes(const Warp& w, int lane, std::uint32_t bytes) {
  std::array<std::uint8_t, 32> result{};
  if ((w.unwritten_lanes >> lane & 1) != 0)
    for (std::uint32_t k = 0; k < bytes; ++k)
      result[k] = w.unwritten[static_cast<std::size_t>(lane)][k] == 0 ? 0xff : 0;
  return result;
}

void make_undefined(Warp& w, const Inst& inst, int lane, Slot slot, std::uint32_t bytes, const std::uint8_t* bits) {
  std::memcpy(bits_of_lane(w, slot, bytes, lane), bits, bytes);
  w.has_undefined = true;
  std::string& origin = w.undefined->origin[static_cast<std::size_t>(lane)];
  if (origin.find("; read at") == std::string::npos) origin += "; read at " + describe_source(*w.launch, inst);
}

void clear_undefined(Warp& w, Mask lanes, Slot slot, std::uint32_t bytes) {
  fill(w, {slot, bytes, false}, lanes, 0);
}

void store_undefined(Warp& w, const Inst& inst, int lane, std::uint64_t address, Space space, Slot slot,
                     std::uint32_t register_bytes, std::uint32_t offset, std::uint32_t bytes) {
  const std::uint8_t* bits = bits_of_lane(w, slot, register_bytes, lane);
  if (!any(bits, bytes)) return;
  std::uint8_t* flags = flags_at(w, lane, address + offset, space);
  if (flags == nullptr) used(w, inst, Mask{1} << lane, "stores to " + name_at(w, address));
  for (std::uint32_t k = 0; k < bytes; ++k)
    if (bits[k] != 0) flags[k] = 0;
}

}  // namespace kf::emulator
