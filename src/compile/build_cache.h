// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <kfactory/build.h>
#include "compile/nvrtc_library.h"

namespace kf {

// Builds by their id, in memory. The least recently used ones go when `limit_bytes` of PTX and cubins is exceeded.
// Thread-safe.
class MemoryCache {
 public:
  explicit MemoryCache(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  std::optional<Build> find(const Digest& id);
  void put(const Build& build);

 private:
  std::mutex mutex_;
  std::uint64_t limit_bytes_, bytes_ = 0;
  std::list<Build> builds_;  // most recently used first
  std::map<Digest, std::list<Build>::iterator> by_id_;
};

// What NVRTC gave for a successful build, in files (docs/formats/build.md). Several processes may share a folder:
// entries are written atomically, and one that is damaged in any way is a miss.
class FolderCache {
 public:
  explicit FolderCache(std::string folder) : folder_(std::move(folder)) {}
  std::optional<NvrtcOutput> find(const Digest& id) const;
  // An entry that cannot be written is not an error: the build exists all the same.
  void put(const Digest& id, const NvrtcOutput& output) const;
  std::string path_of(const Digest& id) const;

 private:
  std::string folder_;
};

}  // namespace kf
