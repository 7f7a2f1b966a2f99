// SPDX-License-Identifier: Apache-2.0
// A module decoded once: every operand is a place in the warp's register file, every branch an index.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/error.h>

#include "memory.h"
#include "ptx.h"

namespace kf::emulator {

struct Warp;
struct Inst;
using Mask = std::uint32_t;  // one bit a lane
inline constexpr Mask kAllLanes = 0xffff'ffffu;
inline constexpr int kLanes = 32;

// Carries out one instruction for the lanes of the mask. Throws Stop for what a checker finds.
using Handler = void (*)(Warp& warp, const Inst& inst, Mask lanes);

// What the scheduler has to know of an instruction; kNext is everything that only computes. From kReturn on, a warp may
// end or wait.
enum class Flow : std::uint8_t {
  kNext,
  kSwitch,  // ... and other warps may come between it and the next one: strong accesses to global memory
  kBranch,
  kBranchIndexed,
  kCall,
  kCallFrame,  // through a register, or of a function that may be active already: see calls.h
  kReturn,
  kExit,
  kWarpSync,        // waits until all lanes of its membermask have come to it
  kBarrier,         // bar, barrier
  kClusterBarrier,  // barrier.cluster.wait
  kYield,           // nanosleep and tries that failed: let others run
  kUnsupported,
};

// A place in the register file: byte offset of 32 lanes of one width. Predicates: index of a lane mask.
using Slot = std::uint32_t;
inline constexpr Slot kNoSlot = 0xffff'ffffu;

struct Inst {
  Handler fn = nullptr;
  Flow flow = Flow::kNext;
  bool guard_negated = false;
  bool orders = false;               // acquire, release: orders other accesses of its thread
  bool strong = false;               // relaxed, volatile and stronger: may race with other strong accesses
  bool block_only = false;           // ... of scope .cta: towards other blocks it is weak, and orders nothing
  bool is_bulk = false;              // cp.async.bulk, st.async: through the async proxy, and later
  bool non_coherent = false;         // ld.global.nc, ldu: what it reads must not change
  std::uint8_t mode = 0, width = 0;  // meaning is the family's own
  std::uint32_t guard = kNoSlot;     // predicate index
  Slot d = kNoSlot, a = kNoSlot, b = kNoSlot, c = kNoSlot, e = kNoSlot;
  std::uint32_t extra = 0;   // first entry in Program::extras
  std::uint32_t extras = 0;  // how many
  std::int64_t imm = 0;      // branch target, address offset, lookup table
  std::uint32_t source = 0;  // index into Program::sources
};

struct SourceNote {
  SourceLine where;
  std::string text;  // "st.shared.f32"
};

// Values that do not change while a warp lives: immediates, and special registers set once a warp.
enum class Special : std::uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneid,
  kWarpid,
  kNwarpid,
  kSmid,
  kNsmid,
  kGridid,
  kLanemaskEq,
  kLanemaskLe,
  kLanemaskLt,
  kLanemaskGe,
  kLanemaskGt,
  kClusteridX,
  kClusteridY,
  kClusteridZ,
  kNclusteridX,
  kNclusteridY,
  kNclusteridZ,
  kClusterCtaidX,
  kClusterCtaidY,
  kClusterCtaidZ,
  kClusterNctaidX,
  kClusterNctaidY,
  kClusterNctaidZ,
  kClusterCtarank,
  kClusterNctarank,
  kIsExplicitCluster,
  kDynamicSmemSize,
  kTotalSmemSize,
  kAggrSmemSize,
  kReservedSmemBegin,
  kReservedSmemEnd,
  kReservedSmemCap,
  kEnvreg1,
  kEnvreg2,
};
struct SpecialUse {
  Special what;
  Slot slot;
  int bytes;  // 4 or 8
};
struct Constant {
  Slot slot;
  int bytes;  // 2, 4, 8, 16
  std::uint64_t bits;
};

// A place of a parameter or result in local memory.
struct CallPlace {
  std::uint32_t at = 0, bytes = 0;
};
// An address in a frame that lies on the stack, kept in a register of its own: base + offset.
struct FrameValue {
  Slot slot = kNoSlot;
  std::uint32_t bytes = 0, offset = 0;
};
// A function as calls see it that need more than a jump.
struct Callable {
  std::string name;
  std::uint32_t pc = 0;
  std::vector<CallPlace> parameters, results;
  bool reentrant = false;                                 // it may call itself, directly or through others
  std::vector<std::pair<Slot, std::uint32_t>> registers;  // reentrant: places and bytes
  std::vector<std::uint32_t> predicates;                  // ... indices
  std::vector<CallPlace> variables;                       // ... parameters, results, arguments of its calls
  std::uint32_t frame_bytes = 0;                          // ... of its local variables
  std::vector<FrameValue> frame_values;
};
// Function n of a module has the generic address kCodeBase + n * kCodeStep; no data is there.
inline constexpr std::uint64_t kCodeBase = 0x0000'7e00'0000'0000, kCodeStep = 16;

struct Kernel {
  std::string name;
  std::uint32_t entry_pc = 0;
  std::uint32_t param_bytes = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> params;  // offset, bytes
  std::uint32_t static_shared_bytes = 0;                        // dynamic shared memory starts after them, aligned
  std::uint32_t dynamic_shared_offset = 0;
  std::uint32_t max_threads = 0, max_registers = 0;  // 0: not said
  std::uint32_t required_threads[3]{}, required_cluster[3]{};
  // Its clusters turned out to depend on one another: several threads need not try again. Known to the thread that
  // launches only; saves time and changes no result.
  mutable bool entangled = false;
};

struct Uses;
struct Program {
  Program();
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  std::vector<Inst> code;
  std::vector<Uses> uses;  // of each instruction, see undefined.h
  std::vector<std::uint32_t> extras;
  std::vector<SourceNote> sources;
  std::vector<std::string> files;
  std::vector<std::string> unsupported;  // reasons, indexed by Inst::imm where flow == kUnsupported
  std::vector<Kernel> kernels;
  std::map<std::string, std::uint32_t, std::less<>> function_pcs;
  std::vector<Callable> callables;  // one for each function of the module
  std::vector<Constant> constants;
  std::vector<SpecialUse> specials;
  std::uint32_t register_bytes = 0, predicates = 1;
  std::uint32_t frame_bytes = 0;  // frames and call parameters of one thread that have fixed places
  std::uint32_t local_bytes = 0;  // ... and its stack behind them
  std::vector<Region> regions;    // module variables; storage is in `storage`
  std::vector<std::vector<std::byte>> storage;

  const Kernel* find(std::string_view name) const;
};

// Places the module's variables in `memory` and decodes it. Instructions outside the supported subset
// become kUnsupported and are refused when they are reached. Fails for text that is no PTX.
OrError<Program> decode(const PtxModule& module, GlobalMemory& memory);

}  // namespace kf::emulator
