// SPDX-License-Identifier: Apache-2.0
#include "gates/reference.h"

#include <algorithm>
#include <cstring>

#include "gates/damage.h"
#include "gates/elements.h"
#include "gates/excuse.h"
#include "gates/unwritten.h"

namespace kf {
namespace {

constexpr std::string_view kBefore = "__in";  // an inout tensor's contents before the launch

[[noreturn]] void fail(const std::string& what) {
  throw RigFailure{{Fault::Kind::kRig, "garbage", what}};
}

std::size_t index_of(const Case& of, std::string_view name) {
  const auto found = std::ranges::find(of.tensors, name, &Tensor::name);
  return static_cast<std::size_t>(found - of.tensors.begin());
}

bool wrong_in(const std::vector<Mismatch>& outputs) {
  return std::ranges::any_of(outputs, [](const Mismatch& output) { return output.wrong > 0; });
}

bool wants_exact(const Bound& bound, const std::string& family) {
  return std::ranges::find(bound.exact, family) != bound.exact.end();
}
// The reference, rounded. It may lie in the middle between two values of a narrow type; of float32 and wider ones it is
// one, and a quarter of the upper binade's ulp leaves no room for a neighbour.
Bound exact_bound(Dtype dtype) {
  Bound bound;
  bound.ulp = mantissa_bits(dtype) >= mantissa_bits(Dtype::kFloat32) ? 0.25 : 0.5;
  return bound;
}

std::vector<double> read_values(const Bytes& buffer, Reference::Form form) {
  std::vector<double> values(buffer.size() / sizeof(double));
  if (form == Reference::Form::kFloat64) {
    std::memcpy(values.data(), buffer.data(), buffer.size());
    return values;
  }
  const std::size_t stride = form == Reference::Form::kFloat32 ? sizeof(float) : 2 * sizeof(float);
  for (std::size_t i = 0; i < values.size(); ++i) {
    float parts[2] = {0.0F, 0.0F};
    std::memcpy(parts, buffer.data() + i * stride, stride);
    values[i] = parts[0] + parts[1];
  }
  return values;
}

}  // namespace

int dim_of_axis(const Tensor& whole, const std::string& axis) {
  const auto found = std::ranges::find(whole.dims, axis);
  return axis.empty() || found == whole.dims.end() ? -1 : static_cast<int>(found - whole.dims.begin());
}

Tensor part_of(Tensor whole, const Window& window) {
  if (const int dim = dim_of_axis(whole, window.axis); dim >= 0) {
    whole.extent[static_cast<std::size_t>(dim)] = window.extent;
  }
  return whole;
}

std::int64_t offset_in(const Tensor& whole, const Window& window) {
  const int dim = dim_of_axis(whole, window.axis);
  return dim < 0 ? 0 : window.first * whole.stride[static_cast<std::size_t>(dim)] * size_in_bytes(whole.dtype);
}

// One slice: where it starts, what it works on, and its own float64 buffers (poisoned and released at its end).
struct Reference::Part {
  const Case* slice = nullptr;
  const ResolvedPlan* plan = nullptr;
  std::int64_t first = 0, extent = 0;
  bool last = false;
  std::string axis;
  std::vector<BufferHandle> tensors;  // of slice->tensors
  std::vector<std::int64_t> offsets;
  std::vector<bool> own;  // ... allocated here
};

void Reference::run_part(const Part& part, const CaseBuffers& buffers) {
  const OrFault<ModuleHandle> loaded = modules_.of(*part.plan);
  const ModuleHandle module = bench_.must(loaded, "loading the reference");
  std::vector<BufferHandle> workspaces;
  for (const Workspace& workspace : part.plan->workspaces) {
    workspaces.push_back(bench_.must(bench_.device().allocate({workspace.bytes, 0}), "allocating for the reference"));
    bench_.must(bench_.device().zero(workspaces.back()), "zeroing for the reference");
  }
  if (!part.plan->launches.empty()) {
    bench_.must(bench_.device().run(module, *part.plan, part.tensors, workspaces, part.offsets),
                "running the reference of " + buffers.of().id.value);
  }
  for (const BufferHandle workspace : workspaces) {
    bench_.must(bench_.device().zero(workspace), "scrubbing the reference");
    bench_.device().release(workspace);
  }
}

Reference::Part Reference::slice_at(const ReferencePlan& plan, const Case& whole, std::int64_t first) {
  const auto axis = whole.axes.find(plan.axis);
  const std::int64_t total = axis == whole.axes.end() ? 0 : axis->second;
  const std::int64_t step = total == 0 ? 0 : std::max<std::int64_t>(1, plan.extent);
  const bool tail = total - first < step;
  if (tail && (!plan.tail_case || !plan.tail_plan)) {
    fail("the reference of " + whole.id.value + " lacks the plan of its last slice");
  }
  Part part;
  part.slice = tail ? &*plan.tail_case : &plan.slice_case;
  part.plan = tail ? &*plan.tail_plan : &plan.plan;
  part.first = first;
  part.extent = tail ? total - first : step;
  part.axis = total == 0 ? "" : plan.axis;
  part.last = first + step >= total;
  return part;
}

// Inputs are the launch's own; what an inout tensor held before is made again from its seed.
void Reference::add_tensor(Part& part, const Tensor& tensor, const CaseBuffers& buffers, const Contents& contents,
                           std::uint64_t scrub_seed) {
  const Case& whole = buffers.of();
  Device& device = bench_.device();
  const bool before = tensor.name.ends_with(kBefore) && tensor.role == TensorRole::kInput &&
                      index_of(whole, tensor.name) == whole.tensors.size();
  const std::string name = before ? tensor.name.substr(0, tensor.name.size() - kBefore.size()) : tensor.name;
  const std::size_t at = index_of(whole, name);
  const bool own = before || tensor.role != TensorRole::kInput;
  if (!own && at == whole.tensors.size()) {
    fail("the reference reads " + name + ", which case " + whole.id.value + " lacks");
  }
  const std::int64_t bytes = before ? whole.tensors[at].span_bytes() : tensor.span_bytes();
  part.own.push_back(own);
  part.tensors.push_back(own ? bench_.must(device.allocate({bytes, 0}), "allocating the reference's " + name)
                             : buffers.tensors()[at]);
  if (own) {
    bench_.must(device.poison(part.tensors.back(), nan_poison(derive_seed(scrub_seed, 77))), "poisoning the reference");
  }
  if (before) {
    bench_.must(device.fill(part.tensors.back(), whole.tensors[at], contents.of(whole.tensors[at], at)),
                "filling " + name + " again");
  }
  part.offsets.push_back(
      tensor.role == TensorRole::kInput ? offset_in(whole.tensors[at], {part.axis, part.first, part.extent}) : 0);
}

void Reference::scrub_part(const Part& part, std::uint64_t scrub_seed) {
  for (std::size_t i = 0; i < part.tensors.size(); ++i) {
    if (part.own[i]) {
      bench_.must(bench_.device().poison(part.tensors[i], derive_seed(scrub_seed, 78)), "scrubbing the reference");
      bench_.device().release(part.tensors[i]);
    }
  }
}

template <class Use>
void Reference::for_each_part(std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                              std::uint64_t scrub_seed, const Use& use) {
  if (static_cast<std::size_t>(index) >= arm_.plans.size()) {
    fail("the job has no reference for case " + buffers.of().id.value);
  }
  const ReferencePlan& plan = arm_.plans[static_cast<std::size_t>(index)];
  std::int64_t first = 0;
  for (bool last = false; !last;) {
    Part part = slice_at(plan, buffers.of(), first);
    for (const Tensor& tensor : part.slice->tensors) {
      add_tensor(part, tensor, buffers, contents, scrub_seed);
    }
    run_part(part, buffers);
    use(part);
    scrub_part(part, scrub_seed);
    first += part.extent;
    last = part.last;
  }
}

std::vector<Mismatch> Reference::compare(std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                                         std::uint64_t scrub_seed) {
  const auto compared = [&](Strictness strictness) {
    return compare_once(index, buffers, contents, scrub_seed, strictness);
  };
  std::vector<Mismatch> found = compared(Strictness::kAsTheFamilyWants);
  if (!wrong_in(found)) {
    return found;
  }
  const bool exact = std::ranges::any_of(found, [&](const Mismatch& output) {
    const auto bound = job_.bounds.find(output.output);
    return output.wrong > output.unwritten && bound != job_.bounds.end() && wants_exact(bound->second, contents.family);
  });
  // Rules excuse what is outside of the bound; what is within it and not exact is another matter.
  std::vector<Mismatch> outside = exact ? compared(Strictness::kBoundOnly) : found;
  Excuses excuses(bench_, job_, index, buffers, contents);
  if (wrong_in(outside) && excuses.apply(*this, outside, derive_seed(scrub_seed, 79))) {
    found = compared(Strictness::kAsTheFamilyWants);
    outside = exact ? compared(Strictness::kBoundOnly) : found;
  }
  excuses.leave_out(found);
  excuses.leave_out(outside);
  excuses.restore();
  for (Mismatch& output : found) {
    output.inexact = exact && output.wrong > 0 && !wrong_in(outside);
  }
  return found;
}

CompareRequest Reference::request_for(const Part& part, const CaseBuffers& buffers, std::size_t output,
                                      const Contents& contents, Strictness strictness) const {
  const Case& whole = buffers.of();
  const Tensor& tensor = whole.tensors[output];
  CompareRequest request;
  request.out = buffers.tensors()[output];
  request.tensor = &tensor;
  request.ref = request.condition = part.tensors[computed(part, tensor.name)];
  if (const auto bound = job_.bounds.find(tensor.name); bound != job_.bounds.end()) {
    const bool exact = strictness == Strictness::kAsTheFamilyWants && wants_exact(bound->second, contents.family);
    request.bound = exact ? exact_bound(tensor.dtype) : bound->second;
  }
  if (!request.bound.condition.empty()) {
    request.condition = part.tensors[computed(part, request.bound.condition)];
    request.has_condition = true;
  }
  request.slice_dim = dim_of_axis(tensor, part.axis);
  request.slice_first = request.slice_dim < 0 ? 0 : part.first;
  request.slice_extent = request.slice_dim < 0 ? 0 : part.extent;
  request.poison_seed = buffers.tensor_poison(output);
  request.nonfinite_unspecified = job_.nonfinite == Nonfinite::kUnspecified;
  if (request.slice_dim < 0 && !part.axis.empty() && part.extent != whole.axes.at(part.axis)) {
    fail("output " + tensor.name + " has no dim " + part.axis + ", along which its reference is cut");
  }
  return request;
}

// What is wrong in one output, what of it nobody wrote where that is not all, and how many of the wrong elements hold
// poison of other seeds (unwritten.h).
struct Reference::Found {
  Mismatch wrong, holes;
  std::int64_t others = 0;
};

void Reference::compare_part(CompareRequest request, Found& into) {
  const Tensor& tensor = *request.tensor;
  const auto compared = [&] { return bench_.must(bench_.device().compare(request), "comparing " + tensor.name); };
  const bool sliced_last = request.slice_dim == static_cast<int>(tensor.extent.size()) - 1 && request.slice_dim >= 0;
  const Mismatch slice = compared();
  merge_mismatch(into.wrong, slice, sliced_last);
  const std::uint64_t poison_seed = request.poison_seed;
  for (std::uint64_t other = 1; slice.wrong > 0 && poison_by_chance(tensor.dtype) && other <= kOtherPoisons; ++other) {
    request.poison_seed = alike_poison(derive_seed(poison_seed, 90 + other), poison_seed);
    into.others += compared().unwritten;
  }
  request.poison_seed = poison_seed;
  if (slice.unwritten > 0 && slice.unwritten < slice.wrong && is_floating(tensor.dtype)) {
    request.bound = {};
    request.has_condition = false;
    request.condition = request.ref;
    request.only_unwritten = true;
    merge_mismatch(into.holes, compared(), sliced_last);
  }
}

std::vector<Mismatch> Reference::compare_once(std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                                              std::uint64_t scrub_seed, Strictness strictness) {
  const Case& whole = buffers.of();
  std::vector<Found> found;
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
    if (whole.tensors[i].role != TensorRole::kInput) {
      outputs.push_back(i);
      found.emplace_back();
      found.back().wrong.output = found.back().holes.output = whole.tensors[i].name;
    }
  }
  for_each_part(index, buffers, contents, scrub_seed, [&](const Part& part) {
    for (std::size_t n = 0; n < outputs.size(); ++n) {
      if (whole.tensors[outputs[n]].elements() > 0) {
        compare_part(request_for(part, buffers, outputs[n], contents, strictness), found[n]);
      }
    }
  });
  std::vector<Mismatch> result;
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    const Tensor& tensor = whole.tensors[outputs[n]];
    auto& [wrong, holes, others] = found[n];
    wrong.unwritten = really_unwritten(wrong, tensor.dtype, others) ? wrong.unwritten : 0;
    wrong.shape = describe_damage(wrong, tensor);
    if (wrong.unwritten > 0 && holes.wrong > 0 && holes.wrong == holes.unwritten && holes.wrong < wrong.wrong) {
      holes.elements = wrong.elements, holes.rows = wrong.rows, holes.columns = wrong.columns;
      wrong.shape += "; of these, " + describe_damage(holes, tensor);
    }
    result.push_back(std::move(wrong));
  }
  return result;
}

std::size_t Reference::computed(const Part& part, const std::string& name) {
  const std::size_t at = index_of(*part.slice, name);
  if (at == part.slice->tensors.size()) {
    fail("the reference does not compute output " + name);
  }
  return at;
}

std::vector<double> Reference::values_of(const Part& part, std::size_t at, Form form) {
  const std::int64_t bytes = part.slice->tensors[at].span_bytes();
  return read_values(bench_.must(bench_.device().read(part.tensors[at], 0, bytes), "reading the reference"), form);
}

std::vector<double> Reference::values(std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                                      const std::string& output, std::uint64_t scrub_seed, Form form) {
  std::vector<double> values;
  for_each_part(index, buffers, contents, scrub_seed, [&](const Part& part) {
    const std::size_t ref = computed(part, output);
    const Tensor& tensor = part.slice->tensors[ref];
    const std::vector<double> slice = values_of(part, ref, form);
    const int dim = dim_of_axis(tensor, part.axis);
    const std::int64_t whole = dim < 0 ? 0 : buffers.of().axes.at(part.axis);
    // Rows of the slice to their places in the whole: all dims behind the cut one are contiguous in both.
    std::int64_t inner = 1, outer = 1;
    for (int d = 0; d < static_cast<int>(tensor.extent.size()); ++d) {
      (d < dim ? outer : inner) *= d == dim ? 1 : tensor.extent[static_cast<std::size_t>(d)];
    }
    const std::int64_t extent = dim < 0 ? 1 : part.extent, total = dim < 0 ? 1 : whole;
    values.resize(static_cast<std::size_t>(outer * total * inner));
    for (std::int64_t o = 0; o < outer && extent * inner > 0; ++o) {
      std::copy_n(slice.begin() + o * extent * inner, extent * inner,
                  values.begin() + (o * total + (dim < 0 ? 0 : part.first)) * inner);
    }
  });
  return values;
}

void Reference::each_slice(std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                           const std::string& output, const std::string& condition, std::uint64_t scrub_seed,
                           const Seen& seen) {
  for_each_part(index, buffers, contents, scrub_seed, [&](const Part& part) {
    const auto of = [&](const std::string& name) { return values_of(part, computed(part, name), Form::kFloat64); };
    seen({part.axis, part.first, part.extent}, of(output), condition.empty() ? std::vector<double>{} : of(condition));
  });
}

Bytes read_elements(Bench& bench, const CaseBuffers& buffers, std::size_t index, const Window& window) {
  const Tensor& whole = buffers.of().tensors[index];
  const Tensor part = part_of(whole, window);
  return dense_elements(
      bench.must(bench.device().read(buffers.tensors()[index], offset_in(whole, window), part.span_bytes()), "reading"),
      part);
}

}  // namespace kf
