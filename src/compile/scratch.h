// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <utility>

#include <kfactory/error.h>
#include "os/descriptor.h"

namespace kf {

// The folder of one compilation, for this user alone; it goes with this object, with everything that is in it. As long
// as the process that made it lives, the folder is locked, so that what a killed one left can be told from what is
// used.
class CompileScratch {
 public:
  static OrError<CompileScratch> make(const std::string& parent);
  CompileScratch(CompileScratch&& other) noexcept
      : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}
  CompileScratch& operator=(CompileScratch&&) = delete;
  ~CompileScratch();
  const std::string& path() const { return path_; }

 private:
  CompileScratch(std::string path, Descriptor lock) : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  Descriptor lock_;
};

// Removes the folders in `parent` that killed processes left: this user's, not locked, and a minute old at least (one
// that is just being made is not locked yet).
void remove_abandoned_scratch(const std::string& parent);

}  // namespace kf
