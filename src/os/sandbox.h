// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include <kfactory/error.h>

namespace kf {

// What a process may still touch. Everything else in the file system is denied, TCP and signals to processes outside
// too where the kernel's Landlock is new enough (ABI 4, ABI 6). Open descriptors keep working.
struct SandboxRules {
  std::vector<std::string> readable;  // files and folders; they must exist
  std::vector<std::string> writable;  // folders in which files may be made, changed and removed
};

// The kernel's Landlock version; 0 where it has none, or where it is switched off.
int landlock_abi();
// "Landlock ABI 7", or "no Landlock: Linux before 5.13" and the like: one line for people.
std::string sandbox_status();

// Binds the calling thread, and every process and thread that it starts from now on, for good. False: this kernel has
// no Landlock, and nothing has changed. An error: the rules could not be applied, and the caller must not go on.
OrError<bool> enter_sandbox(const SandboxRules& rules);

}  // namespace kf
