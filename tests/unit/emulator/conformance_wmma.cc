// SPDX-License-Identifier: Apache-2.0
// wmma through shared memory, whose fragments are opaque; fma.oob with every NaN of 16 bits.
#include <bit>
#include <iterator>

#include "conformance_cases.h"

namespace kf::emulator_test {
namespace {

using Cases = std::vector<ConformanceCase>;

// Places in a warp's part of shared memory: a, b, c, d.
constexpr int kPlace = 1536, kWarp = 4 * kPlace;

int bytes_of(const std::string& type) {
  return type == "f64" ? 8 : type.ends_with("16") ? 2 : type.ends_with("8") ? 1 : 4;
}

struct Matrix {
  std::string name, type;
  int rows, columns;
  bool by_columns;  // .col
  int place;
  char from;    // which input its elements are cut out of
  int pad = 0;  // elements between two of its rows (columns)
  int inner() const { return by_columns ? rows : columns; }
  int stride() const { return inner() + pad; }
  std::string layout() const { return by_columns ? "col" : "row"; }
  std::string file() const { return type == "f64" ? "b64" : "b32"; }
  // Registers of a fragment: those of halves are eight whatever the shape.
  int registers() const {
    if (type == "f16" && from != 'c') return 8;
    return std::max(1, rows * columns * bytes_of(type) / 32 / (type == "f64" ? 8 : 4));
  }
  std::string list() const {
    std::string text = "{";
    for (int r = 0; r < registers(); ++r) text += (r != 0 ? ", %" : "%") + name + std::to_string(r);
    return text + "}";
  }
};

// Element `lane + 32 * e` in memory's order; %x2 becomes its address.
std::string place_of(const Matrix& m, int e) {
  const int bytes = bytes_of(m.type), shift = std::countr_zero(static_cast<unsigned>(m.inner()));
  return "add.u32 %x0, %lane, " + std::to_string(32 * e) + "; shr.u32 %x1, %x0, " + std::to_string(shift) +
         "; and.b32 %x0, %x0, " + std::to_string(m.inner() - 1) + "; mad.lo.u32 %x2, %x1, " +
         std::to_string(m.stride() * bytes) + ", %base; mad.lo.u32 %x2, %x0, " + std::to_string(bytes) +
         ", %x2; add.u32 %x2, %x2, " + std::to_string(m.place) + "; ";
}

// Small integers, so that every order of summation gives the same bits; of whole numbers, any bits.
std::string fill(const Matrix& m) {
  std::string text;
  for (int e = 0; e < m.rows * m.columns / 32; ++e) {
    text += place_of(m, e) + "shr.u64 %w, %d" + m.from + ", " + std::to_string(5 * e % 53) + "; cvt.u32.u64 %x3, %w; ";
    if (m.type == "s8" || m.type == "u8")
      text += "st.shared.b8 [%x2], %x3; ";
    else if (m.type == "s32")
      text += "st.shared.b32 [%x2], %x3; ";
    else if (m.type == "f64")
      text += "and.b32 %x3, %x3, 7; cvt.rn.f64.u32 %w, %x3; st.shared.b64 [%x2], %w; ";
    else if (m.type.ends_with("16"))
      text += "and.b32 %x3, %x3, 7; cvt.rn." + m.type + ".u32 %h0, %x3; st.shared.b16 [%x2], %h0; ";
    else
      text += "and.b32 %x3, %x3, 7; cvt.rn.f32.u32 %x3, %x3; st.shared.b32 [%x2], %x3; ";
  }
  return text;
}
// A lane's elements of d, folded.
std::string fold(const Matrix& m) {
  std::string text = "mov.b64 %dd, 0; ";
  for (int e = 0; e < m.rows * m.columns / 32; ++e)
    text += place_of(m, e) +
            (m.type == "f64"   ? "ld.shared.b64 %w, [%x2]; "
             : m.type == "f16" ? "ld.shared.b16 %h0, [%x2]; cvt.u64.u16 %w, %h0; "
                               : "ld.shared.b32 %x3, [%x2]; cvt.u64.u32 %w, %x3; ") +
            "mad.lo.u64 %dd, %dd, 31, %w; ";
  return text;
}

struct Shape {
  int m, n, k;
};
struct Layouts {
  bool a, b, sums;  // true: by columns
};

// a and b of `type`; `modifiers` stand behind the shape, `types` behind them.
void product(Cases& to, Shape s, Layouts by, const std::string& type, const std::string& c_type,
             const std::string& d_type, const std::string& modifiers, const std::string& types) {
  const int pad = 16 / bytes_of(type);
  const Matrix a{"fa", type, s.m, s.k, by.a, 0, 'a'}, b{"fb", type, s.k, s.n, by.b, kPlace, 'b', pad},
      c{"fc", c_type, s.m, s.n, by.sums, 2 * kPlace, 'c'}, d{"fd", d_type, s.m, s.n, by.sums, 3 * kPlace, 'c'};
  const std::string shape = "m" + std::to_string(s.m) + "n" + std::to_string(s.n) + "k" + std::to_string(s.k);
  std::string body = "{ .shared .align 128 .b8 m[" + std::to_string(8 * kWarp) +
                     "]; .reg .b32 %x<4>, %lane, %base; .reg .b64 %w; .reg .b16 %h<1>; ";
  for (const Matrix* one : {&a, &b, &c, &d}) body += ".reg ." + one->file() + " %" + one->name + "<8>; ";
  body +=
      "and.b32 %lane, %t, 31; and.b32 %base, %t, 255; shr.u32 %base, %base, 5; mov.u32 %x0, m; mad.lo.u32 %base, "
      "%base, " +
      std::to_string(kWarp) + ", %x0; ";
  body += fill(a) + fill(b) + fill(c) + "bar.sync 0; ";
  const auto at = [](const Matrix& m) { return "[%base+" + std::to_string(m.place) + "]"; };
  for (const Matrix* one : {&a, &b, &c})
    body += "wmma.load." + std::string(1, one->from) + ".sync.aligned." + one->layout() + "." + shape + ".shared." +
            one->type + " " + one->list() + ", " + at(*one) + ", " + std::to_string(one->stride()) + "; ";
  body += "wmma.mma.sync.aligned." + a.layout() + "." + b.layout() + "." + shape + modifiers + types + " " + d.list() +
          ", " + a.list() + ", " + b.list() + ", " + c.list() + "; ";
  body += "wmma.store.d.sync.aligned." + d.layout() + "." + shape + ".shared." + d.type + " " + at(d) + ", " +
          d.list() + ", " + std::to_string(d.stride()) + "; bar.sync 0; " + fold(d) + "}";
  to.push_back({"wmma", body});
}

// fma.oob of every NaN as a factor, as both, as the addend, and with its sign flipped.
void outside(Cases& to) {
  for (const std::string type : {"f16", "bf16", "f16x2", "bf16x2"}) {
    const std::string z = type.ends_with("x2") ? "r" : "h";
    const auto add = [&](const std::string& relu, const std::string& first, const std::string& operands) {
      to.push_back({"oob", first + "fma.rn.oob" + relu + "." + type + " %" + z + "d, " + operands + ";"});
    };
    const std::string a = "%" + z + "a", b = "%" + z + "b", c = "%" + z + "c";
    const std::string negated = z == "r" ? "xor.b32 %ra, %ra, 0x80008000; " : "xor.b16 %ha, %ha, 0x8000; ";
    for (const std::string relu : {"", ".relu"}) {
      add(relu, "", a + ", " + b + ", " + c);
      add(relu, "", b + ", " + a + ", " + c);
      add(relu, "", b + ", " + c + ", " + a);
      add(relu, "", a + ", " + a + ", " + c);
      add(relu, negated, a + ", " + b + ", " + c);
    }
  }
}

}  // namespace

std::vector<std::uint64_t> outside_inputs() {
  static constexpr std::uint64_t kOthers[] = {0x3c003f80, 0xbc00bf80, 0x00000000, 0x42484049, 0x7c007f80,
                                              0x7ff7fff7, 0x80008000, 0x7e007fc0, 0xfff77ff7, 0x03ff007f,
                                              0x7fffffff, 0xfc00ff80, 0x7bff7f7f};
  constexpr std::size_t kCount = std::size(kOthers);
  std::vector<std::uint64_t> words;
  for (std::size_t n = 0; n < kConformanceInputs; ++n)
    words.insert(words.end(), {0xfc00'7c00 | n << 16 | n, kOthers[n % kCount], kOthers[n * 5 / 3 % kCount]});
  return words;
}

void add_wmma_cases(Cases& to) {
  for (int layouts = 0; layouts < 4; ++layouts) {
    const Layouts by{(layouts & 1) != 0, (layouts & 2) != 0, layouts == 1 || layouts == 2};
    for (const Shape s : {Shape{16, 16, 16}, Shape{8, 32, 16}, Shape{32, 8, 16}}) {
      for (const std::string d : {"f16", "f32"})
        for (const std::string c : {"f16", "f32"}) product(to, s, by, "f16", c, d, "", "." + d + "." + c);
      product(to, s, by, "bf16", "f32", "f32", "", ".f32.bf16.bf16.f32");
      for (const std::string type : {"s8", "u8"})
        for (const std::string more : {"", ".satfinite"})
          product(to, s, by, type, "s32", "s32", "", ".s32." + type + "." + type + ".s32" + more);
    }
    product(to, {16, 16, 8}, by, "tf32", "f32", "f32", "", ".f32.tf32.tf32.f32");
    for (const std::string round : {"", ".rn", ".rz", ".rm", ".rp"})
      product(to, {8, 8, 4}, by, "f64", "f64", "f64", round, ".f64.f64.f64.f64");
  }
  outside(to);
}

}  // namespace kf::emulator_test
