// SPDX-License-Identifier: Apache-2.0
#include "unset.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "block.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

using Bits = std::vector<std::uint64_t>;
void set(Bits& bits, std::uint32_t n) {
  bits[n / 64] |= std::uint64_t{1} << n % 64;
}
bool has(const Bits& bits, std::uint32_t n) {
  return (bits[n / 64] >> n % 64 & 1) != 0;
}

// Straight code: what it reads before it sets it, and what it sets.
struct Stretch {
  std::uint32_t first = 0, end = 0;
  Bits needs, sets;
  std::vector<std::uint32_t> next;
};

class Liveness {
 public:
  Liveness(const Program& program, std::uint32_t first, const UnsetRegisters& own)
      : program_(program), first_(first), own_(own) {
    for (const RegisterUse& r : own.registers) numbers_.emplace(r.slot, static_cast<std::uint32_t>(numbers_.size()));
    for (const std::uint32_t p : own.predicates)
      predicate_numbers_.emplace(
          p, static_cast<std::uint32_t>(own.registers.size()) + static_cast<std::uint32_t>(predicate_numbers_.size()));
    words_ = (own.registers.size() + own.predicates.size()) / 64 + 1;
  }

  UnsetRegisters run() {
    cut();
    for (Stretch& one : stretches_) sum_up(one);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t n = stretches_.size(); n-- > 0;) changed |= flow_back(stretches_[n]);
    }
    UnsetRegisters found;
    if (stretches_.empty()) return found;
    for (std::size_t n = 0; n < own_.registers.size(); ++n)
      if (has(stretches_[0].needs, static_cast<std::uint32_t>(n))) found.registers.push_back(own_.registers[n]);
    for (std::size_t n = 0; n < own_.predicates.size(); ++n)
      if (has(stretches_[0].needs, static_cast<std::uint32_t>(own_.registers.size() + n)))
        found.predicates.push_back(own_.predicates[n]);
    return found;
  }

 private:
  static bool leaves(const Inst& inst) {
    return inst.flow == Flow::kBranch || inst.flow == Flow::kBranchIndexed || inst.flow == Flow::kReturn ||
           inst.flow == Flow::kExit || inst.flow == Flow::kUnsupported;
  }
  void targets(std::uint32_t pc, std::vector<std::uint32_t>& into) const {
    const Inst& inst = program_.code[pc];
    if (inst.flow == Flow::kBranch) into.push_back(static_cast<std::uint32_t>(inst.imm));
    if (inst.flow == Flow::kBranchIndexed)
      for (std::uint32_t k = 0; k < inst.extras; ++k) into.push_back(program_.extras[inst.extra + k]);
    if ((!leaves(inst) || inst.guard != kNoSlot) && pc + 1 < program_.code.size()) into.push_back(pc + 1);
  }

  void cut() {
    const auto end = static_cast<std::uint32_t>(program_.code.size());
    std::vector<bool> starts(end - first_ + 1, false);
    starts[0] = true;
    std::vector<std::uint32_t> next;
    for (std::uint32_t pc = first_; pc < end; ++pc) {
      if (!leaves(program_.code[pc])) continue;
      next.clear();
      targets(pc, next);
      for (const std::uint32_t to : next) starts[to - first_] = true;
      starts[pc + 1 - first_] = true;
    }
    at_.assign(end - first_, 0);
    for (std::uint32_t pc = first_; pc < end; ++pc) {
      if (starts[pc - first_]) stretches_.push_back({pc, pc, Bits(words_), Bits(words_), {}});
      at_[pc - first_] = static_cast<std::uint32_t>(stretches_.size() - 1);
      stretches_.back().end = pc + 1;
    }
  }

  void read(Stretch& one, std::uint32_t number) const {
    if (!has(one.sets, number)) set(one.needs, number);
  }
  void sum_up(Stretch& one) {
    for (std::uint32_t pc = one.first; pc < one.end; ++pc) {
      const Inst& inst = program_.code[pc];
      const Uses& uses = program_.uses[pc];
      if (inst.guard != kNoSlot) read_predicate(one, inst.guard);
      for (const RegisterUse& use : uses.reads)
        if (const auto at = numbers_.find(use.slot); at != numbers_.end()) read(one, at->second);
      for (const std::uint32_t p : uses.predicate_reads) read_predicate(one, p & ~kNegated);
      if (inst.guard != kNoSlot) continue;
      for (const RegisterUse& use : uses.writes)
        if (const auto at = numbers_.find(use.slot); at != numbers_.end()) set(one.sets, at->second);
      for (const std::uint32_t p : uses.predicate_writes)
        if (const auto at = predicate_numbers_.find(p); at != predicate_numbers_.end()) set(one.sets, at->second);
    }
    targets(one.end - 1, one.next);
  }
  void read_predicate(Stretch& one, std::uint32_t index) const {
    if (const auto at = predicate_numbers_.find(index); at != predicate_numbers_.end()) read(one, at->second);
  }

  bool flow_back(Stretch& one) {
    bool changed = false;
    for (const std::uint32_t pc : one.next) {
      const Bits& later = stretches_[at_[pc - first_]].needs;
      for (std::size_t k = 0; k < words_; ++k) {
        const std::uint64_t more = later[k] & ~one.sets[k] & ~one.needs[k];
        one.needs[k] |= more;
        changed |= more != 0;
      }
    }
    return changed;
  }

  const Program& program_;
  std::uint32_t first_;
  const UnsetRegisters& own_;
  std::unordered_map<std::uint32_t, std::uint32_t> numbers_, predicate_numbers_;
  std::size_t words_ = 0;
  std::vector<Stretch> stretches_;
  std::vector<std::uint32_t> at_;  // the stretch of each instruction
};

// One time in eight nothing, so that code that counts on something goes wrong as well; else with exponents, of each
// format, that a sum cannot hide.
std::uint64_t leftover(std::uint64_t& state) {
  const std::uint64_t word = splitmix64(state);
  return word >> 61 == 0 ? 0 : word | 0x4000'4000'4000'4000u;
}

// extras: how many registers, slot and bytes of each, predicates.
void give_leftovers(Warp& w, const Inst& i, Mask lanes) {
  LaunchCounters& counters = w.launch->counters;
  --counters.warp_instructions;  // it is no instruction of the kernel
  counters.lane_instructions -= static_cast<std::uint64_t>(std::popcount(lanes));
  if (w.launch->profile) --counters.executed[w.now];
  std::uint64_t state = w.launch->seed ^ (w.block->linear << 20) ^ (std::uint64_t{w.index} << 12) ^ ++w.unset_draws;
  splitmix64(state);
  const std::uint32_t* list = w.launch->program->extras.data() + i.extra;
  const std::uint32_t registers = *list++;
  for (std::uint32_t n = 0; n < registers; ++n, list += 2)
    for (Mask rest = lanes; rest != 0; rest &= rest - 1)
      for (std::uint32_t at = 0; at < list[1]; at += 8) {
        const std::uint64_t word = leftover(state);
        const std::size_t of_lane = static_cast<std::size_t>(std::countr_zero(rest)) * list[1];
        std::memcpy(w.regs + list[0] + of_lane + at, &word, std::min(list[1], 8u));
      }
  for (std::uint32_t n = 1 + 2 * registers; n < i.extras; ++n) {
    Mask& bits = w.preds[*list++];
    bits = (bits & ~lanes) | (static_cast<Mask>(splitmix64(state)) & lanes);
  }
}

}  // namespace

UnsetRegisters find_unset(const Program& program, std::uint32_t first, const UnsetRegisters& own) {
  return Liveness(program, first, own).run();
}

Inst make_unset(Program& program, const UnsetRegisters& unset, Uses& uses) {
  Inst made;
  made.fn = &give_leftovers;
  made.extra = static_cast<std::uint32_t>(program.extras.size());
  program.extras.push_back(static_cast<std::uint32_t>(unset.registers.size()));
  for (const RegisterUse& r : unset.registers) program.extras.insert(program.extras.end(), {r.slot, r.bytes});
  program.extras.insert(program.extras.end(), unset.predicates.begin(), unset.predicates.end());
  made.extras = static_cast<std::uint32_t>(program.extras.size()) - made.extra;
  uses = {{}, unset.registers, {}, unset.predicates, Spread::kCombine};
  return made;
}

}  // namespace kf::emulator
