// SPDX-License-Identifier: Apache-2.0
#include "os/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "os/descriptor.h"

namespace kf {
namespace {

// The kernel's numbers; this machine's header may be older than its kernel (linux/landlock.h, ABI 1 to 6).
constexpr std::uint64_t kTruncate = 1ULL << 14;                                      // ABI 3
constexpr std::uint64_t kIoctlDev = 1ULL << 15;                                      // ABI 5
constexpr std::uint64_t kBindTcp = 1ULL << 0, kConnectTcp = 1ULL << 1;               // ABI 4
constexpr std::uint64_t kScopeAbstractSocket = 1ULL << 0, kScopeSignal = 1ULL << 1;  // ABI 6

struct RulesetAttributes {
  std::uint64_t handled_access_fs = 0, handled_access_net = 0, scoped = 0;
};

constexpr std::uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr std::uint64_t kReadFolder = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kWriteFolder = kReadFolder | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                                       LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                                       LANDLOCK_ACCESS_FS_MAKE_DIR | kTruncate;
constexpr std::uint64_t kFirstAbi = (1ULL << 13) - 1;  // EXECUTE .. MAKE_SYM

RulesetAttributes everything(int abi) {
  RulesetAttributes handled;
  handled.handled_access_fs =
      kFirstAbi | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) | (abi >= 3 ? kTruncate : 0) | (abi >= 5 ? kIoctlDev : 0);
  handled.handled_access_net = abi >= 4 ? kBindTcp | kConnectTcp : 0;
  handled.scoped = abi >= 6 ? kScopeAbstractSocket | kScopeSignal : 0;
  return handled;
}

std::size_t size_for(int abi) {
  return abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
}

int probe() {
  return static_cast<int>(::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
}

OrError<void> allow(int ruleset, const std::string& path, std::uint64_t folder_rights, std::uint64_t handled) {
  const Descriptor opened(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status{};
  if (!opened || ::fstat(opened.get(), &status) != 0) {
    return std::unexpected(system_error("sandbox: cannot open " + path));
  }
  landlock_path_beneath_attr rule{};
  rule.parent_fd = opened.get();
  rule.allowed_access = (S_ISDIR(status.st_mode) ? folder_rights : folder_rights & kReadFile) & handled;
  if (::syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0) {
    return std::unexpected(system_error("sandbox: cannot allow " + path));
  }
  return {};
}

}  // namespace

int landlock_abi() {
  const int abi = probe();
  return abi > 0 ? abi : 0;
}

std::string sandbox_status() {
  const int abi = probe();
  if (abi > 0) {
    return "Landlock ABI " + std::to_string(abi);
  }
  switch (errno) {
    case ENOSYS:
      return "no Landlock: Linux before 5.13, or a kernel built without it";
    case EOPNOTSUPP:
      return "no Landlock: switched off when this machine was started (lsm= on the kernel's command line)";
    case EPERM:
      return "no Landlock: a container's seccomp filter forbids it";
    default:
      return std::string("no Landlock: ") + std::strerror(errno);
  }
}

OrError<bool> enter_sandbox(const SandboxRules& rules) {
  const int abi = landlock_abi();
  if (abi == 0) {
    return false;
  }
  const RulesetAttributes handled = everything(abi);
  const Descriptor ruleset(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &handled, size_for(abi), 0)));
  if (!ruleset) {
    return std::unexpected(system_error("sandbox: landlock_create_ruleset"));
  }
  for (const auto& [paths, rights] :
       {std::pair(&rules.readable, kReadFolder), std::pair(&rules.writable, kWriteFolder)}) {
    for (const std::string& path : *paths) {
      if (OrError<void> allowed = allow(ruleset.get(), path, rights, handled.handled_access_fs); !allowed) {
        return std::unexpected(allowed.error());
      }
    }
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return std::unexpected(system_error("sandbox: landlock_restrict_self"));
  }
  return true;
}

}  // namespace kf
