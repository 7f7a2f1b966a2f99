// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gates/reference.h"

namespace kf {

// What the spec's rules allow in outputs that a comparison found wrong (Bound::ties_of, Bound::ill_conditioned). It
// costs nothing where nothing is wrong, and needs no verb of its own: elements that are excused get the reference's
// value for the next comparison, and restore() puts back what the launch wrote. Of cases that are too large for that,
// windows are looked at: those around the worst, the first and the last wrong element, and some at random.
class Excuses {
 public:
  Excuses(Bench& bench, const Job& job, std::int32_t index, const CaseBuffers& buffers, const Contents& contents)
      : bench_(bench), job_(job), index_(index), buffers_(buffers), contents_(contents) {}

  // True: something was excused; compare again.
  bool apply(Reference& reference, const std::vector<Mismatch>& found, std::uint64_t scrub_seed);
  // Outputs whose windows hold nothing that is not excused: none of their elements is wrong.
  void leave_out(std::vector<Mismatch>& found) const;
  void restore();

 private:
  struct Output {
    std::size_t index = 0;
    Bytes span;  // as the launch left it
  };
  bool ties(Reference& reference, std::size_t output, const Bound& bound, std::uint64_t scrub_seed);
  bool ill_conditioned(Reference& reference, std::size_t output, const Bound& bound, std::uint64_t scrub_seed);
  bool windows_excused(Reference& reference, std::size_t output, const Mismatch& found, const Bound& bound,
                       std::uint64_t scrub_seed);
  // What is wrong in a window of an output: elements by their index in it.
  struct Wrong {
    std::map<std::size_t, double> excused;
    std::size_t others = 0;
  };
  Wrong wrong_in(const Window& window, Reference& reference, std::size_t output, const Bound& bound,
                 std::uint64_t scrub_seed);
  std::vector<double> elements_of(const Tensor& tensor, const Bytes& span) const;
  void replace(std::size_t output, Bytes before, const std::map<std::size_t, double>& elements);

  Bench& bench_;
  const Job& job_;
  std::int32_t index_;
  const CaseBuffers& buffers_;
  const Contents& contents_;
  std::vector<Output> changed_;
  std::set<std::string> by_windows_;
};

}  // namespace kf
