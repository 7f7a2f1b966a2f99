// SPDX-License-Identifier: Apache-2.0
#include "kernels/harness/host.h"

#include <algorithm>
#include <cstring>

#include "kernels/harness/fill.cuh"

namespace kf::harness {
namespace {

static_assert(kFamilyCount == static_cast<int>(kFamilies.size()));
static_assert(kFamilies[kMixed].name == "mixed" && kFamilies[kSubnormal].name == "subnormal" &&
              kFamilies[kMasked].name == "masked" && kFamilies[kClustered].name == "clustered");
static_assert(static_cast<int>(Dtype::kFloat8E8m0) == kE8m0 && static_cast<int>(Dtype::kInt64) == kI64 &&
              static_cast<int>(Dtype::kBool) == kBoolean && kDtypeCount == kBoolean + 1);

u8* raw(std::byte* bytes) {
  return reinterpret_cast<u8*>(bytes);
}
const u8* raw(const std::byte* bytes) {
  return reinterpret_cast<const u8*>(bytes);
}

u64 word_at(std::span<const std::byte> bytes, std::size_t index) {
  u64 word = 0;
  std::memcpy(&word, bytes.data() + 8 * index, 8);
  return word;
}

i64 poison_damage(std::span<const std::byte> allocation, i64 begin, i64 end, u64 seed) {
  i64 count = 0;
  for (i64 i = begin; i < end; ++i) {
    count += static_cast<u8>(allocation[static_cast<std::size_t>(i)]) != poison_at(seed, static_cast<u64>(i), 1);
  }
  return count;
}

}  // namespace

Placement place(const BufferRequest& request) {
  constexpr std::int64_t kRedZone = 256;
  const std::int64_t front = kRedZone + request.misalign;
  return {front, request.bytes, (front + request.bytes + kRedZone + 255) / 256 * 256};
}

void poison(std::span<std::byte> allocation, std::uint64_t seed) {
  for (std::size_t i = 0; i < allocation.size(); i += 8) {
    const u64 word = poison_word(seed, i / 8);
    std::memcpy(allocation.data() + i, &word, std::min<std::size_t>(8, allocation.size() - i));
  }
}

OrError<Bytes> encoded_values(const Tensor& tensor) {
  if (static_cast<std::int64_t>(tensor.values.size()) != tensor.elements()) {
    return std::unexpected(Error{tensor.name,
                                 "the case lists " + std::to_string(tensor.values.size()) + " values for " +
                                     std::to_string(tensor.elements()) + " elements",
                                 "list one value for each element"});
  }
  const int type = static_cast<int>(tensor.dtype);
  const int bytes = size_in_bytes(tensor.dtype);
  Bytes dense(tensor.values.size() * static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    const std::int64_t value = tensor.values[i];
    const u64 bits = type == kI64 ? static_cast<u64>(value) : encode(type, static_cast<double>(value));
    store_element(raw(dense.data()), static_cast<i64>(i), bytes, bits);
  }
  return dense;
}

OrError<void> fill(std::span<std::byte> usable, const Tensor& tensor, const TensorFill& fill) {
  const auto layout = layout_of(tensor);
  if (!layout) {
    return std::unexpected(layout.error());
  }
  if (static_cast<std::int64_t>(usable.size()) < tensor.span_bytes()) {
    return std::unexpected(Error{
        tensor.name,
        "needs " + std::to_string(tensor.span_bytes()) + " bytes, its buffer has " + std::to_string(usable.size()),
        ""});
  }
  if (!tensor.values.empty()) {
    const auto dense = encoded_values(tensor);
    if (!dense) {
      return std::unexpected(dense.error());
    }
    for (i64 i = 0; i < layout->elements; ++i) {
      store_element(raw(usable.data()), offset_of(*layout, i), layout->bytes,
                    load_element(raw(dense->data()), i, layout->bytes));
    }
    return {};
  }
  const auto family = family_from_string(fill.family);
  if (!family) {
    return std::unexpected(
        Error{tensor.name, "no family is called \"" + fill.family + "\"", "docs/formats/spec.md lists them"});
  }
  for (i64 i = 0; i < layout->elements; ++i) {
    store_element(raw(usable.data()), offset_of(*layout, i), layout->bytes,
                  element_bits(*family, fill.seed, i, layout->columns, layout->type));
  }
  return {};
}

ContentDigest digest(std::span<const std::byte> allocation) {
  DigestSum sum = empty_digest();
  for (std::size_t i = 0; i < allocation.size() / 8; ++i) {
    add_word(sum, word_at(allocation, i), i);
  }
  return {{sum.lane[0], sum.lane[1], sum.lane[2], sum.lane[3]}};
}

std::int64_t red_zone_damage(std::span<const std::byte> allocation, const Placement& at, std::uint64_t seed) {
  return poison_damage(allocation, 0, at.front, seed) + poison_damage(allocation, at.front + at.bytes, at.total, seed);
}

OrError<std::int64_t> padding_damage(std::span<const std::byte> allocation, const Placement& at, const Tensor& tensor,
                                     std::uint64_t seed) {
  const auto layout = layout_of(tensor);
  if (!layout) {
    return std::unexpected(layout.error());
  }
  i64 count = 0;
  for (i64 i = at.front; i < at.front + at.bytes; ++i) {
    if (static_cast<u8>(allocation[static_cast<std::size_t>(i)]) != poison_at(seed, static_cast<u64>(i), 1)) {
      count += !holds_element(*layout, (i - at.front) / layout->bytes);
    }
  }
  return count;
}

std::int64_t nonzero_bytes(std::span<const std::byte> usable) {
  std::int64_t count = 0;
  for (const std::byte byte : usable) {
    count += byte != std::byte{0};
  }
  return count;
}

OrError<std::int64_t> differing_elements(std::span<const std::byte> a, std::span<const std::byte> b,
                                         const Tensor& tensor) {
  const auto layout = layout_of(tensor);
  if (!layout) {
    return std::unexpected(layout.error());
  }
  i64 count = 0;
  for (i64 i = 0; i < layout->elements; ++i) {
    const i64 offset = offset_of(*layout, i);
    count += load_element(raw(a.data()), offset, layout->bytes) != load_element(raw(b.data()), offset, layout->bytes);
  }
  return count;
}

}  // namespace kf::harness
