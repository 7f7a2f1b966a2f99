// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <functional>
#include <string>

#include <kfactory/error.h>
#include "os/descriptor.h"

namespace kf::cuda {

// One GPU for one process of a host at a time: an exclusive lock on <folder>/kfactory-gpu-<UUID>.lock, which the kernel
// gives back when its holder ends, however it ends. The file holds who has it, for people. It is never deleted: a
// second file of the same name would be a second lock.
class GpuLock {
 public:
  // Waits up to `wait` for it; `waits`, which may be empty, is called when it has to and when that has ended, either
  // way. The error names the holder.
  static OrError<GpuLock> acquire(const std::string& folder, const std::string& uuid, std::chrono::milliseconds wait,
                                  const std::function<void(bool waits)>& waits = {});

 private:
  explicit GpuLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

// TMPDIR, or /tmp.
std::string lock_folder();

}  // namespace kf::cuda
