// SPDX-License-Identifier: Apache-2.0
// Tensor maps, with the limits of cuTensorMapEncodeTiled (CUDA Driver API, "Tensor Map Object Management"): the driver
// answers any breach with one and the same error code.
#include <algorithm>

#include "resolution.h"

namespace kf {
namespace {

constexpr std::int64_t kMaxDim = std::int64_t{1} << 32;
constexpr std::int64_t kMaxStride = (std::int64_t{1} << 40) - 1;
constexpr std::int64_t kMaxBox = 256, kMaxElementStride = 8;

class MapResolver {
 public:
  MapResolver(Resolution& to, const TensorMapSpec& spec) : to_(to), spec_(spec), path_("$.tensor_maps." + spec.name) {}

  std::optional<TensorMap> resolve() {
    const std::size_t before = to_.errors.size();
    if (to_.facts.max_cluster <= 1) {  // tensor maps came with clusters, in sm_90
      fail("", "tensor maps need sm_90 or newer, this is " + to_.facts.arch);
    }
    find_memory();
    if (to_.errors.size() != before || !evaluate()) {
      return std::nullopt;
    }
    check_base();
    check_dims();
    check_strides();
    check_box();
    check_modes();
    if (to_.errors.size() == before) {
      check_reach();
    }
    return to_.errors.size() == before ? std::optional(map_) : std::nullopt;
  }

 private:
  void fail(const std::string& key, std::string what, std::string hint = "") {
    to_.fail(path_ + key, std::move(what), std::move(hint));
  }
  static std::string at(const std::string& key, std::size_t index) { return key + "[" + std::to_string(index) + "]"; }

  void find_memory() {
    map_.name = spec_.name;
    const auto tensor = std::ranges::find(to_.of.tensors, spec_.of, &Tensor::name);
    const auto workspace = std::ranges::find(to_.result.workspaces, spec_.of, &Workspace::name);
    if (tensor != to_.of.tensors.end()) {
      to_.bound.insert(spec_.of);
      map_.index = static_cast<int>(tensor - to_.of.tensors.begin());
      map_.dtype = spec_.dtype.value_or(tensor->dtype);
      base_align_ = tensor->align;
      bytes_ = tensor->span_bytes();
    } else if (workspace != to_.result.workspaces.end()) {
      map_.of_workspace = true;
      map_.index = static_cast<int>(workspace - to_.result.workspaces.begin());
      map_.dtype = spec_.dtype.value_or(Dtype::kUint8);
      base_align_ = 256;
      bytes_ = workspace->bytes;
      if (!spec_.dtype) {
        fail("", "a tensor map of a workspace needs \"dtype\"");
      }
    } else {
      fail(".tensor", "\"" + spec_.of + "\" is no tensor of this case and no workspace");
    }
  }

  bool evaluate_all(const std::vector<Expression>& expressions, std::vector<std::int64_t>& into) {
    for (const Expression& expression : expressions) {
      const std::optional<std::int64_t> value = to_.evaluate(expression, to_.scope);
      if (!value) {
        return false;
      }
      into.push_back(*value);
    }
    return true;
  }

  bool evaluate() {
    const std::optional<std::int64_t> offset = to_.evaluate(spec_.offset, to_.scope);
    offset_ = offset.value_or(0);
    return offset && evaluate_all(spec_.dims, dims_) && evaluate_all(spec_.strides_bytes, strides_) &&
           evaluate_all(spec_.box, box_) && evaluate_all(spec_.element_strides, element_strides_);
  }

  std::int64_t alignment() const { return spec_.interleave_32b ? 32 : 16; }

  void check_base() {
    if (base_align_ % alignment() != 0) {
      fail(".tensor",
           "\"" + spec_.of + "\" is aligned to " + std::to_string(base_align_) + " bytes, a tensor map needs " +
               std::to_string(alignment()),
           "load it another way where align(" + spec_.of + ") is small");
    }
    if (offset_ < 0 || offset_ % alignment() != 0) {
      fail(".offset", "the offset is " + std::to_string(offset_) + ", allowed: multiples of " +
                          std::to_string(alignment()) + " from 0");
    }
    map_.offset_bytes = offset_;
  }

  void check_dims() {
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if (dims_[i] < 1 || dims_[i] > kMaxDim) {
        fail(at(".dims", i),
             "\"" + spec_.dims[i].text() + "\" is " + std::to_string(dims_[i]) + ", allowed: 1 to 2^32");
      }
      map_.dims.push_back(static_cast<std::uint64_t>(dims_[i]));
    }
  }

  void check_strides() {
    for (std::size_t i = 0; i < strides_.size(); ++i) {
      const std::int64_t stride = strides_[i];
      if (stride < 0 || stride > kMaxStride || stride % alignment() != 0) {
        fail(at(".strides_bytes", i), "\"" + spec_.strides_bytes[i].text() + "\" is " + std::to_string(stride) +
                                          ", allowed: multiples of " + std::to_string(alignment()) + " below 2^40");
      }
      map_.strides_bytes.push_back(static_cast<std::uint64_t>(stride));
    }
  }

  void check_box() {
    for (std::size_t i = 0; i < box_.size(); ++i) {
      if (box_[i] < 1 || box_[i] > kMaxBox) {
        fail(at(".box", i), "\"" + spec_.box[i].text() + "\" is " + std::to_string(box_[i]) + ", allowed: 1 to 256");
      }
      if (element_strides_[i] < 1 || element_strides_[i] > kMaxElementStride) {
        fail(at(".element_strides", i),
             "found " + std::to_string(element_strides_[i]) + ", allowed: 1 to " + std::to_string(kMaxElementStride));
      }
      map_.box.push_back(static_cast<std::uint32_t>(box_[i]));
      map_.element_strides.push_back(static_cast<std::uint32_t>(element_strides_[i]));
    }
    const bool interleaved = spec_.interleave_16b || spec_.interleave_32b;
    const std::int64_t inner = box_[0] <= kMaxBox ? box_[0] * size_in_bytes(map_.dtype) : 0;
    if (!interleaved && inner % 16 != 0) {
      fail(".box[0]", "the box is " + std::to_string(inner) + " bytes wide, allowed: multiples of 16");
    }
    const std::int64_t widest = spec_.swizzle == Swizzle::k32B ? 32 : spec_.swizzle == Swizzle::k64B ? 64 : 128;
    if (!interleaved && spec_.swizzle != Swizzle::kNone && inner > widest) {
      fail(".box[0]",
           "the box is " + std::to_string(inner) + " bytes wide, a swizzle of " + std::to_string(widest) + "B allows " +
               std::to_string(widest),
           "load several boxes side by side");
    }
  }

  void check_modes() {
    const bool interleaved = spec_.interleave_16b || spec_.interleave_32b;
    if (interleaved && dims_.size() < 3) {
      fail(".interleave", "an interleaved map needs 3 dims or more, found " + std::to_string(dims_.size()));
    }
    if (spec_.interleave_32b && spec_.swizzle != Swizzle::k32B) {
      fail(".swizzle", "\"interleave\": \"32B\" goes with \"swizzle\": \"32B\" only");
    }
    if (spec_.oob_nan && !is_floating(map_.dtype)) {
      fail(".oob", "\"nan\" needs a floating-point dtype, this is " + std::string(to_string(map_.dtype)));
    }
    map_.interleave = spec_.interleave_32b ? 32 : spec_.interleave_16b ? 16 : 0;
    map_.swizzle = spec_.swizzle;
    map_.l2_promotion = spec_.l2_promotion;
    map_.oob_nan = spec_.oob_nan;
  }

  // A map that reaches past its tensor would read what lies behind it.
  void check_reach() {
    // With an interleaved layout the innermost dim counts channels inside slices whose size the layout fixes.
    std::int64_t end = offset_;
    const std::int64_t size = size_in_bytes(map_.dtype);
    bool overflow = __builtin_add_overflow(end, dims_[0] * size, &end);
    for (std::size_t i = 0; i < strides_.size(); ++i) {
      std::int64_t reach = 0;
      overflow |= __builtin_mul_overflow(dims_[i + 1] - 1, strides_[i], &reach);
      overflow |= __builtin_add_overflow(end, reach, &end);
    }
    if (overflow || end > bytes_) {
      fail(".dims",
           "the map reaches " + (overflow ? "far" : std::to_string(end - bytes_) + " bytes") + " past the end of \"" +
               spec_.of + "\", which has " + std::to_string(bytes_) + " bytes",
           "elements outside dims read as zero: give the true extents as dims, not rounded-up ones");
    }
  }

  Resolution& to_;
  const TensorMapSpec& spec_;
  std::string path_;
  TensorMap map_;
  std::int64_t base_align_ = 0, bytes_ = 0, offset_ = 0;
  std::vector<std::int64_t> dims_, strides_, box_, element_strides_;
};

}  // namespace

std::optional<int> resolve_map(Resolution& to, const TensorMapSpec& spec) {
  const auto known = std::ranges::find(to.result.maps, spec.name, &TensorMap::name);
  if (known != to.result.maps.end()) {
    return static_cast<int>(known - to.result.maps.begin());
  }
  std::optional<TensorMap> map = MapResolver(to, spec).resolve();
  if (!map) {
    return std::nullopt;
  }
  to.result.maps.push_back(std::move(*map));
  return static_cast<int>(to.result.maps.size()) - 1;
}

}  // namespace kf
