// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <kfactory/device.h>

#include "kernels/harness/host.h"
#include "memory.h"

namespace kf::emulator {

// One allocation of the device: host bytes, and the region that device code may touch. Red zones lie in
// the host bytes but in no region, so a touch of them is out of bounds at once.
struct Buffer {
  harness::Placement at;
  std::vector<std::byte> bytes;
  std::vector<std::uint8_t> written;  // one flag a usable byte, while some have no value
  std::uint64_t address = 0;

  std::span<std::byte> all() { return bytes; }
  std::span<std::byte> usable() {
    return std::span(bytes).subspan(static_cast<std::size_t>(at.front), static_cast<std::size_t>(at.bytes));
  }
};

class Buffers {
 public:
  explicit Buffers(GlobalMemory& memory) : memory_(memory) {}
  // kOutOfMemory when the host has no room.
  OrFault<BufferHandle> allocate(const BufferRequest& request);
  void release(BufferHandle handle);
  Buffer& at(BufferHandle handle) { return buffers_.at(static_cast<std::int64_t>(handle)); }
  std::int64_t used() const { return used_; }
  // Device code may read what has a value only.
  void forget_values(Buffer& buffer);
  void all_have_values(Buffer& buffer);
  void name(Buffer& buffer, std::string name);

 private:
  GlobalMemory& memory_;
  std::map<std::int64_t, Buffer> buffers_;
  std::int64_t next_ = 1, used_ = 0;
};

}  // namespace kf::emulator
