// SPDX-License-Identifier: Apache-2.0
#include "compile/headers.h"

#include <algorithm>
#include <array>

namespace kf {
namespace {

constexpr std::array kToolkitHeaders = {
    std::string_view{"cooperative_groups.h"},
    std::string_view{"cuComplex.h"},
    std::string_view{"cuda_awbarrier.h"},
    std::string_view{"cuda_awbarrier_primitives.h"},
    std::string_view{"cuda_bf16.h"},
    std::string_view{"cuda_fp16.h"},
    std::string_view{"cuda_fp4.h"},
    std::string_view{"cuda_fp6.h"},
    std::string_view{"cuda_fp8.h"},
    std::string_view{"cuda_pipeline.h"},
    std::string_view{"cuda_pipeline_primitives.h"},
    std::string_view{"math_constants.h"},
    std::string_view{"mma.h"},
    std::string_view{"vector_types.h"},
};
// Folders all of whose headers are the toolkit's device code: libcu++, CUB, cooperative groups.
constexpr std::array kToolkitFolders = {std::string_view{"cuda/"}, std::string_view{"cub/"}, std::string_view{"nv/"},
                                        std::string_view{"cooperative_groups/"}};

constexpr std::string_view kFixedWidth = R"(#pragma once
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t; typedef unsigned long long uint64_t;
typedef long long intptr_t; typedef unsigned long long uintptr_t;
)";
constexpr std::string_view kSizes =
    "#pragma once\ntypedef decltype(sizeof(0)) size_t; typedef decltype((char*)0 - (char*)0) ptrdiff_t;\n";
constexpr std::string_view kLimits = R"(#pragma once
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LLONG_MIN (-9223372036854775807ll - 1)
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
)";
constexpr std::string_view kFloats = R"(#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-7f
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
)";
constexpr std::string_view kBuiltIn = "#pragma once\n";  // NVRTC knows these names without a header

}  // namespace

const std::vector<std::pair<std::string_view, std::string_view>>& stand_in_headers() {
  static const std::vector<std::pair<std::string_view, std::string_view>> headers{
      {"cstdint", kFixedWidth},     {"stdint.h", kFixedWidth},
      {"cstddef", kSizes},          {"stddef.h", kSizes},
      {"climits", kLimits},         {"limits.h", kLimits},
      {"cfloat", kFloats},          {"float.h", kFloats},
      {"cmath", kBuiltIn},          {"math.h", kBuiltIn},
      {"cuda_runtime.h", kBuiltIn}, {"cuda_runtime_api.h", kBuiltIn},
      {"cuda.h", kBuiltIn},         {"device_launch_parameters.h", kBuiltIn},
  };
  return headers;
}

bool is_allowed_header(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/';
  };
  if (name.empty() || name.front() == '/' || !std::ranges::all_of(name, plain) || name.find("..") != name.npos ||
      name.find("//") != name.npos || name.find("/./") != name.npos) {
    return false;
  }
  return std::ranges::find(kToolkitHeaders, name) != kToolkitHeaders.end() ||
         std::ranges::any_of(kToolkitFolders, [name](std::string_view folder) { return name.starts_with(folder); }) ||
         std::ranges::any_of(stand_in_headers(), [name](const auto& header) { return header.first == name; });
}

std::string_view allowed_headers_text() {
  return "cuda_bf16.h, cuda_fp16.h, cuda_fp8.h, cuda_fp6.h, cuda_fp4.h, cooperative_groups.h, cooperative_groups/*, "
         "cuda/* (barrier, pipeline, ptx, atomic, std/*), cub/*, mma.h, cuda_pipeline.h, cuda_awbarrier.h, "
         "math_constants.h, cuComplex.h, cstdint, cstddef, climits, cfloat, cmath, cuda_runtime.h";
}

}  // namespace kf
