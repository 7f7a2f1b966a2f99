// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "gates/bench.h"
#include "gates/reference.h"

namespace kf {

// What admission does with the baseline of a job: its contents, its launches, its answers on the host, and what the
// reference says of them. Everything goes through host memory: for cases of moderate size.
class Trial {
 public:
  Trial(Bench& bench, const Job& job, Reference& reference)
      : bench_(bench), job_(job), reference_(reference), modules_(bench, job.arms[0].builds) {}

  const Case& case_of(const CheckPoint& point) const { return job_.cases[static_cast<std::size_t>(point.case_index)]; }
  const ResolvedPlan& plan_of(const CheckPoint& point) const {
    return job_.arms[0].plans[static_cast<std::size_t>(point.case_index)];
  }
  Contents contents(const CheckPoint& point, std::uint64_t seed) const { return {point.family, seed, &job_.families}; }

  // Buffers with the point's contents.
  CaseBuffers prepared(const CheckPoint& point, std::uint64_t seed);
  OrFault<void> run_baseline(const CaseBuffers& buffers, const ResolvedPlan& plan);
  // What the outputs hold, as the answer to the contents of `seed`.
  std::vector<Mismatch> judged(const CheckPoint& point, const CaseBuffers& buffers, std::uint64_t seed,
                               std::uint64_t scrub_seed);
  static bool all_pass(const std::vector<Mismatch>& outputs);
  void write_elements(const CaseBuffers& buffers, std::size_t index, const Bytes& dense);

 private:
  Bench& bench_;
  const Job& job_;
  Reference& reference_;
  Modules modules_;
};

}  // namespace kf
