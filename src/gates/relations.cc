// SPDX-License-Identifier: Apache-2.0
#include "gates/relations.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "gates/elements.h"

namespace kf {
namespace {

constexpr std::int64_t kRelationBytes = 4LL << 20;  // tensors go through host memory

struct Relation {
  std::string kind, operand;
};
Relation read_relation(const std::string& text) {
  const std::size_t colon = text.find(':');
  return {text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
}

// Why the relation cannot be tested on this case, and what a case needs for it; empty: it can.
std::string lacking(const Case& of, const Relation& relation) {
  const auto has = [&](auto member) { return std::ranges::any_of(of.tensors, member); };
  if (has([](const Tensor& t) { return t.role == TensorRole::kInout; })) {
    return "an inout tensor is there: no relation is tested beside one; take the relation out of the spec";
  }
  if (has([](const Tensor& t) { return !t.values.empty(); })) {
    return "contents are listed: add a check case without them, or take the relation out of the spec";
  }
  if (has([](const Tensor& t) { return t.elements() == 0; })) {
    return "a tensor is empty: add a check case in which none is";
  }
  if (relation.kind == "scale" && has([&](const Tensor& t) {
        const bool changes = t.role != TensorRole::kInput || t.name == relation.operand;
        return changes && !(is_floating(t.dtype) && size_in_bytes(t.dtype) >= 2);
      })) {
    return relation.operand +
           " or an output is no floating type of two bytes or more: add a check case in which all "
           "are, or take the relation out of the spec";
  }
  const auto axis = of.axes.find(relation.operand);
  if (relation.kind != "scale" && (axis == of.axes.end() || axis->second < 2)) {
    return relation.operand + " is 1: add a check case in which it is larger";
  }
  return bytes_of(of) > kRelationBytes ? "it has more than 4 MiB: add a smaller check case" : "";
}

// Where index i along the axis comes from.
std::vector<std::int64_t> order_of(const Relation& relation, std::int64_t extent, std::uint64_t seed) {
  std::vector<std::int64_t> from(static_cast<std::size_t>(extent));
  std::iota(from.begin(), from.end(), 0);
  if (relation.kind == "concat") {
    std::ranges::rotate(from, from.begin() + extent / 2);
    return from;
  }
  for (std::size_t i = from.size(); i > 1; --i) {
    std::swap(from[i - 1], from[derive_seed(seed, i) % i]);
  }
  if (std::ranges::is_sorted(from)) {  // the order they had tests nothing: every second draw of two indices
    std::ranges::rotate(from, from.begin() + 1);
  }
  return from;
}

// Dense elements with the indices along `dim` in another order: to[i] = dense[from[i]], or to[from[i]] = dense[i].
Bytes reordered(const Bytes& dense, const Tensor& tensor, int dim, const std::vector<std::int64_t>& from, bool back) {
  auto inner = static_cast<std::size_t>(size_in_bytes(tensor.dtype));
  for (std::size_t d = static_cast<std::size_t>(dim) + 1; d < tensor.extent.size(); ++d) {
    inner *= static_cast<std::size_t>(tensor.extent[d]);
  }
  Bytes to(dense.size());
  const std::size_t outer = dense.size() / (inner * from.size());
  for (std::size_t block = 0; block < outer; ++block) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto other = static_cast<std::size_t>(from[i]);
      const std::size_t source = back ? i : other, target = back ? other : i;
      std::memcpy(&to[(block * from.size() + target) * inner], &dense[(block * from.size() + source) * inner], inner);
    }
  }
  return to;
}

// Times two, or half: in the exponent, where that is exact. Halving leaves what would become subnormal as zero.
void scale_by_two(Bytes& dense, const Tensor& tensor, bool up) {
  const auto size = static_cast<std::size_t>(size_in_bytes(tensor.dtype));
  const int mantissa = tensor.dtype == Dtype::kFloat64 ? 52 : mantissa_bits(tensor.dtype);
  const std::uint64_t one = std::uint64_t{1} << mantissa, sign = std::uint64_t{1} << (8 * size - 1);
  const std::uint64_t top = sign - one;
  for (std::size_t at = 0; at < dense.size(); at += size) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &dense[at], size);
    const std::uint64_t exponent = bits & top;
    if (exponent == top) {
      continue;  // Inf and NaN
    }
    if (up) {
      bits = exponent == 0           ? (bits & sign) | (bits & ~sign) << 1
             : exponent + one == top ? (bits & sign) | top
                                     : bits + one;
    } else {
      bits = exponent <= one ? bits & sign : bits - one;
    }
    std::memcpy(&dense[at], &bits, size);
  }
}

class RelationCheck {
 public:
  RelationCheck(Bench& bench, Relation relation, const Contents& contents, std::uint64_t seed)
      : bench_(bench), relation_(std::move(relation)), contents_(contents), seed_(seed) {}

  void before_launch(const CaseBuffers& buffers) {
    each(buffers, [](const Tensor& tensor) { return tensor.role == TensorRole::kInput; }, false);
  }
  void before_comparison(const CaseBuffers& buffers) {
    for (std::size_t i = 0; i < buffers.of().tensors.size(); ++i) {
      const Tensor& tensor = buffers.of().tensors[i];
      if (tensor.role == TensorRole::kInput) {
        bench_.must(bench_.device().fill(buffers.tensors()[i], tensor, contents_.of(tensor, i)), "filling again");
      }
    }
    each(buffers, [](const Tensor& tensor) { return tensor.role != TensorRole::kInput; }, true);
  }

 private:
  template <class Wanted>
  void each(const CaseBuffers& buffers, const Wanted& wanted, bool back) {
    const Case& of = buffers.of();
    for (std::size_t i = 0; i < of.tensors.size(); ++i) {
      const Tensor& tensor = of.tensors[i];
      const int dim = dim_of_axis(tensor, relation_.operand);
      const bool scaled = relation_.kind == "scale" && (back || tensor.name == relation_.operand);
      if (!wanted(tensor) || (!scaled && (relation_.kind == "scale" || dim < 0))) {
        continue;
      }
      Bytes span = bench_.must(bench_.device().read(buffers.tensors()[i], 0, tensor.span_bytes()), "reading");
      Bytes dense = dense_elements(span, tensor);
      if (scaled) {
        scale_by_two(dense, tensor, back);
      } else {
        dense = reordered(dense, tensor, dim, order_of(relation_, of.axes.at(relation_.operand), seed_), back);
      }
      place_elements(dense, tensor, span);
      bench_.must(bench_.device().write(buffers.tensors()[i], 0, span), "writing related contents");
    }
  }

  Bench& bench_;
  Relation relation_;
  Contents contents_;
  std::uint64_t seed_;
};

}  // namespace

const CheckPoint* point_for_relation(const Job& job, const std::string& relation) {
  const Relation wanted = read_relation(relation);
  const CheckPoint* best = nullptr;
  const auto bytes = [&](const CheckPoint& p) { return bytes_of(job.cases[static_cast<std::size_t>(p.case_index)]); };
  for (const CheckPoint& point : job.checks) {
    const bool usable = lacking(job.cases[static_cast<std::size_t>(point.case_index)], wanted).empty();
    // The first point of a case has the case's own family, where scaling by two stays exact.
    if (usable && (best == nullptr || bytes(point) < bytes(*best))) {
      best = &point;
    }
  }
  return best;
}

std::string why_no_point(const Job& job, const std::string& relation) {
  const Relation wanted = read_relation(relation);
  std::string said;
  for (const CheckPoint& point : job.checks) {
    const Case& of = job.cases[static_cast<std::size_t>(point.case_index)];
    const std::string reason = lacking(of, wanted);
    if (said.find(reason) == std::string::npos) {
      said += (said.empty() ? "on " : "; on ") + of.id.value + " " + reason;
    }
  }
  return said.empty() ? "there is no check case" : "no check case fits: " + said;
}

std::optional<Verdict> check_relation(Bench& bench, LaunchChecker& checker, const Job& job, const CheckPoint& point,
                                      const std::string& relation, Gate gate) {
  const std::uint64_t seed = seed_at(point, 0);
  LaunchCheck launch;
  launch.gate = gate;
  launch.case_index = point.case_index;
  launch.contents = {point.family, derive_seed(seed, 840), &job.families};
  launch.poison_seed = derive_seed(seed, 841);
  launch.misalign = point.misalign;
  RelationCheck related(bench, read_relation(relation), launch.contents, derive_seed(seed, 842));
  launch.before_launch = [&](CaseBuffers& buffers) { related.before_launch(buffers); };
  launch.before_comparison = [&](CaseBuffers& buffers) { related.before_comparison(buffers); };
  std::optional<Verdict> refusal = checker.check(launch).refusal;
  if (refusal) {
    refusal->message = "under the relation " + relation + ": " + refusal->message;
  }
  return refusal;
}

}  // namespace kf
