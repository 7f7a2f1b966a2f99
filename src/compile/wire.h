// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/error.h>

namespace kf {

// A sequence of byte strings: u32 count, then u64 length and bytes of each; little-endian. Used between the factory
// and the compile processes, and for cache entries. Limits are checked before anything is allocated.
std::string pack(std::span<const std::string_view> fields);
std::string pack(std::span<const std::string> fields);
// nullopt: not a whole packed sequence.
std::optional<std::vector<std::string>> unpack(std::string_view bytes);

// One packed message with its length (u64) in front, on a socket.
OrError<void> send_message(int fd, std::string_view packed);
// An empty string: the peer closed before a message began.
OrError<std::string> receive_message(int fd, std::uint64_t limit);

// Hands a descriptor to the process at the other end of a Unix socket, with one byte.
OrError<void> send_descriptor(int socket, int fd);
// -1: the peer closed.
OrError<int> receive_descriptor(int socket);

}  // namespace kf
