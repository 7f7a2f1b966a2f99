// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <stop_token>
#include <thread>

#include "os/descriptor.h"

namespace kf {

// Turns the first SIGINT, SIGTERM or SIGHUP (unless that is ignored, as under nohup) into a stop request; the second
// one ends the program at once, as if nobody had caught it. One object at a time: a second one throws Fatal. The
// destructor puts the old handlers back.
class InterruptBridge {
 public:
  InterruptBridge();
  ~InterruptBridge();
  InterruptBridge(const InterruptBridge&) = delete;
  InterruptBridge& operator=(const InterruptBridge&) = delete;

  std::stop_token token() const { return stop_.get_token(); }
  // 0, or the signal that asked for the stop.
  int signal() const { return signal_.load(); }

 private:
  std::stop_source stop_;
  std::atomic<int> signal_{0};
  DescriptorPair pipe_;
  std::jthread reader_;
};

// Writes to a pipe whose reader is gone, or beyond a file size limit, become errors (EPIPE, EFBIG) instead of a silent
// death. Once, at the start of main.
void ignore_broken_pipes();

// Opens /dev/null for each of stdin, stdout and stderr that is closed: or the next file opened, a ledger say, would get
// its number and everything printed there. Once, at the start of main, before anything is opened.
void fill_standard_streams();

}  // namespace kf
