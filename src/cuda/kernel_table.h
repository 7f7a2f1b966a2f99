// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>

#include "cuda/gpu.h"

namespace kf::cuda {

// The kernels of one loaded module, set up as their launches need.
class KernelTable {
 public:
  KernelTable(Gpu& gpu, const Build& build);

  // The function, with the attributes that a launch with these values needs. Idempotent and cheap the second time; must
  // be called before anything is queued behind a gate, since it may load code and resize local memory.
  CUfunction prepare(const Launch& launch);
  // Refuses arguments that differ in number or size from the kernel's parameters, where the driver can tell (12.4): the
  // driver itself would read past the end of ours.
  void check_arguments(const Launch& launch, CUfunction function) const;

 private:
  struct Kernel {
    CUfunction function = nullptr;
    int dynamic_shared = 0;  // what is allowed so far
    int carveout = -1;       // -1: the driver's choice
    bool non_portable = false;
  };
  Kernel& find(const std::string& entry);

  Gpu& gpu_;
  Module module_;
  std::map<std::string, Kernel, std::less<>> kernels_;
};

}  // namespace kf::cuda
