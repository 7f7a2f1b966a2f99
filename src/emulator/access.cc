// SPDX-License-Identifier: Apache-2.0
#include "access.h"

#include <algorithm>
#include <cstring>

#include "global_race.h"
#include "peers.h"
#include "race.h"
#include "undefined.h"

namespace kf::emulator {
namespace {

std::string hex(std::uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  do text.insert(text.begin(), kDigits[value & 15]);
  while ((value >>= 4) != 0);
  return "0x" + text;
}

std::string verb(Access access, std::uint32_t bytes) {
  return (access == Access::kRead    ? "reads "
          : access == Access::kWrite ? "writes "
                                     : "updates ") +
         std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

bool all_set(const std::uint8_t* flags, std::uint32_t bytes) {
  if (bytes == 4) {
    std::uint32_t four;
    std::memcpy(&four, flags, 4);
    return four == 0x01010101u;
  }
  for (std::uint32_t k = 0; k < bytes; ++k)
    if (flags[k] == 0) return false;
  return true;
}

// Reports a read of bytes that have no value, or marks bytes as written.
void track(Warp& w, const Inst& i, int lane, std::uint8_t* flags, std::uint64_t address, std::uint32_t bytes,
           Access access, const char* space, const std::string& name) {
  if (all_set(flags, bytes)) return;
  if (std::find(flags, flags + bytes, kPending) != flags + bytes)
    report(w, i, lane,
           Found{Checker::kAsyncCopy, verb(access, bytes) + " that an asynchronous copy is still writing, at " +
                                          hex(address) + ": nobody has waited for it"});
  if (access != Access::kWrite) {
    const std::string where = std::string(space) + " memory that nothing has written, at " + hex(address) +
                              (name.empty() ? "" : " in " + name);
    if (access == Access::kRead && w.may_be_unwritten) return note_unwritten(w, lane, flags, where);
    report(w, i, lane, Found{Checker::kUninitialised, verb(access, bytes) + " of " + where});
  }
  std::memset(flags, kWritten, bytes);
}

[[noreturn]] void outside(Warp& w, const Inst& i, int lane, std::uint64_t address, std::uint32_t bytes, Access access,
                          const std::string& where) {
  report(w, i, lane, Found{Checker::kOutOfBounds, verb(access, bytes) + " out of bounds at " + hex(address) + where});
}

std::byte* global(Warp& w, const Inst& i, int lane, std::uint64_t address, std::uint32_t bytes, Access access) {
  if ((!w.delayed.empty() || w.block->met_writes != 0) && !w.settling) settle_overlap(w, lane, address, bytes);
  const Region* region = w.last_region;
  if (region == nullptr || address - region->base >= region->bytes) {
    region = w.launch->memory->below(address);
    w.last_region = region;
  }
  if (region == nullptr) outside(w, i, lane, address, bytes, access, ": no allocation is there");
  const std::uint64_t offset = address - region->base;
  if (offset >= region->bytes || region->bytes - offset < bytes) {
    const std::string name = region->name;
    w.last_region = nullptr;
    outside(
        w, i, lane, address, bytes, access,
        ": byte " + std::to_string(offset) + " of " + name + ", which has " + std::to_string(region->bytes) + " bytes");
  }
  if ((region->read_only || region->input) && access != Access::kRead)
    report(w, i, lane,
           Found{region->input ? Checker::kInput : Checker::kReadOnly,
                 verb(access, bytes) + (region->input ? " at " : " of constant memory at ") + hex(address) + " in " +
                     region->name + (region->input ? ", which is an input: inputs are read-only" : "")});
  Overlay::Place place{region->data + offset, region->written != nullptr ? region->written + offset : nullptr};
  if (Overlay* overlay = w.launch->overlay) {
    if (access == Access::kAtomic || i.strong) throw Entangled{};
    place = access == Access::kRead ? overlay->read(*region, address, bytes) : overlay->write(*region, address, bytes);
  }
  if (place.written != nullptr) track(w, i, lane, place.written, address, bytes, access, "global", region->name);
  global_race_check(w, i, lane, address, bytes, access);
  return place.data;
}

std::byte* shared(Warp& w, const Inst& i, int lane, std::uint64_t address, std::uint32_t bytes, Access access) {
  Block* block = w.block;
  const std::uint64_t rank = address >> 24;
  if (rank != 0) {  // shared::cluster: rank + 1 of the block that is meant
    if (rank > w.block->cluster->blocks.size())
      outside(w, i, lane, address, bytes, access,
              ": the cluster has " + std::to_string(w.block->cluster->blocks.size()) + " blocks");
    block = w.block->cluster->blocks[rank - 1].get();
    if (block != w.block) peer_access(w, i, lane, *block, verb(access, bytes) + " of shared memory");
    address &= 0xff'ffff;
  }
  const std::uint64_t offset = address - kSharedBase;
  if (address < kSharedBase || offset > block->shared.size() || block->shared.size() - offset < bytes)
    outside(w, i, lane, address, bytes, access,
            " of shared memory: the block has " + std::to_string(block->shared.size()) + " bytes, from " +
                hex(kSharedBase));
  track(w, i, lane, block->shared_written.data() + offset, address, bytes, access, "shared", "");
  race_check(w, i, lane, *block, offset, bytes, access);
  return block->shared.data() + offset;
}

std::byte* local(Warp& w, const Inst& i, int lane, std::uint64_t address, std::uint32_t bytes, Access access) {
  const std::uint64_t size = w.launch->program->local_bytes;
  if (address > size || size - address < bytes)
    outside(w, i, lane, address, bytes, access, " of local memory, which has " + std::to_string(size) + " bytes");
  const std::uint64_t at = static_cast<std::uint64_t>(lane) * size + address;
  track(w, i, lane, w.local_written + at, address, bytes, access, "local", "");
  return w.local + at;
}

std::byte* param(Warp& w, const Inst& i, int lane, std::uint64_t address, std::uint32_t bytes, Access access) {
  std::vector<std::byte>& params = w.launch->params;
  const std::uint64_t offset = address - kParamWindow;
  if (access != Access::kRead)
    report(w, i, lane, Found{Checker::kReadOnly, verb(access, bytes) + " of a kernel parameter"});
  if (offset > params.size() || params.size() - offset < bytes)
    outside(w, i, lane, address, bytes, access,
            " of the parameters, which have " + std::to_string(params.size()) + " bytes");
  return params.data() + offset;
}

}  // namespace

std::uint8_t* flags_at(Warp& w, int lane, std::uint64_t address, Space space) {
  const bool generic = space == Space::kGeneric;
  if (space == Space::kShared || (generic && address - kSharedWindow < kWindowBytes)) {
    const std::uint64_t at = generic ? address - kSharedWindow : address & 0xffff'ffffu, rank = at >> 24;
    Block& block = rank == 0 ? *w.block : *w.block->cluster->blocks[rank - 1];
    return block.shared_written.data() + ((at & 0xff'ffff) - kSharedBase);
  }
  if (space == Space::kLocal || (generic && address - kLocalWindow < kWindowBytes)) {
    const std::uint64_t at = generic ? address - kLocalWindow : address & 0xffff'ffffu;
    return w.local_written + static_cast<std::uint64_t>(lane) * w.launch->program->local_bytes + at;
  }
  const Region* region = w.launch->memory->below(address);
  if (w.launch->overlay != nullptr) throw Entangled{};
  return region->written != nullptr && region->name.starts_with("workspace")
             ? region->written + (address - region->base)
             : nullptr;
}

std::string name_at(const Warp& w, std::uint64_t address) {
  return w.launch->memory->below(address)->name;
}

std::string name_of_byte(const Warp& w, std::uint64_t address) {
  const Region* region = w.launch->memory->below(address);
  return "byte " + std::to_string(address - region->base) + " of " + region->name;
}

void keep_source(Warp& w, Space space, std::uint64_t address) {
  if (w.launch->overlay != nullptr && (space == Space::kGlobal || space == Space::kGeneric))
    if (const Region* region = w.launch->memory->below(address); region != nullptr)
      w.launch->overlay->pin(*region, address);
}

std::byte* resolve(Warp& w, const Inst& i, int lane, std::uint64_t address, std::uint32_t bytes, Space space,
                   Access access) {
  if ((address & (bytes - 1)) != 0)
    report(w, i, lane,
           Found{Checker::kMisaligned, verb(access, bytes) + " misaligned at " + hex(address) + ": a multiple of " +
                                           std::to_string(bytes) + " is needed"});
  switch (space) {
    case Space::kGlobal:
    case Space::kConst:
      return global(w, i, lane, address, bytes, access);
    case Space::kShared:
      return shared(w, i, lane, address & 0xffff'ffffu, bytes, access);
    case Space::kLocal:
      return local(w, i, lane, address & 0xffff'ffffu, bytes, access);
    case Space::kParam:
      return param(w, i, lane, address, bytes, access);
    case Space::kGeneric:
      break;
  }
  if (address - kSharedWindow < kWindowBytes) return shared(w, i, lane, address - kSharedWindow, bytes, access);
  if (address - kLocalWindow < kWindowBytes) return local(w, i, lane, address - kLocalWindow, bytes, access);
  if (address - kParamWindow < kWindowBytes) return param(w, i, lane, address, bytes, access);
  return global(w, i, lane, address, bytes, access);
}

Space take_space(Binder& b) {
  static constexpr std::pair<std::string_view, Space> kSpaces[] = {{"global", Space::kGlobal},
                                                                   {"const", Space::kConst},
                                                                   {"shared", Space::kShared},
                                                                   {"shared::cta", Space::kShared},
                                                                   {"shared::cluster", Space::kShared},
                                                                   {"local", Space::kLocal},
                                                                   {"param", Space::kParam},
                                                                   {"param::entry", Space::kParam},
                                                                   {"param::func", Space::kParam}};
  for (const std::string& word : b.in.words)  // in the instruction's order: copies name two spaces
    for (const auto& [name, space] : kSpaces)
      if (word == name && b.take(name)) return space;
  return Space::kGeneric;
}

Address bind_address(Binder& b, const Operand& what) {
  if (what.kind != Operand::Kind::kAddress || what.parts.size() != 1) b.refuse("an address of this form");
  const Operand& base = what.parts[0];
  Address made;
  made.space = take_space(b);
  made.offset = what.offset;
  if (base.kind == Operand::Kind::kVariable && made.space == Space::kParam && b.places().in_frame(base.index))
    made.space = Space::kLocal;
  made.narrow = b.width(base) == 32;
  made.slot = b.source(base, made.narrow ? 32 : 64);
  return made;
}

void take_cache_words(Binder& b) {
  b.take_one({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  b.out.non_coherent = b.take("nc");
  while (b.take_prefix("L1::") || b.take_prefix("L2::")) {
  }
}

void take_order_words(Binder& b) {
  b.take("mmio");
  const int order = b.take_one({"weak", "relaxed", "acquire", "release", "acq_rel", "volatile"});
  b.out.orders = order >= 2 && order <= 4;
  b.out.strong = order >= 1;
  b.out.block_only = b.take_one({"cta", "cluster", "gpu", "sys"}) == 0;
}

}  // namespace kf::emulator
