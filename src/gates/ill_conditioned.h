// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "gates/reference.h"

namespace kf {

// The elements of one output that are outside of its bound, and which of them lie where the reference itself jumps
// (Bound::ill_conditioned). Where they are is looked up everywhere; no row of the output may be full of them. Whether
// they are jumps costs references of moved inputs: of a case that is too large for that (MovedInputs::reach_of),
// windows along the axis of the reference's slices are looked at, those with the densest rows and others at random.
class IllConditioned {
 public:
  IllConditioned(Bench& bench, const Job& job, std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                 std::size_t output, const Bound& bound);

  // Of so many elements of an output, how many may be wrong and still be left out: the stated share, or a few.
  static std::int64_t most(const Bound& bound, std::int64_t elements);

  bool whole() const { return reach_.axis.empty(); }
  // Of a case that is looked at whole: the elements that jump, by their row-major index, with the reference's values.
  // None where a row holds too many wrong ones.
  std::map<std::size_t, double> excused(Reference& reference, std::uint64_t scrub_seed);
  // Of a case that is looked at in windows: how many elements are wrong, all of which may be taken for jumps; 0: not
  // so.
  std::int64_t plausible(Reference& reference, std::uint64_t scrub_seed);

 private:
  struct Element {
    std::int64_t index = 0;  // row-major, in the whole output
    double out = 0, wanted = 0, allowed = 0;
  };
  std::vector<Element> wrong_elements(Reference& reference, std::uint64_t scrub_seed);
  std::map<std::int64_t, std::int64_t> by_row(const std::vector<Element>& wrong) const;
  bool rows_are_full(const std::vector<Element>& wrong) const;
  std::set<std::int64_t> windows_to_look_at(const std::map<std::int64_t, std::vector<Element>>& windows,
                                            std::uint64_t seed) const;
  std::int64_t most_windows() const;
  // Those of `wrong`, all of them in the window, that do not jump are left in it.
  std::map<std::size_t, double> take_jumps(const Window& window, std::vector<Element>& wrong, std::uint64_t scrub_seed);

  Bench& bench_;
  const Job& job_;
  std::int32_t index_;
  const CaseBuffers& buffers_;
  const Contents& contents_;
  std::size_t output_;
  const Tensor& tensor_;
  const Bound& bound_;
  Window reach_;
};

}  // namespace kf
