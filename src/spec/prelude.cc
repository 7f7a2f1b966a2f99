// SPDX-License-Identifier: Apache-2.0
#include <kfactory/plan.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace kf {
namespace {

struct DeviceType {
  Dtype dtype;
  std::string_view cuda, header;  // header: empty = built in
};
constexpr std::array<DeviceType, kDtypeCount> kDeviceTypes{{
    {Dtype::kFloat64, "double", ""},
    {Dtype::kFloat32, "float", ""},
    {Dtype::kBfloat16, "__nv_bfloat16", "cuda_bf16.h"},
    {Dtype::kFloat16, "__half", "cuda_fp16.h"},
    {Dtype::kFloat8E4m3fn, "__nv_fp8_e4m3", "cuda_fp8.h"},
    {Dtype::kFloat8E5m2, "__nv_fp8_e5m2", "cuda_fp8.h"},
    {Dtype::kFloat8E8m0, "__nv_fp8_e8m0", "cuda_fp8.h"},
    {Dtype::kInt64, "long long", ""},
    {Dtype::kInt32, "int", ""},
    {Dtype::kInt16, "short", ""},
    {Dtype::kInt8, "signed char", ""},
    {Dtype::kUint8, "unsigned char", ""},
    {Dtype::kBool, "bool", ""},
}};

const DeviceType& device_type(Dtype dtype) {
  return *std::ranges::find(kDeviceTypes, dtype, &DeviceType::dtype);
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

// NVRTC has no <stdint.h>, <cuda.h> or <math.h> of its own; a big header costs a second of each compilation. The
// 64-bit names are long long, as in libcu++ and <cuda_pipeline.h> under NVRTC, so that those may follow.
constexpr std::string_view kNames = R"(typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long intptr_t;
typedef unsigned long long uintptr_t;
[[maybe_unused]] static constexpr float INFINITY = __builtin_bit_cast(float, 0x7f800000u);
[[maybe_unused]] static constexpr float NAN = __builtin_bit_cast(float, 0x7fffffffu);
typedef struct CUtensorMap_st CUtensorMap;
struct alignas(64) CUtensorMap_st { unsigned long long opaque[16]; };
)";

}  // namespace

std::string prelude_for(const Spec& spec, const Case& of) {
  std::vector<std::string_view> headers;
  const auto need = [&](Dtype dtype) {
    const std::string_view header = device_type(dtype).header;
    if (!header.empty() && std::ranges::find(headers, header) == headers.end()) {
      headers.push_back(header);
    }
  };
  for (const auto& [name, dtype] : of.types) {
    need(dtype);
  }
  for (const Tensor& tensor : of.tensors) {
    need(tensor.dtype);
  }
  std::ranges::sort(headers);
  std::string text = "// kfactory prelude: " + spec.name + "\n";
  for (const std::string_view header : headers) {
    text += "#include <" + std::string(header) + ">\n";
  }
  text += kNames;
  for (const auto& [name, dtype] : of.types) {
    text += "using " + name + " = " + std::string(device_type(dtype).cuda) + ";\n";
    text += "#define KF_" + upper(name) + "_" + upper(to_string(dtype)) + " 1\n";
  }
  return text;
}

}  // namespace kf
