// SPDX-License-Identifier: Apache-2.0
#include "gates/influence.h"

#include <algorithm>
#include <cmath>

#include "gates/elements.h"
#include "gates/moved_inputs.h"

namespace kf {
namespace {

// One half of an input along one of its dims.
struct Half {
  std::size_t input = 0, dim = 0;
  bool second = false;
  bool holds(std::int64_t index, std::int64_t extent) const { return second == (index >= extent / 2); }
};

// Calls visit(n, index along `dim`) for the dense elements of these extents; -1 without a dim.
template <class Visit>
void for_each_along(const std::vector<std::int64_t>& extent, int dim, const Visit& visit) {
  std::int64_t inner = 1, elements = 1;
  for (std::size_t d = 0; d < extent.size(); ++d) {
    inner *= static_cast<int>(d) > dim ? extent[d] : 1;
    elements *= extent[d];
  }
  for (std::int64_t n = 0; n < elements; ++n) {
    visit(static_cast<std::size_t>(n), dim < 0 ? -1 : n / inner % extent[static_cast<std::size_t>(dim)]);
  }
}

struct Felt {
  bool mixes = false, felt = false;
};

class Influence {
 public:
  Influence(Bench& bench, const Job& job, Reference& reference, const CheckPoint& point)
      : bench_(bench),
        job_(job),
        reference_(reference),
        point_(point),
        of_(job.cases[static_cast<std::size_t>(point.case_index)]),
        seed_(derive_seed(seed_at(point, 0), 1300)),
        contents_{point.family, seed_, &job.families},
        buffers_(bench, of_, no_workspaces_, 0) {
    buffers_.renew(contents_, derive_seed(seed_, 1));
    usual_ = outputs();
  }

  Felt of(const Half& half) {
    const Tensor& input = of_.tensors[half.input];
    const Bytes before = replace(half);
    const std::vector<Output> changed = outputs();
    bench_.must(bench_.device().write(buffers_.tensors()[half.input], 0, before), "putting an input back");
    Felt felt;
    for (std::size_t i = 0; i < usual_.size(); ++i) {
      const Tensor& output = *usual_[i].tensor;
      const int dim = dim_of_axis(output, input.dims[half.dim]);
      for_each_along(output.extent, dim, [&](std::size_t n, std::int64_t at) {
        const std::int64_t extent = dim < 0 ? 0 : output.extent[static_cast<std::size_t>(dim)];
        const double now = changed[i].values[n], then = usual_[i].values[n];
        if ((dim >= 0 && half.holds(at, extent)) || !(std::abs(now - then) > 1e-12 * std::abs(then))) {
          return;
        }
        felt.mixes = true;
        const double rounded = decode_element(encode_element(now, output.dtype), output.dtype);
        felt.felt = felt.felt || !(std::abs(rounded - then) <= usual_[i].allowed(n));
      });
    }
    return felt;
  }

 private:
  struct Output {
    const Tensor* tensor;
    Bound bound;
    std::vector<double> values, conditions;
    double allowed(std::size_t n) const { return allowed_error(bound, tensor->dtype, values[n], conditions[n]); }
  };

  std::vector<Output> outputs() {
    std::vector<Output> found;
    for (const Tensor& tensor : of_.tensors) {
      if (tensor.role == TensorRole::kInput) {
        continue;
      }
      const auto bound = job_.bounds.find(tensor.name);
      Output output{&tensor, bound == job_.bounds.end() ? Bound{} : bound->second, values(tensor.name), {}};
      output.conditions = output.bound.condition.empty() ? output.values : values(output.bound.condition);
      found.push_back(std::move(output));
    }
    return found;
  }
  std::vector<double> values(const std::string& name) {
    return reference_.values(point_.case_index, buffers_, contents_, name, derive_seed(seed_, 2));
  }

  // Other contents for the half; what the buffer held before.
  Bytes replace(const Half& half) {
    const Tensor& tensor = of_.tensors[half.input];
    const auto read = [&] {
      return bench_.must(bench_.device().read(buffers_.tensors()[half.input], 0, tensor.span_bytes()), "reading");
    };
    const Bytes before = read();
    const Contents other{point_.family, derive_seed(seed_, 10), &job_.families};
    bench_.must(bench_.device().fill(buffers_.tensors()[half.input], tensor, other.of(tensor, half.input)), "filling");
    Bytes span = read();
    const Bytes fresh = dense_elements(span, tensor);
    Bytes dense = dense_elements(before, tensor);
    const auto size = static_cast<std::size_t>(size_in_bytes(tensor.dtype));
    for_each_along(tensor.extent, static_cast<int>(half.dim), [&](std::size_t n, std::int64_t at) {
      if (half.holds(at, tensor.extent[half.dim])) {
        std::copy_n(fresh.begin() + static_cast<std::ptrdiff_t>(n * size), size,
                    dense.begin() + static_cast<std::ptrdiff_t>(n * size));
      }
    });
    place_elements(dense, tensor, span);
    bench_.must(bench_.device().write(buffers_.tensors()[half.input], 0, span), "writing half an input");
    return before;
  }

  Bench& bench_;
  const Job& job_;
  Reference& reference_;
  const CheckPoint& point_;
  const Case& of_;
  std::uint64_t seed_;
  Contents contents_;
  std::vector<Workspace> no_workspaces_;
  CaseBuffers buffers_;
  std::vector<Output> usual_;
};

std::vector<Half> halves_of(const Case& of) {
  std::vector<Half> halves;
  for (std::size_t i = 0; i < of.tensors.size(); ++i) {
    const Tensor& tensor = of.tensors[i];
    for (std::size_t dim = 0; dim < tensor.extent.size(); ++dim) {
      if (tensor.role == TensorRole::kInput && tensor.values.empty() && tensor.extent[dim] > 1) {
        halves.push_back({i, dim, false});
        halves.push_back({i, dim, true});
      }
    }
  }
  return halves;
}

// What was found for one input along one dim, over all cases.
struct Found {
  std::int64_t cases = 0, felt = 0;
  std::string ignored_on;
};

}  // namespace

std::vector<AdmissionRow> influence_rows(Bench& bench, const Job& job, Reference& reference) {
  Map<Found> found;
  for (std::size_t first = 0; first < job.influence.size();) {
    const std::int32_t index = job.influence[first].case_index;
    const Case& of = job.cases[static_cast<std::size_t>(index)];
    const std::vector<Half> halves = halves_of(of);
    std::vector<Felt> best(halves.size());
    std::string families;
    for (; first < job.influence.size() && job.influence[first].case_index == index; ++first) {
      Influence influence(bench, job, reference, job.influence[first]);
      families += (families.empty() ? "" : ", ") + job.influence[first].family;
      for (std::size_t i = 0; i < halves.size(); ++i) {
        if (!best[i].felt) {
          const Felt felt = influence.of(halves[i]);
          best[i] = {best[i].mixes || felt.mixes, felt.felt};
        }
      }
    }
    for (std::size_t i = 0; i < halves.size(); ++i) {
      if (!best[i].mixes) {
        continue;
      }
      const Tensor& input = of.tensors[halves[i].input];
      Found& entry = found[input.name + " along " + input.dims[halves[i].dim]];
      ++entry.cases;
      entry.felt += best[i].felt ? 1 : 0;
      if (!best[i].felt && entry.ignored_on.empty()) {
        entry.ignored_on = "the extents of " + of.id.value + " with contents " + families;
      }
    }
  }
  std::vector<AdmissionRow> rows;
  for (const auto& [name, entry] : found) {
    AdmissionRow row{"half of " + name, "cannot be ignored at timed extents", "", entry.felt == entry.cases};
    row.found = row.ok ? "moves the answer beyond the bound in all " + std::to_string(entry.cases) + " trials"
                       : "stays within the bound on " + entry.ignored_on +
                             ": a kernel that reads half of it would pass; list a family with more variation (mixed, "
                             "spikes) for this input, or tighten the bound";
    rows.push_back(std::move(row));
  }
  if (job.influence.empty()) {
    rows.push_back({"halves of the inputs", "cannot be ignored at timed extents",
                    "not tried: no timed case of this device can be cut to a small one along the axis of the "
                    "reference's \"slice\"; add a small timed case, or such an axis",
                    true, false});
  } else if (rows.empty()) {
    rows.push_back({"halves of the inputs", "cannot be ignored at timed extents",
                    "no output depends on another part of an input than its own", true});
  }
  return rows;
}

}  // namespace kf
