// SPDX-License-Identifier: Apache-2.0
// Arithmetic of many words: PTX ISA 9.0 section 9.7.2.
#include "integer.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

// add.cc, addc, sub.cc, subc, mad.cc, madc: the carry flag is one bit a lane; subtraction keeps a borrow.
enum : std::uint8_t { kReadsCarry = 1, kWritesCarry = 2 };
template <class T, int kForm>  // 0 add, 1 sub, 2 mad.lo, 3 mad.hi
void with_carry(Warp& w, const Inst& i, Mask lanes) {
  T* d = w.reg<T>(i.d);
  const T *a = w.reg<T>(i.a), *b = w.reg<T>(i.b), *c = kForm >= 2 ? w.reg<T>(i.c) : nullptr;
  Mask carry_out = 0;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const u128 carry = (i.mode & kReadsCarry) != 0 ? (w.carry >> l) & 1 : 0;
    u128 x = a[l], y = b[l];
    if (kForm >= 2) {
      x = kForm == 2 ? T(x * y) : T((x * y) >> (8 * sizeof(T)));
      if constexpr (kForm == 3)
        if (i.width != 0) x = T(high_mul(std::make_signed_t<T>(a[l]), std::make_signed_t<T>(b[l])));
      y = c[l];
    }
    const u128 sum = kForm == 1 ? x - y - carry : x + y + carry;
    d[l] = T(sum);
    if (((sum >> (8 * sizeof(T))) & 1) != 0) carry_out |= Mask{1} << l;
  }
  if ((i.mode & kWritesCarry) != 0) w.carry = (w.carry & ~lanes) | carry_out;
}

bool bind_form(Binder& b, int form, bool reads) {
  const Type type = b.take_type();
  const bool wide = bits_of(type) == 64;
  if (form == 2 && b.take("hi"))
    form = 3;
  else if (form == 2 && !b.take("lo"))
    return false;
  b.out.mode = static_cast<std::uint8_t>((reads ? kReadsCarry : 0) | (b.take("cc") ? kWritesCarry : 0));
  b.out.width = is_signed(type);
  bind_slots(b, bits_of(type), bits_of(type), form >= 2 ? 3 : 2);
  static constexpr Handler k32[] = {&with_carry<std::uint32_t, 0>, &with_carry<std::uint32_t, 1>,
                                    &with_carry<std::uint32_t, 2>, &with_carry<std::uint32_t, 3>};
  static constexpr Handler k64[] = {&with_carry<std::uint64_t, 0>, &with_carry<std::uint64_t, 1>,
                                    &with_carry<std::uint64_t, 2>, &with_carry<std::uint64_t, 3>};
  b.out.fn = wide ? k64[form] : k32[form];
  return bits_of(type) >= 32;
}

}  // namespace

bool bind_carry(Binder& b) {
  const std::string_view op = b.op();
  if (op == "addc") return bind_form(b, 0, true);
  if (op == "subc") return bind_form(b, 1, true);
  if (op == "madc") return bind_form(b, 2, true);
  if (!b.in.has("cc") || !is_integer(type_from(b.in.words.back()))) return false;
  if (op == "add") return bind_form(b, 0, false);
  if (op == "sub") return bind_form(b, 1, false);
  return op == "mad" && bind_form(b, 2, false);
}

}  // namespace kf::emulator
