// SPDX-License-Identifier: Apache-2.0
// mov in all forms, address conversions, clocks: PTX ISA 9.0 section 9.7.9.
#include "block.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

template <class T>
void mov(Warp& w, const Inst& i, Mask lanes) {
  T* d = w.reg<T>(i.d);
  const T* a = w.reg<T>(i.a);
  each_lane(lanes, [=](int l) { d[l] = a[l]; });
}
struct Wide {
  std::uint64_t half[2];
};

// {a, b, ..} -> d and back: extras are the parts' slots, `width` the bytes of a part.
template <class Whole, class Part>
void pack(Warp& w, const Inst& i, Mask lanes) {
  const std::uint32_t* parts = w.launch->program->extras.data() + i.extra;
  Whole* d = w.reg<Whole>(i.d);
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    Part value[sizeof(Whole) / sizeof(Part)];
    for (std::size_t k = 0; k < std::size(value); ++k) value[k] = w.reg<Part>(parts[k])[l];
    d[l] = std::bit_cast<Whole>(value);
  }
}
template <class Whole, class Part>
void unpack(Warp& w, const Inst& i, Mask lanes) {
  const std::uint32_t* parts = w.launch->program->extras.data() + i.extra;
  const Whole* a = w.reg<Whole>(i.a);
  struct Parts {
    Part value[sizeof(Whole) / sizeof(Part)];
  };
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const auto all = std::bit_cast<Parts>(a[l]);
    for (std::size_t k = 0; k < std::size(all.value); ++k) w.reg<Part>(parts[k])[l] = all.value[k];
  }
}
template <class Whole, class Part>
Handler either(bool packs) {
  return packs ? &pack<Whole, Part> : &unpack<Whole, Part>;
}

bool bind_vector(Binder& b, int bits, bool packs) {
  const Operand& vector = b.operand(packs ? 1 : 0);
  const auto count = static_cast<int>(vector.parts.size());
  if (count != 2 && count != 4) b.refuse("a vector of this length");
  const int part = bits / count;
  std::uint32_t slots[4]{};
  for (int k = 0; k < count; ++k) slots[k] = packs ? b.source(vector.parts[k], part) : b.dest(vector.parts[k], part);
  b.out.extra = b.extras({slots[0], slots[1], slots[2], slots[3]});
  if (packs)
    b.out.d = b.dest(0, bits);
  else
    b.out.a = b.source(1, bits);
  using U16 = std::uint16_t;
  using U32 = std::uint32_t;
  using U64 = std::uint64_t;
  if (bits == 32 && part == 16) b.out.fn = either<U32, U16>(packs);
  if (bits == 64 && part == 32) b.out.fn = either<U64, U32>(packs);
  if (bits == 64 && part == 16) b.out.fn = either<U64, U16>(packs);
  if (bits == 128 && part == 64) b.out.fn = either<Wide, U64>(packs);
  if (bits == 128 && part == 32) b.out.fn = either<Wide, U32>(packs);
  if (b.out.fn == nullptr) b.refuse("a vector of parts of " + std::to_string(part) + " bits");
  return true;
}

// Clocks count the launch's lane-steps: they grow, and mean nothing else.
template <class T, int kShift>
void clock_value(Warp& w, const Inst& i, Mask lanes) {
  T* d = w.reg<T>(i.d);
  if (w.launch->overlay != nullptr) throw Entangled{};  // the count is that of the whole launch
  const std::uint64_t now = w.launch->counters.warp_instructions;
  each_lane(lanes, [=](int l) { d[l] = static_cast<T>(now >> kShift); });
}
Handler clock_named(std::string_view name) {
  if (name == "%clock" || name == "%globaltimer_lo") return &clock_value<std::uint32_t, 0>;
  if (name == "%clock_hi" || name == "%globaltimer_hi") return &clock_value<std::uint32_t, 32>;
  if (name == "%clock64" || name == "%globaltimer") return &clock_value<std::uint64_t, 0>;
  return nullptr;
}

template <class T, bool kTo>
void shift_window(Warp& w, const Inst& i, Mask lanes) {
  T* d = w.reg<T>(i.d);
  const T* a = w.reg<T>(i.a);
  const T base = static_cast<T>(i.imm);
  each_lane(lanes, [=](int l) { d[l] = kTo ? static_cast<T>(a[l] - base) : static_cast<T>(a[l] + base); });
}

bool bind_cvta(Binder& b) {
  const bool to = b.take("to");
  const int space =
      b.take_one({"global", "const", "shared", "shared::cta", "shared::cluster", "local", "param", "param::entry"});
  const int bits = bits_of(b.take_type());
  if (bits != 64) b.refuse("cvta on 32-bit addresses");
  const std::uint64_t bases[] = {0, 0, kSharedWindow, kSharedWindow, kSharedWindow, kLocalWindow, 0, 0};
  if (space < 0) return false;
  b.out.imm = static_cast<std::int64_t>(bases[space]);
  bind_slots(b, 64, 64, 1);
  b.out.fn = to ? &shift_window<std::uint64_t, true> : &shift_window<std::uint64_t, false>;
  return true;
}

template <class T>
void isspacep(Warp& w, const Inst& i, Mask lanes) {
  const T* a = w.reg<T>(i.a);
  Mask result = 0;
  each_lane(lanes, [&](int l) {
    const std::uint64_t at = a[l];
    const bool shared = at - kSharedWindow < kWindowBytes, local = at - kLocalWindow < kWindowBytes;
    const bool own = shared && (at - kSharedWindow) >> 24 == 0;
    const bool param = at - kParamWindow < kWindowBytes;
    bool yes = false;
    switch (i.mode) {
      case 0:
        yes = !shared && !local && !param;
        break;
      case 1:
        yes = own;
        break;
      case 2:
        yes = shared;
        break;
      case 3:
        yes = local;
        break;
      case 4:
        yes = param;
        break;
      default: {
        const Region* region = w.launch->memory->below(at);
        yes = region != nullptr && region->read_only && at - region->base < region->bytes;
      }
    }
    result |= Mask{yes} << l;
  });
  set_pred(w, i.d, lanes, result);
}

}  // namespace

bool bind_move(Binder& b) {
  const std::string_view op = b.op();
  if (op == "cvta") return bind_cvta(b);
  if (op == "isspacep") {
    const int space =
        b.take_one({"global", "shared", "shared::cluster", "local", "param", "const", "shared::cta", "param::entry"});
    if (space < 0) return false;
    b.out.mode = static_cast<std::uint8_t>(space == 6 ? 1 : space == 7 ? 4 : space);
    b.out.d = b.pred_dest(b.operand(0));
    const bool narrow = b.width(b.operand(1)) == 32;
    b.out.a = b.source(1, narrow ? 32 : 64);
    b.out.fn = narrow ? &isspacep<std::uint32_t> : &isspacep<std::uint64_t>;
    return true;
  }
  if (op != "mov") return false;
  const int bits = bits_of(b.take_type());
  if (bits < 16) return false;
  if (b.operand(0).kind == Operand::Kind::kVector) return bind_vector(b, bits, false);
  if (b.operand(1).kind == Operand::Kind::kVector) return bind_vector(b, bits, true);
  b.out.d = b.dest(0, bits);
  if (b.operand(1).kind == Operand::Kind::kName) {
    if (const Handler fn = clock_named(b.operand(1).name)) {
      b.out.fn = fn;
      if (b.operand(1).name.find("64") == std::string::npos && b.operand(1).name != "%globaltimer" ? bits != 32
                                                                                                   : bits != 64)
        b.refuse("a clock of another width");
      return true;
    }
  }
  b.out.a = b.source(1, bits);
  b.out.fn = bits == 16   ? &mov<std::uint16_t>
             : bits == 32 ? &mov<std::uint32_t>
             : bits == 64 ? &mov<std::uint64_t>
                          : &mov<Wide>;
  return true;
}

}  // namespace kf::emulator
