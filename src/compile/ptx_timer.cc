// SPDX-License-Identifier: Apache-2.0
#include "compile/ptx_timer.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "compile/ptx_flow.h"

namespace kf {
namespace {

constexpr std::array kArithmetic = {
    std::string_view{"mov"}, std::string_view{"add"},  std::string_view{"sub"},   std::string_view{"mul"},
    std::string_view{"mad"}, std::string_view{"shl"},  std::string_view{"shr"},   std::string_view{"and"},
    std::string_view{"or"},  std::string_view{"xor"},  std::string_view{"not"},   std::string_view{"neg"},
    std::string_view{"min"}, std::string_view{"max"},  std::string_view{"div"},   std::string_view{"rem"},
    std::string_view{"cvt"}, std::string_view{"setp"}, std::string_view{"selp"},  std::string_view{"abs"},
    std::string_view{"bfe"}, std::string_view{"bfi"},  std::string_view{"mul24"}, std::string_view{"prmt"},
    std::string_view{"shf"},
};

constexpr std::size_t kMaxWork = 10'000'000;

struct Block {
  std::size_t first = 0, last = 0;  // instructions, last not included
  std::vector<std::size_t> next;    // blocks; the exit is blocks.size()
};

// The control flow of one function, with the nearest common point behind every branch.
class ControlFlow {
 public:
  ControlFlow(const PtxFunction& function) : function_(function) {
    find_blocks();
    connect();
    find_post_dominators();
  }

  std::size_t block_of(std::size_t instruction) const {
    const auto behind = std::ranges::upper_bound(blocks_, instruction, {}, &Block::first);
    return static_cast<std::size_t>(behind - blocks_.begin()) - 1;
  }
  const Block& block(std::size_t index) const { return blocks_[index]; }

  // Blocks that run or not depending on the branch at the end of `branch`: from its successors up to the point that
  // every path passes. The exit (index exit()) is among them where paths do not meet before.
  std::set<std::size_t> region_of(std::size_t branch) const {
    std::set<std::size_t> region;
    std::vector<std::size_t> open(blocks_[branch].next);
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      if (at == post_dominator_[branch] || !region.insert(at).second) {
        continue;
      }
      if (at != exit()) {
        open.insert(open.end(), blocks_[at].next.begin(), blocks_[at].next.end());
      }
    }
    return region;
  }
  std::size_t exit() const { return blocks_.size(); }

 private:
  static bool ends_block(const PtxInstruction& instruction) {
    const std::string_view base = instruction.base();
    return base == "bra" || base == "brx" || base == "ret" || base == "exit";
  }

  void find_blocks() {
    std::set<std::size_t> starts{0};
    for (const auto& [label, at] : function_.labels) {
      starts.insert(at);
    }
    for (std::size_t i = 0; i < function_.instructions.size(); ++i) {
      if (ends_block(function_.instructions[i])) {
        starts.insert(i + 1);
      }
    }
    starts.erase(function_.instructions.size());
    for (auto at = starts.begin(); at != starts.end(); ++at) {
      blocks_.push_back({*at, std::next(at) == starts.end() ? function_.instructions.size() : *std::next(at), {}});
    }
  }

  void connect() {
    std::map<int, std::size_t> at_label;
    for (const auto& [label, at] : function_.labels) {
      at_label[label] = at < function_.instructions.size() ? block_of(at) : exit();
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      Block& block = blocks_[i];
      const PtxInstruction& last = function_.instructions[block.last - 1];
      if (last.base() == "bra") {
        for (const PtxOperand& operand : last.operands) {
          for (const int name : operand.names) {
            block.next.push_back(at_label.contains(name) ? at_label[name] : exit());
          }
        }
      } else if (last.base() == "brx") {
        for (const auto& [label, target] : at_label) {
          block.next.push_back(target);  // its table is not read: any label
        }
      } else if (last.base() == "ret" || last.base() == "exit") {
        block.next.push_back(exit());
      }
      if (!ends_block(last) || last.predicate >= 0) {
        block.next.push_back(i + 1);
      }
    }
  }

  // Cooper, Harvey and Kennedy's iteration on the reversed graph, in reverse order of a walk from the exit.
  void find_post_dominators() {
    const std::size_t count = blocks_.size() + 1;
    std::vector<std::vector<std::size_t>> before(count);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      for (const std::size_t next : blocks_[i].next) {
        before[next].push_back(i);
      }
    }
    std::vector<std::size_t> order, rank(count, count);
    std::vector<bool> seen(count, false);
    std::vector<std::pair<std::size_t, std::size_t>> stack{{exit(), 0}};
    seen[exit()] = true;
    while (!stack.empty()) {
      auto& [at, child] = stack.back();
      if (child < before[at].size()) {
        const std::size_t next = before[at][child++];
        if (!seen[next]) {
          seen[next] = true;
          stack.emplace_back(next, 0);
        }
      } else {
        rank[at] = order.size();
        order.push_back(at);
        stack.pop_back();
      }
    }
    post_dominator_.assign(count, count);  // count: not known, or the exit is never reached
    post_dominator_[exit()] = exit();
    for (bool changed = true; changed;) {
      changed = false;
      for (auto at = order.rbegin(); at != order.rend(); ++at) {
        if (*at == exit()) {
          continue;
        }
        std::size_t meet = count;
        for (const std::size_t next : blocks_[*at].next) {
          if (post_dominator_[next] == count) {
            continue;
          }
          std::size_t other = next;
          while (meet != count && meet != other) {
            (rank[meet] < rank[other] ? meet : other) = post_dominator_[rank[meet] < rank[other] ? meet : other];
          }
          meet = other;
        }
        if (meet != post_dominator_[*at]) {
          post_dominator_[*at] = meet;
          changed = true;
        }
      }
    }
  }

  const PtxFunction& function_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> post_dominator_;
};

class TimerInfluence {
 public:
  TimerInfluence(const PtxModule& module, const PtxFunction& function)
      : module_(module), function_(function), flow_(function), governed_(function.instructions.size(), false) {}

  bool found() {
    do {
      changed_ = false;
      for (std::size_t i = 0; i < function_.instructions.size(); ++i) {
        if (step(i)) {
          return true;
        }
      }
    } while (changed_);
    return false;
  }

 private:
  bool is_timer(int id) const {
    const PtxEntity& entity = module_.entities[static_cast<std::size_t>(id)];
    return entity.kind == PtxEntity::Kind::kSpecial && entity.name.starts_with("%globaltimer");
  }
  bool timed(int id) const { return is_timer(id) || timed_.contains(id); }

  // True: the time reaches something with an effect here.
  bool step(std::size_t index) {
    const PtxInstruction& instruction = function_.instructions[index];
    const std::size_t results = static_cast<std::size_t>(destinations(instruction));
    bool affected = governed_[index] || (instruction.predicate >= 0 && timed(instruction.predicate));
    for (std::size_t i = results; i < instruction.operands.size(); ++i) {
      affected = affected || std::ranges::any_of(instruction.operands[i].names, [this](int id) { return timed(id); });
    }
    if (!affected || instruction.base() == "nanosleep") {
      return false;
    }
    if (instruction.base() == "bra") {
      return branch(index);
    }
    if (std::ranges::find(kArithmetic, instruction.base()) == kArithmetic.end()) {
      return true;
    }
    for (const int id : instruction.operands[0].names) {
      changed_ = timed_.insert(id).second || changed_;
    }
    return false;
  }

  bool branch(std::size_t index) {
    const PtxInstruction& instruction = function_.instructions[index];
    if (instruction.predicate < 0 || !timed(instruction.predicate)) {
      return false;  // it only ends a block that is governed already
    }
    const std::size_t block = flow_.block_of(index);
    const std::set<std::size_t> region = flow_.region_of(block);
    work_ += region.size();
    if (work_ > kMaxWork) {
      return true;  // too large to be followed
    }
    if (region.contains(flow_.exit()) || region.contains(block)) {
      return true;  // it decides whether the function ends, or how often a loop runs
    }
    for (const std::size_t inside : region) {
      for (std::size_t i = flow_.block(inside).first; i < flow_.block(inside).last; ++i) {
        changed_ = changed_ || !governed_[i];
        governed_[i] = true;
      }
    }
    return false;
  }

  const PtxModule& module_;
  const PtxFunction& function_;
  ControlFlow flow_;
  std::vector<bool> governed_;  // runs or not depending on the time
  std::set<int> timed_;         // registers that depend on it
  bool changed_ = false;
  std::size_t work_ = 0;  // blocks looked at
};

}  // namespace

bool timer_has_influence(const PtxModule& module, const PtxFunction& function) {
  return !function.instructions.empty() && TimerInfluence(module, function).found();
}

}  // namespace kf
