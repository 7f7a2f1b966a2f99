// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kfactory/dtype.h>
#include <kfactory/verdict.h>

namespace kf {

// A narrow element that was written may equal the poison by chance: one int8 in 256 does, one -1 in four. How often, is
// measured: the same elements are compared with the poison of this many other seeds, which nobody wrote anywhere.
inline constexpr int kOtherPoisons = 4;

// Can written elements of this type equal the poison often enough to matter?
bool poison_by_chance(Dtype dtype);

// Are the elements of `found` that hold the poison more than chance explains? `others`: how many held one of the other
// seeds' poison, all kOtherPoisons together.
bool really_unwritten(const Mismatch& found, Dtype dtype, std::int64_t others);

}  // namespace kf
