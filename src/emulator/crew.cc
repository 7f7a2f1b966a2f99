// SPDX-License-Identifier: Apache-2.0
#include "crew.h"

namespace kf::emulator {

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  start_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Crew::run(const std::function<void(unsigned)>& work) {
  {
    const std::lock_guard lock(mutex_);
    work_ = &work;
    ++round_;
    busy_ = size_ - 1;
    // A new thread has seen round 0 only, and so joins this one.
    while (threads_.size() + 1 < size_)
      threads_.emplace_back([this, number = static_cast<unsigned>(threads_.size()) + 1] { wait_for_work(number); });
  }
  start_.notify_all();
  work(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return busy_ == 0; });
}

void Crew::wait_for_work(unsigned number) {
  std::uint64_t seen = 0;
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
