// SPDX-License-Identifier: Apache-2.0
#include "async_copy.h"

#include <algorithm>
#include <cstring>

#include "atomic_op.h"
#include "block.h"
#include "mbarrier.h"
#include "peers.h"

namespace kf::emulator {

void capture(AsyncCopy& copy) {
  if (copy.read_source) return;
  copy.read_source = true;
  std::size_t total = 0;
  for (const AsyncPart& part : copy.parts) total += part.bytes;
  copy.captured.resize(total);
  std::size_t at = 0;
  for (AsyncPart& part : copy.parts) {
    if (part.from != nullptr) std::memcpy(copy.captured.data() + at, part.from, part.bytes);
    at += part.bytes;
  }
  at = 0;
  for (AsyncPart& part : copy.parts) {
    part.from = copy.captured.data() + at;
    at += part.bytes;
  }
}

void complete(AsyncCopy& copy) {
  for (const AsyncPart& part : copy.parts) {
    if (copy.reduce >= 0) {
      reduce_bytes(part.to, part.from, part.bytes, copy.reduce, copy.type);
    } else if (part.from != nullptr) {
      std::memcpy(part.to, part.from, part.bytes);
    } else {
      std::memset(part.to, 0, part.bytes);
    }
    if (part.flags != nullptr) std::memset(part.flags, kWritten, part.bytes);
    // Whoever reads has waited for the completion itself, which is what orders it.
    if (part.history != nullptr)
      for (std::uint32_t word = 0; word < part.bytes / 4; ++word) part.history[word] = {};
  }
  if (copy.kind == AsyncCopy::Kind::kMbarrier) {
    mbarrier_complete_tx(*copy.barrier_block, copy.barrier, copy.bytes);
    if (copy.issuer != nullptr) peer_completes(*copy.barrier_block, *copy.issuer, copy.clock);
  }
  if (copy.kind != AsyncCopy::Kind::kArrival) return;
  if (auto found = copy.barrier_block->mbarriers.find(copy.barrier); found != copy.barrier_block->mbarriers.end())
    mbarrier_arrive(*copy.barrier_block, found->second, 1);
}

void complete_groups(Block& block, AsyncCopy::Kind kind, std::uint32_t warp, int lane, std::uint32_t limit) {
  std::erase_if(block.copies, [&](AsyncCopy& copy) {
    if (copy.kind != kind || copy.warp != warp || copy.lane != lane || copy.group >= limit) return false;
    complete(copy);
    return true;
  });
}

bool complete_one(Block& block) {
  auto waited_for = [](const AsyncCopy& copy) {
    return copy.kind == AsyncCopy::Kind::kMbarrier || copy.kind == AsyncCopy::Kind::kArrival;
  };
  const auto candidates = static_cast<std::size_t>(std::ranges::count_if(block.copies, waited_for));
  if (candidates == 0) return false;
  std::size_t skip = static_cast<std::size_t>(block.cluster->draw() % candidates);
  auto chosen = block.copies.begin();
  while (!waited_for(*chosen) || skip-- > 0) ++chosen;
  AsyncCopy copy = std::move(*chosen);
  chosen = block.copies.erase(chosen);
  if (copy.kind == AsyncCopy::Kind::kArrival) {
    const auto earlier = std::remove_if(block.copies.begin(), chosen, [&](AsyncCopy& other) {
      if (other.kind != AsyncCopy::Kind::kThread || other.warp != copy.warp || other.lane != copy.lane) return false;
      complete(other);
      return true;
    });
    block.copies.erase(earlier, chosen);
  }
  complete(copy);
  ++block.progress;
  return true;
}

void finish_copies(Block& block) {
  const std::byte *first = block.shared.data(), *end = first + block.shared.size();
  std::erase_if(block.copies, [&](AsyncCopy& copy) {
    const bool grouped = copy.kind == AsyncCopy::Kind::kBulkGroup;
    const bool reads =
        std::ranges::any_of(copy.parts, [&](const AsyncPart& part) { return part.from >= first && part.from < end; });
    if (grouped ? !copy.read_source : copy.kind == AsyncCopy::Kind::kMbarrier && reads) {
      Inst inst;
      inst.source = copy.source;
      report(block.warps[copy.warp], inst, copy.lane,
             Found{Checker::kAsyncCopy,
                   std::string("the block ends while this bulk copy still reads its shared memory: ") +
                       (grouped ? "cp.async.bulk.wait_group.read 0 must come first"
                                : "it must hear of the copy's completion first, as by barrier.cluster.arrive and wait "
                                  "of both blocks")});
    }
    // One to a peer goes on: the peer has to wait for it.
    if (copy.kind == AsyncCopy::Kind::kMbarrier && copy.barrier_block != &block && !copy.barrier_block->done())
      return false;
    complete(copy);
    return true;
  });
}

}  // namespace kf::emulator
