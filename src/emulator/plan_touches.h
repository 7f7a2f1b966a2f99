// SPDX-License-Identifier: Apache-2.0
// Which bytes of global memory the launches of a plan have read and written, for plans whose launches may run at the
// same time. A launch that touches what one writes that is not ordered with it is found.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "delayed.h"
#include "plan_order.h"

namespace kf::emulator {

struct Inst;
struct Program;
struct Warp;
enum class Access : std::uint8_t;

class PlanTouches {
 public:
  explicit PlanTouches(std::span<const kf::Launch> launches) : launches_(launches), order_(launches) {}

  void start(std::size_t launch);
  // `replaced`: what places held before the launch's strong writes became visible.
  void end(bool waited, bool before_trigger, OldValues replaced);

  // Looks at one access of the launch that runs, to bytes of one word, and remembers it. `mask`: which of its bytes.
  void touch(Warp& warp, const Inst& inst, int lane, std::uint64_t word, std::uint8_t mask, Access access);
  // For a strong load of one lane, after its touch: what the place held before a launch wrote it (strongly) that need
  // not have done so yet. Null: no such launch, or the one that runs has seen something that it wrote. So waiting for
  // another launch ends, and reading without having waited goes wrong every other time.
  const OldValue* earlier_value(Warp& warp, std::uint64_t address, std::uint32_t bytes);

 private:
  static constexpr std::uint64_t kPageBytes = 4096;
  static constexpr std::size_t kMostPages = 8192;  // 32 MiB, counted once for each launch that touches them
  // Four bytes, and what a launch did to them; masks of bytes. Two strong accesses do not race.
  struct Word {
    std::uint32_t read_at = 0, written_at = 0;  // Program::sources
    std::uint8_t weak_reads = 0, strong_reads = 0, weak_writes = 0, strong_writes = 0;
    std::uint8_t late_weak_reads = 0, late_strong_reads = 0;  // by a block that had triggered
  };
  struct Page {
    std::size_t launch = 0;
    bool written = false;
    std::array<Word, kPageBytes / 4> words{};
  };
  using Pages = std::vector<std::unique_ptr<Page>>;  // one for each launch that touched it

  Pages& pages_of(std::uint64_t word);
  Page* own_page(Pages& pages);
  [[noreturn]] void found(Warp& warp, const Inst& inst, int lane, std::uint64_t address, Access access,
                          const Page& other, const Word& touched, bool wrote, bool waited) const;

  std::span<const kf::Launch> launches_;
  PlanOrder order_;
  std::size_t now_ = 0, count_ = 0;
  std::vector<OldValues> replaced_;  // by each launch that has ended
  std::vector<bool> met_;            // of them: this launch has seen something that it wrote
  std::unordered_map<std::uint64_t, Pages> pages_;
  std::uint64_t recent_number_ = ~std::uint64_t{0};
  Pages* recent_ = nullptr;
};

}  // namespace kf::emulator
