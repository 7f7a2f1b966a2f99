// SPDX-License-Identifier: Apache-2.0
#include "gates/reference.h"

#include <algorithm>
#include <cstring>

#include "gates/damage.h"

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

}  // namespace

int dim_of_axis(const Tensor& whole, const std::string& axis) {
  const auto found = std::ranges::find(whole.dims, axis);
  return axis.empty() || found == whole.dims.end() ? -1 : static_cast<int>(found - whole.dims.begin());
}

// One slice: where it starts, what it works on, and its own float64 buffers (poisoned and released at its end).
struct Reference::Part {
  const Case* slice = nullptr;
  const ResolvedPlan* plan = nullptr;
  std::int64_t first = 0, extent = 0;
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

template <class Use>
void Reference::for_each_part(std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                              std::uint64_t scrub_seed, const Use& use) {
  if (static_cast<std::size_t>(index) >= job_.reference.plans.size()) {
    fail("the job has no reference for case " + buffers.of().id.value);
  }
  const ReferencePlan& plan = job_.reference.plans[static_cast<std::size_t>(index)];
  const Case& whole = buffers.of();
  const auto axis = whole.axes.find(plan.axis);
  const std::int64_t total = axis == whole.axes.end() ? 0 : axis->second;
  const std::int64_t step = total == 0 ? 0 : std::max<std::int64_t>(1, plan.extent);
  Device& device = bench_.device();
  std::int64_t first = 0;
  do {
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
    for (const Tensor& tensor : part.slice->tensors) {
      const bool before = tensor.name.ends_with(kBefore) && tensor.role == TensorRole::kInput &&
                          index_of(whole, tensor.name) == whole.tensors.size();
      const std::string name = before ? tensor.name.substr(0, tensor.name.size() - kBefore.size()) : tensor.name;
      const std::size_t at = index_of(whole, name);
      part.own.push_back(before || tensor.role != TensorRole::kInput);
      if (!part.own.back() && at == whole.tensors.size()) {
        fail("the reference reads " + name + ", which case " + whole.id.value + " lacks");
      }
      // Inputs are the launch's own; what an inout tensor held before is made again from its seed.
      const std::int64_t bytes = before ? whole.tensors[at].span_bytes() : tensor.span_bytes();
      part.tensors.push_back(part.own.back()
                                 ? bench_.must(device.allocate({bytes, 0}), "allocating the reference's " + name)
                                 : buffers.tensors()[at]);
      if (part.own.back()) {
        bench_.must(device.poison(part.tensors.back(), derive_seed(scrub_seed, 77)), "poisoning the reference");
      }
      if (before) {
        bench_.must(device.fill(part.tensors.back(), whole.tensors[at], contents.of(whole.tensors[at], at)),
                    "filling " + name + " again");
      }
      std::int64_t offset = 0;
      if (tensor.role == TensorRole::kInput) {
        const int dim = dim_of_axis(whole.tensors[at], part.axis);
        offset =
            dim < 0 ? 0 : first * whole.tensors[at].stride[static_cast<std::size_t>(dim)] * size_in_bytes(tensor.dtype);
      }
      part.offsets.push_back(offset);
    }
    run_part(part, buffers);
    use(part);
    for (std::size_t i = 0; i < part.tensors.size(); ++i) {
      if (part.own[i]) {
        bench_.must(device.poison(part.tensors[i], derive_seed(scrub_seed, 78)), "scrubbing the reference");
        device.release(part.tensors[i]);
      }
    }
    first += step;
  } while (first < total);
}

std::vector<Mismatch> Reference::compare(std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                                         std::uint64_t scrub_seed) {
  const Case& whole = buffers.of();
  std::vector<Mismatch> found, holes;
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < whole.tensors.size(); ++i) {
    if (whole.tensors[i].role != TensorRole::kInput) {
      outputs.push_back(i);
      found.emplace_back();
      found.back().output = whole.tensors[i].name;
      holes.push_back(found.back());
    }
  }
  for_each_part(index, buffers, contents, scrub_seed, [&](const Part& part) {
    for (std::size_t n = 0; n < outputs.size(); ++n) {
      const Tensor& tensor = whole.tensors[outputs[n]];
      if (tensor.elements() == 0) {
        continue;
      }
      const std::size_t ref = index_of(*part.slice, tensor.name);
      if (ref == part.slice->tensors.size()) {
        fail("the reference does not compute output " + tensor.name);
      }
      CompareRequest request;
      request.out = buffers.tensors()[outputs[n]];
      request.tensor = &tensor;
      request.ref = request.condition = part.tensors[ref];
      if (const auto bound = job_.bounds.find(tensor.name); bound != job_.bounds.end()) {
        request.bound = bound->second;
      }
      if (!request.bound.condition.empty()) {
        const std::size_t condition = index_of(*part.slice, request.bound.condition);
        if (condition == part.slice->tensors.size()) {
          fail("the reference does not compute " + request.bound.condition);
        }
        request.condition = part.tensors[condition];
        request.has_condition = true;
      }
      request.slice_dim = dim_of_axis(tensor, part.axis);
      request.slice_first = request.slice_dim < 0 ? 0 : part.first;
      request.slice_extent = request.slice_dim < 0 ? 0 : part.extent;
      request.poison_seed = buffers.tensor_poison(outputs[n]);
      request.nonfinite_unspecified = job_.nonfinite == Nonfinite::kUnspecified;
      if (request.slice_dim < 0 && !part.axis.empty() && part.extent != whole.axes.at(part.axis)) {
        fail("output " + tensor.name + " has no dim " + part.axis + ", along which its reference is cut");
      }
      const Mismatch slice = bench_.must(bench_.device().compare(request), "comparing " + tensor.name);
      const bool sliced_last =
          request.slice_dim == static_cast<int>(tensor.extent.size()) - 1 && request.slice_dim >= 0;
      merge_mismatch(found[n], slice, sliced_last);
      if (slice.unwritten > 0 && slice.unwritten < slice.wrong && is_floating(tensor.dtype)) {
        request.bound = {1e30, 0.0, "", 0.0, {}};  // poison is NaN: only what nobody wrote still fails
        request.has_condition = false;
        request.condition = request.ref;
        merge_mismatch(holes[n], bench_.must(bench_.device().compare(request), "comparing " + tensor.name),
                       sliced_last);
      }
    }
  });
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    found[n].shape = describe_damage(found[n], whole.tensors[outputs[n]]);
    if (holes[n].wrong > 0 && holes[n].wrong == holes[n].unwritten && holes[n].wrong < found[n].wrong) {
      holes[n].elements = found[n].elements, holes[n].rows = found[n].rows, holes[n].columns = found[n].columns;
      found[n].shape += "; of these, " + describe_damage(holes[n], whole.tensors[outputs[n]]);
    }
  }
  return found;
}

std::vector<double> Reference::values(std::int32_t index, const CaseBuffers& buffers, const Contents& contents,
                                      const std::string& output, std::uint64_t scrub_seed) {
  std::vector<double> values;
  for_each_part(index, buffers, contents, scrub_seed, [&](const Part& part) {
    const std::size_t ref = index_of(*part.slice, output);
    if (ref == part.slice->tensors.size()) {
      fail("the reference does not compute output " + output);
    }
    const std::int64_t bytes = part.slice->tensors[ref].span_bytes();
    const Bytes dense = bench_.must(bench_.device().read(part.tensors[ref], 0, bytes), "reading the reference");
    const std::size_t before = values.size();
    values.resize(before + dense.size() / sizeof(double));
    std::memcpy(values.data() + before, dense.data(), dense.size());
  });
  return values;
}

}  // namespace kf
