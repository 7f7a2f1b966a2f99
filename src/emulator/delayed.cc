// SPDX-License-Identifier: Apache-2.0
#include "delayed.h"

#include <algorithm>
#include <cstring>

#include "block.h"
#include "undefined.h"

namespace kf::emulator {
namespace {

constexpr std::size_t kMostDelayed = 16;
constexpr std::size_t kMostPlaces = 256;  // beyond that a warp reads what is newest

bool is_global(std::uint64_t address) {
  return address - kSharedWindow >= kWindowBytes && address - kLocalWindow >= kWindowBytes;
}

// The registers that an instruction reads, all lanes; one that it reads twice is there twice.
std::vector<std::uint8_t> values_of(const Warp& w, const Uses& uses) {
  std::vector<std::uint8_t> values;
  for (const RegisterUse& read : uses.reads)
    values.insert(values.end(), w.regs + read.slot, w.regs + read.slot + std::size_t{read.bytes} * kLanes);
  return values;
}

void put_values(Warp& w, const Uses& uses, const std::vector<std::uint8_t>& values) {
  std::size_t at = 0;
  for (const RegisterUse& read : uses.reads) {
    const std::size_t bytes = std::size_t{read.bytes} * kLanes;
    std::memcpy(w.regs + read.slot, values.data() + at, bytes);
    at += bytes;
  }
}

// The instruction once more, with the sources that it had.
void settle(Warp& w, std::size_t n) {
  DelayedWrite write = std::move(w.delayed[n]);
  w.block->met_writes -= write.met;
  w.delayed.erase(w.delayed.begin() + static_cast<std::ptrdiff_t>(n));
  const Inst& inst = w.launch->program->code[write.pc];
  const Uses& uses = w.launch->program->uses[write.pc];
  const std::vector<std::uint8_t> kept = values_of(w, uses);  // all of them before any is replaced
  put_values(w, uses, write.sources);
  const bool had_undefined = std::exchange(w.has_undefined, false);
  std::swap(w.clock, write.clock);  // for the race checker it happens when it was issued
  w.settling = true;
  w.settling_met = write.met;
  inst.fn(w, inst, write.lanes);
  w.settling = false;
  std::swap(w.clock, write.clock);
  std::uint32_t& seen = w.fence(FenceKnowledge::kSeen);
  seen = std::max(seen, write.clock[write.clock.size() - kFenceKnowledge + std::size_t(FenceKnowledge::kSeen)]);
  w.has_undefined = had_undefined;
  put_values(w, uses, kept);
}

}  // namespace

bool delay(Warp& w, const Inst& inst, Mask lanes, const std::uint64_t* at, std::uint32_t bytes) {
  if (w.settling || w.has_undefined || w.launch->overlay != nullptr || w.launch->profile) return false;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1)
    if (!is_global(at[std::countr_zero(rest)])) return false;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    settle_overlap(w, l, at[l], bytes);
  }
  if (w.delayed.size() == kMostDelayed) settle_one(w);
  DelayedWrite& made = w.delayed.emplace_back();
  made.pc = static_cast<std::uint32_t>(&inst - w.launch->program->code.data());
  made.bytes = bytes;
  made.lanes = lanes;
  std::copy_n(at, kLanes, made.at.begin());
  made.clock = w.clock;
  made.sources = values_of(w, w.launch->program->uses[made.pc]);
  return true;
}

void settle_overlap(Warp& w, int lane, std::uint64_t address, std::uint32_t bytes) {
  auto touches = [&](const DelayedWrite& write, Mask lanes) {
    for (lanes &= write.lanes; lanes != 0; lanes &= lanes - 1)
      if (const std::uint64_t at = write.at[static_cast<std::size_t>(std::countr_zero(lanes))];
          at < address + bytes && address < at + write.bytes)
        return true;
    return false;
  };
  for (std::size_t n = 0; n < w.delayed.size();)
    if (touches(w.delayed[n], Mask{1} << lane))
      settle(w, n);
    else
      ++n;
  for (Warp& other : w.block->warps)
    for (std::size_t n = 0; w.block->met_writes != 0 && n < other.delayed.size();)
      if (other.delayed[n].met && touches(other.delayed[n], kAllLanes))
        settle(other, n);
      else
        ++n;
}

void settle_all(Warp& w) {
  while (!w.delayed.empty()) settle(w, static_cast<std::size_t>(w.block->cluster->draw() % w.delayed.size()));
}

void keep_old_value(Warp& w, std::uint64_t address, std::uint32_t bytes) {
  const Region* region = w.launch->memory->below(address);
  const std::uint64_t offset = region == nullptr ? 0 : address - region->base;
  // What is out of bounds is reported when the write is carried out.
  if (bytes > 16 || region == nullptr || offset >= region->bytes || region->bytes - offset < bytes) return;
  OldValue& old = w.launch->old_values[address];
  old.number = ++w.launch->strong_writes;
  old.met = w.settling_met;
  old.block = w.block->linear;
  old.warp = w.index;
  old.bytes = bytes;
  std::memcpy(old.value.data(), region->data + offset, bytes);
  if (region->written != nullptr)
    std::memcpy(old.written.data(), region->written + offset, bytes);
  else
    old.written.fill(kWritten);
}

const OldValue* old_value(Warp& w, std::uint64_t address, std::uint32_t bytes) {
  const auto found = w.launch->old_values.find(address);
  if (found == w.launch->old_values.end()) return nullptr;
  const OldValue& old = found->second;
  if (old.bytes != bytes || old.number <= w.fence(FenceKnowledge::kNewest)) return nullptr;
  if (old.block == w.block->linear && (old.warp == w.index || old.met || old.number <= w.block_writes_seen))
    return nullptr;
  if (w.places_read.size() >= kMostPlaces || std::ranges::find(w.places_read, address) != w.places_read.end())
    return nullptr;
  w.places_read.push_back(address);
  return (w.block->cluster->draw() & 1) != 0 ? &old : nullptr;
}

void note_read(Warp& w, std::uint64_t address) {
  if (w.launch->old_values.contains(address) && w.places_read.size() < kMostPlaces) w.places_read.push_back(address);
}

void meet_order(Warp& w) {
  settle_all(w);
  for (Warp& other : w.block->warps)
    for (std::size_t n = 0; w.block->met_writes != 0 && n < other.delayed.size();)
      if (other.delayed[n].met)
        settle(other, n);
      else
        ++n;
  w.fence(FenceKnowledge::kNewest) = w.launch->strong_writes;
  w.places_read.clear();
}

void meet_block(Warp& w) {
  for (DelayedWrite& write : w.delayed) {
    w.block->met_writes += !write.met;
    write.met = true;
  }
}

void leave_meeting(Warp& w) {
  w.block_writes_seen = w.launch->strong_writes;
  if (w.launch->old_values.empty()) return;
  for (const Warp& other : w.block->warps)  // what one has read, none reads an older value of
    for (const std::uint64_t address : other.places_read)
      if (&other != &w && w.places_read.size() < kMostPlaces &&
          std::ranges::find(w.places_read, address) == w.places_read.end())
        w.places_read.push_back(address);
}

void settle_one(Warp& w) {
  const std::uint64_t word = w.block->cluster->draw();
  const std::size_t n = w.delayed.size();
  if ((word >> 62 & 1) != 0 && n < kMostDelayed) return;
  settle(w, (word & 1) != 0 ? n - 1 : static_cast<std::size_t>((word >> 1) % n));
}

}  // namespace kf::emulator
