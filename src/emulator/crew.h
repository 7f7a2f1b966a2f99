// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kf::emulator {

// Threads that wait for work: the caller and `size` - 1 others, started at the first use.
class Crew {
 public:
  explicit Crew(unsigned size) : size_(size < 1 ? 1 : size) {}
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  unsigned size() const { return size_; }
  // Calls work(0) .. work(size - 1), each on a thread of its own, and returns when all have returned. Where the system
  // gives fewer threads the last numbers are left out, work(0) never is, and the next run asks for them again. `work`
  // must not throw.
  void run(const std::function<void(unsigned)>& work);

 private:
  void start_missing();
  void wait_for_work(unsigned number, std::uint64_t seen);  // seen: the last round that is none of its own

  const unsigned size_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(unsigned)>* work_ = nullptr;
  std::uint64_t round_ = 0;
  unsigned busy_ = 0;
  bool ending_ = false;
};

}  // namespace kf::emulator
