// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <kfactory/error.h>

namespace kf {

// SHA-256 of some bytes; names blobs, builds and sources.
struct Digest {
  std::array<std::uint8_t, 32> sha256{};
  auto operator<=>(const Digest&) const = default;
};

Digest sha256(std::span<const std::byte> bytes);
Digest sha256(std::string_view text);
// 64 lower-case hexadecimal digits.
std::string to_hex(const Digest& digest);
// Refuses anything but 64 hexadecimal digits.
OrError<Digest> digest_from_hex(std::string_view hex);

}  // namespace kf
