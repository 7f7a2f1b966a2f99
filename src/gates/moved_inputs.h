// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gates/reference.h"

namespace kf {

// How far an output element may be from a reference value, as the comparison on the device has it (kf_compare).
double allowed_error(const Bound& bound, Dtype dtype, double reference, double condition);

struct Reach {
  double low = 0, high = 0;
};

// The reference of a launch's inputs when each of their elements is moved by one unit in the last place of float32, up
// or down at random: what a kernel's first rounding may amount to. Narrower inputs are given as float32 for that.
class MovedInputs {
 public:
  // Why this case cannot be tried with these variants; empty: it can.
  static std::string why_not(const Job& job, std::int32_t index);
  // How much of the case the variant computes: a window at 0, or without an axis.
  static Window reach_of(const Job& job, std::int32_t index);

  // `window`: reach_of, moved to where it shall lie.
  MovedInputs(Bench& bench, const Job& job, std::int32_t index, const CaseBuffers& launch, const Contents& contents,
              std::uint64_t seed, Window window = {});
  // Of an output (its part in the window), dense: of the values at inputs moved one way and the other way round, each
  // time the one that is farther from `wanted`.
  std::vector<double> farthest(const std::string& output, const std::vector<double>& wanted);
  // Widens `reached` to the smallest and largest of itself and the values at inputs moved one way and the other way
  // round; each `draw` moves them otherwise. NaN widens nothing.
  void reach(const std::string& output, std::uint64_t draw, std::vector<Reach>& reached);

 private:
  std::array<std::vector<double>, 2> both_ways(const std::string& output, std::uint64_t draw);
  void move(std::size_t input, std::uint64_t seed, bool mirrored);

  Bench& bench_;
  const CaseBuffers& launch_;
  std::int32_t index_;
  const Contents& contents_;
  std::uint64_t seed_;
  Window window_;
  const Case& wide_;
  std::vector<Workspace> no_workspaces_;
  CaseBuffers buffers_;
  Reference reference_;
};

}  // namespace kf
