// SPDX-License-Identifier: Apache-2.0
// Values that come from memory which nothing has written. Reading such memory is allowed; what is made of it is
// followed through registers bit by bit, and reported where it decides something: a branch or predicate, an address, a
// store to global memory, an atomic. A warp without such values pays for one test an instruction.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "warp.h"

namespace kf::emulator {

enum class Space : std::uint8_t;

// How an instruction's results depend on its sources.
enum class Spread : std::uint8_t {
  kCombine,  // any undefined bit makes a lane's results undefined
  kHalves,   // the same for each half of 32 bits
  kCopy,     // bits move: the handler does the same to the bits that say what is undefined
  kShift,    // the same, with every source but the first as it is
  kPermute,  // the same, with every source but the first two as it is
  kShuffle,  // the same, between lanes
  kAnd,      // a bit that is 0 decides
  kOr,       // a bit that is 1 decides
  kWarp,     // any lane's value is part of every lane's result
  kProduct,  // mma.sync: rows of A and columns of B
  kLoad,     // the handler knows
  kStore,
  kUse,  // it must be defined
};

struct RegisterUse {
  Slot slot = kNoSlot;
  std::uint32_t bytes = 0;
  bool address = false;
};
// What an instruction reads and writes.
struct Uses {
  std::vector<RegisterUse> reads, writes;
  std::vector<std::uint32_t> predicate_reads, predicate_writes;  // indices
  Spread spread = Spread::kCombine;
};

// A bit for each bit of a warp's registers and predicates: 1 where it is undefined.
struct Undefined {
  std::vector<std::uint8_t> storage;
  std::uint8_t* registers = nullptr;
  std::vector<Mask> predicates;
  std::array<std::string, kLanes> origin;  // of the last such value that a lane has read
  std::uint32_t followed = 0;              // instructions since the last look whether anything is left
};

// Called before an instruction of a warp that has undefined values; `lanes` have come to it, `exec` carry it out.
void follow_undefined(Warp& warp, const Inst& inst, std::uint32_t pc, Mask lanes, Mask exec);
// The same for an instruction that waits for other lanes, when all have come.
void follow_exchange(Warp& warp, const Inst& inst, std::uint32_t pc, Mask lanes);

// A lane reads bytes without a value: remembered in Warp::unwritten until the load ends.
void note_unwritten(Warp& warp, int lane, const std::uint8_t* flags, std::string where);
// After a load: 0 for each byte of the lane's access that has a value, 0xff for others.
std::array<std::uint8_t, 32> unwritten_bytes(const Warp& warp, int lane, std::uint32_t bytes);
// Marks bits of a register. The warp has undefined values from now on.
void make_undefined(Warp& warp, const Inst& inst, int lane, Slot slot, std::uint32_t bytes, const std::uint8_t* bits);
// A store of a register's low bytes has been carried out: bytes of shared, local and scratch memory lose their value
// again, other places must not be given such values.
void store_undefined(Warp& warp, const Inst& inst, int lane, std::uint64_t address, Space space, Slot slot,
                     std::uint32_t register_bytes, std::uint32_t offset, std::uint32_t bytes);
void clear_undefined(Warp& warp, Mask lanes, Slot slot, std::uint32_t bytes);

}  // namespace kf::emulator
