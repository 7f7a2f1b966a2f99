// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "gates/bench.h"

namespace kf {

// The float64 reference of a job's cases. It runs after the launch that it judges, on the same contents, and leaves
// nothing behind: its buffers are poisoned again before they are released.
class Reference {
 public:
  Reference(Bench& bench, const Job& job) : bench_(bench), job_(job), modules_(bench, job.reference.builds) {}

  // Every output of `buffers` (a launch of job.cases[index] with `contents`) against the reference, slice by slice.
  // One Mismatch for each output, in the case's order; wrong == 0: within its bound.
  std::vector<Mismatch> compare(std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                                std::uint64_t scrub_seed);

  // The reference's own values of one output, dense, on the host: for admission's null candidates.
  std::vector<double> values(std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                             const std::string& output, std::uint64_t scrub_seed);

 private:
  struct Part;
  template <class Use>
  void for_each_part(std::int32_t index, const CaseBuffers& buffers, const Contents& contents, std::uint64_t scrub_seed,
                     const Use& use);
  void run_part(const Part& part, const CaseBuffers& buffers);

  Bench& bench_;
  const Job& job_;
  Modules modules_;
};

// The dim of `whole` along which `axis` runs; -1: none.
int dim_of_axis(const Tensor& whole, const std::string& axis);

}  // namespace kf
