// SPDX-License-Identifier: Apache-2.0
// Races on global memory, inside a block and between blocks. Who wrote each word of a launch last is kept; a weak
// read, or a strong read or an atomic of a weak write, must be ordered after it by barriers or by fences on both sides.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

namespace kf::emulator {

struct Warp;
struct Inst;
enum class Access : std::uint8_t;

// The last write to four bytes.
struct GlobalWrite {
  std::uint32_t time = 0;  // 0: nobody; else the writing warp's clock, see race.h
  std::uint32_t block = 0, source = 0;
  std::uint32_t released = 0;  // the writer's last fence
  std::uint8_t warp = 0, lane = 0;
  std::uint8_t bytes : 4 = 0;  // a mask of the word's four
  std::uint8_t ever : 4 = 0;   // ... of those that anybody wrote
  bool strong = false;         // atomic, relaxed, release, volatile
  bool block_only = false;     // ... of scope .cta
  bool is_bulk = false;        // of a bulk copy: through the async proxy
  std::uint32_t proxies = 0;   // Launch::proxy_fences then
};

// The words that one launch wrote, by page. Only the first kMostPages pages are followed, so that a launch with
// large outputs does not need many times their room.
class GlobalWrites {
 public:
  static constexpr std::uint64_t kPageBytes = 4096;
  static constexpr std::size_t kMostPages = 16'384;  // 64 MiB of device memory
  using Page = std::array<GlobalWrite, kPageBytes / 4>;

  bool empty() const { return pages_.empty(); }
  Page* find(std::uint64_t address) const {  // null: nobody wrote there
    const std::uint64_t number = address / kPageBytes;
    Recent& recent = recent_[number % recent_.size()];
    if (recent.number != number) recent = {number, look_up(number)};
    return recent.page;
  }
  Page* make(std::uint64_t address);  // null: no more are followed

 private:
  struct Recent {
    std::uint64_t number = 0;
    Page* page = nullptr;
  };
  Page* look_up(std::uint64_t number) const;

  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  mutable std::array<Recent, 256> recent_{};
};

// Looks at one access to global memory and remembers it. Reports races, with other launches too where the plan lets
// them run at the same time, and writes to what ld.global.nc reads.
void global_race_check(Warp& warp, const Inst& inst, int lane, std::uint64_t address, std::uint32_t bytes,
                       Access access);
// Reading global memory through the async proxy needs a fence.proxy.async after ordinary writes of the same launch, of
// the writer's block or of the reader's.
void check_async_proxy(Warp& warp, const Inst& inst, int lane, std::uint64_t address, std::uint32_t bytes);
// Whether any of the bytes from `low` to `high` need a look when they are read.
bool global_read_needs_check(const Warp& warp, std::uint64_t low, std::uint64_t high);

}  // namespace kf::emulator
