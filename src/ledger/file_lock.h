// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>

#include "os/descriptor.h"

namespace kf {

// An exclusive fcntl lock on a small file that says who holds it. It ends with the process, and is not inherited by
// children (so that a worker which outlives a killed factory does not keep a run folder locked).
class FileLock {
 public:
  // Does not wait: throws Fatal with the holder's own words when another process has it. `what` is what the lock
  // protects, for the message ("the run folder out/x").
  static FileLock take(const std::filesystem::path& file, const std::string& what);
  // Waits for it; for short sections only.
  static FileLock wait(const std::filesystem::path& file);
  // Empties the file: who holds it is nobody's business in a folder that is sent away.
  ~FileLock();
  FileLock(FileLock&&) = default;
  FileLock& operator=(FileLock&&) = delete;

 private:
  explicit FileLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace kf
