// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "gates/trial.h"

namespace kf {

// Of a spec's bounds: do honest float32 kernels fit? Several orders of summation are tried on the same contents: the
// reference itself in float32 (ReferenceVariant), in pairs of sums, and the baseline. Each must stay within half of the
// bound, except where a 1-ulp change of the inputs moves the float64 reference out of it: such elements are
// ill-conditioned, are counted, and must be no more than the spec says. Where the spec calls contents exact, every
// order must give the reference, rounded. Integers have no bound: of them only ill-conditioned elements are counted.
class AdmissionNumbers {
 public:
  AdmissionNumbers(Bench& bench, const Job& job, Reference& reference, Trial& trial)
      : bench_(bench), job_(job), reference_(reference), trial_(trial) {}

  void look_at(const CheckPoint& point);
  std::vector<AdmissionRow> rows() const;

 private:
  // One order's answers over all points.
  struct Order {
    std::string name, not_tried;
    std::int64_t elements = 0, beyond = 0;  // of well-conditioned elements, outside of half the bound
    double worst_ratio = 0;                 // error over bound
    std::string worst_at;
    std::int64_t inexact = 0;  // elements of exact contents that are not the reference, rounded
  };
  struct Output {
    std::int64_t elements = 0, moved = 0, ill_conditioned = 0;
    std::string not_tried;
    // Families that the spec does not call exact though all orders agree bit for bit; and those that it does.
    Map<bool> exact_families;
  };
  struct Answers {
    std::size_t order = 0;
    std::vector<double> values;
  };

  bool is_index(const Tensor& tensor) const;
  Order& order(std::size_t index, const std::string& name);
  std::vector<Answers> answers(const CheckPoint& point, const CaseBuffers& buffers, const Contents& contents,
                               std::size_t output, std::uint64_t seed);
  void judge(const CheckPoint& point, const Tensor& tensor, const std::vector<Answers>& answers,
             const std::vector<double>& wanted, const std::vector<double>& conditions,
             const std::vector<double>& moved);
  void judge_exact(const CheckPoint& point, const Tensor& tensor, const std::vector<Answers>& answers,
                   const std::vector<double>& wanted);
  AdmissionRow row_of(const Order& order) const;
  AdmissionRow row_of(const std::string& name, const Output& output) const;
  void add_exact_rows(std::vector<AdmissionRow>& rows) const;

  Bench& bench_;
  const Job& job_;
  Reference& reference_;
  Trial& trial_;
  std::vector<Order> orders_;
  Map<Output> outputs_;
};

}  // namespace kf
