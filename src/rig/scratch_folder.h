// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include <kfactory/error.h>

namespace kf {

// A folder that goes with this object, with all that is in it, whoever made it: a child may be killed at any time, so
// its parent owns what it leaves. Its name cannot be guessed; it is made when it is first needed.
class ScratchFolder {
 public:
  // In `parent`; empty: TMPDIR, or /tmp.
  explicit ScratchFolder(const std::string& parent);
  ~ScratchFolder();
  ScratchFolder(ScratchFolder&& other) noexcept;
  ScratchFolder& operator=(ScratchFolder&& other) noexcept;

  // For this user alone. An error when there is something of this name.
  OrError<void> make() const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;  // empty: moved from
};

}  // namespace kf
