// SPDX-License-Identifier: Apache-2.0
#include "global_race.h"

#include <algorithm>

#include "access.h"
#include "plan_touches.h"
#include "race.h"

namespace kf::emulator {

GlobalWrites::Page* GlobalWrites::look_up(std::uint64_t number) const {
  const auto found = pages_.find(number);
  return found == pages_.end() ? nullptr : found->second.get();
}

GlobalWrites::Page* GlobalWrites::make(std::uint64_t address) {
  if (Page* page = find(address)) return page;
  if (pages_.size() == kMostPages) return nullptr;
  const std::uint64_t number = address / kPageBytes;
  Page* page = (pages_[number] = std::make_unique<Page>()).get();
  recent_[number % recent_.size()] = {number, page};
  return page;
}

namespace {

std::string describe_writer(const Launch& launch, const GlobalWrite& write) {
  const auto& grid = launch.shape.grid;
  const auto& block = launch.shape.block;
  auto triple = [](std::uint32_t n, const std::array<std::uint32_t, 3>& of) {
    return "(" + std::to_string(n % of[0]) + "," + std::to_string(n / of[0] % of[1]) + "," +
           std::to_string(n / of[0] / of[1]) + ")";
  };
  Inst where;
  where.source = write.source;
  return "block " + triple(write.block, grid) + ", thread " +
         triple(std::uint32_t{write.warp} * kLanes + write.lane, block) + " at " + describe_source(launch, where);
}

bool ordered(const Warp& warp, int lane, const GlobalWrite& write) {
  if (write.block != warp.block->linear) return race_ordered_across(warp, write.block, write.warp, write.time);
  if (write.warp != warp.index) return warp.clock[write.warp] >= write.time;
  return race_ordered_lanes(warp, lane, write.lane, write.time);
}

[[noreturn]] void racing(Warp& warp, const Inst& inst, int lane, std::uint64_t address, Access access,
                         const GlobalWrite& write) {
  const Launch& launch = *warp.launch;
  report(warp, inst, lane,
         Found{Checker::kRace,
               std::string("race on global memory: ") + (access == Access::kRead ? "reads " : "updates ") +
                   name_of_byte(warp, address) + ", which " + describe_writer(launch, write) +
                   " wrote; no barrier, and no fences on both sides, lie between them" +
                   (write.block == warp.block->linear
                        ? ""
                        : ": fences and atomics of a block's scope (.cta, __threadfence_block) reach no other block"),
               {source_place(launch, write.source, "wrote")}});
}

constexpr const char* kReadOnlyRule =
    "; what ld.global.nc (__ldg, const __restrict__) reads must not change while the launch runs";

[[noreturn]] void read_of_written(Warp& warp, const Inst& inst, int lane, std::uint64_t address,
                                  const GlobalWrite& write) {
  report(warp, inst, lane,
         Found{Checker::kRace,
               "reads " + name_of_byte(warp, address) + " through the non-coherent path, which " +
                   describe_writer(*warp.launch, write) + " wrote" + kReadOnlyRule,
               {source_place(*warp.launch, write.source, "wrote")}});
}

void check_read_only(Warp& warp, const Inst& inst, int lane, std::uint64_t address, std::uint32_t bytes) {
  const auto source = warp.launch->read_only.reader(address, bytes);
  if (!source) return;
  Inst where;
  where.source = *source;
  report(warp, inst, lane,
         Found{Checker::kRace,
               "writes " + name_of_byte(warp, address) + ", which " + describe_source(*warp.launch, where) +
                   " has read through the non-coherent path" + kReadOnlyRule,
               {source_place(*warp.launch, *source, "read")}});
}

}  // namespace

void check_async_proxy(Warp& warp, const Inst& inst, int lane, std::uint64_t address, std::uint32_t bytes) {
  const Launch& launch = *warp.launch;
  if (launch.writes.empty()) return;
  auto fenced = [&](std::uint64_t block, std::uint32_t since) {
    const auto last = launch.proxy_fenced.find(block);
    return last != launch.proxy_fenced.end() && last->second > since;
  };
  for (std::uint64_t word = address; word < address + bytes; word += 4) {
    const GlobalWrites::Page* page = launch.writes.find(word);
    if (page == nullptr) continue;
    const GlobalWrite& write = (*page)[word % GlobalWrites::kPageBytes / 4];
    if (write.time == 0 || write.is_bulk || fenced(write.block, write.proxies) ||
        fenced(warp.block->linear, write.proxies))
      continue;
    report(warp, inst, lane,
           Found{Checker::kAsyncCopy,
                 "the bulk copy reads " + name_of_byte(warp, word) + ", which " + describe_writer(launch, write) +
                     " wrote without a fence.proxy.async after it",
                 {source_place(launch, write.source, "wrote")}});
  }
}

bool global_read_needs_check(const Warp& warp, std::uint64_t low, std::uint64_t high) {
  const Launch& launch = *warp.launch;
  if (!launch.check_races) return false;
  if (launch.touches != nullptr) return true;
  if (launch.writes.empty()) return false;
  constexpr std::uint64_t kPage = GlobalWrites::kPageBytes;
  if (high / kPage - low / kPage > 32) return true;
  for (std::uint64_t page = low / kPage; page <= high / kPage; ++page)
    if (launch.writes.find(page * kPage) != nullptr) return true;
  return false;
}

void global_race_check(Warp& warp, const Inst& inst, int lane, std::uint64_t address, std::uint32_t bytes,
                       Access access) {
  Launch& launch = *warp.launch;
  if (!launch.check_races) return;
  const bool strong = inst.strong || access == Access::kAtomic;
  if (access != Access::kRead && !launch.read_only.empty()) check_read_only(warp, inst, lane, address, bytes);
  const std::uint64_t end = address + bytes;
  for (std::uint64_t word = address & ~std::uint64_t{3}; word < end; word += 4) {
    const std::uint64_t first = std::max(address, word), last = std::min(end, word + 4);
    const auto mask = static_cast<std::uint8_t>(((1u << (last - first)) - 1) << (first - word));
    if (launch.touches != nullptr) launch.touches->touch(warp, inst, lane, word, mask, access);
    GlobalWrites::Page* page = access == Access::kRead ? launch.writes.find(word) : launch.writes.make(word);
    if (page == nullptr) continue;
    GlobalWrite& write = (*page)[word % GlobalWrites::kPageBytes / 4];
    const bool reaches = write.block == warp.block->linear || (!inst.block_only && !write.block_only);
    const bool suspect = access != Access::kWrite && !(strong && write.strong && reaches);
    if (suspect && write.time != 0 && (write.bytes & mask) != 0 && !ordered(warp, lane, write))
      racing(warp, inst, lane, first, access, write);
    if (inst.non_coherent && (write.ever & mask) != 0) read_of_written(warp, inst, lane, first, write);
    if (strong && reaches && write.time != 0) {
      std::uint32_t& seen = warp.fence(FenceKnowledge::kSeen);
      seen = std::max(seen, write.released);
    }
    if (access == Access::kRead) continue;
    const auto block = static_cast<std::uint32_t>(warp.block->linear);
    const std::uint32_t now = warp.clock[warp.index];
    const auto index = static_cast<std::uint8_t>(warp.index), l = static_cast<std::uint8_t>(lane);
    const bool again = write.time == now && write.block == block && write.warp == index && write.lane == l;
    std::uint32_t released = warp.fence(FenceKnowledge::kReleased);
    if (access == Access::kAtomic) released = std::max(released, write.released);  // heads a longer release sequence
    GlobalWrite made{now, block, inst.source, released, index, l};
    made.bytes = (again ? write.bytes | mask : mask) & 0xf;
    made.ever = (write.ever | mask) & 0xf;
    made.strong = strong;
    made.block_only = inst.block_only;
    made.is_bulk = inst.is_bulk;
    made.proxies = launch.proxy_fences;
    write = made;
  }
}

}  // namespace kf::emulator
