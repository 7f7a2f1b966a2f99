// SPDX-License-Identifier: Apache-2.0
// wmma.load, wmma.mma, wmma.store: PTX ISA 9.0 section 9.7.14.4. Where a fragment's elements lie is opaque; here a lane
// holds consecutive elements of the matrix, row by row, and what is left of its registers holds them again.
#include <cstring>

#include "access.h"
#include "lanes.h"
#include "mma_sum.h"
#include "undefined.h"

namespace kf::emulator {
namespace {

using W = std::uint32_t;
constexpr int kMostElements = 32 * 32;

// In Program::extras, followed by slots: of the fragment; of d, a, b, c.
struct Fragment {
  W type, rows, columns, registers;
};
struct WmmaForm {
  Fragment d, a, b, c;
  W saturate, round;
};

int bits_of_element(const Fragment& f) {
  return mma_bits(static_cast<Type>(f.type));
}
int elements_each(const Fragment& f) {  // of a lane, without repetitions
  return static_cast<int>(f.rows * f.columns) / kLanes;
}
int capacity(const Fragment& f) {
  const int bits = bits_of_element(f);
  return static_cast<int>(f.registers) * (bits == 64 ? 1 : 32 / bits);
}

std::uint64_t get(const Warp& w, const Fragment& f, const W* slots, int lane, int at) {
  const int bits = bits_of_element(f);
  if (bits == 64) return w.reg<std::uint64_t>(slots[at])[lane];
  const int per = 32 / bits;
  const W all = w.reg<W>(slots[at / per])[lane];
  return bits == 32 ? all : all >> (at % per * bits) & ((W{1} << bits) - 1);
}
void put(Warp& w, const Fragment& f, const W* slots, int lane, std::uint64_t value, int element) {
  const int bits = bits_of_element(f), per = bits == 64 ? 1 : 32 / bits;
  for (int at = element; at < capacity(f); at += elements_each(f)) {
    if (bits == 64) {
      w.reg<std::uint64_t>(slots[at])[lane] = value;
      continue;
    }
    W& word = w.reg<W>(slots[at / per])[lane];
    const W ones = bits == 32 ? ~W{0} : (W{1} << bits) - 1;
    const int shift = at % per * bits;
    word = (word & ~(ones << shift)) | (static_cast<W>(value) & ones) << shift;
  }
}

void require_all_lanes(Warp& w, const Inst& i, Mask lanes) {
  if (lanes != kAllLanes) report(w, i, std::countr_zero(lanes), "wmma without all 32 lanes of the warp");
}

// a: address, imm: offset, mode: Space | narrow << 7, c: stride slot or none, width: column layout, e unused.
template <bool kStore>
void transfer(Warp& w, const Inst& i, Mask lanes) {
  require_all_lanes(w, i, lanes);
  const W* extras = w.launch->program->extras.data() + i.extra;
  const Fragment& f = *reinterpret_cast<const Fragment*>(extras);
  const W* slots = extras + sizeof(Fragment) / sizeof(W);
  const auto bytes = static_cast<std::uint32_t>(bits_of_element(f) / 8);
  for (int lane = 0; lane < kLanes; ++lane) {
    const std::uint64_t base = address_of(w, i.a, (i.mode & 0x80) != 0, i.imm, lane);
    const W stride = i.c != kNoSlot ? w.reg<W>(i.c)[lane] : i.width != 0 ? f.rows : f.columns;
    for (int n = 0; n < elements_each(f); ++n) {
      const int at = lane * elements_each(f) + n;
      const W row = static_cast<W>(at) / f.columns, column = static_cast<W>(at) % f.columns;
      const std::uint64_t index =
          i.width != 0 ? row + std::uint64_t{column} * stride : std::uint64_t{row} * stride + column;
      std::byte* place = resolve(w, i, lane, base + index * bytes, bytes, static_cast<Space>(i.mode & 0x7f),
                                 kStore ? Access::kWrite : Access::kRead);
      std::uint64_t value = 0;
      if (kStore) {
        value = get(w, f, slots, lane, n);
        std::memcpy(place, &value, bytes);
      } else {
        std::memcpy(&value, place, bytes);
        put(w, f, slots, lane, value, n);
      }
    }
  }
}

constexpr int kHostRound[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

void gather(const Warp& w, const Fragment& f, const W* slots, bool transpose, double* into) {
  for (int lane = 0; lane < kLanes; ++lane)
    for (int n = 0; n < elements_each(f); ++n) {
      const int at = lane * elements_each(f) + n, row = at / static_cast<int>(f.columns),
                column = at % static_cast<int>(f.columns);
      into[transpose ? column * static_cast<int>(f.rows) + row : at] =
          mma_value(static_cast<Type>(f.type), get(w, f, slots, lane, n));
    }
}

void multiply(Warp& w, const Inst& i, Mask lanes) {
  require_all_lanes(w, i, lanes);
  const W* extras = w.launch->program->extras.data() + i.extra;
  const WmmaForm& f = *reinterpret_cast<const WmmaForm*>(extras);
  const W *d = extras + sizeof(WmmaForm) / sizeof(W), *sa = d + f.d.registers, *sb = sa + f.a.registers,
          *sc = sb + f.b.registers;
  double a[kMostElements], b[kMostElements], c[kMostElements];
  gather(w, f.a, sa, false, a);
  gather(w, f.b, sb, true, b);
  gather(w, f.c, sc, false, c);
  const auto type = static_cast<Type>(f.d.type);
  const int k = static_cast<int>(f.a.columns), columns = static_cast<int>(f.d.columns);
  if (f.round != 0) std::fesetround(kHostRound[f.round]);
  for (int lane = 0; lane < kLanes; ++lane)
    for (int n = 0; n < elements_each(f.d); ++n) {
      const int at = lane * elements_each(f.d) + n;
      const double sum = mma_sum(a + at / columns * k, b + at % columns * k, k, c[at], type, BitProduct::kNone);
      put(w, f.d, d, lane, mma_result(sum, type, f.saturate != 0), n);
    }
  if (f.round != 0) std::fesetround(FE_TONEAREST);
  w.launch->counters.tensor_flops += std::uint64_t{2} * f.d.rows * f.d.columns * f.a.columns;
}

struct Shape {
  std::string_view name;
  W m, n, k;
};
constexpr Shape kShapes[] = {{"m16n16k16", 16, 16, 16},
                             {"m8n32k16", 8, 32, 16},
                             {"m32n8k16", 32, 8, 16},
                             {"m16n16k8", 16, 16, 8},
                             {"m8n8k4", 8, 8, 4}};

const Shape* take_shape(Binder& b) {
  for (const Shape& shape : kShapes)
    if (b.take(shape.name)) return &shape;
  return nullptr;
}

// Registers of A and B fragments of halves are eight whatever their shape; others hold each element once.
Fragment fragment_of(Type type, W rows, W columns, bool accumulator) {
  const W bits = static_cast<W>(mma_bits(type));
  const W once = rows * columns * bits / (kLanes * (bits == 64 ? 64 : 32));
  return {static_cast<W>(type), rows, columns, !accumulator && type == Type::kF16 ? 8 : std::max(once, 1u)};
}
bool operand_exists(Type type, const Shape& shape) {
  if (shape.k == 4) return type == Type::kF64;
  if (shape.k == 8) return type == Type::kTf32;
  return type == Type::kF16 || type == Type::kBf16 || type == Type::kS8 || type == Type::kU8;
}

void add_slots(Binder& b, const Operand& all, const Fragment& f, bool is_target) {
  const bool vector = all.kind == Operand::Kind::kVector;
  if ((vector ? all.parts.size() : 1) != f.registers) b.refuse("a fragment of another size");
  const int bits = mma_bits(static_cast<Type>(f.type)) == 64 ? 64 : 32;
  for (std::size_t r = 0; r < f.registers; ++r) {
    const Operand& part = vector ? all.parts[r] : all;
    b.extras({is_target ? b.dest(part, bits) : b.source(part, bits)});
  }
}

bool bind_transfer(Binder& b, bool is_store) {
  const int which = b.take_one({"a", "b", "c", "d"});
  b.take("sync");
  b.take("aligned");
  b.out.width = b.take_one({"row", "col"}) == 1;
  const Shape* shape = take_shape(b);
  const Type type = b.take_type();
  if (which < 0 || shape == nullptr) return false;
  const bool accumulator = which >= 2;
  const Fragment f = fragment_of(type, which == 1 ? shape->k : shape->m, which == 0 ? shape->k : shape->n, accumulator);
  if (!accumulator && !operand_exists(type, *shape)) b.refuse("this shape with these types");
  const Address address = bind_address(b, b.operand(is_store ? 0 : 1));
  b.out.extra = b.extras({f.type, f.rows, f.columns, f.registers});
  add_slots(b, b.operand(is_store ? 1 : 0), f, !is_store);
  if (b.operands() > 2) b.out.c = b.source(2, 32);
  b.out.a = address.slot;
  b.out.imm = address.offset;
  b.out.mode = static_cast<std::uint8_t>(static_cast<int>(address.space) | (address.narrow ? 0x80 : 0));
  b.out.fn = is_store ? &transfer<true> : &transfer<false>;
  return true;
}

bool bind_multiply(Binder& b) {
  b.take("sync");
  b.take("aligned");
  b.take_one({"row", "col"});  // of the loads: the fragments are opaque
  b.take_one({"row", "col"});
  const Shape* shape = take_shape(b);
  const W round = static_cast<W>(std::max(b.take_one({"rn", "rz", "rm", "rp"}), 0));
  const bool saturate = b.take("satfinite");
  const Type d = b.take_type();
  Type a = b.take_type(), other = b.take_type(), c = b.take_type();
  if (other == Type::kNone) c = a, a = other = Type::kF16;  // wmma.mma...f32.f16: of halves
  if (shape == nullptr || a != other || !operand_exists(a, *shape)) b.refuse("this shape with these types");
  WmmaForm f{fragment_of(d, shape->m, shape->n, true),
             fragment_of(a, shape->m, shape->k, false),
             fragment_of(a, shape->k, shape->n, false),
             fragment_of(c, shape->m, shape->n, true),
             saturate,
             round};
  const W* words = reinterpret_cast<const W*>(&f);
  for (std::size_t n = 0; n < sizeof f / sizeof(W); ++n) {
    const W at = b.extras({words[n]});
    if (n == 0) b.out.extra = at;
  }
  add_slots(b, b.operand(0), f.d, true);
  add_slots(b, b.operand(1), f.a, false);
  add_slots(b, b.operand(2), f.b, false);
  add_slots(b, b.operand(3), f.c, false);
  b.out.fn = &multiply;
  return true;
}

}  // namespace

bool bind_wmma(Binder& b) {
  if (b.op() != "wmma") return false;
  if (b.take("load")) return bind_transfer(b, false);
  if (b.take("store")) return bind_transfer(b, true);
  return b.take("mma") && bind_multiply(b);
}

}  // namespace kf::emulator
