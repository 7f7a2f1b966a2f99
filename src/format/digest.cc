// SPDX-License-Identifier: Apache-2.0
#include <kfactory/digest.h>
#include <kfactory/seed.h>

#include <sha2.h>
#include <sys/types.h>

#include <cstring>

namespace kf {

Digest sha256(std::span<const std::byte> bytes) {
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  Digest digest;
  SHA256Final(digest.sha256.data(), &context);
  return digest;
}

Digest sha256(std::string_view text) {
  return sha256(std::as_bytes(std::span(text.data(), text.size())));
}

std::string to_hex(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(64);
  for (const std::uint8_t byte : digest.sha256) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

OrError<Digest> digest_from_hex(std::string_view hex) {
  const auto value = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  Digest digest;
  if (hex.size() != 64) {
    return std::unexpected(
        Error{"", "a SHA-256 digest has 64 hexadecimal digits, found " + std::to_string(hex.size()), ""});
  }
  for (std::size_t i = 0; i < 32; ++i) {
    const int high = value(hex[2 * i]);
    const int low = value(hex[2 * i + 1]);
    if (high < 0 || low < 0) {
      return std::unexpected(Error{"", "not a lower-case hexadecimal digit in \"" + std::string(hex) + "\"", ""});
    }
    digest.sha256[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

std::uint64_t seed_for(const RunSecret& secret, Purpose purpose, VariantId variant, std::string_view case_id,
                       std::uint64_t use) {
  std::string text(reinterpret_cast<const char*>(secret.bytes.data()), secret.bytes.size());
  text += '|' + std::to_string(static_cast<int>(purpose)) + '|' + std::to_string(variant.attempt.value) + '|' +
          std::to_string(variant.tune) + '|' + std::string(case_id) + '|' + std::to_string(use);
  const Digest digest = sha256(text);
  std::uint64_t seed = 0;
  std::memcpy(&seed, digest.sha256.data(), sizeof seed);
  return seed;
}

}  // namespace kf
