// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "compile/ptx_module.h"

namespace kf {

// Can what a function reads from %globaltimer influence anything but how long its threads sleep? False for the waiting
// loops of libcu++ (cuda::barrier, cuda::pipeline), which choose their nanosleep by the time they have waited; true as
// soon as the time reaches memory, a call, or a branch over code with an effect, or a loop spins on it.
bool timer_has_influence(const PtxModule& module, const PtxFunction& function);

}  // namespace kf
