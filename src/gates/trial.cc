// SPDX-License-Identifier: Apache-2.0
#include "gates/trial.h"

#include <algorithm>

#include "gates/elements.h"

namespace kf {

CaseBuffers Trial::prepared(const CheckPoint& point, std::uint64_t seed) {
  CaseBuffers buffers(bench_, case_of(point), plan_of(point).workspaces, 0);
  buffers.renew(contents(point, seed), derive_seed(seed, 70));
  return buffers;
}

OrFault<void> Trial::run_baseline(const CaseBuffers& buffers, const ResolvedPlan& plan) {
  const ModuleHandle module = bench_.must(modules_.of(plan), "loading the baseline");
  return bench_.tried(bench_.device().run(module, plan, buffers.tensors(), buffers.workspaces(), {}));
}

std::vector<Mismatch> Trial::judged(const CheckPoint& point, const CaseBuffers& buffers, std::uint64_t seed,
                                    std::uint64_t scrub_seed) {
  return reference_.compare(point.case_index, buffers, contents(point, seed), scrub_seed);
}

bool Trial::all_pass(const std::vector<Mismatch>& outputs) {
  return std::ranges::all_of(outputs, [](const Mismatch& m) { return m.wrong == 0; });
}

void Trial::write_elements(const CaseBuffers& buffers, std::size_t index, const Bytes& dense) {
  const Tensor& tensor = buffers.of().tensors[index];
  Bytes span = bench_.must(bench_.device().read(buffers.tensors()[index], 0, tensor.span_bytes()), "reading");
  place_elements(dense, tensor, span);
  bench_.must(bench_.device().write(buffers.tensors()[index], 0, span), "writing an answer");
}

}  // namespace kf
