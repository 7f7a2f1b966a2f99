// SPDX-License-Identifier: Apache-2.0
#include "conformance_cases.h"

#include <array>

namespace kf::emulator_test {
namespace {

using Cases = std::vector<ConformanceCase>;

// The register letter of a type: h, r or d.
char letter(const std::string& type) {
  if (type.ends_with("64")) return 'd';
  if (type.ends_with("x2") && type.find('e') == std::string::npos) return 'r';
  return type.ends_with("16") || type.ends_with("16x2") || type.ends_with("x2") ? (type.ends_with("16") ? 'h' : 'h')
                                                                                : 'r';
}
std::string reg(char size, char name) {
  return std::string("%") + size + name;
}

void add(Cases& to, const std::string& family, const std::string& instruction, char result,
         const std::string& operands) {
  to.push_back({family, instruction + " %" + result + "d, " + operands + ";"});
}
void same(Cases& to, const std::string& family, const std::string& op, const std::string& type, int sources) {
  const char size = letter(type);
  std::string operands = reg(size, 'a');
  if (sources > 1) operands += ", " + reg(size, 'b');
  if (sources > 2) operands += ", " + reg(size, 'c');
  add(to, family, op + "." + type, size, operands);
}

void integers(Cases& to) {
  for (const std::string type : {"u16", "s16", "u32", "s32", "u64", "s64"}) {
    for (const std::string op : {"add", "sub", "min", "max", "mul.lo", "mul.hi"}) same(to, "integer", op, type, 2);
    // Division by zero is open in PTX, so the divisor is made odd.
    const char z = letter(type);
    const std::string odd = "or.b" + type.substr(1) + " " + reg(z, 'b') + ", " + reg(z, 'b') + ", 1; ";
    for (const std::string op : {"div", "rem"}) {
      same(to, "integer", op, type, 2);
      to.back().body = odd + to.back().body;
    }
    for (const std::string op : {"mad.lo", "mad.hi", "sad"}) same(to, "integer", op, type, 3);
    if (type[0] == 's')
      for (const std::string op : {"abs", "neg"}) same(to, "integer", op, type, 1);
  }
  for (const std::string sign : {"u", "s"}) {
    add(to, "integer", "mul.wide." + sign + "16", 'r', "%ha, %hb");
    add(to, "integer", "mul.wide." + sign + "32", 'd', "%ra, %rb");
    add(to, "integer", "mad.wide." + sign + "16", 'r', "%ha, %hb, %rc");
    add(to, "integer", "mad.wide." + sign + "32", 'd', "%ra, %rb, %dc");
    for (const std::string part : {"lo", "hi"}) {
      same(to, "integer", "mul24." + part, sign + "32", 2);
      same(to, "integer", "mad24." + part, sign + "32", 3);
      for (const std::string other : {"u32", "s32"}) same(to, "integer", "dp2a." + part + "." + sign + "32", other, 3);
    }
    for (const std::string other : {"u32", "s32"}) same(to, "integer", "dp4a." + sign + "32", other, 3);
    for (const std::string op : {"min", "max"}) same(to, "integer", op, sign + "16x2", 2);
  }
  for (const std::string op : {"add.sat", "sub.sat", "min.relu", "max.relu"}) same(to, "integer", op, "s32", 2);
  same(to, "integer", "mad.hi.sat", "s32", 3);
  to.push_back({"carry", "add.cc.u32 %rd, %ra, %rb; addc.u32 %rd, %rc, %ra;"});
  to.push_back({"carry", "sub.cc.u32 %rd, %ra, %rb; subc.u32 %rd, %rc, %ra;"});
  to.push_back({"carry", "add.cc.u64 %dd, %da, %db; addc.u64 %dd, %dc, %da;"});
  to.push_back({"carry", "mad.lo.cc.u32 %rd, %ra, %rb, %rc; madc.hi.u32 %rd, %ra, %rb, %rc;"});
}

void bits(Cases& to) {
  for (const std::string type : {"b16", "b32", "b64"}) {
    for (const std::string op : {"and", "or", "xor"}) same(to, "bits", op, type, 2);
    for (const std::string op : {"not", "cnot"}) same(to, "bits", op, type, 1);
    add(to, "bits", "shl." + type, letter(type), reg(letter(type), 'a') + ", %rb");
    for (const std::string sign : {"u", "s"})
      add(to, "bits", "shr." + sign + type.substr(1), letter(type), reg(letter(type), 'a') + ", %rb");
  }
  for (const std::string way : {"l", "r"})
    for (const std::string mode : {"clamp", "wrap"}) same(to, "bits", "shf." + way + "." + mode, "b32", 3);
  for (const std::string type : {"b32", "b64"}) {
    const char z = letter(type);
    add(to, "bits", "popc." + type, 'r', reg(z, 'a'));
    add(to, "bits", "clz." + type, 'r', reg(z, 'a'));
    same(to, "bits", "brev", type, 1);
    add(to, "bits", "bfi." + type, z, reg(z, 'a') + ", " + reg(z, 'c') + ", %rb, %rc");
    for (const std::string sign : {"u", "s"}) {
      add(to, "bits", "bfind." + sign + type.substr(1), 'r', reg(z, 'a'));
      add(to, "bits", "bfind.shiftamt." + sign + type.substr(1), 'r', reg(z, 'a'));
      add(to, "bits", "bfe." + sign + type.substr(1), z, reg(z, 'a') + ", %rb, %rc");
    }
  }
  for (const std::string mode : {"clamp", "wrap"}) {
    same(to, "bits", "bmsk." + mode, "b32", 2);
    for (const std::string sign : {"u32", "s32"}) same(to, "bits", "szext." + mode, sign, 2);
  }
  add(to, "bits", "fns.b32", 'r', "%ra, %rb, %rc");
  add(to, "bits", "prmt.b32", 'r', "%ra, %rb, %rc");
  for (const std::string mode : {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"})
    add(to, "bits", "prmt.b32." + mode, 'r', "%ra, %rb, %rc");
  for (const std::string table : {"0x1b", "0xe8", "0x96"}) add(to, "bits", "lop3.b32", 'r', "%ra, %rb, %rc, " + table);
}

void floats(Cases& to) {
  for (const std::string round : {"rn", "rz", "rm", "rp"}) {
    for (const std::string more : {"", ".ftz", ".sat", ".ftz.sat"}) {
      for (const std::string op : {"add", "sub", "mul"}) same(to, "float", op + "." + round + more, "f32", 2);
      same(to, "float", "fma." + round + more, "f32", 3);
    }
    for (const std::string more : {"", ".ftz"}) {
      same(to, "float", "div." + round + more, "f32", 2);
      for (const std::string op : {"rcp", "sqrt"}) same(to, "float", op + "." + round + more, "f32", 1);
    }
    for (const std::string op : {"add", "sub", "mul", "div"}) same(to, "double", op + "." + round, "f64", 2);
    same(to, "double", "fma." + round, "f64", 3);
    for (const std::string op : {"rcp", "sqrt"}) same(to, "double", op + "." + round, "f64", 1);
  }
  for (const std::string op : {"min", "max"}) {
    for (const std::string more : {"", ".ftz", ".NaN", ".xorsign.abs", ".ftz.NaN.xorsign.abs"})
      same(to, "float", op + more, "f32", 2);
    same(to, "double", op, "f64", 2);
  }
  for (const std::string op : {"abs", "neg"}) {
    for (const std::string more : {"", ".ftz"}) same(to, "float", op + more, "f32", 1);
    same(to, "double", op, "f64", 1);
  }
  same(to, "float", "copysign", "f32", 2);
  same(to, "double", "copysign", "f64", 2);
  for (const std::string what : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"})
    for (const std::string type : {"f32", "f64"})
      to.push_back(
          {"test", "testp." + what + "." + type + " %p, " + reg(letter(type), 'a') + "; selp.u32 %rd, 1, 0, %p;"});
}

void halves(Cases& to) {
  for (const std::string type : {"f16", "f16x2", "bf16", "bf16x2"}) {
    const bool bf = type.starts_with("bf");
    for (const std::string op : {"add", "sub", "mul"}) {
      same(to, "half", op + ".rn", type, 2);
      if (!bf)
        for (const std::string more : {".ftz", ".sat", ".ftz.sat"}) same(to, "half", op + ".rn" + more, type, 2);
    }
    for (const std::string more : {"", ".relu"}) same(to, "half", "fma.rn" + more, type, 3);
    if (!bf)
      for (const std::string more : {".ftz", ".sat", ".ftz.relu"}) same(to, "half", "fma.rn" + more, type, 3);
    for (const std::string op : {"min", "max"})
      for (const std::string more : {"", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"})
        same(to, "half", op + more, type, 2);
    for (const std::string op : {"abs", "neg"}) same(to, "half", op, type, 1);
  }
}

void comparisons(Cases& to) {
  for (const std::string relation :
       {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}) {
    for (const std::string type : {"f16", "bf16", "f32", "f64"}) {
      const char z = letter(type);
      to.push_back({"compare", "setp." + relation + "." + type + " %p, " + reg(z, 'a') + ", " + reg(z, 'b') +
                                   "; selp.u32 %rd, 1, 0, %p;"});
    }
    to.push_back(
        {"compare", "setp." + relation + ".ftz.f32 %p|%q, %ra, %rb; selp.u32 %rd, 1, 0, %p; @%q add.u32 %rd, %rd, 2;"});
    to.push_back(
        {"compare", "setp." + relation + ".f16x2 %p|%q, %ra, %rb; selp.u32 %rd, 1, 0, %p; @%q add.u32 %rd, %rd, 2;"});
  }
  for (const std::string relation : {"eq", "ne", "lt", "le", "gt", "ge"})
    for (const std::string type : {"u16", "s16", "u32", "s32", "u64", "s64"}) {
      const char z = letter(type);
      to.push_back({"compare", "setp." + relation + "." + type + " %p, " + reg(z, 'a') + ", " + reg(z, 'b') +
                                   "; selp.u32 %rd, 1, 0, %p;"});
    }
  to.push_back({"compare", "setp.lt.s32 %q, %rb, %rc; setp.gt.and.u32 %p, %ra, %rb, !%q; selp.u32 %rd, 7, 9, %p;"});
  to.push_back({"compare", "set.lt.u32.f32 %rd, %ra, %rb;"});
  to.push_back({"compare", "set.geu.f32.f32 %rd, %ra, %rb;"});
  to.push_back({"compare", "set.lt.f16x2.f16x2 %rd, %ra, %rb;"});
  to.push_back({"compare", "slct.u32.s32 %rd, %ra, %rb, %rc;"});
  to.push_back({"compare", "slct.u64.f32 %dd, %da, %db, %rc;"});
}

void conversions(Cases& to) {
  const std::array<std::string, 8> integer{"u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"};
  const std::array<std::string, 4> real{"f16", "bf16", "f32", "f64"};
  auto size = [](const std::string& type) { return type.ends_with("8") ? 'r' : letter(type); };
  for (const std::string& a : integer)
    for (const std::string& b : integer) {
      add(to, "convert", "cvt." + a + "." + b, size(a), reg(size(b), 'a'));
      if (a != b) add(to, "convert", "cvt.sat." + a + "." + b, size(a), reg(size(b), 'a'));
    }
  for (const std::string& i : integer)
    for (const std::string& f : real) {
      for (const std::string round : {"rn", "rz", "rm", "rp"}) {
        add(to, "convert", "cvt." + round + "." + f + "." + i, size(f), reg(size(i), 'a'));
        add(to, "convert", "cvt." + round + "i." + i + "." + f, size(i), reg(size(f), 'a'));
      }
    }
  for (const std::string round : {"rn", "rz", "rm", "rp"}) {
    add(to, "convert", "cvt." + round + ".f32.f64", 'r', "%da");
    add(to, "convert", "cvt." + round + ".f16.f64", 'h', "%da");
    add(to, "convert", "cvt." + round + ".f16.f32", 'h', "%ra");
    for (const std::string type : {"f32", "f64", "f16"})
      add(to, "convert", "cvt." + round + "i." + type + "." + type, letter(type), reg(letter(type), 'a'));
  }
  for (const std::string round : {"rn", "rz"}) {
    add(to, "convert", "cvt." + round + ".bf16.f32", 'h', "%ra");
    for (const std::string more : {"", ".relu"})
      for (const std::string type : {"f16x2", "bf16x2"})
        add(to, "convert", "cvt." + round + more + "." + type + ".f32", 'r', "%ra, %rb");
  }
  for (const std::string text :
       {"cvt.f32.f16 %rd, %ha;", "cvt.f32.bf16 %rd, %ha;", "cvt.f64.f32 %dd, %ra;", "cvt.f64.f16 %dd, %ha;",
        "cvt.ftz.f64.f32 %dd, %ra;", "cvt.sat.f32.f32 %rd, %ra;", "cvt.ftz.f32.f32 %rd, %ra;",
        "cvt.rna.tf32.f32 %rd, %ra;", "cvt.rn.tf32.f32 %rd, %ra;", "cvt.rz.tf32.f32 %rd, %ra;",
        "cvt.rn.ftz.f32.f64 %rd, %da;", "cvt.rzi.ftz.s32.f32 %rd, %ra;", "cvt.rn.sat.f32.s32 %rd, %ra;",
        "cvt.pack.sat.u16.s32 %rd, %ra, %rb;", "cvt.pack.sat.s16.s32 %rd, %ra, %rb;",
        "cvt.pack.sat.u8.s32.b32 %rd, %ra, %rb, %rc;", "cvt.pack.sat.s8.s32.b32 %rd, %ra, %rb, %rc;"})
    to.push_back({"convert", text});
  for (const std::string f8 : {"e4m3x2", "e5m2x2"})
    for (const std::string more : {"", ".relu"}) {
      add(to, "fp8", "cvt.rn.satfinite" + more + "." + f8 + ".f32", 'h', "%ra, %rb");
      add(to, "fp8", "cvt.rn.satfinite" + more + "." + f8 + ".f16x2", 'h', "%ra");
      add(to, "fp8", "cvt.rn" + more + ".f16x2." + f8, 'r', "%ha");
    }
}

void warps(Cases& to) {
  const std::string lane = "and.b32 %rb, %rb, 31; ";
  for (const std::string mode : {"idx", "up", "down", "bfly"})
    for (const std::string clamp : {"0", "31", "0x1807", "0x1818"})
      to.push_back({"shuffle", lane + "shfl.sync." + mode + ".b32 %rd|%p, %ra, %rb, " + clamp +
                                   ", -1; selp.u32 %rc, 77, 0, %p; add.u32 %rd, %rd, %rc;"});
  for (const std::string what : {"all", "any", "uni"})
    for (const std::string condition : {"setp.lt.s32 %p, %ra, %rb; ", "setp.ge.u32 %p, %t, 40; "})
      to.push_back({"vote", condition + "vote.sync." + what + ".pred %q, %p, -1; selp.u32 %rd, 1, 0, %q;"});
  to.push_back({"vote", "setp.lt.s32 %p, %ra, %rb; vote.sync.ballot.b32 %rd, %p, -1;"});
  to.push_back({"vote", "activemask.b32 %rd;"});
  to.push_back({"match", "and.b32 %ra, %ra, 3; match.any.sync.b32 %rd, %ra, -1;"});
  to.push_back({"match", "and.b64 %da, %da, 0x8000000000000001; match.any.sync.b64 %rd, %da, -1;"});
  to.push_back({"match", "and.b32 %ra, %t, 64; match.all.sync.b32 %rd|%p, %ra, -1; @%p add.u32 %rd, %rd, 5;"});
  to.push_back({"match", "match.all.sync.b32 %rd|%p, %ra, -1; @%p add.u32 %rd, %rd, 5;"});
  for (const std::string op : {"add", "min", "max"})
    for (const std::string type : {"u32", "s32"})
      to.push_back({"redux", "redux.sync." + op + "." + type + " %rd, %ra, -1;"});
  for (const std::string op : {"and", "or", "xor"}) to.push_back({"redux", "redux.sync." + op + ".b32 %rd, %ra, -1;"});
}

// The old value and what is in memory afterwards, as one word. Each thread updates a place of its own.
void atomics(Cases& to) {
  auto update = [&](const std::string& op, const std::string& type, const std::string& more = "") {
    const char z = letter(type);
    std::string old = z == 'd' ? "mov.b64 %dc, %dd; " : z == 'r' ? "cvt.u64.u32 %dc, %rd; " : "cvt.u64.u16 %dc, %hd; ";
    const std::string third = op == "cas" ? ", " + reg(z, 'c') : "";
    const std::string start = op == "cas" ? "xor.b64 %db, %da, %db; and.b64 %db, %db, 1; xor.b64 %db, %db, %da; "
                                            "cvt.u32.u64 %rb, %db; cvt.u16.u64 %hb, %db; "
                                          : "";
    const std::string result = reg(z, 'd') + ", [PLACE], " + reg(z, 'b') + third + "; ";
    for (const std::string space : {"global", "shared"}) {
      const bool global = space == "global";
      std::string body = start +
                         (global ? ""
                                 : ".shared .align 8 .b8 s[2048]; and.b32 %n, %t, 255; shl.b32 %n, %n, 3; "
                                   "mov.b32 %t, s; add.u32 %n, %n, %t; ") +
                         "st." + space + ".b64 [PLACE], %da; atom." + space + "." + op + more + "." + type + " " +
                         result + old + "ld." + space + ".b64 %dd, [PLACE]; mad.lo.u64 %dd, %dd, 31, %dc;";
      for (std::size_t at; (at = body.find("PLACE")) != std::string::npos;) body.replace(at, 5, global ? "%o" : "%n");
      to.push_back({"atomic", body});
    }
  };
  for (const std::string type : {"b32", "b64"})
    for (const std::string op : {"and", "or", "xor", "exch", "cas"}) update(op, type);
  for (const std::string type : {"u32", "s32", "u64", "s64"})
    for (const std::string op : {"min", "max"}) update(op, type);
  for (const std::string type : {"u32", "s32", "u64", "f32", "f64"}) update("add", type);
  for (const std::string op : {"inc", "dec"}) update(op, "u32");
  update("cas", "b16");
  for (const std::string type : {"f16", "f16x2", "bf16", "bf16x2"}) update("add", type, ".noftz");
}

void approximations(Cases& to) {
  for (const std::string op : {"rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"})
    for (const std::string more : {"", ".ftz"}) same(to, "approximation", op + ".approx" + more, "f32", 1);
  same(to, "approximation", "tanh.approx", "f32", 1);
  for (const std::string more : {"", ".ftz"})
    for (const std::string op : {"div.approx", "div.full"}) same(to, "approximation", op + more, "f32", 2);
  same(to, "approximation", "ex2.approx", "f16", 1);
  same(to, "approximation", "ex2.approx.ftz", "bf16", 1);
  for (const std::string type : {"f16", "bf16"}) same(to, "approximation", "tanh.approx", type, 1);
}

bool mentions(const ConformanceCase& c, const std::string& text) {
  return c.body.find(text) != std::string::npos;
}

}  // namespace

const std::vector<ConformanceCase>& conformance_cases() {
  static const Cases cases = [] {
    Cases made;
    integers(made);
    bits(made);
    floats(made);
    halves(made);
    comparisons(made);
    conversions(made);
    warps(made);
    atomics(made);
    approximations(made);
    add_tensor_cases(made);
    add_wmma_cases(made);
    return made;
  }();
  return cases;
}

std::vector<std::uint64_t> conformance_inputs(const ConformanceCase& of) {
  if (of.family == "oob") return outside_inputs();
  static constexpr std::uint64_t k64[] = {0,
                                          1,
                                          2,
                                          3,
                                          31,
                                          32,
                                          33,
                                          63,
                                          64,
                                          0x7f,
                                          0x80,
                                          0xff,
                                          0x7fff,
                                          0x8000,
                                          0xffff,
                                          0x7fffffff,
                                          0x80000000,
                                          0xffffffff,
                                          0x7fffffffffffffff,
                                          0x8000000000000000,
                                          0xffffffffffffffff,
                                          0xffffffffffff8000,
                                          0x123456789abcdef0,
                                          0xfffffffffffffffe,
                                          0x0102030405060708,
                                          0x5555555555555555,
                                          0xaaaaaaaaaaaaaaaa,
                                          100,
                                          0xffffffffffffff9c,
                                          0x1ffffffff,
                                          0x20000000000001,
                                          0xffffffff00000000};
  static constexpr std::uint32_t k32[] = {
      0,          0x80000000, 0x3f800000, 0xbf800000, 0x3f800001, 0x7f800000, 0xff800000, 0x7fc00000,
      0x7f800001, 0xffffffff, 1,          0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x7f7fffff,
      0xff7fffff, 0x40490fdb, 0xc2c80000, 0x4f000000, 0xcf000000, 0x5f000000, 0x3f000000, 0xbf000000,
      0x3fc00000, 0x4b000001, 0x33800000, 0x3effffff, 0x477fe000, 0x387fc000, 0x43e00000, 0x3d9a3c21};
  static constexpr std::uint16_t k16[] = {0,      0x8000, 0x3c00, 0xbc00, 0x3c01, 0x7c00, 0xfc00, 0x7e00,
                                          0x7c01, 0xffff, 1,      0x8001, 0x03ff, 0x0400, 0x8400, 0x7bff,
                                          0xfbff, 0x4248, 0xd640, 0x3800, 0xb800, 0x3e00, 0x3555, 0x6400,
                                          0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7f81, 0x0080, 0x7f7f, 0x4049};
  static constexpr std::uint64_t kDouble[] = {0,
                                              0x8000000000000000,
                                              0x3ff0000000000000,
                                              0xbff0000000000000,
                                              0x3ff0000000000001,
                                              0x7ff0000000000000,
                                              0xfff0000000000000,
                                              0x7ff8000000000000,
                                              0x7ff0000000000001,
                                              0xfff8000000001234,
                                              1,
                                              0x8000000000000001,
                                              0x000fffffffffffff,
                                              0x0010000000000000,
                                              0x7fefffffffffffff,
                                              0xffefffffffffffff,
                                              0x400921fb54442d18,
                                              0xc059000000000000,
                                              0x41dfffffffc00000,
                                              0xc1e0000000000000,
                                              0x43e0000000000000,
                                              0x3fe0000000000000,
                                              0xbfe0000000000000,
                                              0x3ff8000000000000,
                                              0x4330000000000001,
                                              0x36a0000000000000,
                                              0x380fffffffffffff,
                                              0x47efffffefffffff,
                                              0x40effc0000000000,
                                              0x3f0ffffffffffff0,
                                              0x3e70000000000000,
                                              0x3fb3478421a30000};
  const bool f64 = mentions(of, "f64"), f32 = mentions(of, "f32") || mentions(of, "tf32"),
             half = mentions(of, "f16") || mentions(of, "e4m3") || mentions(of, "e5m2");
  std::vector<std::uint64_t> words;
  std::uint64_t state = 0x1234;
  auto random = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  auto value = [&](int n) -> std::uint64_t {
    if (of.family == "convert" && !mentions(of, "f32") && !f64 && !half) return k64[n];
    if (f64) return kDouble[n];
    if (f32 && !half) return (random() & 0xffffffff00000000) | k32[n];
    if (half && !f32) return std::uint64_t{k16[n]} | std::uint64_t{k16[(n * 7 + 3) % 32]} << 16 | (random() << 32);
    if (half)
      return (n & 1) != 0 ? std::uint64_t{k16[n]} | std::uint64_t{k16[(n * 5 + 1) % 32]} << 16 : std::uint64_t{k32[n]};
    return k64[n];
  };
  for (int n = 0; n < kConformanceInputs; ++n) {
    // The last quarter is random, near the interesting exponents for floats.
    const bool chance = n >= kConformanceInputs * 3 / 4;
    std::uint64_t a = value(n % 32), b = value(n / 32), c = value((n * 11 + n / 32) % 32);
    if (chance) {
      a = random(), b = random(), c = random();
      if (f32 && !half)
        a = (a & 0xffffffff83ffffff) | 0x3c000000, b = (b & 0xffffffff83ffffff) | 0x3c000000,
        c = (c & 0xffffffff83ffffff) | 0x3c000000;
      if (f64)
        a = (a & 0x80ffffffffffffff) | 0x3f00000000000000, b = (b & 0x80ffffffffffffff) | 0x3f00000000000000,
        c = (c & 0x80ffffffffffffff) | 0x3f00000000000000;
      if (of.family == "bits") b &= 0x3f, c &= 0x3f;
    }
    words.insert(words.end(), {a, b, c});
  }
  return words;
}

std::string conformance_ptx(const ConformanceCase& of) {
  // Whichever of the three results the body writes is stored, widened with zeros.
  const std::string result = mentions(of, "%dd")   ? "mov.b64 %out, %dd;"
                             : mentions(of, "%hd") ? "cvt.u64.u16 %out, %hd;"
                                                   : "cvt.u64.u32 %out, %rd;";
  return ".version 8.8\n.target sm_90a\n.address_size 64\n"
         ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
         ".reg .b64 %da, %db, %dc, %dd, %out, %i, %o;\n.reg .b32 %ra, %rb, %rc, %rd, %t, %n;\n.reg .b16 %ha, %hb, %hc, "
         "%hd;\n.reg .pred %p, %q;\n"
         "mov.u32 %t, %tid.x;\nmov.u32 %n, %ctaid.x;\nmad.lo.u32 %t, %n, 256, %t;\nld.param.u64 %i, "
         "[in];\nld.param.u64 %o, [out];\n"
         "mad.wide.u32 %i, %t, 24, %i;\nmad.wide.u32 %o, %t, 8, %o;\n"
         "ld.global.b64 %da, [%i];\nld.global.b64 %db, [%i+8];\nld.global.b64 %dc, [%i+16];\n"
         "cvt.u32.u64 %ra, %da;\ncvt.u32.u64 %rb, %db;\ncvt.u32.u64 %rc, %dc;\n"
         "cvt.u16.u64 %ha, %da;\ncvt.u16.u64 %hb, %db;\ncvt.u16.u64 %hc, %dc;\n" +
         of.body + "\n" + result + "\nst.global.b64 [%o], %out;\nret;\n}\n";
}

std::vector<std::uint64_t> conformance_digests(const std::vector<std::uint64_t>& outputs) {
  std::vector<std::uint64_t> digests;
  for (std::size_t first = 0; first < outputs.size(); first += kConformanceGroup) {
    std::uint64_t digest = 0xcbf29ce484222325;
    for (std::size_t n = first; n < first + kConformanceGroup; ++n)
      for (int byte = 0; byte < 8; ++byte) digest = (digest ^ (outputs[n] >> (8 * byte) & 0xff)) * 0x100000001b3;
    digests.push_back(digest);
  }
  return digests;
}

}  // namespace kf::emulator_test
