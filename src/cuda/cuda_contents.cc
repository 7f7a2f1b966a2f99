// SPDX-License-Identifier: Apache-2.0
// Buffers, what is filled into them and what is found in them.
#include "cuda/cuda_verbs.h"

namespace kf::cuda {

OrFault<BufferHandle> CudaDevice::allocate(const BufferRequest& request) {
  return verb([&] {
    if (request.bytes < 0 || request.misalign < 0 || request.misalign > 255) {
      raise(DeviceFault::Kind::kUnsupported, "a buffer of " + std::to_string(request.bytes) + " bytes, misaligned by " +
                                                 std::to_string(request.misalign) + ": 0 to 255 is allowed");
    }
    Buffer buffer;
    buffer.at = harness::place(request);
    buffer.at.total = MemoryPool::size_class(buffer.at.total);  // all of the block: its end is red zone
    buffer.memory = pool_.take(buffer.at.total);
    const BufferHandle handle{next_++};
    buffers_.emplace(handle, std::move(buffer));
    return handle;
  });
}

void CudaDevice::release(BufferHandle buffer) {
  if (const auto found = buffers_.find(buffer); found != buffers_.end()) {
    pool_.give(std::move(found->second.memory), found->second.at.total);
    buffers_.erase(found);
  }
}

std::int64_t CudaDevice::free_bytes() const {
  std::size_t free = 0;
  std::size_t total = 0;
  if (!gpu_.dead()) {
    gpu_->cuCtxSetCurrent(gpu_.context());
    gpu_->cuMemGetInfo(&free, &total);
  }
  return static_cast<std::int64_t>(free) + pool_.idle_bytes();
}

OrFault<void> CudaDevice::poison(BufferHandle buffer, std::uint64_t seed) {
  return verb([&] { kernels().poison(at(buffer), seed); });
}

OrFault<void> CudaDevice::poison_red_zones(BufferHandle buffer, std::uint64_t seed) {
  return verb([&] { kernels().poison_red_zones(at(buffer), seed); });
}

OrFault<void> CudaDevice::settle() {
  return verb([&] { gpu_.wait(kOwnDeadline); });
}

OrFault<void> CudaDevice::zero(BufferHandle buffer) {
  return verb([&] {
    const Buffer& zeroed = at(buffer);
    if (zeroed.at.bytes > 0) {
      gpu_.check(gpu_->cuMemsetD8Async(zeroed.usable(), 0, static_cast<std::size_t>(zeroed.at.bytes), gpu_.stream()),
                 "cuMemsetD8Async");
    }
  });
}

OrFault<void> CudaDevice::fill(BufferHandle buffer, const Tensor& tensor, const TensorFill& fill) {
  return verb([&] {
    const Buffer& filled = at(buffer, tensor);
    const harness::Layout layout = value_of(harness::layout_of(tensor));
    if (!tensor.values.empty()) {
      kernels().scatter(filled, layout, value_of(harness::encoded_values(tensor)));
      return;
    }
    const auto family = family_from_string(fill.family);
    if (!family) {
      raise(DeviceFault::Kind::kUnsupported, tensor.name + ": no family is called \"" + fill.family + "\"");
    }
    kernels().fill(filled, layout, *family, fill.seed);
  });
}

OrFault<void> CudaDevice::write(BufferHandle buffer, std::int64_t offset, std::span<const std::byte> bytes) {
  return verb([&] {
    const Buffer& to = at(buffer);
    check_range(to, offset, static_cast<std::int64_t>(bytes.size()));
    if (!bytes.empty()) {
      gpu_.check(gpu_->cuMemcpyHtoDAsync(to.usable() + static_cast<CUdeviceptr>(offset), bytes.data(), bytes.size(),
                                         gpu_.stream()),
                 "cuMemcpyHtoDAsync");
    }
    gpu_.wait(kOwnDeadline);
  });
}

OrFault<Bytes> CudaDevice::read(BufferHandle buffer, std::int64_t offset, std::int64_t bytes) {
  return verb([&] {
    const Buffer& from = at(buffer);
    check_range(from, offset, bytes);
    Bytes found(static_cast<std::size_t>(bytes));
    if (bytes > 0) {
      gpu_.check(gpu_->cuMemcpyDtoHAsync(found.data(), from.usable() + static_cast<CUdeviceptr>(offset), found.size(),
                                         gpu_.stream()),
                 "cuMemcpyDtoHAsync");
    }
    gpu_.wait(kOwnDeadline);
    return found;
  });
}

OrFault<ContentDigest> CudaDevice::digest(BufferHandle buffer) {
  return verb([&] { return kernels().digest(at(buffer)); });
}

OrFault<std::int64_t> CudaDevice::red_zone_damage(BufferHandle buffer, std::uint64_t seed) {
  return verb([&] { return kernels().red_zone_damage(at(buffer), seed); });
}

OrFault<std::int64_t> CudaDevice::padding_damage(BufferHandle buffer, const Tensor& tensor, std::uint64_t seed) {
  return verb([&] { return kernels().padding_damage(at(buffer, tensor), value_of(harness::layout_of(tensor)), seed); });
}

OrFault<std::int64_t> CudaDevice::nonzero_bytes(BufferHandle buffer) {
  return verb([&] { return kernels().nonzero_bytes(at(buffer)); });
}

OrFault<Mismatch> CudaDevice::compare(const CompareRequest& request) {
  return verb([&] {
    const Buffer& out = at(request.out, *request.tensor);
    const harness::ComparePlan plan = value_of(harness::plan_comparison(request, out.at));
    const Buffer& reference = at(request.ref);
    check_range(reference, 0, 8 * plan.of.elements);
    CUdeviceptr condition = 0;
    if (request.has_condition) {
      check_range(at(request.condition), 0, 8 * plan.of.elements);
      condition = at(request.condition).usable();
    }
    Mismatch mismatch = kernels().compare(plan, out, reference.usable(), condition);
    mismatch.output = request.tensor->name;
    return mismatch;
  });
}

OrFault<std::int64_t> CudaDevice::differing_elements(BufferHandle a, BufferHandle b, const Tensor& tensor) {
  return verb(
      [&] { return kernels().differing_elements(at(a, tensor), at(b, tensor), value_of(harness::layout_of(tensor))); });
}

}  // namespace kf::cuda
