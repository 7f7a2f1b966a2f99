// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gates/bench.h"

namespace kf {

// Part of a case: indices [first, first + extent) of one axis. No axis: all of it.
struct Window {
  std::string axis;
  std::int64_t first = 0, extent = 0;
};

// What of `whole` lies in a window, as a tensor of its own with the strides of `whole`; offset_in: where it begins in
// the buffer of `whole`, in bytes.
Tensor part_of(Tensor whole, const Window& window);
std::int64_t offset_in(const Tensor& whole, const Window& window);

// The elements of one tensor of a launch, or of its part in a window, dense and row-major, as its buffer holds them.
Bytes read_elements(Bench& bench, const CaseBuffers& buffers, std::size_t index, const Window& window = {});

// The float64 reference of a job's cases. It runs after the launch that it judges, on the same contents, and leaves
// nothing behind: its buffers are poisoned again before they are released.
class Reference {
 public:
  Reference(Bench& bench, const Job& job) : Reference(bench, job, job.reference) {}
  // Another compilation of the reference (ReferenceVariant), for values().
  Reference(Bench& bench, const Job& job, const ReferenceArm& arm)
      : bench_(bench), job_(job), arm_(arm), modules_(bench, arm.builds) {}

  // Every output of `buffers` (a launch of job.cases[index] with `contents`) against the reference, slice by slice.
  // One Mismatch for each output, in the case's order; wrong == 0: within its bound, or excused by a rule of the spec
  // (excuse.h). Outputs keep what the launch wrote.
  std::vector<Mismatch> compare(std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                                std::uint64_t scrub_seed);

  // How the elements of an output lie in its buffer, which has eight bytes for each.
  enum class Form : std::uint8_t { kFloat64, kFloat32, kFloat32Pairs };
  // The reference's own values of one output or condition, dense and row-major, on the host.
  std::vector<double> values(std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                             const std::string& output, std::uint64_t scrub_seed, Form form = Form::kFloat64);

  // The values of one output and of the condition of its bound (empty: none), slice by slice: `seen` gets the part of
  // the case, then both, dense and row-major.
  using Seen =
      std::function<void(const Window& part, const std::vector<double>& wanted, const std::vector<double>& conditions)>;
  void each_slice(std::int32_t index, const CaseBuffers& buffers, const Contents& contents, const std::string& output,
                  const std::string& condition, std::uint64_t scrub_seed, const Seen& seen);

 private:
  struct Part;
  enum class Strictness : std::uint8_t { kAsTheFamilyWants, kBoundOnly };
  std::vector<Mismatch> compare_once(std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                                     std::uint64_t scrub_seed, Strictness strictness);
  template <class Use>
  void for_each_part(std::int32_t index, const CaseBuffers& buffers, const Contents& contents, std::uint64_t scrub_seed,
                     const Use& use);
  // Where a slice has an output or condition among its tensors, and what it holds there.
  static std::size_t computed(const Part& part, const std::string& name);
  std::vector<double> values_of(const Part& part, std::size_t at, Form form);
  static Part slice_at(const ReferencePlan& plan, const Case& whole, std::int64_t first);
  void add_tensor(Part& part, const Tensor& tensor, const CaseBuffers& buffers, const Contents& contents,
                  std::uint64_t scrub_seed);
  void run_part(const Part& part, const CaseBuffers& buffers);
  void scrub_part(const Part& part, std::uint64_t scrub_seed);
  CompareRequest request_for(const Part& part, const CaseBuffers& buffers, std::size_t output, const Contents& contents,
                             Strictness strictness) const;
  struct Found;
  void compare_part(CompareRequest request, Found& into);

  Bench& bench_;
  const Job& job_;
  const ReferenceArm& arm_;
  Modules modules_;
};

// The dim of `whole` along which `axis` runs; -1: none.
int dim_of_axis(const Tensor& whole, const std::string& axis);

}  // namespace kf
