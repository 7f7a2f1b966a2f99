// SPDX-License-Identifier: Apache-2.0
#include "plan_touches.h"

#include <utility>

#include "access.h"
#include "block.h"
#include "race.h"

namespace kf::emulator {

void PlanTouches::start(std::size_t launch) {
  now_ = launch;
  order_.start(launch);
  replaced_.resize(launch);
  met_.assign(launch, false);
}

void PlanTouches::end(bool waited, bool before_trigger, OldValues replaced) {
  order_.end(now_, waited, before_trigger);
  replaced_.push_back(std::move(replaced));
}

const OldValue* PlanTouches::earlier_value(Warp& warp, std::uint64_t address, std::uint32_t bytes) {
  const std::size_t at = address % kPageBytes / 4;
  const Pages& pages = pages_of(address);
  if (!pages.empty() && pages.back()->launch == now_) {
    const Word& own = pages.back()->words[at];
    if ((own.weak_writes | own.strong_writes) != 0) return nullptr;
  }
  const bool waited = race_has_waited(warp);
  for (const auto& page : pages) {
    const std::size_t by = page->launch;
    if (by >= now_ || met_[by] || page->words[at].strong_writes == 0) continue;
    if (order_.progress(now_, by, waited) == Progress::kDone) continue;
    const auto old = replaced_[by].find(address);
    if (old != replaced_[by].end() && old->second.bytes == bytes && (warp.block->cluster->draw() & 1) != 0)
      return &old->second;
    met_[by] = true;
  }
  return nullptr;
}

PlanTouches::Pages& PlanTouches::pages_of(std::uint64_t word) {
  const std::uint64_t number = word / kPageBytes;
  if (number != recent_number_) {
    recent_ = &pages_[number];  // stays where it is when others come
    recent_number_ = number;
  }
  return *recent_;
}

PlanTouches::Page* PlanTouches::own_page(Pages& pages) {
  if (!pages.empty() && pages.back()->launch == now_) return pages.back().get();
  if (count_ == kMostPages) return nullptr;
  ++count_;
  pages.push_back(std::make_unique<Page>());
  pages.back()->launch = now_;
  return pages.back().get();
}

void PlanTouches::touch(Warp& warp, const Inst& inst, int lane, std::uint64_t word, std::uint8_t mask, Access access) {
  const bool reads = access == Access::kRead, strong = inst.strong || access == Access::kAtomic;
  const bool waited = race_has_waited(warp);
  const std::size_t at = word % kPageBytes / 4;
  Pages& pages = pages_of(word);
  for (const auto& page : pages) {
    if (page->launch == now_ || (reads && !page->written)) continue;
    const Progress progress = order_.progress(now_, page->launch, waited);
    if (progress == Progress::kDone) continue;
    const Word& other = page->words[at];
    if (access == Access::kAtomic && (other.strong_writes & mask) != 0) met_[page->launch] = true;
    const int written = other.weak_writes | (strong ? 0 : other.strong_writes);
    if ((written & mask) != 0) found(warp, inst, lane, word, access, *page, other, true, waited);
    if (reads) continue;
    const int read = progress == Progress::kTriggered ? other.late_weak_reads | (strong ? 0 : other.late_strong_reads)
                                                      : other.weak_reads | (strong ? 0 : other.strong_reads);
    if ((read & mask) != 0) found(warp, inst, lane, word, access, *page, other, false, waited);
  }
  Page* page = own_page(pages);
  if (page == nullptr) return;
  Word& own = page->words[at];
  if (reads) {
    const bool late = warp.block->triggered;
    if (late || (own.late_weak_reads | own.late_strong_reads) == 0) own.read_at = inst.source;
    (strong ? own.strong_reads : own.weak_reads) |= mask;
    if (late) (strong ? own.late_strong_reads : own.late_weak_reads) |= mask;
    return;
  }
  page->written = true;
  own.written_at = inst.source;
  (strong ? own.strong_writes : own.weak_writes) |= mask;
}

void PlanTouches::found(Warp& warp, const Inst& inst, int lane, std::uint64_t address, Access access, const Page& other,
                        const Word& touched, bool wrote, bool waited) const {
  const kf::Launch& before = launches_[other.launch];
  const std::uint32_t source = wrote ? touched.written_at : touched.read_at;
  Inst where;
  where.source = source;
  std::string what = access == Access::kRead ? "reads " : access == Access::kWrite ? "writes " : "updates ";
  what += name_of_byte(warp, address) + ", which launch " + before.id + " of kernel " + before.entry +
          (wrote ? " writes at " : " reads at ") + describe_source(*warp.launch, where);
  const bool after = order_.progress(now_, other.launch, true) != Progress::kNothing;
  if (!after) {
    what = "race between launches: " + what + "; the plan lets both run at the same time: \"after\" of launch " +
           launches_[now_].id + " must name launch " + before.id + ", or one that waits for it";
  } else if (!waited) {
    what += ", and this thread has not met griddepcontrol.wait: with pdl both run at the same time";
  } else {
    what +=
        "; a launch between the two never executes griddepcontrol.wait, so that with pdl it may end, and this one "
        "go on, while " +
        before.id + " still runs";
  }
  report(warp, inst, lane,
         Found{after ? Checker::kDependency : Checker::kRace,
               std::move(what),
               {source_place(*warp.launch, source, wrote ? "wrote" : "read")}});
}

}  // namespace kf::emulator
