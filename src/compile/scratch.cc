// SPDX-License-Identifier: Apache-2.0
#include "compile/scratch.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

namespace kf {
namespace {

constexpr const char* kPrefix = "kf-compile-";
constexpr std::time_t kYoung = 60;  // seconds

Descriptor locked(const std::string& folder) {
  Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (descriptor && ::flock(descriptor.get(), LOCK_EX | LOCK_NB) != 0) {
    descriptor.reset();
  }
  return descriptor;
}

bool is_abandoned(int folder) {
  struct stat status{};
  return ::fstat(folder, &status) == 0 && status.st_uid == ::geteuid() &&
         std::time(nullptr) - status.st_mtime >= kYoung;
}

}  // namespace

OrError<CompileScratch> CompileScratch::make(const std::string& parent) {
  std::string name = parent + "/" + kPrefix + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    Error error = system_error("cannot make a folder");
    error.where = parent;
    return std::unexpected(std::move(error));
  }
  Descriptor lock = locked(name);  // where a file system knows no locks, the age alone protects the folder
  return CompileScratch(std::move(name), std::move(lock));
}

CompileScratch::~CompileScratch() {
  if (!path_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
}

void remove_abandoned_scratch(const std::string& parent) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
    if (entry.path().filename().string().starts_with(kPrefix)) {
      const Descriptor lock = locked(entry.path().string());
      if (lock && is_abandoned(lock.get())) {
        std::filesystem::remove_all(entry.path(), ignored);
      }
    }
  }
}

}  // namespace kf
