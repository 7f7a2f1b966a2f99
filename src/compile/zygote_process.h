// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace kf {

inline constexpr int kZygoteDescriptor = 3;  // control socket in the zygote
inline constexpr std::uint64_t kMaxRequestBytes = 64ULL << 20;
// Log, PTX and cubin together. The factory reads all of it: 100 MiB take it 20 s and a gigabyte of memory.
inline constexpr std::uint64_t kMaxAnswerBytes = 32ULL << 20;

inline constexpr std::size_t kMaxRawLogBytes = 8U << 20;  // of a compiler's log; the rest is dropped

}  // namespace kf
