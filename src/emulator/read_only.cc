// SPDX-License-Identifier: Apache-2.0
#include "read_only.h"

#include <algorithm>
#include <bit>

#include "bit_words.h"
#include "block.h"

namespace kf::emulator {
namespace {

// f(page, first, last) for each page of a range of bytes.
template <class F>
void each_page(std::uint64_t address, std::uint64_t bytes, F&& f) {
  constexpr std::uint64_t kPage = ReadOnlyBytes::kPageBytes;
  for (const std::uint64_t end = address + bytes; address < end;) {
    const std::uint64_t next = std::min(end, (address / kPage + 1) * kPage);
    f(address / kPage, address % kPage, (next - 1) % kPage);
    address = next;
  }
}

}  // namespace

ReadOnlyBytes::Page* ReadOnlyBytes::find(std::uint64_t number) {
  Recent& recent = recent_[number % recent_.size()];
  if (recent.number != number) {
    const auto found = pages_.find(number);
    recent = {number, found == pages_.end() ? nullptr : found->second.get()};
  }
  return recent.page;
}

ReadOnlyBytes::Page* ReadOnlyBytes::make(std::uint64_t number) {
  if (Page* page = find(number)) return page;
  if (pages_.size() == kMostPages) return nullptr;
  Page* page = (pages_[number] = std::make_unique<Page>()).get();
  recent_[number % recent_.size()] = {number, page};
  return page;
}

void ReadOnlyBytes::add(std::uint32_t source, std::uint64_t address, std::uint64_t bytes) {
  each_page(address, bytes, [&](std::uint64_t number, std::uint64_t first, std::uint64_t last) {
    Page* page = make(number);
    if (page == nullptr) return;
    auto of = std::ranges::find(*page, source, &Of::source);
    if (of == page->end()) {
      page->push_back({source, {}});
      of = std::prev(page->end());
    }
    each_word(first, last, [&](std::size_t word, std::uint64_t bits) { of->bytes[word] |= bits; });
  });
}

std::optional<std::uint32_t> ReadOnlyBytes::reader(std::uint64_t address, std::uint64_t bytes) {
  std::optional<std::uint32_t> source;
  each_page(address, bytes, [&](std::uint64_t number, std::uint64_t first, std::uint64_t last) {
    const Page* page = find(number);
    if (page == nullptr) return;
    for (const Of& of : *page)
      each_word(first, last, [&](std::size_t word, std::uint64_t bits) {
        if ((of.bytes[word] & bits) != 0) source = of.source;
      });
  });
  return source;
}

void note_read_only(Warp& w, const Inst& inst, const std::uint64_t* at, Mask lanes, std::uint32_t bytes) {
  if (!w.launch->check_races) return;
  ReadOnlyBytes& all = w.launch->read_only;
  bool in_a_row = lanes == kAllLanes;
  for (std::uint64_t l = 1; in_a_row && l < kLanes; ++l) in_a_row = at[l] == at[0] + l * bytes;
  if (in_a_row) return all.add(inst.source, at[0], std::uint64_t{bytes} * kLanes);
  std::uint64_t last = 0;
  for (; lanes != 0; lanes &= lanes - 1)  // often the same for all
    if (const std::uint64_t address = at[std::countr_zero(lanes)]; address != last)
      all.add(inst.source, last = address, bytes);
}

}  // namespace kf::emulator
