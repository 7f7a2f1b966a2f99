// SPDX-License-Identifier: Apache-2.0
// Global memory as one of several threads sees it that carry out the clusters of a launch side by side: what was there
// before the launch, and pages of its own for what its clusters write. Each byte written and each word read is
// remembered, so that clusters which depend on one another in any way are noticed, whoever carries them out. Then
// nothing that was done counts, and the launch is carried out anew by one thread.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>

#include "memory.h"

namespace kf::emulator {

struct Warp;

// Thrown where a cluster depends on another one, or might: what one writes another reads or writes, an atomic or a
// strong access, a clock, a wait without end.
struct Entangled {};

class Overlay {
 public:
  static constexpr std::uint64_t kPageBytes = 4096;
  static constexpr std::size_t kMostOwnPages = 4096;  // 16 MiB written by one thread: more is left to one thread

  struct Place {
    std::byte* data = nullptr;
    std::uint8_t* written = nullptr;  // null: every byte has a value
  };

  // What follows is done by the cluster with this number, counted from 1.
  void enter(std::uint32_t cluster) { cluster_ = cluster; }

  // The place of bytes that lie in one page. Throws Entangled for bytes that another cluster has written, and for
  // writes to words that another one has read.
  Place read(const Region& region, std::uint64_t address, std::uint32_t bytes);
  Place write(const Region& region, std::uint64_t address, std::uint32_t bytes);
  // The same for all bytes of one page from `first` to `last`, when nobody has written to that page here; else false,
  // and the caller asks for each place. True: they are read where the region has them.
  bool read_range(const Region& region, std::uint64_t first, std::uint64_t last);
  // The page of `address` for writes of a whole warp: mark() each of them, place = data + (address - `address`).
  struct Own;
  Own& own_page(const Region& region, std::uint64_t address);
  void mark_written(Own& page, std::uint64_t address, std::uint32_t bytes);
  static Place place_in(Own& page, std::uint64_t address);
  // An asynchronous copy will read these bytes later: nobody may write to their page from now on.
  void pin(const Region& region, std::uint64_t address);

  // Whether no two of them depend on each other.
  static bool independent(std::span<Overlay* const> all);
  // Writes what was written into the regions.
  void commit() const;

 private:
  using Words = std::array<std::uint64_t, kPageBytes / 4 / 64>;
  using Flags = std::array<std::uint64_t, kPageBytes / 64>;
  struct Page {
    const Region* region = nullptr;
    std::uint64_t number = 0;
    std::uint32_t cluster = 0;  // whose `now` it is
    bool pinned = false;
    Words read_now{}, read_before{};
    std::unique_ptr<Own> own;
  };
  struct Recent {
    std::uint64_t number = ~std::uint64_t{0};
    Page* page = nullptr;
  };

  Page& page_of(const Region& region, std::uint64_t address);
  void make_own(Page& page);

  std::uint32_t cluster_ = 0;
  std::size_t own_pages_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::array<Recent, 256> recent_{};
};

// A page with writes of this thread. Bytes outside the region are never touched.
struct Overlay::Own {
  alignas(64) std::array<std::byte, kPageBytes> data;
  std::array<std::uint8_t, kPageBytes> written;
  bool tracks = false;  // the region has flags
  Page* page = nullptr;
  Flags dirty_now{}, dirty_before{};  // a bit a byte
};

inline Overlay::Place Overlay::place_in(Own& page, std::uint64_t address) {
  const std::uint64_t at = address % kPageBytes;
  return {page.data.data() + at, page.tracks ? page.written.data() + at : nullptr};
}

}  // namespace kf::emulator
