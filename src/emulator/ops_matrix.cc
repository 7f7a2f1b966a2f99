// SPDX-License-Identifier: Apache-2.0
// mma.sync, ldmatrix, stmatrix, movmatrix: PTX ISA 9.0 section 9.7.14. Products are exact; their sum is taken in
// double and rounded once to the accumulator's type. Hardware adds in an unspecified order and width, so results
// agree exactly only where every partial sum is exact.
#include <cmath>
#include <cstring>

#include "access.h"
#include "floating.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

using W = std::uint32_t;

// Fragment layouts: A is 16 x K, B is K x 8, C and D are 16 x 8. A register holds `per` elements of A or B.
struct MmaForm {
  Type a, b, acc;
  int k;         // depth
  int bits;      // of an element of A and B
  bool f16_acc;  // two accumulators a register
  bool saturate;
};

// extras: K, element bits, types a, b, accumulator, saturate; then slots of d, a, b, c registers.
struct Registers {
  const W* d;
  const W* a;
  const W* b;
  const W* c;
};

double value(Type type, W bits) {
  switch (type) {
    case Type::kF16:
      return half_to_float(static_cast<std::uint16_t>(bits));
    case Type::kBf16:
      return bfloat_to_float(static_cast<std::uint16_t>(bits));
    case Type::kTf32:
      return float_of_bits(bits & 0xffff'e000u);
    case Type::kE4m3:
      return E4m3::decode(bits);
    case Type::kE5m2:
      return E5m2::decode(bits);
    case Type::kS8:
      return static_cast<std::int8_t>(bits);
    default:
      return static_cast<double>(bits);
  }
}

W element(const Warp& w, Slot slot, int lane, int at, int bits) {
  const W all = w.reg<W>(slot)[lane];
  return bits == 32 ? all : all >> (at * bits) & ((W{1} << bits) - 1);
}

// Register r of A covers rows (lane / 4 + 8 * (r & 1)) and a chunk of 4 registers' worth of columns (r / 2).
void load_a(const Warp& w, const MmaForm& f, const W* slots, double* a) {
  const int per = 32 / f.bits;
  for (int lane = 0; lane < kLanes; ++lane)
    for (int r = 0; r < f.k * 16 / (kLanes * per); ++r)
      for (int e = 0; e < per; ++e) {
        const int row = lane / 4 + 8 * (r & 1), column = (r / 2) * 4 * per + (lane % 4) * per + e;
        a[row * f.k + column] = value(f.a, element(w, slots[r], lane, e, f.bits));
      }
}
void load_b(const Warp& w, const MmaForm& f, const W* slots, double* b) {
  const int per = 32 / f.bits;
  for (int lane = 0; lane < kLanes; ++lane)
    for (int r = 0; r < f.k * 8 / (kLanes * per); ++r)
      for (int e = 0; e < per; ++e) {
        const int column = lane / 4, row = r * 4 * per + (lane % 4) * per + e;
        b[column * f.k + row] = value(f.b, element(w, slots[r], lane, e, f.bits));
      }
}

void mma(Warp& w, const Inst& i, Mask lanes) {
  if (lanes != kAllLanes) report(w, i, std::countr_zero(lanes), "mma.sync without all 32 lanes of the warp");
  const W* list = w.launch->program->extras.data() + i.extra;
  const MmaForm f{static_cast<Type>(list[2]),
                  static_cast<Type>(list[3]),
                  static_cast<Type>(list[4]),
                  static_cast<int>(list[0]),
                  static_cast<int>(list[1]),
                  static_cast<Type>(list[4]) == Type::kF16,
                  list[5] != 0};
  const int a_regs = f.k * 16 * f.bits / 1024, b_regs = a_regs / 2, c_regs = f.f16_acc ? 2 : 4;
  const W *d = list + 6, *sa = d + c_regs, *sb = sa + a_regs, *sc = sb + b_regs;
  double a[16 * 64], b[8 * 64];
  load_a(w, f, sa, a);
  load_b(w, f, sb, b);
  W result[4][kLanes]{};
  for (int lane = 0; lane < kLanes; ++lane)
    for (int n = 0; n < 4; ++n) {
      const int row = lane / 4 + 8 * (n / 2), column = (lane % 4) * 2 + (n & 1);
      const W old = f.f16_acc ? element(w, sc[n / 2], lane, n & 1, 16) : w.reg<W>(sc[n])[lane];
      double sum = f.acc == Type::kF32   ? double{float_of_bits(old)}
                   : f.acc == Type::kF16 ? double{half_to_float(static_cast<std::uint16_t>(old))}
                                         : static_cast<double>(static_cast<std::int32_t>(old));
      for (int k = 0; k < f.k; ++k) sum += a[row * f.k + k] * b[column * f.k + k];
      if (f.acc == Type::kF32) {
        result[n][lane] = bits_of_float(canonical(static_cast<float>(sum)));
      } else if (f.acc == Type::kF16) {
        result[n / 2][lane] |= W{Half::encode(sum)} << (16 * (n & 1));
      } else {
        auto whole = static_cast<std::int64_t>(sum);
        if (f.saturate) whole = std::min<std::int64_t>(std::max<std::int64_t>(whole, INT32_MIN), INT32_MAX);
        result[n][lane] = static_cast<W>(whole);
      }
    }
  for (int r = 0; r < c_regs; ++r) std::memcpy(w.reg<W>(d[r]), result[r], sizeof result[r]);
  w.launch->counters.tensor_flops += static_cast<std::uint64_t>(2 * 16 * 8 * f.k);
}

bool bind_mma(Binder& b) {
  if (!b.take("sync")) return false;
  b.take("aligned");
  const int shape = b.take_one({"m16n8k4", "m16n8k8", "m16n8k16", "m16n8k32"});
  if (shape < 0 || !b.take("row") || !b.take("col")) return false;
  const bool saturate = b.take("satfinite");
  const Type to = b.take_type(), ta = b.take_type(), tb = b.take_type(), from = b.take_type();
  if (to != from) return false;
  const int k = 4 << shape, bits = ta == Type::kTf32 ? 32 : bits_of(ta);
  const bool half = ta == tb && (ta == Type::kF16 || ta == Type::kBf16) && (k == 8 || k == 16);
  const bool tf32 = ta == tb && ta == Type::kTf32 && (k == 4 || k == 8);
  const bool fp8 = (ta == Type::kE4m3 || ta == Type::kE5m2) && (tb == Type::kE4m3 || tb == Type::kE5m2) && k == 32;
  const bool byte =
      (ta == Type::kS8 || ta == Type::kU8) && (tb == Type::kS8 || tb == Type::kU8) && (k == 16 || k == 32);
  const bool known =
      byte ? to == Type::kS32
           : (half || tf32 || fp8) && (to == Type::kF32 || (to == Type::kF16 && (ta == Type::kF16 || fp8)));
  if (!known || (saturate && !byte)) b.refuse("this shape with these types");
  const auto a_regs = static_cast<std::size_t>(k * 16 * bits / 1024), b_regs = a_regs / 2,
             c_regs = std::size_t{to == Type::kF16 ? 2u : 4u};
  b.out.extra = b.extras({static_cast<W>(k), static_cast<W>(bits), static_cast<W>(ta), static_cast<W>(tb),
                          static_cast<W>(to), saturate ? 1u : 0u});
  const std::size_t counts[] = {c_regs, a_regs, b_regs, c_regs};
  for (std::size_t n = 0; n < 4; ++n) {
    const Operand& vector = b.operand(n);
    if ((vector.kind == Operand::Kind::kVector ? vector.parts.size() : 1) != counts[n])
      b.refuse("a fragment of another size");
    for (std::size_t r = 0; r < counts[n]; ++r) {
      const Operand& part = vector.kind == Operand::Kind::kVector ? vector.parts[r] : vector;
      b.extras({n == 0 ? b.dest(part, 32) : b.source(part, 32)});
    }
  }
  b.out.fn = &mma;
  return true;
}

// ldmatrix, stmatrix: matrix m's row r is at the address of lane 8 m + r; lane 4 r + c holds elements 2 c and
// 2 c + 1 of row r, or of column r with .trans. extras: slots; width: matrices; mode: Space | narrow << 7.
template <bool kStore, bool kTranspose>
void matrix(Warp& w, const Inst& i, Mask lanes) {
  if (lanes != kAllLanes)
    report(w, i, std::countr_zero(lanes), "ldmatrix or stmatrix without all 32 lanes of the warp");
  const W* slots = w.launch->program->extras.data() + i.extra;
  for (int m = 0; m < i.width; ++m) {
    std::uint16_t tile[8][8];
    std::byte* rows[8];
    for (int r = 0; r < 8; ++r) {
      const int from = 8 * m + r;
      rows[r] = resolve(w, i, from, address_of(w, i.a, (i.mode & 0x80) != 0, i.imm, from), 16, Space::kShared,
                        kStore ? Access::kWrite : Access::kRead);
      if (!kStore) std::memcpy(tile[r], rows[r], 16);
    }
    W* fragment = w.reg<W>(slots[m]);
    for (int l = 0; l < kLanes; ++l)
      for (int e = 0; e < 2; ++e) {
        const int row = kTranspose ? 2 * (l % 4) + e : l / 4, column = kTranspose ? l / 4 : 2 * (l % 4) + e;
        if (kStore)
          tile[row][column] = static_cast<std::uint16_t>(fragment[l] >> (16 * e));
        else
          fragment[l] = (e == 0 ? 0 : fragment[l]) | W{tile[row][column]} << (16 * e);
      }
    if (kStore)
      for (int r = 0; r < 8; ++r) std::memcpy(rows[r], tile[r], 16);
  }
}

bool bind_ldst(Binder& b, bool is_store) {
  if (!b.take("sync")) return false;
  b.take("aligned");
  if (!b.take("m8n8")) b.refuse("this matrix shape");
  const std::size_t count = b.take("x1") ? 1 : b.take("x2") ? 2 : b.take("x4") ? 4 : 0;
  const bool transpose = b.take("trans");
  if (count == 0 || !b.take("b16")) return false;
  const Operand& fragment = b.operand(is_store ? 1 : 0);
  const Address address = bind_address(b, b.operand(is_store ? 0 : 1));
  if ((fragment.kind == Operand::Kind::kVector ? fragment.parts.size() : 1) != count)
    b.refuse("a fragment of another size");
  for (std::size_t r = 0; r < count; ++r) {
    const Operand& part = fragment.kind == Operand::Kind::kVector ? fragment.parts[r] : fragment;
    const W at = b.extras({is_store ? b.source(part, 32) : b.dest(part, 32)});
    if (r == 0) b.out.extra = at;
  }
  b.out.a = address.slot;
  b.out.imm = address.offset;
  b.out.mode = address.narrow ? 0x80 : 0;
  b.out.width = static_cast<std::uint8_t>(count);
  b.out.fn = is_store ? (transpose ? &matrix<true, true> : &matrix<true, false>)
                      : (transpose ? &matrix<false, true> : &matrix<false, false>);
  return true;
}

void transpose_fragment(Warp& w, const Inst& i, Mask lanes) {
  if (lanes != kAllLanes) report(w, i, std::countr_zero(lanes), "movmatrix without all 32 lanes of the warp");
  W from[kLanes];
  std::memcpy(from, w.reg<W>(i.a), sizeof from);
  for (int l = 0; l < kLanes; ++l) {
    W made = 0;
    for (int e = 0; e < 2; ++e) {
      const int row = l / 4, column = 2 * (l % 4) + e;  // of the result: takes (column, row)
      made |= (from[4 * column + row / 2] >> (16 * (row & 1)) & 0xffff) << (16 * e);
    }
    w.reg<W>(i.d)[l] = made;
  }
}

}  // namespace

bool bind_matrix(Binder& b) {
  if (b.op() == "mma") return bind_mma(b);
  if (b.op() == "ldmatrix" || b.op() == "stmatrix") return bind_ldst(b, b.op() == "stmatrix");
  if (b.op() != "movmatrix") return false;
  b.take("sync");
  b.take("aligned");
  if (!b.take("m8n8") || !b.take("trans") || !b.take("b16")) return false;
  bind_slots(b, 32, 32, 1);
  b.out.fn = &transpose_fragment;
  return true;
}

}  // namespace kf::emulator
