// SPDX-License-Identifier: Apache-2.0
// mul24, mad24, dp4a, dp2a: PTX ISA 9.0 section 9.7.1.
#include <algorithm>
#include <cstdint>

#include "lanes.h"

namespace kf::emulator {
namespace {

template <bool kSigned>
std::int64_t low24(std::uint32_t a) {
  return kSigned ? std::int64_t{std::int32_t(a << 8) >> 8} : std::int64_t{a & 0xff'ffffu};
}
template <bool kSigned, bool kHigh>
struct Mul24 {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
    return std::uint32_t((low24<kSigned>(a) * low24<kSigned>(b)) >> (kHigh ? 16 : 0));
  }
};
template <bool kSigned, bool kHigh>
struct Mad24 {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    return Mul24<kSigned, kHigh>{}(a, b) + c;
  }
};

struct Mad24HiSat {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    const std::int64_t sum = ((low24<true>(a) * low24<true>(b)) >> 16) + std::int32_t(c);
    return std::uint32_t(std::int32_t(std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX)));
  }
};

// dp4a, dp2a: bytes of b, bytes or halves of a.
template <bool kSignedA, bool kSignedB>
struct Dp4a {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    for (int k = 0; k < 32; k += 8) {
      const int x = kSignedA ? int{std::int8_t(a >> k)} : int{std::uint8_t(a >> k)};
      const int y = kSignedB ? int{std::int8_t(b >> k)} : int{std::uint8_t(b >> k)};
      c += std::uint32_t(x * y);
    }
    return c;
  }
};
template <bool kSignedA, bool kSignedB, bool kHigh>
struct Dp2a {
  std::uint32_t operator()(std::uint32_t a, std::uint32_t b, std::uint32_t c) const {
    if (kHigh) b >>= 16;
    for (int k = 0; k < 2; ++k) {
      const int x = kSignedA ? int{std::int16_t(a >> 16 * k)} : int{std::uint16_t(a >> 16 * k)};
      const int y = kSignedB ? int{std::int8_t(b >> 8 * k)} : int{std::uint8_t(b >> 8 * k)};
      c += std::uint32_t(x * y);
    }
    return c;
  }
};

bool bind_24(Binder& b, bool mad) {
  const bool high = b.take_one({"lo", "hi"}) == 1, s = is_signed(b.take_type());
  bind_slots(b, 32, 32, mad ? 3 : 2);
  using W = std::uint32_t;
  if (mad && s && high && b.take("sat"))
    b.out.fn = &map3<W, W, W, W, Mad24HiSat>;
  else if (mad)
    b.out.fn = s ? (high ? &map3<W, W, W, W, Mad24<true, true>> : &map3<W, W, W, W, Mad24<true, false>>)
                 : (high ? &map3<W, W, W, W, Mad24<false, true>> : &map3<W, W, W, W, Mad24<false, false>>);
  else
    b.out.fn = s ? (high ? &map2<W, W, W, Mul24<true, true>> : &map2<W, W, W, Mul24<true, false>>)
                 : (high ? &map2<W, W, W, Mul24<false, true>> : &map2<W, W, W, Mul24<false, false>>);
  return true;
}

bool bind_dot(Binder& b) {
  using W = std::uint32_t;
  const bool two = b.op() == "dp2a", high = two && b.take_one({"lo", "hi"}) == 1;
  const bool sa = is_signed(b.take_type()), sb = is_signed(b.take_type());
  bind_slots(b, 32, 32, 3);
  static constexpr Handler k4[] = {&map3<W, W, W, W, Dp4a<false, false>>, &map3<W, W, W, W, Dp4a<false, true>>,
                                   &map3<W, W, W, W, Dp4a<true, false>>, &map3<W, W, W, W, Dp4a<true, true>>};
  static constexpr Handler k2[] = {
      &map3<W, W, W, W, Dp2a<false, false, false>>, &map3<W, W, W, W, Dp2a<false, true, false>>,
      &map3<W, W, W, W, Dp2a<true, false, false>>,  &map3<W, W, W, W, Dp2a<true, true, false>>,
      &map3<W, W, W, W, Dp2a<false, false, true>>,  &map3<W, W, W, W, Dp2a<false, true, true>>,
      &map3<W, W, W, W, Dp2a<true, false, true>>,   &map3<W, W, W, W, Dp2a<true, true, true>>};
  b.out.fn = two ? k2[4 * high + 2 * sa + sb] : k4[2 * sa + sb];
  return true;
}

}  // namespace

bool bind_narrow(Binder& b) {
  const std::string_view op = b.op();
  if (op == "dp4a" || op == "dp2a") return bind_dot(b);
  return (op == "mul24" || op == "mad24") && bind_24(b, op == "mad24");
}

}  // namespace kf::emulator
