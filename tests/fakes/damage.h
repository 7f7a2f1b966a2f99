// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace kf::test {

// Damages texts and bytes as disks, networks and people do: flipped and lost bytes, repeated and truncated pieces,
// other punctuation, huge numbers. The same seed gives the same damage.
class Damage {
 public:
  explicit Damage(std::uint64_t seed) : random_(seed) {}

  std::string operator()(std::string text) {
    static constexpr std::string_view kPieces[] = {"\"",       "{",     "}",    "[",       "]",  ",",  ":",
                                                   "-",        "1e999", "null", "true",    "\\", "\n", "\\ud800",
                                                   "\xff\xfe", "-1",    "[[[[", "{\"a\":", "0",  "\r", "```"};
    for (std::uint64_t changes = 1 + pick(4); changes > 0 && !text.empty(); --changes) {
      const std::uint64_t at = pick(text.size());
      const std::uint64_t length = 1 + pick(24);
      switch (pick(7)) {
        case 0:
          text[at] = static_cast<char>(pick(256));
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, text.substr(pick(text.size()), length));
          break;
        case 3:
          text.replace(at, length, kPieces[pick(std::size(kPieces))]);
          break;
        case 4:
          text.insert(at, kPieces[pick(std::size(kPieces))]);
          break;
        case 5:
          text.insert(at, "99999999999999999999");
          break;
        default:
          text.resize(at);
          break;
      }
    }
    return text;
  }

  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

 private:
  std::mt19937_64 random_;
};

}  // namespace kf::test
