// SPDX-License-Identifier: Apache-2.0
#include "overlay.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bit_words.h"

namespace kf::emulator {
namespace {

// One bit for each four: set where any of them is.
std::uint64_t any_of_four(std::uint64_t bytes) {
  std::uint64_t every_fourth = bytes | bytes >> 1;
  every_fourth = (every_fourth | every_fourth >> 2) & 0x1111'1111'1111'1111u;
  std::uint64_t packed = 0;
  for (int k = 0; k < 16; ++k) packed |= (every_fourth >> (4 * k) & 1) << k;
  return packed;
}

template <class Bits>
Bits either(const Bits& a, const Bits& b) {
  Bits sum;
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = a[k] | b[k];
  return sum;
}

}  // namespace

Overlay::Page& Overlay::page_of(const Region& region, std::uint64_t address) {
  const std::uint64_t number = address / kPageBytes;
  Recent& recent = recent_[number % recent_.size()];
  if (recent.number != number) {
    std::unique_ptr<Page>& slot = pages_[number];
    if (slot == nullptr) {
      slot = std::make_unique<Page>();
      slot->region = &region;
      slot->number = number;
      slot->cluster = cluster_;
    }
    recent = {number, slot.get()};
  }
  Page& page = *recent.page;
  if (page.cluster != cluster_) {
    page.cluster = cluster_;
    page.read_before = either(page.read_before, page.read_now);
    page.read_now = {};
    if (page.own != nullptr) {
      page.own->dirty_before = either(page.own->dirty_before, page.own->dirty_now);
      page.own->dirty_now = {};
    }
  }
  return page;
}

void Overlay::make_own(Page& page) {
  if (page.pinned || ++own_pages_ > kMostOwnPages) throw Entangled{};
  page.own = std::make_unique<Own>();
  Own& own = *page.own;
  own.page = &page;
  own.tracks = page.region->written != nullptr;
  const std::uint64_t start = page.number * kPageBytes;
  const std::uint64_t first = std::max(start, page.region->base);
  const std::uint64_t end = std::min(start + kPageBytes, page.region->base + page.region->bytes);
  std::memcpy(own.data.data() + (first - start), page.region->data + (first - page.region->base), end - first);
  if (own.tracks)
    std::memcpy(own.written.data() + (first - start), page.region->written + (first - page.region->base), end - first);
}

Overlay::Place Overlay::read(const Region& region, std::uint64_t address, std::uint32_t bytes) {
  Page& page = page_of(region, address);
  const std::uint64_t at = address % kPageBytes, last = at + bytes - 1;
  each_word(at / 4, last / 4, [&](std::size_t word, std::uint64_t bits) { page.read_now[word] |= bits; });
  if (page.own == nullptr) {
    const std::uint64_t offset = address - region.base;
    return {region.data + offset, region.written != nullptr ? region.written + offset : nullptr};
  }
  each_word(at, last, [&](std::size_t word, std::uint64_t bits) {
    if ((page.own->dirty_before[word] & bits) != 0) throw Entangled{};
  });
  return place_in(*page.own, address);
}

bool Overlay::read_range(const Region& region, std::uint64_t first, std::uint64_t last) {
  Page& page = page_of(region, first);
  if (page.own != nullptr) return false;
  each_word(first % kPageBytes / 4, last % kPageBytes / 4,
            [&](std::size_t word, std::uint64_t bits) { page.read_now[word] |= bits; });
  return true;
}

Overlay::Own& Overlay::own_page(const Region& region, std::uint64_t address) {
  Page& page = page_of(region, address);
  if (page.own == nullptr) make_own(page);
  return *page.own;
}

void Overlay::mark_written(Own& own, std::uint64_t address, std::uint32_t bytes) {
  const std::uint64_t at = address % kPageBytes, last = at + bytes - 1;
  each_word(at, last, [&](std::size_t word, std::uint64_t bits) {
    if ((own.dirty_before[word] & bits) != 0) throw Entangled{};
    own.dirty_now[word] |= bits;
  });
  each_word(at / 4, last / 4, [&](std::size_t word, std::uint64_t bits) {
    if ((own.page->read_before[word] & bits) != 0) throw Entangled{};
  });
}

Overlay::Place Overlay::write(const Region& region, std::uint64_t address, std::uint32_t bytes) {
  Own& own = own_page(region, address);
  mark_written(own, address, bytes);
  return place_in(own, address);
}

void Overlay::pin(const Region& region, std::uint64_t address) {
  Page& page = page_of(region, address);
  page.pinned = page.own == nullptr;  // a page of our own is read where it will be written
}

bool Overlay::independent(std::span<Overlay* const> all) {
  for (std::size_t a = 0; a < all.size(); ++a)
    for (const auto& [number, page] : all[a]->pages_) {
      if (page->own == nullptr) continue;
      const Flags dirty = either(page->own->dirty_now, page->own->dirty_before);
      for (std::size_t b = 0; b < all.size(); ++b) {
        if (b == a) continue;
        const auto found = all[b]->pages_.find(number);
        if (found == all[b]->pages_.end()) continue;
        const Page& other = *found->second;
        const Words read = either(other.read_now, other.read_before);
        for (std::size_t word = 0; word < dirty.size(); ++word) {
          if ((any_of_four(dirty[word]) & (read[word / 4] >> (word % 4 * 16) & 0xffff)) != 0) return false;
          if (other.own != nullptr && (dirty[word] & (other.own->dirty_now[word] | other.own->dirty_before[word])) != 0)
            return false;
        }
      }
    }
  return true;
}

void Overlay::commit() const {
  for (const auto& [number, page] : pages_) {
    if (page->own == nullptr) continue;
    const Own& own = *page->own;
    const Flags dirty = either(own.dirty_now, own.dirty_before);
    std::byte* data = page->region->data;
    std::uint8_t* written = page->region->written;
    const std::uint64_t start = number * kPageBytes;
    for (std::size_t word = 0; word < dirty.size(); ++word)
      for (std::uint64_t bits = dirty[word]; bits != 0;) {
        const auto from = static_cast<std::uint64_t>(std::countr_zero(bits));
        const auto run = static_cast<std::uint64_t>(std::countr_one(bits >> from));
        const std::uint64_t at = word * 64 + from;
        // A page may begin before its region.
        const std::uint64_t offset = start + at - page->region->base;
        std::memcpy(data + offset, own.data.data() + at, run);
        if (own.tracks && written != nullptr) std::memcpy(written + offset, own.written.data() + at, run);
        bits &= ~(low_bits(run) << from);
      }
  }
}

}  // namespace kf::emulator
