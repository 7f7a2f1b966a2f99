// SPDX-License-Identifier: Apache-2.0
// Handlers made from one-lane functions.
#pragma once
#include <cstdint>

#include "binder.h"
#include "warp.h"

namespace kf::emulator {

// Op is a stateless callable; D, A, B, C are the lane types of destination and sources.
template <class D, class A, class Op>
void map1(Warp& w, const Inst& i, Mask lanes) {
  D* d = w.reg<D>(i.d);
  const A* a = w.reg<A>(i.a);
  each_lane(lanes, [=](int l) { d[l] = static_cast<D>(Op{}(a[l])); });
}

template <class D, class A, class B, class Op>
void map2(Warp& w, const Inst& i, Mask lanes) {
  D* d = w.reg<D>(i.d);
  const A* a = w.reg<A>(i.a);
  const B* b = w.reg<B>(i.b);
  each_lane(lanes, [=](int l) { d[l] = static_cast<D>(Op{}(a[l], b[l])); });
}

template <class D, class A, class B, class C, class Op>
void map3(Warp& w, const Inst& i, Mask lanes) {
  D* d = w.reg<D>(i.d);
  const A* a = w.reg<A>(i.a);
  const B* b = w.reg<B>(i.b);
  const C* c = w.reg<C>(i.c);
  each_lane(lanes, [=](int l) { d[l] = static_cast<D>(Op{}(a[l], b[l], c[l])); });
}

inline Mask pred(const Warp& w, std::uint32_t index) {
  const Mask value = w.preds[index & ~kNegated];
  return (index & kNegated) != 0 ? ~value : value;
}

inline void set_pred(Warp& w, std::uint32_t index, Mask lanes, Mask value) {
  w.preds[index] = (w.preds[index] & ~lanes) | (value & lanes);
}

// fn.template operator()<T>() for the C++ type of an integer type; null for other types.
template <class Fn>
Handler for_integer(Type type, Fn fn) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return fn.template operator()<std::uint16_t>();
    case Type::kB32:
    case Type::kU32:
      return fn.template operator()<std::uint32_t>();
    case Type::kB64:
    case Type::kU64:
      return fn.template operator()<std::uint64_t>();
    case Type::kS16:
      return fn.template operator()<std::int16_t>();
    case Type::kS32:
      return fn.template operator()<std::int32_t>();
    case Type::kS64:
      return fn.template operator()<std::int64_t>();
    default:
      return nullptr;
  }
}

inline void bind_slots(Binder& b, int dest_bits, int bits, int sources) {
  b.out.d = b.dest(0, dest_bits);
  if (sources > 0) b.out.a = b.source(1, bits);
  if (sources > 1) b.out.b = b.source(2, bits);
  if (sources > 2) b.out.c = b.source(3, bits);
}

}  // namespace kf::emulator
