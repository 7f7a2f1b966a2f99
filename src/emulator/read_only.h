// SPDX-License-Identifier: Apache-2.0
// Bytes that ld.global.nc or ldu has read: PTX wants them not to change while the launch runs, since such loads do not
// see what others, or the thread itself, have written meanwhile.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "program.h"

namespace kf::emulator {

class ReadOnlyBytes {
 public:
  static constexpr std::uint64_t kPageBytes = 4096;
  static constexpr std::size_t kMostPages = 16'384;  // the first 64 MiB are followed

  bool empty() const { return pages_.empty(); }
  void add(std::uint32_t source, std::uint64_t address, std::uint64_t bytes);
  // Program::sources of a load that read any of these bytes.
  std::optional<std::uint32_t> reader(std::uint64_t address, std::uint64_t bytes);

 private:
  struct Of {
    std::uint32_t source = 0;
    std::array<std::uint64_t, kPageBytes / 64> bytes{};  // a bit a byte
  };
  using Page = std::vector<Of>;  // one for each instruction; few
  struct Recent {
    std::uint64_t number = ~std::uint64_t{0};
    Page* page = nullptr;  // null: none yet
  };
  Page* find(std::uint64_t number);
  Page* make(std::uint64_t number);

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::array<Recent, 64> recent_{};
};

struct Warp;
// A ld.global.nc of these lanes, all of them inside one region.
void note_read_only(Warp& warp, const Inst& inst, const std::uint64_t* at, Mask lanes, std::uint32_t bytes);

}  // namespace kf::emulator
