// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <kfactory/error.h>

namespace kf {

enum class Durable : std::uint8_t {
  kNow,    // also after a power cut: fsync of the file and of its folder, some milliseconds each
  kLater,  // whatever process is killed; a power cut before sync_file_system may leave a torn file
};

// Afterwards `path` holds exactly `bytes`, or what it held before, whatever crashes in between: a temporary file in
// the same folder, fsync, rename, fsync of the folder. The folder must exist.
OrError<void> write_file_atomically(const std::string& path, std::span<const std::byte> bytes,
                                    Durable durable = Durable::kNow);
OrError<void> write_file_atomically(const std::string& path, std::string_view text, Durable durable = Durable::kNow);

// Everything that was written to the file system of this folder is durable afterwards.
OrError<void> sync_file_system(const std::string& folder);

// The whole file. One above `limit` bytes is an error, and so is anything that is not a regular file.
OrError<std::string> read_file(const std::string& path, std::uint64_t limit = std::uint64_t{1} << 30);

}  // namespace kf
