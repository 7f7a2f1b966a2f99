// SPDX-License-Identifier: Apache-2.0
#include "buffers.h"

#include <algorithm>
#include <new>

namespace kf::emulator {

OrFault<BufferHandle> Buffers::allocate(const BufferRequest& request) {
  Buffer made;
  made.at = harness::place(request);
  try {
    made.bytes.resize(static_cast<std::size_t>(made.at.total));
    made.written.resize(static_cast<std::size_t>(made.at.bytes));
  } catch (const std::bad_alloc&) {
    return std::unexpected(
        DeviceFault{DeviceFault::Kind::kOutOfMemory, std::to_string(made.at.total) + " bytes on the host"});
  }
  made.address =
      memory_.reserve(static_cast<std::uint64_t>(made.at.total), 0) + static_cast<std::uint64_t>(made.at.front);
  used_ += made.at.total;
  const std::int64_t handle = next_++;
  Buffer& kept = buffers_.emplace(handle, std::move(made)).first->second;
  memory_.add({kept.address, static_cast<std::uint64_t>(kept.at.bytes), kept.usable().data(), kept.written.data(),
               false, "an allocation", request.input});
  return BufferHandle{handle};
}

void Buffers::release(BufferHandle handle) {
  Buffer& buffer = at(handle);
  memory_.remove(buffer.address);
  used_ -= buffer.at.total;
  buffers_.erase(static_cast<std::int64_t>(handle));
}

void Buffers::forget_values(Buffer& buffer) {
  buffer.written.assign(static_cast<std::size_t>(buffer.at.bytes), 0);
  memory_.below(buffer.address)->written = buffer.written.data();
}

void Buffers::all_have_values(Buffer& buffer) {
  memory_.below(buffer.address)->written = nullptr;
}

void Buffers::name(Buffer& buffer, std::string name) {
  memory_.below(buffer.address)->name = std::move(name);
}

}  // namespace kf::emulator
