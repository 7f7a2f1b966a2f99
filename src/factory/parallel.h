// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>

namespace kf {

// Calls work(0) ... work(count - 1) on at most `threads` threads and waits for all. The first exception ends the
// rest early and is thrown again here.
void for_each_index(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work);

}  // namespace kf
