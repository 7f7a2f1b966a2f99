// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kf::emulator {

struct Block;
struct Warp;
struct Inst;
struct WordHistory;

// Places of up to 16 bytes; `flags` of shared bytes say kPending until the copy is complete.
struct AsyncPart {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;  // null: zeros
  std::uint8_t* flags = nullptr;    // null: not tracked
  WordHistory* history = nullptr;   // of the target's words, where the race checker follows them
  std::uint32_t bytes = 0;
};

// A copy that has been issued. It becomes visible at the latest moment that PTX allows: when its thread
// waits for its group, or when somebody has asked its mbarrier in vain.
struct AsyncCopy {
  // kArrival: no copy, but the arrival of cp.async.mbarrier.arrive, after the thread's copies that were issued before.
  enum class Kind : std::uint8_t { kThread, kBulkGroup, kMbarrier, kArrival } kind = Kind::kThread;
  std::uint32_t warp = 0, source = 0;
  int lane = 0;
  // Where the mbarrier is a peer's: who issued it, and what its warp knew then of each warp's time.
  const Block* issuer = nullptr;
  std::vector<std::uint32_t> clock;
  std::uint32_t group = 0;         // kThread, kBulkGroup
  Block* barrier_block = nullptr;  // kMbarrier, kArrival
  std::uint32_t barrier = 0;       // offset of the mbarrier
  std::uint32_t bytes = 0;         // that it delivers to the mbarrier
  int reduce = -1, type = 0;       // cp.reduce: operation and Type
  bool read_source = false;        // kBulkGroup: the source has been read into `captured`
  std::vector<AsyncPart> parts;
  std::vector<std::byte> captured;  // st.async: the value; bulk: the source after wait_group.read
};

inline constexpr std::uint8_t kWritten = 1, kPending = 2;  // flags of a byte; 0: never written

// Makes the copy visible and tells its mbarrier.
void complete(AsyncCopy& copy);
// Reads the source now; what is visible does not change.
void capture(AsyncCopy& copy);
// Completes copies of a block that belong to one lane's groups below `limit`.
void complete_groups(Block& block, AsyncCopy::Kind kind, std::uint32_t warp, int lane, std::uint32_t limit);
// Completes one copy that was issued with an mbarrier, or a thread's copies that an mbarrier waits for: of a random
// place in the line. False: there is none.
bool complete_one(Block& block);
// A block that ends must not leave bulk copies that read its shared memory. Others are completed, but for those that a
// peer of its cluster has to wait for.
void finish_copies(Block& block);

}  // namespace kf::emulator
