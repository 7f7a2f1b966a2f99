// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <set>

#include "decoder.h"
#include "unset.h"

namespace kf::emulator {

const Kernel* Program::find(std::string_view name) const {
  for (const Kernel& kernel : kernels)
    if (kernel.name == name) return &kernel;
  return nullptr;
}

OrError<Program> decode(const PtxModule& module, GlobalMemory& memory) {
  return Decoder(module, memory).run();
}

namespace {

constexpr Family kFamilies[] = {&bind_carry,     &bind_integer, &bind_narrow,  &bind_bits,    &bind_compare,
                                &bind_float,     &bind_half,    &bind_special, &bind_convert, &bind_move,
                                &bind_memory,    &bind_atomic,  &bind_warp,    &bind_barrier, &bind_copy,
                                &bind_mbarrier,  &bind_cluster, &bind_matrix,  &bind_mma,     &bind_stack,
                                &bind_registers, &bind_wmma};

std::uint32_t slot_bytes(int bits) {
  return static_cast<std::uint32_t>(std::max(bits, 16) / 8 * kLanes);
}

std::int64_t align_up(std::int64_t value, std::int64_t align) {
  return (value + align - 1) / align * align;
}

}  // namespace

OrError<Program> Decoder::run() {
  program_.files = module_.files;
  find_reentrant();
  if (auto placed = place_variables(); !placed) return std::unexpected(placed.error());
  lay_out_functions();
  for (std::size_t n = 0; n < module_.functions.size(); ++n)
    if (module_.functions[n].defined) decode_function(n);
  for (const auto& [pc, callee] : calls_) program_.code[pc].imm = program_.function_pcs.at(callee);
  for (std::size_t n = 0; n < module_.functions.size(); ++n) {
    const PtxFunction& function = module_.functions[n];
    if (function.defined && !function.entry)
      program_.callables[n].pc = program_.function_pcs.at(function.name);
    else
      program_.callables[n].name.clear();  // a call through its address is a finding
  }
  for (Kernel& kernel : program_.kernels) kernel.entry_pc = program_.function_pcs.at(kernel.name);
  program_.register_bytes = next_slot_;
  program_.predicates = next_predicate_;
  return std::move(program_);
}

OrError<void> Decoder::place_variables() {
  addresses_.assign(module_.variables.size(), 0);
  for (std::size_t n = 0; n < module_.variables.size(); ++n) {
    const Variable& variable = module_.variables[n];
    if (variable.space != Space::kGlobal && variable.space != Space::kConst) continue;
    if (variable.external)
      return std::unexpected(Error{variable.name, "is declared .extern and not defined in this module", ""});
    auto& bytes = program_.storage.emplace_back(static_cast<std::size_t>(std::max<std::int64_t>(variable.bytes, 1)));
    std::ranges::transform(variable.init.bytes, bytes.begin(), [](std::uint8_t byte) { return std::byte{byte}; });
    addresses_[n] = memory_.reserve(bytes.size(), 0);
    program_.regions.push_back(
        {addresses_[n], bytes.size(), bytes.data(), nullptr, variable.space == Space::kConst, variable.name});
  }
  std::size_t at = 0;
  for (const Variable& variable : module_.variables) {
    if (variable.space != Space::kGlobal && variable.space != Space::kConst) continue;
    for (const Initializer::Patch& patch : variable.init.patches) {
      auto target = std::ranges::find(module_.variables, patch.symbol, &Variable::name);
      const auto function = std::ranges::find(module_.functions, patch.symbol, &PtxFunction::name);
      if (target == module_.variables.end() && function != module_.functions.end()) {
        const auto number = static_cast<std::uint64_t>(function - module_.functions.begin());
        const std::uint64_t address = kCodeBase + number * kCodeStep + static_cast<std::uint64_t>(patch.addend);
        std::memcpy(program_.storage[at].data() + patch.at, &address, 8);
        continue;
      }
      if (target == module_.variables.end() || (target->space != Space::kGlobal && target->space != Space::kConst))
        return std::unexpected(
            Error{variable.name,
                  "is initialised with the address of '" + patch.symbol + "', which is no global variable", ""});
      const std::uint64_t address = addresses_[static_cast<std::size_t>(target - module_.variables.begin())] +
                                    static_cast<std::uint64_t>(patch.addend);
      std::memcpy(program_.storage[at].data() + patch.at, &address, 8);
    }
    ++at;
  }
  return {};
}

// Shared variables of device functions and of the module come first, then each kernel's own; dynamic shared
// memory follows the largest. Frames and call parameters have fixed places in local memory.
void Decoder::lay_out_functions() {
  std::int64_t common_shared = 0, local = 0, dynamic_align = 16, dynamic = 0;
  std::vector<bool> in_entry(module_.variables.size(), false);
  for (const PtxFunction& function : module_.functions)
    for (int v = function.first_variable; function.entry && v < function.last_variable; ++v)
      in_entry[static_cast<std::size_t>(v)] = true;
  for (std::size_t n = 0; n < module_.variables.size(); ++n) {
    const Variable& v = module_.variables[n];
    if (v.space == Space::kShared && v.external) dynamic_align = std::max(dynamic_align, v.align);
    if (v.space == Space::kShared && !v.external && !in_entry[n]) {
      common_shared = align_up(common_shared, v.align);
      addresses_[n] = static_cast<std::uint64_t>(kSharedBase + common_shared);
      common_shared += v.bytes;
    }
    if ((v.space == Space::kLocal || v.space == Space::kParam) && !frame_relative_[n]) {
      local = align_up(local, v.align);
      addresses_[n] = static_cast<std::uint64_t>(local);
      local += v.bytes;
    }
  }
  for (const PtxFunction& function : module_.functions) {
    if (!function.entry || !function.defined) continue;
    std::int64_t shared = common_shared;
    for (int n = function.first_variable; n < function.last_variable; ++n) {
      const Variable& v = module_.variables[static_cast<std::size_t>(n)];
      if (v.space != Space::kShared || v.external) continue;
      shared = align_up(shared, v.align);
      addresses_[static_cast<std::size_t>(n)] = static_cast<std::uint64_t>(kSharedBase + shared);
      shared += v.bytes;
    }
    Kernel& kernel = program_.kernels.emplace_back();
    kernel.name = function.name;
    kernel.static_shared_bytes = static_cast<std::uint32_t>(shared);
    kernel.max_threads = static_cast<std::uint32_t>(function.max_threads);
    kernel.max_registers = static_cast<std::uint32_t>(function.max_registers);
    std::copy_n(function.required_threads, 3, kernel.required_threads);
    std::copy_n(function.required_cluster, 3, kernel.required_cluster);
    dynamic = std::max(dynamic, align_up(shared, dynamic_align));
    std::int64_t params = 0;
    for (const std::int32_t p : function.params) {
      const Variable& v = module_.variables[static_cast<std::size_t>(p)];
      params = align_up(params, v.align);
      addresses_[static_cast<std::size_t>(p)] = kParamWindow + static_cast<std::uint64_t>(params);
      kernel.params.emplace_back(static_cast<std::uint32_t>(params), static_cast<std::uint32_t>(v.bytes));
      params += v.bytes;
    }
    kernel.param_bytes = static_cast<std::uint32_t>(params);
  }
  for (Kernel& kernel : program_.kernels) kernel.dynamic_shared_offset = static_cast<std::uint32_t>(dynamic);
  for (std::size_t n = 0; n < module_.variables.size(); ++n)
    if (module_.variables[n].space == Space::kShared && module_.variables[n].external)
      addresses_[n] = static_cast<std::uint64_t>(kSharedBase + dynamic);
  for (std::size_t n = 0; n < module_.functions.size(); ++n) {
    std::int64_t frame = 0;
    for (int v = module_.functions[n].first_variable; v < module_.functions[n].last_variable; ++v) {
      const auto at = static_cast<std::size_t>(v);
      if (!frame_relative_[at]) continue;
      frame = align_up(frame, module_.variables[at].align);
      addresses_[at] = static_cast<std::uint64_t>(frame);
      frame += module_.variables[at].bytes;
    }
    program_.callables[n].frame_bytes = static_cast<std::uint32_t>(align_up(frame, 16));
  }
  program_.frame_bytes = static_cast<std::uint32_t>(align_up(local, 16));
  program_.local_bytes = program_.frame_bytes + stack_bytes();
  assign_registers();
  fill_callables();
}

// Device functions have registers of their own; kernels, of which one runs at a time, share the rest.
void Decoder::assign_registers() {
  slots_.resize(module_.functions.size());
  std::uint32_t bytes = 0, predicates = 2;
  std::uint32_t most_bytes = 0, most_predicates = 0;
  for (const bool entries : {false, true}) {
    for (std::size_t n = 0; n < module_.functions.size(); ++n) {
      const PtxFunction& function = module_.functions[n];
      if (function.entry != entries) continue;
      std::uint32_t at = bytes, predicate = predicates;
      for (const Register& r : function.registers) {
        slots_[n].push_back(r.bits == 1 ? predicate++ : at);
        if (r.bits != 1) at += slot_bytes(r.bits);
      }
      if (!entries) bytes = at, predicates = predicate;
      most_bytes = std::max(most_bytes, at);
      most_predicates = std::max(most_predicates, predicate);
    }
  }
  next_slot_ = std::max(bytes, most_bytes);
  next_predicate_ = std::max(predicates, most_predicates);
}

Slot Decoder::new_slot(int bits) {
  const Slot slot = next_slot_;
  next_slot_ += slot_bytes(bits);
  return slot;
}

Slot Decoder::reg(std::int32_t index) {
  return slots_[function_][static_cast<std::size_t>(index)];
}
int Decoder::reg_bits(std::int32_t index) {
  return module_.functions[function_].registers[static_cast<std::size_t>(index)].bits;
}
std::uint64_t Decoder::address_of(std::int32_t variable) {
  return addresses_[static_cast<std::size_t>(variable)];
}
const Variable& Decoder::variable(std::int32_t index) {
  return module_.variables[static_cast<std::size_t>(index)];
}
bool Decoder::in_frame(std::int32_t variable) {
  return addresses_[static_cast<std::size_t>(variable)] < kParamWindow;
}

Slot Decoder::constant(std::uint64_t bits, int width_bits) {
  if (width_bits < 64) bits &= (std::uint64_t{1} << width_bits) - 1;
  auto [at, fresh] = constants_.try_emplace({bits, width_bits}, 0);
  if (fresh) {
    at->second = new_slot(width_bits);
    program_.constants.push_back({at->second, std::max(width_bits, 16) / 8, bits});
  }
  return at->second;
}

Slot Decoder::sink(int bits) {
  if (bits == 1) return 1;
  Slot& slot = sinks_[bits];
  if (slot == 0) slot = new_slot(bits);
  return slot;
}

std::uint32_t Decoder::add_extras(std::initializer_list<std::uint32_t> values) {
  const auto at = static_cast<std::uint32_t>(program_.extras.size());
  program_.extras.insert(program_.extras.end(), values);
  return at;
}

Inst& Decoder::emit(Inst inst) {
  inst.source = static_cast<std::uint32_t>(program_.sources.size() - 1);
  program_.code.push_back(inst);
  program_.uses.emplace_back();
  return program_.code.back();
}

void Decoder::decode_function(std::size_t n) {
  function_ = n;
  const PtxFunction& function = module_.functions[n];
  const auto start = static_cast<std::uint32_t>(program_.code.size());
  program_.sources.push_back({{}, "start of " + function.name});
  emit({});  // for registers that the function does not set, see below
  std::vector<std::uint32_t> pc_of;
  branches_.clear();
  for (const PtxInstruction& instruction : function.instructions) {
    pc_of.push_back(static_cast<std::uint32_t>(program_.code.size()));
    program_.sources.push_back({instruction.where, instruction.text});
    const std::size_t before = program_.code.size();
    try {
      decode_instruction(instruction);
    } catch (const Unsupported& why) {
      program_.code.resize(before);
      program_.uses.resize(before);
      std::erase_if(branches_, [&](const Branch& branch) { return branch.pc >= before; });
      std::erase_if(calls_, [&](const auto& call) { return call.first >= before; });
      Inst inst;
      inst.flow = Flow::kUnsupported;
      inst.imm = static_cast<std::int64_t>(program_.unsupported.size());
      program_.unsupported.push_back(why.why);
      guard(inst, instruction);
      emit(inst);
    }
  }
  pc_of.push_back(static_cast<std::uint32_t>(program_.code.size()));
  program_.sources.push_back({{}, "end of " + function.name});
  Inst end;
  end.flow = Flow::kReturn;
  emit(end);
  auto pc_of_label = [&](std::int32_t label) {
    return pc_of[static_cast<std::size_t>(function.label_at[static_cast<std::size_t>(label)])];
  };
  for (const Branch& branch : branches_) {
    if (branch.extra == kNoSlot)
      program_.code[branch.pc].imm = pc_of_label(branch.label);
    else
      program_.extras[branch.extra] = pc_of_label(branch.label);
  }
  UnsetRegisters own;
  for (std::size_t r = 0; r < function.registers.size(); ++r)
    if (const int bits = function.registers[r].bits; bits == 1)
      own.predicates.push_back(slots_[n][r]);
    else
      own.registers.push_back({slots_[n][r], slot_bytes(bits) / kLanes, false});
  const UnsetRegisters unset = find_unset(program_, start + 1, own);
  const bool any = !unset.registers.empty() || !unset.predicates.empty();
  program_.function_pcs[function.name] = any ? start : start + 1;
  if (!any) return;
  const std::uint32_t source = program_.code[start].source;
  program_.code[start] = make_unset(program_, unset, program_.uses[start]);
  program_.code[start].source = source;
}

void Decoder::guard(Inst& inst, const PtxInstruction& instruction) {
  if (instruction.guard < 0) return;
  inst.guard = reg(instruction.guard);
  inst.guard_negated = instruction.guard_negated;
}

void Decoder::decode_instruction(const PtxInstruction& instruction) {
  Binder binder(instruction, *this);
  const std::size_t before = program_.code.size();
  if (decode_flow(instruction, binder)) {
    for (std::size_t pc = before; pc < program_.code.size(); ++pc) program_.uses[pc] = binder.uses();
    return;
  }
  for (const Family family : kFamilies) {
    Binder attempt(instruction, *this);
    if (!family(attempt)) continue;
    if (!attempt.all_taken()) attempt.refuse("modifier '" + attempt.left_over() + "'");
    guard(attempt.out, instruction);
    emit(attempt.out);
    program_.uses.back() = attempt.uses();
    program_.uses.back().spread = spread_of(instruction);
    return;
  }
  binder.refuse("this instruction or this combination of types");
}

}  // namespace kf::emulator
