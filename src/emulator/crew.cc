// SPDX-License-Identifier: Apache-2.0
#include "crew.h"

#include <system_error>

namespace kf::emulator {

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Crew::start_missing() {
  threads_.reserve(size_ - 1);
  while (threads_.size() + 1 < size_) {
    try {
      const auto number = static_cast<unsigned>(threads_.size()) + 1;
      threads_.emplace_back([this, number, seen = round_] { wait_for_work(number, seen); });
    } catch (const std::system_error&) {
      return;
    }
  }
}

void Crew::run(const std::function<void(unsigned)>& work) {
  {
    const std::lock_guard lock(mutex_);
    start_missing();  // before there is a round: should it throw, nobody has begun
    work_ = &work;
    ++round_;
    busy_ = static_cast<unsigned>(threads_.size());
  }
  start_.notify_all();
  work(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return busy_ == 0; });
}

void Crew::wait_for_work(unsigned number, std::uint64_t seen) {
  std::unique_lock lock(mutex_);
  for (;;) {
    start_.wait(lock, [&] { return ending_ || round_ != seen; });
    if (ending_) return;
    seen = round_;
    const std::function<void(unsigned)>& work = *work_;
    lock.unlock();
    work(number);
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace kf::emulator
