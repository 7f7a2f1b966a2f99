// SPDX-License-Identifier: Apache-2.0
#include "compile/binary_facts.h"

#include <kfactory/audit.h>

#include <algorithm>
#include <set>

#include "compile/ptx_flow.h"
#include "compile/ptx_module.h"
#include "compile/ptx_timer.h"

namespace kf {
namespace {

// Registers that tell time, or one launch from another.
bool is_telling(std::string_view name) {
  for (const std::string_view prefix : {"%clock", "%globaltimer", "%gridid", "%envreg", "%pm", "%current_graph_exec"}) {
    if (name.starts_with(prefix)) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> telling_registers(const PtxModule& module) {
  std::set<std::string> found;
  for (const PtxFunction& function : module.functions) {
    bool influence = false, influence_known = false;
    for (const PtxInstruction& instruction : function.instructions) {
      for (const PtxOperand& operand : instruction.operands) {
        for (const int id : operand.names) {
          const PtxEntity& entity = module.entities[static_cast<std::size_t>(id)];
          if (entity.kind != PtxEntity::Kind::kSpecial || !is_telling(entity.name)) {
            continue;
          }
          if (entity.name.starts_with("%globaltimer") && !influence_known) {
            influence = timer_has_influence(module, function);
            influence_known = true;
          }
          if (!entity.name.starts_with("%globaltimer") || influence) {
            found.insert(entity.name);
          }
        }
      }
    }
  }
  return {found.begin(), found.end()};
}

// The cubin's name of a variable that inline PTX declared inside a block: "$__<name>__<number>$<number>".
bool is_block_variable(std::string_view cubin_name, const std::set<std::string>& declared) {
  if (!cubin_name.starts_with("$__")) {
    return false;
  }
  const std::size_t end = cubin_name.rfind("__");
  return end > 3 && end != cubin_name.npos && declared.contains(std::string(cubin_name.substr(3, end - 3)));
}

std::string compare_with_cubin(const PtxModule& module, const BinaryFacts& facts, const CubinFacts& cubin) {
  std::set<std::string> declared;
  for (const PtxEntity& entity : module.entities) {
    if (entity.kind == PtxEntity::Kind::kVariable) {
      declared.insert(entity.name);
    }
  }
  for (const CubinEntry& entry : cubin.entries) {
    if (std::ranges::find(facts.entries, entry.name) == facts.entries.end()) {
      return "the cubin has the entry point " + entry.name + ", which the PTX does not show";
    }
  }
  for (const std::string& entry : facts.entries) {
    if (std::ranges::find(cubin.entries, entry, &CubinEntry::name) == cubin.entries.end()) {
      return "the PTX has the entry point " + entry + ", which the cubin does not show";
    }
  }
  for (const CubinVariable& variable : cubin.variables) {
    if (!declared.contains(variable.name) && !is_block_variable(variable.name, declared)) {
      return "the cubin has the variable " + variable.name + ", which the PTX does not show";
    }
  }
  return {};
}

// A register of inline PTX that is read though no instruction sets it holds what an earlier kernel left there. Of the
// compiler's own registers some are never set where the value does not matter.
std::string unset_register(const PtxModule& module) {
  std::set<int> set;
  for (const PtxFunction& function : module.functions) {
    for (const PtxInstruction& instruction : function.instructions) {
      if (!instruction.operands.empty() && !instruction.operands.front().memory) {
        set.insert(instruction.operands.front().names.begin(), instruction.operands.front().names.end());
      }
    }
  }
  for (const PtxFunction& function : module.functions) {
    for (const PtxInstruction& instruction : function.instructions) {
      std::vector<int> names{instruction.predicate};
      for (const PtxOperand& operand : instruction.operands) {
        names.insert(names.end(), operand.names.begin(), operand.names.end());
      }
      for (const int name : names) {
        const PtxEntity* entity = name < 0 ? nullptr : &module.entities[static_cast<std::size_t>(name)];
        if (entity != nullptr && entity->authored && !set.contains(name)) {
          return "line " + std::to_string(instruction.line) + " reads the register " + entity->name.substr(0, 60) +
                 ", which nothing sets: it holds what an earlier kernel left";
        }
      }
    }
  }
  return {};
}

}  // namespace

BinaryFacts scan_binary(std::string_view ptx, const CubinFacts* cubin) {
  BinaryFacts facts;
  const OrError<PtxModule> module = read_ptx_module(ptx);
  if (!module) {
    facts.unreadable = to_string(module.error());
    return facts;
  }
  for (const PtxFunction& function : module->functions) {
    if (function.entry) {
      facts.entries.push_back(function.name);
    } else if (!function.defined) {
      facts.undefined_symbols.push_back(function.name);
    }
    for (const PtxInstruction& instruction : function.instructions) {
      facts.griddepcontrol = facts.griddepcontrol || instruction.base() == "griddepcontrol";
    }
  }
  if (cubin != nullptr) {
    for (const std::string& name : cubin->undefined) {
      if (std::ranges::find(facts.undefined_symbols, name) == facts.undefined_symbols.end()) {
        facts.undefined_symbols.push_back(name);
      }
    }
    facts.unreadable = compare_with_cubin(*module, facts, *cubin);
  }
  if (facts.unreadable.empty()) {
    facts.unreadable = unset_register(*module);
  }
  const VariableUse use = follow_variables(*module);
  if (!use.complete) {
    facts.unreadable = "the program is too large for its addresses to be followed";
  }
  facts.written_globals.assign(use.written.begin(), use.written.end());
  facts.escaping_globals.assign(use.escaping.begin(), use.escaping.end());
  facts.special_registers = telling_registers(*module);
  return facts;
}

std::string normalised_ptx_hash(std::string_view ptx) {
  const OrError<PtxModule> module = read_ptx_module(ptx);
  return to_hex(sha256(module ? std::string_view(module->canonical) : ptx));
}

}  // namespace kf
