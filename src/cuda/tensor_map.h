// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kfactory/plan.h>
#include "cuda/gpu.h"

namespace kf::cuda {

CUtensorMapDataType tensor_map_type(Dtype dtype);
// `address`: of the tensor or workspace; the map's own offset is added. Throws kLaunchRefused with the map's name.
CUtensorMap encode_tensor_map(const Gpu& gpu, const TensorMap& map, CUdeviceptr address);

}  // namespace kf::cuda
