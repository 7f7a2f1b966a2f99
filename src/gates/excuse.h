// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gates/reference.h"

namespace kf {

// What the spec's rules allow in outputs that a comparison found wrong (Bound::ties_of, Bound::ill_conditioned). It
// costs nothing where nothing is wrong, and needs no verb of its own: elements that are excused get the reference's
// value for the next comparison, and restore() puts back what the launch wrote. Of cases that are too large for that,
// elements are counted instead (ill_conditioned.h).
class Excuses {
 public:
  Excuses(Bench& bench, const Job& job, std::int32_t index, const CaseBuffers& buffers, const Contents& contents)
      : bench_(bench), job_(job), index_(index), buffers_(buffers), contents_(contents) {}

  // `found`: with the bound alone, whatever the family's contents make exact. True: something was excused; compare
  // again.
  bool apply(Reference& reference, const std::vector<Mismatch>& found, std::uint64_t scrub_seed);
  // Takes away what was counted.
  void leave_out(std::vector<Mismatch>& found) const;
  void restore();

 private:
  struct Output {
    std::size_t index = 0;
    Bytes span;  // as the launch left it
  };
  bool ties(Reference& reference, std::size_t output, const Bound& bound, std::uint64_t scrub_seed);
  bool ill_conditioned(Reference& reference, std::size_t output, const Mismatch& found, const Bound& bound,
                       std::uint64_t scrub_seed);
  void replace(std::size_t output, Bytes before, const std::map<std::size_t, double>& elements);

  Bench& bench_;
  const Job& job_;
  std::int32_t index_;
  const CaseBuffers& buffers_;
  const Contents& contents_;
  std::vector<Output> changed_;
  std::map<std::string, std::int64_t> counted_;  // of outputs that were looked at in windows
};

}  // namespace kf
