// SPDX-License-Identifier: Apache-2.0
#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace kf {

void for_each_index(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto take = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        failure = failure ? failure : std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> crew;  // joined at the end of the block
    for (std::size_t i = 1; i < std::min(threads, count); ++i) {
      crew.emplace_back(take);
    }
    take();
  }
  if (failure) {
    std::rethrow_exception(failure);
  }
}

}  // namespace kf
