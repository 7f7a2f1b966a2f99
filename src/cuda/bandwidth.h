// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cuda/gpu.h"

namespace kf::cuda {

// Bytes a second that this device's memory has been seen to move: the best of a copy by the driver, a copying and a
// reading kernel, each on half a gibibyte that no earlier trial left in the L2. Physics floors divide by it, so it must
// not be too low. 0: too little memory is free. Kernels are left out where the driver cannot compile PTX.
double memory_rate(Gpu& gpu);

}  // namespace kf::cuda
