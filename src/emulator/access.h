// SPDX-License-Identifier: Apache-2.0
// How instructions reach memory: every byte goes through `resolve`, which is where the checkers look.
#pragma once
#include <cstdint>
#include <span>

#include "binder.h"
#include "block.h"
#include "warp.h"

namespace kf::emulator {

enum class Access : std::uint8_t { kRead, kWrite, kAtomic };

// Host place of `bytes` (1..16, a power of two times 1; vectors come as one access) at `address` of `space`
// for one lane. Reports misaligned and out-of-bounds accesses, writes to constants, and reads of bytes
// that nothing has written; marks bytes as written.
std::byte* resolve(Warp& warp, const Inst& inst, int lane, std::uint64_t address, std::uint32_t bytes, Space space,
                   Access access);

// The flags of a place that has just been written, when it may lose its value again: shared, local and scratch memory.
// Null for others.
std::uint8_t* flags_at(Warp& warp, int lane, std::uint64_t address, Space space);
std::string name_at(const Warp& warp, std::uint64_t address);       // of global memory
std::string name_of_byte(const Warp& warp, std::uint64_t address);  // "byte 12 of tensor 0"

// Called for bytes that were resolved for reading and are read later, by an asynchronous copy.
void keep_source(Warp& warp, Space space, std::uint64_t address);

// An address operand "[base + offset]", bound: which slot, how wide, which space.
struct Address {
  Slot slot = kNoSlot;
  bool narrow = false;  // a 32-bit register
  std::int64_t offset = 0;
  Space space = Space::kGeneric;
};
// Takes the space's word from the instruction; `what` is the address operand.
Address bind_address(Binder& b, const Operand& what);
Space take_space(Binder& b);
// Cache operators, eviction priorities and prefetch sizes: they change speed only. A cache-policy operand
// follows the last operand when L2::cache_hint is there.
void take_cache_words(Binder& b);
// Memory order, scope and volatility: this emulator is at least as strong; see docs/emulator.md.
void take_order_words(Binder& b);

inline std::uint64_t address_of(const Warp& w, Slot slot, bool narrow, std::int64_t offset, int lane) {
  return (narrow ? w.reg<std::uint32_t>(slot)[lane] : w.reg<std::uint64_t>(slot)[lane]) +
         static_cast<std::uint64_t>(offset);
}

}  // namespace kf::emulator
