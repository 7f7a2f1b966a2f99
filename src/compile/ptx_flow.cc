// SPDX-License-Identifier: Apache-2.0
#include "compile/ptx_flow.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

#include "compile/ptx_value.h"

namespace kf {
namespace {

// Some seconds. A real kernel needs a thousandth of it; a text could be made that needs hours.
constexpr std::size_t kMaxWork = 50'000'000;

constexpr std::array kWithoutResult = {
    std::string_view{"st"},         std::string_view{"red"},
    std::string_view{"bra"},        std::string_view{"brx"},
    std::string_view{"ret"},        std::string_view{"exit"},
    std::string_view{"trap"},       std::string_view{"brkpt"},
    std::string_view{"call"},       std::string_view{"membar"},
    std::string_view{"fence"},      std::string_view{"prefetch"},
    std::string_view{"prefetchu"},  std::string_view{"nanosleep"},
    std::string_view{"cp"},         std::string_view{"griddepcontrol"},
    std::string_view{"setmaxnreg"}, std::string_view{"stmatrix"},
    std::string_view{"discard"},    std::string_view{"applypriority"},
    std::string_view{"pmevent"},    std::string_view{"tensormap"},
    std::string_view{"sust"},       std::string_view{"sured"},
    std::string_view{"bar"},        std::string_view{"barrier"},
};
template <class Words>
bool contains(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Instructions whose memory operands are only read.
constexpr std::array kReaders = {
    std::string_view{"ld"},        std::string_view{"ldu"},  std::string_view{"prefetch"},
    std::string_view{"prefetchu"}, std::string_view{"tex"},  std::string_view{"ldmatrix"},
    std::string_view{"wmma.load"}, std::string_view{"suld"}, std::string_view{"tld4"},
    std::string_view{"txq"},       std::string_view{"suq"},  std::string_view{"isspacep"},
};

bool reads_only(const PtxInstruction& instruction) {
  return contains(kReaders, instruction.base()) || instruction.opcode.starts_with("wmma.load") ||
         instruction.opcode.starts_with("multimem.ld_reduce") ||
         instruction.opcode.starts_with("cp.async.bulk.prefetch");
}

using Value = PtxValue;

class Flow {
 public:
  explicit Flow(const PtxModule& module)
      : module_(module), values_(module.entities.size()), cells_(module.entities.size()) {
    for (std::size_t i = 0; i < module.functions.size(); ++i) {
      function_of_[module.functions[i].entity] = i;
      if (module.functions[i].entry) {
        for (const int parameter : module.functions[i].parameters) {
          values_[static_cast<std::size_t>(parameter)].other = true;
        }
      }
    }
    find_taken_functions();
  }

  VariableUse run() {
    do {
      changed_ = false;
      for (const PtxFunction& function : module_.functions) {
        for (const PtxInstruction& instruction : function.instructions) {
          step(instruction);
          if (work_ > kMaxWork) {
            use_.complete = false;
            return std::move(use_);
          }
        }
      }
    } while (changed_);
    return std::move(use_);
  }

 private:
  const PtxEntity& entity(int id) const { return module_.entities[static_cast<std::size_t>(id)]; }
  bool is_module_variable(int id) const { return entity(id).space == "global" || entity(id).space == "const"; }

  // Functions whose address is used other than by calling them: targets of indirect calls.
  void find_taken_functions() {
    const auto take = [this](int id) {
      if (entity(id).kind == PtxEntity::Kind::kFunction) {
        taken_.insert(id);
      }
    };
    for (const PtxEntity& variable : module_.entities) {
      std::ranges::for_each(variable.initial, take);
    }
    for (const PtxFunction& function : module_.functions) {
      for (const PtxInstruction& instruction : function.instructions) {
        for (const PtxOperand& operand : instruction.operands) {
          if (instruction.base() != "call") {
            std::ranges::for_each(operand.names, take);
          }
        }
      }
    }
  }

  Value value_of(int id) const {
    Value value;
    switch (entity(id).kind) {
      case PtxEntity::Kind::kVariable:
        value.variables.insert(id);
        return value;
      case PtxEntity::Kind::kRegister:
      case PtxEntity::Kind::kParameter:
        return values_[static_cast<std::size_t>(id)];
      default:
        value.other = true;
        return value;
    }
  }

  Value value_of(const PtxOperand& operand) const {
    Value value;
    value.other = operand.names.empty();
    for (const int id : operand.names) {
      value.join(value_of(id));
    }
    work_ += 1 + 32 * value.variables.size();  // sets cost more than the look at an operand
    return value;
  }

  void assign(const PtxOperand& destination, const Value& value) {
    for (const int id : destination.names) {
      if (entity(id).kind == PtxEntity::Kind::kRegister || entity(id).kind == PtxEntity::Kind::kParameter) {
        changed_ = values_[static_cast<std::size_t>(id)].join(value) || changed_;
      }
    }
  }

  void note(std::set<std::string>& where, const Value& value) {
    for (const int id : value.variables) {
      if (is_module_variable(id)) {
        where.insert(entity(id).name);
      }
    }
  }

  void step(const PtxInstruction& instruction) {
    const std::string_view base = instruction.base();
    if (base == "call") {
      call(instruction);
    } else if (base == "setp" || base == "set" || base == "testp" || base == "slct" || base == "brx") {
      compare(instruction);
    } else if (std::ranges::any_of(instruction.operands, &PtxOperand::memory)) {
      access(instruction);
    } else {
      compute(instruction);
    }
  }

  // Whether two addresses of the same variable are equal tells nothing about where it is; anything else might (an
  // order does: adding a large number wraps around or does not).
  void compare(const PtxInstruction& instruction) {
    std::vector<Value> sources;
    for (std::size_t i = instruction.base() == "brx" ? 0 : 1; i < instruction.operands.size(); ++i) {
      sources.push_back(value_of(instruction.operands[i]));
    }
    const bool equality = instruction.has("eq") || instruction.has("ne");
    const bool same = instruction.base() == "setp" && equality && sources.size() == 2 && sources[0].pure() &&
                      sources[1].pure() && sources[0].variables == sources[1].variables &&
                      sources[0].variables.size() == 1;
    if (!same) {
      for (const Value& source : sources) {
        note(use_.escaping, source);
      }
    }
    if (instruction.base() != "brx" && !instruction.operands.empty()) {
      Value result;
      result.other = true;
      assign(instruction.operands[0], result);
    }
  }

  void compute(const PtxInstruction& instruction) {
    if (instruction.operands.empty()) {
      return;
    }
    const std::size_t first = static_cast<std::size_t>(destinations(instruction));
    const std::size_t last = instruction.operands.size() - (instruction.base() == "selp" ? 1 : 0);  // its predicate
    std::vector<Value> sources;
    bool in_parts = instruction.operands[0].vector;  // mov.b64 {lo, hi}, address
    for (std::size_t i = first; i < last; ++i) {
      sources.push_back(value_of(instruction.operands[i]));
      in_parts = in_parts || instruction.operands[i].vector;
    }
    if (first == 1) {
      Value result = combine(instruction, sources);
      result.level = in_parts ? kMangled : result.level;
      assign(instruction.operands[0], result);
    }
  }

  // ---- memory ----
  void access(const PtxInstruction& instruction) {
    if (instruction.has("param")) {
      parameter_access(instruction);
      return;
    }
    const bool copy = instruction.base() == "cp";
    bool first_address = true;
    Value loaded;
    loaded.other = true;
    for (const PtxOperand& operand : instruction.operands) {
      if (!operand.memory) {
        continue;
      }
      const Value address = value_of(operand);
      if (!reads_only(instruction) && (first_address || !copy)) {
        note(use_.written, address);
      }
      loaded.join(load_from(address));
      first_address = false;
    }
    store(instruction);
    if (destinations(instruction) == 1 && !instruction.operands[0].memory) {
      assign(instruction.operands[0], loaded);
    }
  }

  Value load_from(const Value& address) const {
    Value loaded;
    loaded.other = true;
    for (const int id : address.variables) {
      loaded.join(cells_[static_cast<std::size_t>(id)]);
      for (const int named : entity(id).initial) {
        if (entity(named).kind == PtxEntity::Kind::kVariable) {
          loaded.variables.insert(named);
        }
      }
    }
    if (address.level == kMangled) {
      // Which element is read depends on bits of an address: what is read tells them.
      Value told;
      told.level = kMangled;
      std::ranges::copy_if(address.variables, std::inserter(told.variables, told.variables.end()),
                           [this](int id) { return is_module_variable(id); });
      loaded.join(told);
    }
    return loaded;
  }

  // Addresses among the values that an instruction stores.
  void store(const PtxInstruction& instruction) {
    if (reads_only(instruction)) {
      return;
    }
    Value stored, address;
    bool have_address = false;
    for (std::size_t i = static_cast<std::size_t>(destinations(instruction)); i < instruction.operands.size(); ++i) {
      const PtxOperand& operand = instruction.operands[i];
      if (operand.memory && !have_address) {
        address = value_of(operand);
        have_address = true;
      } else {
        stored.join(operand.memory ? load_from(value_of(operand)) : value_of(operand));
      }
    }
    if (stored.clean()) {
      return;
    }
    const bool own_memory = !address.clean() && !address.other &&
                            std::ranges::none_of(address.variables, [this](int id) { return is_module_variable(id); });
    if (!own_memory) {
      note(use_.escaping, stored);
      return;
    }
    for (const int id : address.variables) {
      changed_ = cells_[static_cast<std::size_t>(id)].join(stored) || changed_;
    }
  }

  // ld.param and st.param move values between registers and parameters.
  void parameter_access(const PtxInstruction& instruction) {
    if (instruction.operands.size() < 2) {
      return;
    }
    assign(instruction.operands[0], value_of(instruction.operands[1]));
  }

  // ---- calls: (results), target, (arguments), prototype ----
  void call(const PtxInstruction& instruction) {
    const std::vector<PtxOperand>& operands = instruction.operands;
    std::size_t at = 0;
    const PtxOperand* results = at < operands.size() && operands[at].list ? &operands[at++] : nullptr;
    const PtxOperand* target = at < operands.size() ? &operands[at++] : nullptr;
    const PtxOperand* arguments = at < operands.size() && operands[at].list ? &operands[at] : nullptr;
    if (target == nullptr || target->names.size() != 1) {
      return;
    }
    const int id = target->names.front();
    if (entity(id).kind == PtxEntity::Kind::kFunction) {
      pass(id, results, arguments);
    } else {
      note(use_.escaping, value_of(id));
      for (const int taken : taken_) {
        pass(taken, results, arguments);
      }
    }
  }

  void pass(int function_entity, const PtxOperand* results, const PtxOperand* arguments) {
    const auto found = function_of_.find(function_entity);
    const PtxFunction* callee = found == function_of_.end() ? nullptr : &module_.functions[found->second];
    if (callee == nullptr || !callee->defined) {
      Value unknown;
      unknown.other = true;
      note(use_.escaping, arguments == nullptr ? unknown : value_of(*arguments));  // code that is not in sight
      if (results != nullptr) {
        assign(*results, unknown);
      }
      return;
    }
    pair_up(arguments, callee->parameters, true);
    pair_up(results, callee->results, false);
  }

  // Values go over one by one; all to all where numbers differ (a constant among the arguments, for example).
  void pair_up(const PtxOperand* outer, const std::vector<int>& inner, bool inward) {
    if (outer == nullptr) {
      return;
    }
    const bool aligned = outer->names.size() == inner.size();
    for (std::size_t i = 0; i < outer->names.size(); ++i) {
      for (std::size_t j = 0; j < inner.size(); ++j) {
        if (!aligned || i == j) {
          const int to = inward ? inner[j] : outer->names[i];
          const Value value = value_of(inward ? outer->names[i] : inner[j]);
          changed_ = values_[static_cast<std::size_t>(to)].join(value) || changed_;
        }
      }
    }
  }

  const PtxModule& module_;
  std::vector<Value> values_;  // by entity
  std::vector<Value> cells_;   // contents of local and shared variables, by entity
  std::map<int, std::size_t> function_of_;
  std::set<int> taken_;
  VariableUse use_;
  bool changed_ = false;
  mutable std::size_t work_ = 0;  // operands looked at, and 32 times the variables in them
};

}  // namespace

int destinations(const PtxInstruction& instruction) {
  const bool reduces = (instruction.base() == "bar" || instruction.base() == "barrier") && instruction.has("red");
  const bool none = instruction.operands.empty() || instruction.operands.front().memory ||
                    (contains(kWithoutResult, instruction.base()) && !reduces);
  return none ? 0 : 1;
}

VariableUse follow_variables(const PtxModule& module) {
  return Flow(module).run();
}

}  // namespace kf
