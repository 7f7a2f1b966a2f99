// SPDX-License-Identifier: Apache-2.0
#include "ledger/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include <kfactory/error.h>

namespace kf {
namespace {

std::string file_text(const char* path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The command line with spaces, short; arguments never hold a key.
std::string own_command() {
  std::string command = file_text("/proc/self/cmdline");
  for (char& c : command) {
    c = c == '\0' || c == '\n' ? ' ' : c;
  }
  while (command.ends_with(' ')) {
    command.pop_back();
  }
  return command.size() <= 200 ? command : command.substr(0, 200) + "...";
}

std::string self() {
  char host[256] = "?";
  ::gethostname(host, sizeof host - 1);
  return "process " + std::to_string(::getpid()) + " on " + host + ": " + own_command();
}

struct flock whole_file() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

Descriptor open_lock_file(const std::filesystem::path& file) {
  Descriptor descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!descriptor) {
    throw Fatal(to_string(system_error(file.string() + " cannot be opened for writing")) +
                "; whoever writes here must be allowed to write in " + file.parent_path().string());
  }
  return descriptor;
}

}  // namespace

FileLock::~FileLock() {
  if (file_ && ::ftruncate(file_.get(), 0) != 0) {
    return;  // the text stays; the lock goes all the same
  }
}

FileLock FileLock::take(const std::filesystem::path& file, const std::string& what) {
  Descriptor descriptor = open_lock_file(file);
  struct flock lock = whole_file();
  if (::fcntl(descriptor.get(), F_SETLK, &lock) != 0) {
    if (errno != EACCES && errno != EAGAIN) {
      throw Fatal(to_string(system_error("lock " + file.string())));
    }
    const std::string holder = file_text(file.c_str());
    throw Fatal(what + " is in use by " + (holder.empty() ? "another process" : holder) +
                ". Wait for it, end it, or take another folder (--out)");
  }
  const std::string text = self();
  if (::ftruncate(descriptor.get(), 0) != 0 || !write_all(descriptor.get(), std::string_view(text))) {
    throw Fatal(to_string(system_error("write " + file.string())));
  }
  return FileLock(std::move(descriptor));
}

FileLock FileLock::wait(const std::filesystem::path& file) {
  Descriptor descriptor = open_lock_file(file);
  struct flock lock = whole_file();
  while (::fcntl(descriptor.get(), F_SETLKW, &lock) != 0) {
    if (errno != EINTR) {
      throw Fatal(to_string(system_error("lock " + file.string())));
    }
  }
  return FileLock(std::move(descriptor));
}

}  // namespace kf
