// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace kf {

inline constexpr int kZygoteDescriptor = 3;  // control socket in the zygote
inline constexpr std::uint64_t kMaxRequestBytes = 64ULL << 20;
inline constexpr std::uint64_t kMaxAnswerBytes = 512ULL << 20;  // log, PTX and cubin together

}  // namespace kf
