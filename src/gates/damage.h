// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include <kfactory/case.h>
#include <kfactory/verdict.h>

namespace kf {

// The damage in words that a repair can start from: which rows and columns, how dense, unwritten or wrong, and what
// such a pattern usually comes from. For Mismatch::shape.
std::string describe_damage(const Mismatch& mismatch, const Tensor& tensor);

// One paragraph: counts, worst element with what was allowed, then the shape.
std::string mismatch_message(const Mismatch& mismatch);

// `into` then describes both: slices of one output, each compared on its own. `sliced_last`: the slices cut the last
// dim, so their columns are different ones.
void merge_mismatch(Mismatch& into, const Mismatch& slice, bool sliced_last);

}  // namespace kf
