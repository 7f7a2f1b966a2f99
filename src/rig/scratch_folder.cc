// SPDX-License-Identifier: Apache-2.0
#include "rig/scratch_folder.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "os/entropy.h"

namespace kf {
namespace {

std::string unguessable_name() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<std::byte, 12> random{};
  fill_with_entropy(random);
  std::string name = "kfactory-sanitize-";
  for (const std::byte byte : random) {
    name += kDigits[std::to_integer<unsigned>(byte) >> 4];
    name += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return name;
}

}  // namespace

ScratchFolder::ScratchFolder(const std::string& parent) {
  const char* given = std::getenv("TMPDIR");
  path_ = !parent.empty() ? parent : given != nullptr && *given != '\0' ? given : "/tmp";
  path_ += "/" + unguessable_name();
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  if (!path_.empty()) {
    std::filesystem::remove_all(path_, error);
  }
}

ScratchFolder::ScratchFolder(ScratchFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

ScratchFolder& ScratchFolder::operator=(ScratchFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

OrError<void> ScratchFolder::make() const {
  if (::mkdir(path_.c_str(), 0700) != 0) {
    return std::unexpected(Error{path_, std::string("the folder could not be made: ") + std::strerror(errno),
                                 "the folder that it is to lie in (TMPDIR, else /tmp, unless another one was given) "
                                 "must exist, have room and be writable for this user"});
  }
  return {};
}

}  // namespace kf
