// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "binder.h"

namespace kf::emulator {

enum Operation : std::uint8_t { kAnd, kOr, kXor, kExch, kCas, kAdd, kInc, kDec, kMin, kMax };

// The new value of one element; operands are bit patterns of `type`. Global f32 additions flush subnormals.
std::uint64_t atomic_result(std::uint64_t old, std::uint64_t b, std::uint64_t c, Operation op, Type type,
                            bool shared_space);
// cp.reduce.async.bulk: elements of `type` one by one; `op` is an Operation.
void reduce_bytes(std::byte* to, const std::byte* from, std::size_t bytes, int op, int type);

}  // namespace kf::emulator
