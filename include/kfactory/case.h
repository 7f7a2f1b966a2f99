// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <kfactory/dtype.h>
#include <kfactory/values.h>

namespace kf {

enum class TensorRole : std::uint8_t { kInput, kOutput, kInout };

// Declared, never compared with each other: a read sweep of the L2 before each launch; rotation over
// several input sets inside a graph; the same buffers again.
enum class CacheState : std::uint8_t { kCold, kSteady, kWarm };

// One tensor of one case. Element (i, j, ...) lies at base + base_offset + size * (i*stride[0] + ...).
struct Tensor {
  std::string name;
  TensorRole role = TensorRole::kInput;
  Dtype dtype = Dtype::kFloat32;
  std::vector<std::int64_t> extent, stride;  // elements
  std::vector<std::string> dims;             // text of each extent in the spec: "M", "N/2"
  std::int64_t align = 16;                   // bytes; what align(x) gives
  std::vector<std::int64_t> values;          // contents where the case lists them (else by family)

  std::int64_t elements() const;    // product of extents; 1 for rank 0
  std::int64_t span_bytes() const;  // from the first to one past the last element; 0 when empty
  // The least shift of its base that `align` allows, for launches that must not count on more; kAllocationAlign: none.
  std::int64_t shift_step() const;
};
inline constexpr std::int64_t kAllocationAlign = 256;  // bytes; of every allocation

// How far an output may be from the float64 reference, per element:
//   |out - ref| <= ulp * ulp_dtype(ref) + acc * eps_acc * cond
// eps_acc = 2^-24; cond is the reference's output `condition` (|ref| when empty). Integers: equal.
// rms > 0: over each region (the dims named, e.g. one row) the RMS error may be rms times the RMS of ref.
struct Bound {
  double ulp = 1.0, acc = 0.0;
  std::string condition;
  double rms = 0.0;
  std::vector<std::string> region;
  // Families whose contents make every intermediate result exact: there the output must be the reference, rounded.
  std::vector<std::string> exact;
  // An index output: any index along dim `ties_along` of the input `ties_of` whose value equals the value at the
  // reference's index is right; no index twice in a row. Empty: the reference's own index.
  std::string ties_of, ties_along;
  // The share of elements that may be left out where a 1-ulp change of the inputs moves the reference out of its bound.
  double ill_conditioned = 0.0;
  bool operator==(const Bound&) const = default;
};

struct Case {
  CaseId id;
  std::string set;              // "check", "time", "emulate", "held_out"
  Map<Dtype> types;             // "T" -> bfloat16
  Map<std::int64_t> axes;       // every axis, expr ones evaluated
  std::vector<Tensor> tensors;  // only those that are there, in the spec's order
  Map<double> scalars;          // "eps" -> 1e-6
  Map<Dtype> scalar_types;
  std::vector<std::string> absent;  // optional tensors that are not there
  std::string family;               // of all inputs: one of Spec::families, or a case's own choice
};

// Bytes that all its tensors span.
std::int64_t bytes_of(const Case& of);

}  // namespace kf
