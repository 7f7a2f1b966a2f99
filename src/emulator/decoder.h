// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "binder.h"
#include "program.h"

namespace kf::emulator {

class Decoder final : public Places {
 public:
  Decoder(const PtxModule& module, GlobalMemory& memory) : module_(module), memory_(memory) {}
  OrError<Program> run();

  Slot reg(std::int32_t index) override;
  int reg_bits(std::int32_t index) override;
  Slot constant(std::uint64_t bits, int width_bits) override;
  Slot special(std::string_view name, int width_bits) override;
  std::uint64_t address_of(std::int32_t variable) override;
  const Variable& variable(std::int32_t index) override;
  bool in_frame(std::int32_t variable) override;
  Slot address_value(std::int32_t variable, std::int64_t offset, int width_bits) override;
  Slot sink(int bits) override;
  std::uint32_t add_extras(std::initializer_list<std::uint32_t> values) override;

 private:
  struct Branch {  // a target to fill in when the function's places are known
    std::size_t pc;
    std::int32_t label;
    std::uint32_t extra = kNoSlot;  // in extras instead of Inst::imm
  };

  OrError<void> place_variables();
  void lay_out_functions();
  void assign_registers();
  void decode_function(std::size_t n);
  void decode_instruction(const PtxInstruction& instruction);
  // decode_flow.cc: branches, calls, returns, and instructions that the scheduler carries out
  bool decode_flow(const PtxInstruction& instruction, Binder& binder);
  void decode_branch_indexed(const PtxInstruction& instruction, Binder& binder);
  // decode_call.cc
  void find_reentrant();
  void fill_callables();
  std::uint32_t stack_bytes() const;
  void decode_call(const PtxInstruction& instruction, Binder& binder);
  bool decode_builtin_call(const PtxInstruction& instruction, const std::string& name,
                           const std::vector<std::int32_t>& results, const std::vector<std::int32_t>& arguments);
  void decode_frame_call(const PtxInstruction& instruction, Slot address, std::size_t number,
                         const std::vector<std::int32_t>& results, const std::vector<std::int32_t>& arguments);
  void copy_params(const PtxInstruction& instruction,
                   const std::vector<std::pair<std::int32_t, std::int32_t>>& from_to);
  void guard(Inst& inst, const PtxInstruction& instruction);
  Slot new_slot(int bits);
  Inst& emit(Inst inst);

  const PtxModule& module_;
  GlobalMemory& memory_;
  Program program_;
  std::vector<std::uint64_t> addresses_;  // of each variable, in its space
  std::vector<std::vector<Slot>> slots_;  // of each register of each function
  std::map<std::pair<std::uint64_t, int>, Slot> constants_;
  std::map<std::pair<Special, int>, Slot> specials_;
  std::map<int, Slot> sinks_;
  std::vector<std::pair<std::size_t, std::string>> calls_;
  std::vector<bool> frame_relative_;  // variables whose address is an offset in a frame on the stack
  bool needs_stack_ = false;
  std::vector<Branch> branches_;
  std::size_t function_ = 0;
  std::uint32_t next_slot_ = 0, next_predicate_ = 0;
};

}  // namespace kf::emulator
