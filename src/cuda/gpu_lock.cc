// SPDX-License-Identifier: Apache-2.0
#include "cuda/gpu_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <thread>

namespace kf::cuda {
namespace {

std::string holder(int file) {
  std::array<char, 200> text{};
  const ssize_t count = pread(file, text.data(), text.size() - 1, 0);
  std::string who;
  for (ssize_t i = 0; i < count; ++i) {
    const char c = text[static_cast<std::size_t>(i)];
    who += c >= ' ' && c <= '~' ? c : ' ';  // another user may have written it
  }
  return who.empty() ? "somebody" : who;
}

}  // namespace

std::string lock_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

OrError<GpuLock> GpuLock::acquire(const std::string& folder, const std::string& uuid, std::chrono::milliseconds wait,
                                  const std::function<void(bool waits)>& waits) {
  const std::string path = folder + "/kfactory-gpu-" + uuid + ".lock";
  // Reading is enough for flock, so a file of another user (which sticky folders protect from O_CREAT) will do too.
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (file) {
    fchmod(file.get(), 0666);  // past the umask, for other users; fails for files of others, which is fine
  } else {
    file.reset(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  }
  if (!file) {
    return std::unexpected(system_error("open " + path));
  }
  const auto start = std::chrono::steady_clock::now();
  bool told = false;
  const auto tell = [&](bool waiting) {
    if (waits && told != waiting) {
      waits(waiting);
      told = waiting;
    }
  };
  while (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return std::unexpected(system_error("flock " + path));
    }
    if (std::chrono::steady_clock::now() - start >= wait) {
      tell(false);
      return std::unexpected(Error{path, "the GPU is in use by " + holder(file.get()),
                                   "wait for it, or choose another GPU with CUDA_VISIBLE_DEVICES"});
    }
    tell(true);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  tell(false);
  const std::string who = "kfactory, process " + std::to_string(getpid()) + "\n";
  if (ftruncate(file.get(), 0) == 0) {
    const ssize_t written = pwrite(file.get(), who.data(), who.size(), 0);
    static_cast<void>(written);  // only for people
  }
  return GpuLock(std::move(file));
}

}  // namespace kf::cuda
