// SPDX-License-Identifier: Apache-2.0
// mma.sync: PTX ISA 9.0 section 9.7.14.5. Products are exact; their sum is taken in double and rounded once to the
// accumulator's type, so results agree with hardware exactly where every partial sum is exact.
#include <cstring>

#include "access.h"
#include "lanes.h"
#include "mma_sum.h"

namespace kf::emulator {
namespace {

using W = std::uint32_t;
constexpr int kMostDepth = 256;

// A is m x k, B is k x 8, C and D are m x 8. In Program::extras, followed by the slots of d, a, b, c registers.
struct MmaForm {
  W m, k, a, b, d, c;  // a .. c: Type
  W a_count, b_count, d_count, c_count;
  W saturate, round, bits;  // bits: BitProduct
  W a_column, b_row;        // m8n8k4 of halves only: layouts other than .row.col
};
constexpr std::size_t kFormWords = sizeof(MmaForm) / sizeof(W);
static_assert(kFormWords == 15);

const MmaForm& form_of(const Warp& w, const Inst& i) {
  return *reinterpret_cast<const MmaForm*>(w.launch->program->extras.data() + i.extra);
}

std::uint64_t element(const Warp& w, const W* slots, int lane, int at, int bits) {  // `at`: counted over the registers
  if (bits == 64) return w.reg<std::uint64_t>(slots[at])[lane];
  const int per = 32 / bits;
  const W all = w.reg<W>(slots[at / per])[lane];
  return bits == 32 ? all : all >> (at % per * bits) & ((W{1} << bits) - 1);
}

int elements_of(W registers, int bits) {
  return static_cast<int>(registers) * (bits == 64 ? 1 : 32 / bits);
}

struct Place {
  int row, column;
};
// Where element `at` of a lane's fragment of C or D lies; of A, for rows of `k`; of B, transposed.
Place place_of_sum(int lane, int at) {
  return {lane / 4 + 8 * (at / 2), lane % 4 * 2 + (at & 1)};
}
Place place_of_a(W m, int per, int lane, int at) {
  const int r = at / per, chunk = m == 16 ? r / 2 : r;
  return {lane / 4 + (m == 16 ? 8 * (r & 1) : 0), chunk * 4 * per + lane % 4 * per + at % per};
}

void store_result(Warp& w, W slot, int lane, int at, Type type, std::uint64_t value) {
  if (type == Type::kF64)
    w.reg<std::uint64_t>(slot)[lane] = value;
  else if (type != Type::kF16)
    w.reg<W>(slot)[lane] = static_cast<W>(value);
  else
    w.reg<std::uint16_t>(slot)[2 * lane + at % 2] = static_cast<std::uint16_t>(value);
}

void require_all_lanes(Warp& w, const Inst& i, Mask lanes) {
  if (lanes != kAllLanes) report(w, i, std::countr_zero(lanes), "mma.sync without all 32 lanes of the warp");
}

constexpr int kHostRound[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

void mma(Warp& w, const Inst& i, Mask lanes) {
  require_all_lanes(w, i, lanes);
  const MmaForm& f = form_of(w, i);
  const W *d = w.launch->program->extras.data() + i.extra + kFormWords, *sa = d + f.d_count, *sb = sa + f.a_count,
          *sc = sb + f.b_count;
  const auto ta = static_cast<Type>(f.a), tb = static_cast<Type>(f.b), td = static_cast<Type>(f.d),
             tc = static_cast<Type>(f.c);
  const int bits = mma_bits(ta), per = bits == 64 ? 1 : 32 / bits, k = static_cast<int>(f.k);
  double a[16 * kMostDepth], b[8 * kMostDepth];
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int at = 0; at < elements_of(f.a_count, bits); ++at) {
      const Place p = place_of_a(f.m, per, lane, at);
      a[p.row * k + p.column] = mma_value(ta, element(w, sa, lane, at, bits));
    }
    for (int at = 0; at < elements_of(f.b_count, bits); ++at) {
      const Place p = place_of_a(8, per, lane, at);
      b[p.row * k + p.column] = mma_value(tb, element(w, sb, lane, at, bits));
    }
  }
  std::uint64_t result[4][kLanes];
  const int sums = elements_of(f.d_count, mma_bits(td));
  if (f.round != 0) std::fesetround(kHostRound[f.round]);
  for (int lane = 0; lane < kLanes; ++lane)
    for (int n = 0; n < sums; ++n) {
      const Place p = place_of_sum(lane, n);
      const double old = mma_value(tc, element(w, sc, lane, n, mma_bits(tc)));
      const double sum = mma_sum(a + p.row * k, b + p.column * k, k, old, td, static_cast<BitProduct>(f.bits));
      result[n][lane] = mma_result(sum, td, f.saturate != 0);
    }
  if (f.round != 0) std::fesetround(FE_TONEAREST);
  for (int lane = 0; lane < kLanes; ++lane)
    for (int n = 0; n < sums; ++n) store_result(w, d[td == Type::kF16 ? n / 2 : n], lane, n, td, result[n][lane]);
  w.launch->counters.tensor_flops += std::uint64_t{2} * f.m * 8 * f.k;
}

// m8n8k4 of halves: four products side by side, each by lanes 4 q .. 4 q + 3 and 16 more. The upper lanes hold the
// lower rows of A and C and the right columns of B.
void mma_of_quads(Warp& w, const Inst& i, Mask lanes) {
  require_all_lanes(w, i, lanes);
  const MmaForm& f = form_of(w, i);
  const W *d = w.launch->program->extras.data() + i.extra + kFormWords, *sa = d + f.d_count, *sb = sa + f.a_count,
          *sc = sb + f.b_count;
  const auto td = static_cast<Type>(f.d), tc = static_cast<Type>(f.c);
  double a[4][8 * 4], b[4][8 * 4], c[4][64];
  auto sum_place = [](int lane, int at, Type type) -> Place {
    const int lower = lane < 16 ? 0 : 4;
    if (type == Type::kF16) return {lane % 4 + lower, at};
    return {(lane & 1) + (at & 2) + lower, (at & 4) + (lane & 2) + (at & 1)};
  };
  for (int lane = 0; lane < kLanes; ++lane) {
    const int quad = lane % 16 / 4, beyond = lane < 16 ? 0 : 4;
    for (int at = 0; at < 4; ++at) {
      const int own = lane % 4 + beyond, own_k = lane % 4;
      const double x = mma_value(Type::kF16, element(w, sa, lane, at, 16)),
                   y = mma_value(Type::kF16, element(w, sb, lane, at, 16));
      (f.a_column != 0 ? a[quad][(at + beyond) * 4 + own_k] : a[quad][own * 4 + at]) = x;
      (f.b_row != 0 ? b[quad][(at + beyond) * 4 + own_k] : b[quad][own * 4 + at]) = y;
    }
    for (int at = 0; at < 8; ++at) {
      const Place p = sum_place(lane, at, tc);
      c[quad][p.row * 8 + p.column] = mma_value(tc, element(w, sc, lane, at, bits_of(tc)));
    }
  }
  for (int lane = 0; lane < kLanes; ++lane)
    for (int at = 0; at < 8; ++at) {
      const int quad = lane % 16 / 4;
      const Place p = sum_place(lane, at, td);
      const double sum = mma_sum(a[quad] + p.row * 4, b[quad] + p.column * 4, 4, c[quad][p.row * 8 + p.column],
                                 Type::kF32, BitProduct::kNone);
      store_result(w, d[td == Type::kF16 ? at / 2 : at], lane, at, td, mma_result(sum, td, false));
    }
  w.launch->counters.tensor_flops += std::uint64_t{2} * 4 * 8 * 8 * 4;
}

bool is_byte(Type t) {
  return t == Type::kS8 || t == Type::kU8;
}
bool is_nibble(Type t) {
  return t == Type::kS4 || t == Type::kU4;
}
bool is_fp8(Type t) {
  return t == Type::kE4m3 || t == Type::kE5m2;
}

bool exists(const MmaForm& f) {
  const auto a = static_cast<Type>(f.a), b = static_cast<Type>(f.b), d = static_cast<Type>(f.d),
             c = static_cast<Type>(f.c);
  const W m = f.m, k = f.k;
  const bool wide = m == 16, same = a == b;
  if (m == 8 && k == 4 && same && a == Type::kF16) return d == Type::kF32 || (d == Type::kF16 && c == Type::kF16);
  if (d != c || f.a_column != 0 || f.b_row != 0) return false;
  if (a == Type::kF64) return same && d == a && (wide ? k == 4 || k == 8 || k == 16 : k == 4);
  if (is_byte(a)) return is_byte(b) && d == Type::kS32 && (k == 16 || (wide && k == 32));
  if (is_nibble(a)) return is_nibble(b) && d == Type::kS32 && (k == 32 || (wide && k == 64));
  if (a == Type::kB1) return same && d == Type::kS32 && (k == 128 || (wide && k == 256)) && f.bits != 0;
  if (!wide || (d != Type::kF32 && d != Type::kF16)) return false;
  if (is_fp8(a)) return is_fp8(b) && (k == 16 || k == 32);
  if (a == Type::kF16) return same && (k == 8 || k == 16);
  if (d != Type::kF32 || !same) return false;
  return a == Type::kBf16 ? k == 8 || k == 16 : a == Type::kTf32 && (k == 4 || k == 8);
}

void take_shape(Binder& b, MmaForm& f) {
  for (const W m : {8u, 16u})
    for (W k = 4; k <= 256; k *= 2)
      if (b.take("m" + std::to_string(m) + "n8k" + std::to_string(k))) f.m = m, f.k = k;
}

// Registers of an operand: a vector, or one register alone.
void add_slots(Binder& b, std::size_t n, W count, int bits) {
  const Operand& all = b.operand(n);
  const bool vector = all.kind == Operand::Kind::kVector;
  if ((vector ? all.parts.size() : 1) != count) b.refuse("a fragment of another size");
  for (std::size_t r = 0; r < count; ++r) {
    const Operand& part = vector ? all.parts[r] : all;
    b.extras({n == 0 ? b.dest(part, bits) : b.source(part, bits)});
  }
}

}  // namespace

bool bind_mma(Binder& b) {
  if (b.op() != "mma" || !b.take("sync")) return false;
  b.take("aligned");
  MmaForm f{};
  take_shape(b, f);
  int layout = 0, layouts = 0;
  for (std::size_t n = 1; n < b.in.words.size(); ++n)  // two layout words, in the order of A and B
    if (b.in.words[n] == "row" || b.in.words[n] == "col")
      (layouts++ == 0 ? f.a_column : f.b_row) = (b.in.words[n] == "col") == (layout++ == 0);
  b.take("row");
  b.take("col");
  b.take("row");
  b.take("col");
  f.saturate = b.take("satfinite");
  f.round = static_cast<W>(std::max(b.take_one({"rn", "rz", "rm", "rp"}), 0));
  f.d = static_cast<W>(b.take_type());
  f.a = static_cast<W>(b.take_type());
  f.b = static_cast<W>(b.take_type());
  f.c = static_cast<W>(b.take_type());
  const int bit_product = b.take_one({"xor", "and"});
  f.bits = bit_product >= 0 && b.take("popc") ? static_cast<W>(bit_product) + 1 : 0;
  if (f.k == 0 || layouts != 2 || !exists(f) || (f.saturate != 0 && static_cast<Type>(f.d) != Type::kS32) ||
      (f.round != 0 && static_cast<Type>(f.d) != Type::kF64))
    b.refuse("this shape with these types");
  const int bits = mma_bits(static_cast<Type>(f.a)), file = bits == 64 ? 64 : 32;
  const bool quads = f.m == 8 && static_cast<Type>(f.a) == Type::kF16;
  const W lanes = quads ? 8 : kLanes;  // that hold one product's fragments
  auto registers = [&](W rows, W columns, int width) {
    return rows * columns * static_cast<W>(width) / (lanes * static_cast<W>(file));
  };
  f.a_count = registers(f.m, f.k, bits);
  f.b_count = registers(f.k, 8, bits);
  f.d_count = registers(f.m, 8, bits_of(static_cast<Type>(f.d)));
  f.c_count = registers(f.m, 8, bits_of(static_cast<Type>(f.c)));
  b.out.extra = b.extras({f.m, f.k, f.a, f.b, f.d, f.c, f.a_count, f.b_count, f.d_count, f.c_count, f.saturate, f.round,
                          f.bits, f.a_column, f.b_row});
  add_slots(b, 0, f.d_count, file);
  add_slots(b, 1, f.a_count, file);
  add_slots(b, 2, f.b_count, file);
  add_slots(b, 3, f.c_count, file);
  b.out.fn = quads ? &mma_of_quads : &mma;
  return true;
}

}  // namespace kf::emulator
