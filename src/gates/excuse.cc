// SPDX-License-Identifier: Apache-2.0
#include "gates/excuse.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "gates/elements.h"
#include "gates/ill_conditioned.h"
#include "gates/moved_inputs.h"

namespace kf {
namespace {

constexpr std::int64_t kTiesBytes = 2LL << 30;  // these go through host memory

// For each element of `output`, the element of `indexed` that an index in it points to: a base offset, and the row of
// the output in which indices must differ.
struct Pointing {
  std::vector<std::int64_t> base;  // offset in `indexed`, in elements, of index 0
  std::vector<std::int64_t> row;
  std::int64_t stride = 0, extent = 0;
};

// The dim of `output` along which indices must differ: the one that is indexed (an order of it), else the last one that
// `indexed` lacks (ranks). -1: each element is a row of its own.
int dim_of_ranks(const Tensor& output, const Tensor& indexed, const std::string& along) {
  int ranks = -1;
  for (std::size_t dim = 0; dim < output.extent.size(); ++dim) {
    const int in = dim_of_axis(indexed, output.dims[dim]);
    if (in == dim_of_axis(indexed, along)) {
      return static_cast<int>(dim);
    }
    ranks = in < 0 ? static_cast<int>(dim) : ranks;
  }
  return ranks;
}

Pointing pointing(const Tensor& output, const Tensor& indexed, const std::string& along) {
  Pointing to;
  const auto at = static_cast<std::size_t>(dim_of_axis(indexed, along));
  to.stride = indexed.stride[at];
  to.extent = indexed.extent[at];
  std::vector<std::int64_t> step(output.extent.size(), 0);
  for (std::size_t dim = 0; dim < output.extent.size(); ++dim) {
    const int in = dim_of_axis(indexed, output.dims[dim]);
    step[dim] = in < 0 || in == static_cast<int>(at) ? 0 : indexed.stride[static_cast<std::size_t>(in)];
  }
  const int ranks = dim_of_ranks(output, indexed, along);
  std::vector<std::int64_t> index(output.extent.size(), 0);
  for (std::int64_t n = 0; n < output.elements(); ++n) {
    std::int64_t base = 0;
    std::int64_t row = 0;
    for (std::size_t dim = 0; dim < index.size(); ++dim) {
      base += index[dim] * step[dim];
      row = static_cast<int>(dim) == ranks ? row : row * output.extent[dim] + index[dim];
    }
    to.base.push_back(base);
    to.row.push_back(row);
    for (std::size_t dim = index.size(); dim-- > 0;) {
      if (++index[dim] < output.extent[dim]) {
        break;
      }
      index[dim] = 0;
    }
  }
  return to;
}

double value_at(const Bytes& span, std::int64_t element, Dtype dtype) {
  const auto size = static_cast<std::size_t>(size_in_bytes(dtype));
  const std::span<const std::byte> one(&span[static_cast<std::size_t>(element) * size], size);
  return decode_elements(one, dtype).front();
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

void Excuses::restore() {
  for (const Output& output : changed_) {
    bench_.must(bench_.device().write(buffers_.tensors()[output.index], 0, output.span), "putting an output back");
  }
}

void Excuses::leave_out(std::vector<Mismatch>& found) const {
  for (Mismatch& output : found) {
    const auto counted = counted_.find(output.output);
    output.wrong -= counted == counted_.end() ? 0 : std::min(counted->second, output.wrong);
  }
}

bool Excuses::apply(Reference& reference, const std::vector<Mismatch>& found, std::uint64_t scrub_seed) {
  const std::vector<Tensor>& tensors = buffers_.of().tensors;
  bool excused = false;
  for (const Mismatch& output : found) {
    const auto bound = job_.bounds.find(output.output);
    if (output.wrong == 0 || bound == job_.bounds.end()) {
      continue;
    }
    const auto index =
        static_cast<std::size_t>(std::ranges::find(tensors, output.output, &Tensor::name) - tensors.begin());
    if (!bound->second.ties_of.empty()) {
      excused = ties(reference, index, bound->second, derive_seed(scrub_seed, index)) || excused;
    }
    if (output.by_rms || output.unwritten > 0 || output.wrong > IllConditioned::most(bound->second, output.elements) ||
        !MovedInputs::why_not(job_, index_).empty()) {
      continue;
    }
    excused = ill_conditioned(reference, index, output, bound->second, derive_seed(scrub_seed, 100 + index)) || excused;
  }
  return excused;
}

// An index is right where the value that it points to equals the value at the reference's index, and no other element
// that points into the same row holds it too.
bool Excuses::ties(Reference& reference, std::size_t output, const Bound& bound, std::uint64_t scrub_seed) {
  const std::vector<Tensor>& tensors = buffers_.of().tensors;
  const auto input =
      static_cast<std::size_t>(std::ranges::find(tensors, bound.ties_of, &Tensor::name) - tensors.begin());
  if (input == tensors.size() || bytes_of(buffers_.of()) > kTiesBytes) {
    return false;
  }
  const Tensor& indexed = tensors[input];
  const Bytes values = bench_.must(bench_.device().read(buffers_.tensors()[input], 0, indexed.span_bytes()), "reading");
  Bytes span =
      bench_.must(bench_.device().read(buffers_.tensors()[output], 0, tensors[output].span_bytes()), "reading");
  const std::vector<double> indices = decode_elements(dense_elements(span, tensors[output]), tensors[output].dtype);
  const std::vector<double> wanted = reference.values(index_, buffers_, contents_, tensors[output].name, scrub_seed);
  const Pointing to = pointing(tensors[output], indexed, bound.ties_along);

  std::set<std::pair<std::int64_t, double>> seen;
  std::set<std::int64_t> repeated;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!seen.insert({to.row[i], indices[i]}).second) {
      repeated.insert(to.row[i]);
    }
  }
  const auto inside = [&](double index) { return index >= 0 && index < static_cast<double>(to.extent); };
  std::map<std::size_t, double> excused;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] == wanted[i] || !inside(indices[i]) || !inside(wanted[i]) || repeated.contains(to.row[i])) {
      continue;
    }
    const auto value_of = [&](double index) {
      return value_at(values, to.base[i] + static_cast<std::int64_t>(index) * to.stride, indexed.dtype);
    };
    if (same(value_of(indices[i]), value_of(wanted[i]))) {
      excused.emplace(i, wanted[i]);
    }
  }
  if (!excused.empty()) {
    replace(output, std::move(span), excused);
  }
  return !excused.empty();
}

bool Excuses::ill_conditioned(Reference& reference, std::size_t output, const Mismatch& found, const Bound& bound,
                              std::uint64_t scrub_seed) {
  const Tensor& tensor = buffers_.of().tensors[output];
  IllConditioned elements(bench_, job_, index_, buffers_, contents_, output, bound);
  if (!elements.whole()) {
    if (found.class_errors == 0 && elements.plausible(reference, scrub_seed) == found.wrong) {
      counted_[tensor.name] = found.wrong;
    }
    return false;
  }
  const std::map<std::size_t, double> excused = elements.excused(reference, scrub_seed);
  if (!excused.empty()) {
    replace(output, bench_.must(bench_.device().read(buffers_.tensors()[output], 0, tensor.span_bytes()), "reading"),
            excused);
  }
  return !excused.empty();
}

void Excuses::replace(std::size_t output, Bytes before, const std::map<std::size_t, double>& elements) {
  const Tensor& tensor = buffers_.of().tensors[output];
  const auto size = static_cast<std::size_t>(size_in_bytes(tensor.dtype));
  Bytes dense = dense_elements(before, tensor);
  for (const auto& [index, value] : elements) {
    const std::uint64_t bits = encode_element(value, tensor.dtype);
    std::memcpy(&dense[index * size], &bits, size);
  }
  Bytes span = before;
  place_elements(dense, tensor, span);
  bench_.must(bench_.device().write(buffers_.tensors()[output], 0, span), "replacing what is excused");
  if (std::ranges::find(changed_, output, &Output::index) == changed_.end()) {
    changed_.push_back({output, std::move(before)});
  }
}

}  // namespace kf
