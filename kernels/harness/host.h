// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/build.h>
#include <kfactory/device.h>
#include <kfactory/family.h>
#include <kfactory/harness.h>
#include "kernels/harness/compare.cuh"

// The harness on the host: the same definitions as the kernels of harness.cu, over spans of bytes. The emulator and the
// tests' host device are built on it; the CUDA device launches harness.cu instead, with equal results bit for bit.

namespace kf::harness {

// How every device lays out an allocation whose base is a multiple of 256: red zone of at least 256 bytes, `bytes`
// usable ones at an address congruent to the request's misalign modulo 256, and from the byte after them a red zone of
// at least 256 bytes. `total` is a multiple of 256. Poison and digests are functions of the offset from the
// allocation's start.
struct Placement {
  std::int64_t front = 0, bytes = 0, total = 0;
};
Placement place(const BufferRequest& request);

// Refuses more than six dims, strides that are not positive, and strides that interleave (an element's place must tell
// its index). `where` of the error is the tensor's name.
OrError<Layout> layout_of(const Tensor& tensor);

// Every byte of the allocation.
void poison(std::span<std::byte> allocation, std::uint64_t seed);
// `usable` starts at the tensor's first element. Padding keeps its bytes. Tensor::values win over the family.
OrError<void> fill(std::span<std::byte> usable, const Tensor& tensor, const TensorFill& fill);
// The tensor's listed values as dense elements of its type; the list must hold one for each element.
OrError<Bytes> encoded_values(const Tensor& tensor);

ContentDigest digest(std::span<const std::byte> allocation);
std::int64_t red_zone_damage(std::span<const std::byte> allocation, const Placement& at, std::uint64_t seed);
OrError<std::int64_t> padding_damage(std::span<const std::byte> allocation, const Placement& at, const Tensor& tensor,
                                     std::uint64_t seed);
std::int64_t nonzero_bytes(std::span<const std::byte> usable);
OrError<std::int64_t> differing_elements(std::span<const std::byte> a, std::span<const std::byte> b,
                                         const Tensor& tensor);

// What a comparison needs beside memory. `regions.size` 0: no RMS bound.
struct ComparePlan {
  Comparison of{};
  Regions regions{};
  double rms = 0.0;
  int rank = 0;
};
// Refuses a slice outside the tensor and regions whose dims the tensor lacks. A region spans the dims that
// Bound::region names (Tensor::dims) and the whole tensor when it names none.
OrError<ComparePlan> plan_comparison(const CompareRequest& request, const Placement& out);

// `out` is the whole allocation; `reference` and `condition` (empty without one) are dense float64.
Mismatch compare(const ComparePlan& plan, std::span<const std::byte> out, std::span<const double> reference,
                 std::span<const double> condition);

// The two halves of `compare` that a device's partial results go through.
Mismatch mismatch_of(const ComparePlan& plan, const Damage& damage, std::int64_t wrong_rows,
                     std::int64_t wrong_columns);
// Adds the verdict over regions to a mismatch that has no wrong elements; `squares` are regions x chunks.
void judge_regions(const ComparePlan& plan, std::span<const SquareSums> squares, Mismatch& mismatch);

// harness.cu with its headers in place of the #include lines: one text, for a compiler without files.
std::string harness_source();

}  // namespace kf::harness
