// SPDX-License-Identifier: Apache-2.0
// Tensor products, matrices through shared memory, atomics on vectors.
#include "conformance_cases.h"

namespace kf::emulator_test {
namespace {

using Cases = std::vector<ConformanceCase>;

// Products of small integers, so that every order of summation gives the same bits. Registers of a fragment are cut
// out of the inputs, the four results are folded into one word.
struct Fragment {
  std::string name, type;  // of the register array, of an element
  int registers;
  char from;
};
std::string fill(const Fragment& f) {
  std::string text;
  for (int r = 0; r < f.registers; ++r) {
    const std::string to = "%" + f.name + std::to_string(r);
    const std::string word = "shr.u64 %w, %d" + std::string(1, f.from) + ", " + std::to_string(5 * r) +
                             "; cvt.u32.u64 %x0, %w; shr.u32 %x1, %x0, 4; ";
    const std::string small = word + "and.b32 %x0, %x0, 7; and.b32 %x1, %x1, 7; ";
    if (f.type == "f16" || f.type == "bf16")
      text += small + "cvt.rn." + f.type + ".u32 %h0, %x0; cvt.rn." + f.type + ".u32 %h1, %x1; mov.b32 " + to +
              ", {%h0, %h1}; ";
    else if (f.type == "e4m3" || f.type == "e5m2")
      text += small +
              "and.b32 %x0, %x0, 3; and.b32 %x1, %x1, 3; cvt.rn.f32.u32 %x0, %x0; cvt.rn.f32.u32 %x1, %x1; "
              "cvt.rn.satfinite." +
              f.type + "x2.f32 %h0, %x0, %x1; mov.b32 " + to + ", {%h0, %h0}; ";
    else if (f.type == "f32" || f.type == "tf32")
      text += small + "cvt.rn.f32.u32 " + to + ", %x0; ";
    else if (f.type == "f64")
      text += small + "cvt.rn.f64.u32 " + to + ", %x0; ";
    else
      text += word + "mov.b32 " + to + ", %x0; ";
  }
  return text;
}
std::string list(const std::string& name, int count) {
  std::string text = "{";
  for (int r = 0; r < count; ++r) text += (r != 0 ? ", %" : "%") + name + std::to_string(r);
  return text + "}";
}
void product(Cases& to, const std::string& shape, const std::string& d, const std::string& a, const std::string& b,
             int a_registers, int b_registers, const std::string& layout = ".row.col", const std::string& more = "",
             const std::string& c = "") {
  const bool quads = shape == "m8n8k4" && a == "f16", small = shape.starts_with("m8") && !quads;
  auto registers = [&](const std::string& type) { return (quads ? 8 : small ? 2 : 4) / (type == "f16" ? 2 : 1); };
  const int results = registers(d), sums = registers(c.empty() ? d : c);
  const std::string file = d == "f64" ? ".reg .b64" : ".reg .b32";
  std::string body = "{ .reg .b32 %x<2>; " + file + " %fa<8>, %fb<4>, %fc<8>, %fd<8>; .reg .b16 %h<2>; .reg .b64 %w; ";
  body += fill({"fa", a, a_registers, 'a'}) + fill({"fb", b, b_registers, 'b'}) +
          fill({"fc", c.empty() ? d : c, sums, 'c'});
  body += "mma.sync.aligned." + shape + layout + "." + d + "." + a + "." + b + "." + (c.empty() ? d : c) + more + " " +
          list("fd", results) + ", " + list("fa", a_registers) + ", " + list("fb", b_registers) + ", " +
          list("fc", sums) + "; ";
  const std::string out = d == "f64" ? "%dd" : "%rd", mad = d == "f64" ? "mad.lo.u64 " : "mad.lo.u32 ";
  body += (d == "f64" ? "mov.b64 " : "mov.b32 ") + out + ", %fd0; ";
  for (int r = 1; r < results; ++r) body += mad + out + ", " + out + ", 31, %fd" + std::to_string(r) + "; ";
  to.push_back({"tensor", body + "}"});
}
void more_tensors(Cases& to) {
  product(to, "m8n8k4", "f64", "f64", "f64", 1, 1);
  product(to, "m16n8k4", "f64", "f64", "f64", 2, 1);
  product(to, "m16n8k8", "f64", "f64", "f64", 4, 2);
  product(to, "m16n8k16", "f64", "f64", "f64", 8, 4, ".row.col.rz");
  for (const std::string d : {"f32", "f16"})
    for (const std::string a : {"e4m3", "e5m2"})
      for (const std::string b : {"e4m3", "e5m2"}) {
        product(to, "m16n8k16", d, a, b, 2, 1);
        if (d == "f16") product(to, "m16n8k32", d, a, b, 4, 2);
      }
  for (const std::string sat : {"", ".satfinite"}) {
    for (const std::string a : {"s8", "u8"})
      for (const std::string b : {"s8", "u8"}) product(to, "m8n8k16", "s32", a, b, 1, 1, ".row.col" + sat);
    for (const std::string a : {"s4", "u4"})
      for (const std::string b : {"s4", "u4"}) {
        product(to, "m8n8k32", "s32", a, b, 1, 1, ".row.col" + sat);
        product(to, "m16n8k32", "s32", a, b, 2, 1, ".row.col" + sat);
        product(to, "m16n8k64", "s32", a, b, 4, 2, ".row.col" + sat);
      }
  }
  for (const std::string op : {".xor.popc", ".and.popc"}) {
    product(to, "m8n8k128", "s32", "b1", "b1", 1, 1, ".row.col", op);
    product(to, "m16n8k128", "s32", "b1", "b1", 2, 1, ".row.col", op);
    product(to, "m16n8k256", "s32", "b1", "b1", 4, 2, ".row.col", op);
  }
  for (const std::string layout : {".row.col", ".col.col", ".row.row", ".col.row"}) {
    product(to, "m8n8k4", "f16", "f16", "f16", 2, 2, layout, "", "f16");
    product(to, "m8n8k4", "f32", "f16", "f16", 2, 2, layout, "", "f32");
    product(to, "m8n8k4", "f32", "f16", "f16", 2, 2, layout, "", "f16");
  }
}
// Vectors and pairs in global memory: old values are folded, then what memory holds.
void vector_atomics(Cases& to) {
  auto update = [&](const std::string& op, const std::string& type, int count) {
    const char z = type.ends_with("16") ? 'h' : 'r';
    const std::string place = "st.global.b64 [%o], %da; ", parts = z == 'r' ? "%v0, %v1" : "%v0, %v1, %v2, %v3";
    const std::string reg_type = z == 'r' ? ".b32" : ".b16";
    std::string body = "{ .reg " + reg_type + " %v<4>, %u<4>; " + place;
    body += z == 'r' ? "mov.b64 {%v0, %v1}, %db; " : "mov.b64 {%v0, %v1, %v2, %v3}, %db; ";
    const std::string old = z == 'r' ? "%u0, %u1" : "%u0, %u1, %u2, %u3";
    body += "atom.global." + op + ".v" + std::to_string(count) + "." + type + " {" + old + "}, [%o], {" + parts + "}; ";
    body += "mov.b64 %dc, {" + old + "}; ld.global.b64 %dd, [%o]; mad.lo.u64 %dd, %dd, 31, %dc; }";
    to.push_back({"atomic", body});
  };
  update("add", "f32", 2);
  for (const std::string op : {"add.noftz", "min.noftz", "max.noftz"}) {
    update(op, "f16", 4);
    update(op, "bf16", 4);
    update(op, "f16x2", 2);
    update(op, "bf16x2", 2);
  }
}
// Through shared memory: a warp's 32 words become matrices and come back.
void shared_matrices(Cases& to) {
  const std::string place =
      "{ .shared .align 16 .b8 m[8192]; .reg .b32 %a, %b, %w, %x<4>; and.b32 %w, %t, 255; shr.u32 %w, %w, 5; "
      "mov.b32 %a, m; mad.lo.u32 %a, %w, 1024, %a; and.b32 %b, %t, 31; ";
  const std::string row = "mad.lo.u32 %b, %b, 16, %a; ";
  for (const std::string trans : {"", ".trans"})
    for (const int count : {1, 2, 4}) {
      const std::string parts = count == 1 ? "{%x0}" : count == 2 ? "{%x0, %x1}" : "{%x0, %x1, %x2, %x3}";
      const std::string n = ".m8n8.x" + std::to_string(count) + trans + ".shared.b16 ";
      std::string fold = "mov.b32 %rd, %x0; ";
      for (int r = 1; r < count; ++r) fold += "mad.lo.u32 %rd, %rd, 31, %x" + std::to_string(r) + "; ";
      to.push_back({"matrix", place + row + "st.shared.v2.b64 [%b], {%da, %db}; bar.sync 0; ldmatrix.sync.aligned" + n +
                                  parts + ", [%b]; " + fold + "}"});
      to.push_back({"matrix", place + row +
                                  "st.shared.v2.b64 [%b], {%da, %db}; mov.b32 %x0, %ra; mov.b32 %x1, %rb; mov.b32 %x2, "
                                  "%rc; add.u32 %x3, %ra, %rb; bar.sync 0; stmatrix.sync.aligned" +
                                  n + "[%b], " + parts +
                                  "; bar.sync 0; .reg .b64 %y<2>; ld.shared.v2.b64 {%y0, %y1}, [%b]; mad.lo.u64 %dd, "
                                  "%y0, 31, %y1; }"});
    }
  to.push_back({"matrix", "movmatrix.sync.aligned.m8n8.trans.b16 %rd, %ra;"});
}

// What a sum has to be written with: bits of every element's word that stay random, and those that are set. Exponents
// are within a factor of 16, signs random.
struct Reals {
  std::uint32_t keep, set, sign;
};
Reals reals(const std::string& type) {
  if (type == "f16") return {0x8fff8fff, 0x30003000, 0x80008000};
  if (type == "bf16") return {0x81ff81ff, 0x3e003e00, 0x80008000};
  if (type == "tf32") return {0x81ffe000, 0x3e000000, 0x80000000};
  if (type == "e4m3") return {0x8f8f8f8f, 0x30303030, 0x80808080};
  if (type == "e5m2") return {0x87878787, 0x38383838, 0x80808080};
  return {0x81ffffff, 0x3e000000, 0x80000000};  // f32
}
std::string fill_reals(const std::string& name, char from, int registers, const std::string& type, bool positive) {
  const Reals to = reals(type);
  const std::uint32_t keep = positive ? to.keep & ~to.sign : to.keep;
  std::string text;
  for (int r = 0; r < registers; ++r) {
    const std::string reg = "%" + name + std::to_string(r);
    text += "mad.lo.u64 %w, %d" + std::string(1, from) + ", 2862933555777941757, %u; mad.lo.u64 %w, %w, " +
            std::to_string(6364136223846793005u + 2u * static_cast<unsigned>(r)) +
            ", 1442695040888963407; shr.u64 %w, %w, 31; cvt.u32.u64 " + reg + ", %w; and.b32 " + reg + ", " + reg +
            ", " + std::to_string(keep) + "; or.b32 " + reg + ", " + reg + ", " + std::to_string(to.set) + "; ";
  }
  return text;
}
// Element `lane % elements` of the four of an accumulator, as f32 bits.
std::string pick(const std::string& type, const std::string& from, const std::string& to) {
  std::string text;
  if (type == "f16")
    text = "mov.b32 {%h0, %h1}, %" + from + "0; cvt.f32.f16 %e0, %h0; cvt.f32.f16 %e1, %h1; mov.b32 {%h0, %h1}, %" +
           from + "1; cvt.f32.f16 %e2, %h0; cvt.f32.f16 %e3, %h1; ";
  else
    for (int r = 0; r < 4; ++r) text += "mov.b32 %e" + std::to_string(r) + ", %" + from + std::to_string(r) + "; ";
  return text + "selp.f32 %e0, %e1, %e0, %p; selp.f32 %e2, %e3, %e2, %p; selp.f32 %e0, %e2, %e0, %q; mov.b32 " + to +
         ", %e0; ";
}
void sum(Cases& to, const std::string& shape, const std::string& d, const std::string& a, const std::string& b,
         int a_registers, int b_registers) {
  const int sums = d == "f16" ? 2 : 4;
  auto mma = [&](const std::string& type, int registers) {
    return "mma.sync.aligned." + shape + ".row.col." + type + "." + a + "." + b + "." + type + " " +
           list("fd", registers) + ", " + list("fa", a_registers) + ", " + list("fb", b_registers) + ", " +
           list("fc", registers) + "; ";
  };
  std::string body =
      "{ .reg .b32 %fa<4>, %fb<2>, %fc<4>, %fd<4>; .reg .f32 %e<4>; .reg .b16 %h<2>; .reg .b64 %w, %u; .reg .b32 "
      "%x<3>; "
      "cvt.u64.u32 %u, %t; and.b32 %x2, %t, 1; setp.ne.u32 %p, %x2, 0; and.b32 %x2, %t, 2; setp.ne.u32 %q, %x2, 0; ";
  for (const bool positive : {false, true}) {
    const std::string& type = positive ? "f32" : d;
    body += fill_reals("fa", 'a', a_registers, a, positive) + fill_reals("fb", 'b', b_registers, b, positive) +
            fill_reals("fc", 'c', positive ? 4 : sums, type, positive) + mma(type, positive ? 4 : sums) +
            pick(type, "fd", positive ? "%x0" : "%x1");
  }
  to.push_back({"tensor sum", body + "mov.b64 %dd, {%x0, %x1}; }"});
}
void tensors(Cases& to) {
  for (const std::string d : {"f32", "f16"}) {
    product(to, "m16n8k16", d, "f16", "f16", 4, 2);
    product(to, "m16n8k8", d, "f16", "f16", 2, 1);
  }
  product(to, "m16n8k16", "f32", "bf16", "bf16", 4, 2);
  product(to, "m16n8k8", "f32", "bf16", "bf16", 2, 1);
  product(to, "m16n8k8", "f32", "tf32", "tf32", 4, 2);
  product(to, "m16n8k4", "f32", "tf32", "tf32", 2, 1);
  for (const std::string a : {"e4m3", "e5m2"})
    for (const std::string b : {"e4m3", "e5m2"}) product(to, "m16n8k32", "f32", a, b, 4, 2);
  for (const std::string a : {"s8", "u8"})
    for (const std::string b : {"s8", "u8"}) {
      product(to, "m16n8k32", "s32", a, b, 4, 2);
      product(to, "m16n8k16", "s32", a, b, 2, 1);
    }
}

}  // namespace

std::vector<ConformanceCase> tensor_sum_cases() {
  Cases all;
  for (const std::string d : {"f32", "f16"}) {
    sum(all, "m16n8k16", d, "f16", "f16", 4, 2);
    sum(all, "m16n8k8", d, "f16", "f16", 2, 1);
    for (const std::string a : {"e4m3", "e5m2"})
      for (const std::string b : {"e4m3", "e5m2"}) sum(all, "m16n8k32", d, a, b, 4, 2);
  }
  sum(all, "m16n8k16", "f32", "bf16", "bf16", 4, 2);
  sum(all, "m16n8k8", "f32", "bf16", "bf16", 2, 1);
  sum(all, "m16n8k8", "f32", "tf32", "tf32", 4, 2);
  sum(all, "m16n8k4", "f32", "tf32", "tf32", 2, 1);
  return all;
}

void add_tensor_cases(Cases& to) {
  tensors(to);
  more_tensors(to);
  vector_atomics(to);
  shared_matrices(to);
}

}  // namespace kf::emulator_test
