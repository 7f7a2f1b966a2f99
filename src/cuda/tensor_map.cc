// SPDX-License-Identifier: Apache-2.0
#include "cuda/tensor_map.h"

namespace kf::cuda {

CUtensorMapDataType tensor_map_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case Dtype::kFloat32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case Dtype::kBfloat16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case Dtype::kFloat16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case Dtype::kInt64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case Dtype::kInt32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case Dtype::kInt16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    default:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;  // one byte, which the copy engine only moves
  }
}

namespace {

CUtensorMapSwizzle swizzle_of(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::k32B:
      return CU_TENSOR_MAP_SWIZZLE_32B;
    case Swizzle::k64B:
      return CU_TENSOR_MAP_SWIZZLE_64B;
    case Swizzle::k128B:
      return CU_TENSOR_MAP_SWIZZLE_128B;
    default:
      return CU_TENSOR_MAP_SWIZZLE_NONE;
  }
}

CUtensorMapL2promotion promotion_of(L2Promotion promotion) {
  switch (promotion) {
    case L2Promotion::k64B:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_64B;
    case L2Promotion::k128B:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_128B;
    case L2Promotion::k256B:
      return CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
    default:
      return CU_TENSOR_MAP_L2_PROMOTION_NONE;
  }
}

}  // namespace

CUtensorMap encode_tensor_map(const Gpu& gpu, const TensorMap& map, CUdeviceptr address) {
  const std::size_t rank = map.dims.size();
  if (rank == 0 || rank > 5 || map.strides_bytes.size() + 1 != rank || map.box.size() != rank ||
      (!map.element_strides.empty() && map.element_strides.size() != rank)) {
    throw Faulted{
        {DeviceFault::Kind::kLaunchRefused,
         "tensor map " + map.name + ": needs 1 to 5 dims, one stride fewer, and a box and element strides each"}};
  }
  const CUtensorMapInterleave interleave = map.interleave == 16   ? CU_TENSOR_MAP_INTERLEAVE_16B
                                           : map.interleave == 32 ? CU_TENSOR_MAP_INTERLEAVE_32B
                                                                  : CU_TENSOR_MAP_INTERLEAVE_NONE;
  const std::vector<std::uint32_t> ones(rank, 1);
  // cuda.h wants a stride array even for rank 1, where it reads none.
  const cuuint64_t no_strides[1] = {0};
  // NOLINTNEXTLINE: the driver's own type for a device address is void* here.
  auto* base = reinterpret_cast<void*>(address + static_cast<CUdeviceptr>(map.offset_bytes));
  CUtensorMap encoded;
  const CUresult result = gpu->cuTensorMapEncodeTiled(
      &encoded, tensor_map_type(map.dtype), static_cast<cuuint32_t>(rank), base, map.dims.data(),
      rank == 1 ? no_strides : map.strides_bytes.data(), map.box.data(),
      (map.element_strides.empty() ? ones : map.element_strides).data(), interleave, swizzle_of(map.swizzle),
      promotion_of(map.l2_promotion),
      map.oob_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  gpu.check(result, ("encoding tensor map " + map.name).c_str(), Stage::kLaunch);
  return encoded;
}

}  // namespace kf::cuda
