// SPDX-License-Identifier: Apache-2.0
// A shared library for LD_PRELOAD: it counts what a process does to the files of one folder and what it writes to
// pipes, and at the n-th time kills the process or lets the call fail. The product has no hook and knows nothing of it.
//
//   KF_FAULT_FOLDER  files below it count (absolute path)
//   KF_FAULT_AT      CLASS:N, counted from 1. Classes:
//                      ledger  pwrite, write, ftruncate, fsync, fdatasync of ledger.sqlite and its companions
//                      file    write, fsync, syncfs, creation of other files
//                      rename, unlink, mkdir
//                      frame   a write to a pipe above descriptor 2
//                      step    each of the above except frame
//   KF_FAULT_DO      kill-before, kill-after, torn (half of the bytes, then kill),
//                    enospc, eio (the call fails), short-enospc (half of the bytes are written, the next call fails)
//   KF_FAULT_STAYS   set: the call fails from then on, as on a full disk, not once
//   KF_FAULT_ONCE    path: the first process that gets there makes this file and strikes; later ones go unharmed
//   KF_FAULT_WHO     leader (the process that was executed; default) or child (what it forks; each counts for itself)
//   KF_FAULT_TRACE   path: one line for each counted call: class, its number, function, file
//   KF_FAULT_CLOCK   N:SECONDS: from each process' N-th reading of the time of day on, it is so many seconds earlier
//   KF_FAULT_RANDOM  set: getrandom gives the same bytes every time, so that two runs have the same seeds
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace {

enum class Class { kLedger, kFile, kRename, kUnlink, kMkdir, kFrame, kCount };
constexpr const char* kNames[] = {"ledger", "file", "rename", "unlink", "mkdir", "frame"};

enum class Strike { kNone, kKillBefore, kKillAfter, kTorn, kFail, kShortThenFail };

struct Plan {
  const char* folder = std::getenv("KF_FAULT_FOLDER");
  const char* at = std::getenv("KF_FAULT_AT");
  const char* what = std::getenv("KF_FAULT_DO");
  const char* once = std::getenv("KF_FAULT_ONCE");
  const char* who = std::getenv("KF_FAULT_WHO");
  const char* trace = std::getenv("KF_FAULT_TRACE");
  const char* clock = std::getenv("KF_FAULT_CLOCK");
  bool stays = std::getenv("KF_FAULT_STAYS") != nullptr;
  bool random = std::getenv("KF_FAULT_RANDOM") != nullptr;
  pid_t leader = ::getpid();
};

const Plan& plan() {
  static const Plan read;
  return read;
}

// Made at start-up: what a process forks is not the leader.
[[gnu::constructor]] void begin() {
  plan();
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

std::mutex counting;
pid_t counted_for = 0;
long counts[static_cast<int>(Class::kCount)];
long steps = 0;
bool struck = false, fail_next = false;

bool starts_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

void note(Class kind, const char* call, const char* path) {
  if (plan().trace == nullptr) {
    return;
  }
  char line[1024];
  const char* slash = std::strrchr(path, '/');
  const int length = std::snprintf(line, sizeof line, "%s %ld %ld %s %s\n", kNames[static_cast<int>(kind)],
                                   counts[static_cast<int>(kind)], steps, call, slash == nullptr ? path : slash + 1);
  const int fd =
      static_cast<int>(::syscall(SYS_openat, AT_FDCWD, plan().trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  ::syscall(SYS_write, fd, line, length);
  ::syscall(SYS_close, fd);
}

Strike strike_of(const char* name) {
  const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
  return is("kill-before")           ? Strike::kKillBefore
         : is("kill-after")          ? Strike::kKillAfter
         : is("torn")                ? Strike::kTorn
         : is("short-enospc")        ? Strike::kShortThenFail
         : is("enospc") || is("eio") ? Strike::kFail
                                     : Strike::kNone;
}

bool is_our_turn() {
  if (plan().once == nullptr) {
    return true;
  }
  const long fd = ::syscall(SYS_openat, AT_FDCWD, plan().once, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (fd >= 0) {
    ::syscall(SYS_close, fd);
  }
  return fd >= 0;
}

// Counts one call; what is to be done to it.
Strike count(Class kind, const char* call, const char* path) {
  const std::lock_guard lock(counting);
  const pid_t self = ::getpid();
  if (self != counted_for) {
    counted_for = self;
    std::memset(counts, 0, sizeof counts);
    steps = 0;
    struck = fail_next = false;
  }
  ++counts[static_cast<int>(kind)];
  steps += kind == Class::kFrame ? 0 : 1;
  const bool child = self != plan().leader;
  const bool child_wanted = plan().who != nullptr && std::strcmp(plan().who, "child") == 0;
  if (child != child_wanted) {
    return Strike::kNone;
  }
  note(kind, call, path);
  if (plan().at == nullptr || plan().what == nullptr) {
    return Strike::kNone;
  }
  const char* colon = std::strchr(plan().at, ':');
  const bool by_step = starts_with(plan().at, "step:");
  if (colon == nullptr || (by_step ? kind == Class::kFrame : !starts_with(plan().at, kNames[static_cast<int>(kind)]))) {
    return Strike::kNone;
  }
  const long number = by_step ? steps : counts[static_cast<int>(kind)];
  const long wanted = std::atol(colon + 1);
  const bool now = !struck && number == wanted && is_our_turn();
  const bool still = struck && plan().stays;
  if (std::exchange(fail_next, false) || (still && strike_of(plan().what) == Strike::kShortThenFail)) {
    return Strike::kFail;
  }
  struck = struck || now;
  const Strike strike = now || still ? strike_of(plan().what) : Strike::kNone;
  fail_next = strike == Strike::kShortThenFail;
  return strike;
}

[[noreturn]] void die() {
  ::kill(::getpid(), SIGKILL);
  for (;;) {
    ::pause();
  }
}

int failure() {
  errno = std::strcmp(plan().what, "eio") == 0 ? EIO : ENOSPC;
  return -1;
}

bool class_of_path(const char* path, Class& kind) {
  if (plan().folder == nullptr || path == nullptr || !starts_with(path, plan().folder)) {
    return false;
  }
  const char* slash = std::strrchr(path, '/');
  kind = starts_with(slash + 1, "ledger.sqlite") ? Class::kLedger : Class::kFile;
  return true;
}

bool absolute(const char* path, char* into, std::size_t size) {
  if (path == nullptr || path[0] == '/') {
    return path != nullptr && std::snprintf(into, size, "%s", path) < static_cast<int>(size);
  }
  char folder[512];
  return ::getcwd(folder, sizeof folder) != nullptr &&
         std::snprintf(into, size, "%s/%s", folder, path) < static_cast<int>(size);
}

// The class of what `fd` is; `path` gets its name.
bool class_of_descriptor(int fd, Class& kind, char* path, std::size_t size) {
  char link[64];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t length = ::readlink(link, path, size - 1);
  if (length <= 0) {
    return false;
  }
  path[length] = '\0';
  if (starts_with(path, "pipe:")) {
    kind = Class::kFrame;
    return fd > 2;
  }
  return class_of_path(path, kind);
}

// A call that writes `size` bytes through `put(size)`.
template <class Put>
ssize_t writing(int fd, const char* call, std::size_t size, Put put) {
  Class kind{};
  char path[1024];
  if (size <= 1 || !class_of_descriptor(fd, kind, path, sizeof path)) {
    return put(size);
  }
  switch (count(kind, call, path)) {
    case Strike::kKillBefore:
      die();
    case Strike::kKillAfter:
      put(size);
      die();
    case Strike::kTorn:
      put(size / 2);
      die();
    case Strike::kShortThenFail:
      return put(size / 2);
    case Strike::kFail:
      return failure();
    case Strike::kNone:
      break;
  }
  return put(size);
}

// A call that does its work whole or not at all.
template <class Do>
int doing(Class kind, const char* call, const char* path, Do work) {
  switch (count(kind, call, path)) {
    case Strike::kKillBefore:
      die();
    case Strike::kKillAfter:
    case Strike::kTorn:
      work();
      die();
    case Strike::kShortThenFail:
    case Strike::kFail:
      return failure();
    case Strike::kNone:
      break;
  }
  return work();
}

template <class Do>
int on_descriptor(int fd, const char* call, Do work) {
  Class kind{};
  char path[1024];
  const bool counted = class_of_descriptor(fd, kind, path, sizeof path) && kind != Class::kFrame;
  return counted ? doing(kind, call, path, work) : work();
}

template <class Do>
int on_path(Class kind, const char* name, const char* call, Do work) {
  Class any{};
  char path[1024];
  const bool counted = absolute(name, path, sizeof path) && class_of_path(path, any);
  return counted ? doing(kind, call, path, work) : work();
}

// How much earlier the time of day is at this reading.
time_t seconds_back() {
  static std::atomic<long> readings{0};
  const char* colon = plan().clock == nullptr ? nullptr : std::strchr(plan().clock, ':');
  return colon != nullptr && ++readings >= std::atol(plan().clock) ? std::atol(colon + 1) : 0;
}

}  // namespace

extern "C" {

ssize_t write(int fd, const void* bytes, size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t)>("write");
  return writing(fd, "write", size, [&](size_t part) { return real(fd, bytes, part); });
}

ssize_t pwrite(int fd, const void* bytes, size_t size, off_t at) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite");
  return writing(fd, "pwrite", size, [&](size_t part) { return real(fd, bytes, part, at); });
}

ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t at) {
  static const auto real = next<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64");
  return writing(fd, "pwrite", size, [&](size_t part) { return real(fd, bytes, part, at); });
}

int fsync(int fd) {
  static const auto real = next<int (*)(int)>("fsync");
  return on_descriptor(fd, "fsync", [&] { return real(fd); });
}

int syncfs(int fd) {
  static const auto real = next<int (*)(int)>("syncfs");
  return on_descriptor(fd, "syncfs", [&] { return real(fd); });
}

int fdatasync(int fd) {
  static const auto real = next<int (*)(int)>("fdatasync");
  return on_descriptor(fd, "fdatasync", [&] { return real(fd); });
}

int ftruncate(int fd, off_t size) noexcept {
  static const auto real = next<int (*)(int, off_t)>("ftruncate");
  return on_descriptor(fd, "ftruncate", [&] { return real(fd, size); });
}

int ftruncate64(int fd, off64_t size) noexcept {
  static const auto real = next<int (*)(int, off64_t)>("ftruncate64");
  return on_descriptor(fd, "ftruncate", [&] { return real(fd, size); });
}

int rename(const char* from, const char* to) noexcept {
  static const auto real = next<int (*)(const char*, const char*)>("rename");
  return on_path(Class::kRename, to, "rename", [&] { return real(from, to); });
}

int unlink(const char* path) noexcept {
  static const auto real = next<int (*)(const char*)>("unlink");
  return on_path(Class::kUnlink, path, "unlink", [&] { return real(path); });
}

int mkdir(const char* path, mode_t mode) noexcept {
  static const auto real = next<int (*)(const char*, mode_t)>("mkdir");
  return on_path(Class::kMkdir, path, "mkdir", [&] { return real(path, mode); });
}

int mkostemp(char* pattern, int flags) {
  static const auto real = next<int (*)(char*, int)>("mkostemp");
  return on_path(Class::kFile, pattern, "mkostemp", [&] { return real(pattern, flags); });
}

ssize_t getrandom(void* bytes, size_t size, unsigned flags) {
  static const auto real = next<ssize_t (*)(void*, size_t, unsigned)>("getrandom");
  if (!plan().random) {
    return real(bytes, size, flags);
  }
  for (size_t i = 0; i < size; ++i) {
    static_cast<unsigned char*>(bytes)[i] = static_cast<unsigned char>(i * 37 + 11);
  }
  return static_cast<ssize_t>(size);
}

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, now);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    now->tv_sec -= seconds_back();
  }
  return result;
}

time_t time(time_t* into) noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  if (into != nullptr) {
    *into = now.tv_sec;
  }
  return now.tv_sec;
}

}  // extern "C"
