// SPDX-License-Identifier: Apache-2.0
// Calls: which functions may be active more than once, what such functions need, and the call itself.
#include <algorithm>
#include <cstring>
#include <set>

#include "access.h"
#include "block.h"
#include "calls.h"
#include "decoder.h"
#include "lanes.h"

namespace kf::emulator {
namespace {

constexpr std::uint32_t kStackBytes = 16 << 10;  // of a thread, where a module needs a stack at all

void copy_lanes(Warp& w, const Inst& i, Mask lanes) {  // extras: from, to, bytes of each parameter
  const std::uint32_t* list = w.launch->program->extras.data() + i.extra;
  const std::size_t frame = w.launch->program->local_bytes;
  each_lane(lanes, [&](int l) {
    const std::size_t base = static_cast<std::size_t>(l) * frame;
    for (std::uint32_t k = 0; k < i.extras; ++k) {
      const std::uint32_t from = list[3 * k], to = list[3 * k + 1], bytes = list[3 * k + 2];
      std::memmove(w.local + base + to, w.local + base + from, bytes);
      std::memmove(w.local_written + base + to, w.local_written + base + from, bytes);
    }
  });
}

// The text at a generic address, for messages.
std::string text_at(Warp& w, const Inst& i, int lane, std::uint64_t address) {
  std::string text;
  for (; address != 0 && text.size() < 200; ++address) {
    const auto c = static_cast<char>(*resolve(w, i, lane, address, 1, Space::kGeneric, Access::kRead));
    if (c == '\0') break;
    text += c;
  }
  return text;
}
// __assertfail(message, file, line, function, size of a character): extras are the places of the first three.
void assertion_failed(Warp& w, const Inst& i, Mask lanes) {
  const int l = std::countr_zero(lanes);
  const std::uint32_t* places = w.launch->program->extras.data() + i.extra;
  auto value = [&](int n, std::size_t bytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, w.local + static_cast<std::size_t>(l) * w.launch->program->local_bytes + places[n], bytes);
    return word;
  };
  report(w, i, l,
         "assertion failed: " + text_at(w, i, l, value(0, 8)) + " at " + text_at(w, i, l, value(1, 8)) + ":" +
             std::to_string(value(2, 4)));
}
void prints_nothing(Warp& w, const Inst& i, Mask lanes) {  // imm: place of the result
  each_lane(lanes, [&](int l) {
    const std::size_t at =
        static_cast<std::size_t>(l) * w.launch->program->local_bytes + static_cast<std::size_t>(i.imm);
    std::memset(w.local + at, 0, 4);
    std::memset(w.local_written + at, 1, 4);
  });
}

void allocate(Warp& w, const Inst& i, Mask lanes) {  // alloca; width: bytes of a register
  each_lane(lanes, [&](int l) {
    const std::uint64_t bytes = i.width == 8 ? w.reg<std::uint64_t>(i.a)[l] : w.reg<std::uint32_t>(i.a)[l];
    const std::uint64_t at = take_stack(w, i, l, bytes, static_cast<std::uint64_t>(i.imm));
    std::memcpy(w.regs + i.d + static_cast<std::size_t>(l) * i.width, &at, i.width);
  });
}
void save_stack(Warp& w, const Inst& i, Mask lanes) {
  each_lane(lanes, [&](int l) {
    const std::uint64_t used = w.stack_used[static_cast<std::size_t>(l)];
    std::memcpy(w.regs + i.d + static_cast<std::size_t>(l) * i.width, &used, i.width);
  });
}
void restore_stack(Warp& w, const Inst& i, Mask lanes) {
  each_lane(lanes, [&](int l) {
    std::uint64_t used = 0;
    std::memcpy(&used, w.regs + i.a + static_cast<std::size_t>(l) * i.width, i.width);
    std::uint32_t& now = w.stack_used[static_cast<std::size_t>(l)];
    if (used > now) report(w, i, l, "stackrestore to a place that no stacksave gave, or that was given up since");
    now = static_cast<std::uint32_t>(used);
  });
}

const Operand* target_of(const PtxInstruction& call) {
  const std::size_t at = !call.operands.empty() && call.operands[0].kind == Operand::Kind::kVector ? 1 : 0;
  return at < call.operands.size() ? &call.operands[at] : nullptr;
}

}  // namespace

// Functions that can reach themselves through calls; a call through a register may reach every function whose address
// is taken anywhere.
void Decoder::find_reentrant() {
  std::map<std::string_view, std::size_t> number;
  for (std::size_t n = 0; n < module_.functions.size(); ++n) number[module_.functions[n].name] = n;
  std::set<std::size_t> taken;
  std::vector<std::set<std::size_t>> reach(module_.functions.size());
  std::vector<bool> indirect(module_.functions.size(), false);
  for (const Variable& variable : module_.variables)
    for (const Initializer::Patch& patch : variable.init.patches)
      if (auto found = number.find(patch.symbol); found != number.end()) taken.insert(found->second);
  for (std::size_t n = 0; n < module_.functions.size(); ++n)
    for (const PtxInstruction& instruction : module_.functions[n].instructions) {
      const bool call = instruction.words[0] == "call";
      const Operand* target = call ? target_of(instruction) : nullptr;
      if (target != nullptr && target->kind == Operand::Kind::kRegister) indirect[n] = true;
      needs_stack_ |= instruction.words[0] == "alloca";
      for (const Operand& operand : instruction.operands)
        if (auto found = number.find(operand.name); operand.kind == Operand::Kind::kName && found != number.end())
          (&operand == target ? reach[n] : taken).insert(found->second);
    }
  for (std::size_t n = 0; n < reach.size(); ++n)
    if (indirect[n]) reach[n].insert(taken.begin(), taken.end());
  for (bool grew = true; grew;) {
    grew = false;
    for (std::set<std::size_t>& of : reach) {
      const std::size_t before = of.size();
      for (const std::size_t callee : std::set<std::size_t>(of)) of.insert(reach[callee].begin(), reach[callee].end());
      grew |= of.size() != before;
    }
  }
  program_.callables.resize(module_.functions.size());
  frame_relative_.assign(module_.variables.size(), false);
  for (std::size_t n = 0; n < reach.size(); ++n) {
    Callable& callable = program_.callables[n];
    callable.name = module_.functions[n].name;
    callable.reentrant = reach[n].contains(n);
    if (!callable.reentrant) continue;
    needs_stack_ = true;
    for (int v = module_.functions[n].first_variable; v < module_.functions[n].last_variable; ++v)
      frame_relative_[static_cast<std::size_t>(v)] = variable(v).space == Space::kLocal;
  }
}

// After frames and registers have their places.
void Decoder::fill_callables() {
  for (std::size_t n = 0; n < module_.functions.size(); ++n) {
    const PtxFunction& function = module_.functions[n];
    Callable& callable = program_.callables[n];
    if (function.entry || !function.defined) continue;
    auto place = [&](std::int32_t v) {
      return CallPlace{static_cast<std::uint32_t>(address_of(v)), static_cast<std::uint32_t>(variable(v).bytes)};
    };
    for (const std::int32_t p : function.params) callable.parameters.push_back(place(p));
    for (const std::int32_t r : function.returns) callable.results.push_back(place(r));
    if (!callable.reentrant) continue;
    for (std::size_t r = 0; r < function.registers.size(); ++r) {
      const int bits = function.registers[r].bits;
      if (bits == 1)
        callable.predicates.push_back(slots_[n][r]);
      else
        callable.registers.emplace_back(slots_[n][r], static_cast<std::uint32_t>(std::max(bits, 16) / 8));
    }
    for (int v = function.first_variable; v < function.last_variable; ++v)
      if (variable(v).space == Space::kParam) callable.variables.push_back(place(v));
  }
}

std::uint32_t Decoder::stack_bytes() const {
  return needs_stack_ ? kStackBytes : 0;
}

// Frame addresses are registers that the call fills in.
Slot Decoder::address_value(std::int32_t variable, std::int64_t offset, int width_bits) {
  const std::uint64_t address = addresses_[static_cast<std::size_t>(variable)] + static_cast<std::uint64_t>(offset);
  if (!frame_relative_[static_cast<std::size_t>(variable)]) return constant(address, width_bits);
  Callable& callable = program_.callables[function_];
  const auto bytes = static_cast<std::uint32_t>(width_bits / 8);
  for (const FrameValue& value : callable.frame_values)
    if (value.offset == static_cast<std::uint32_t>(address) && value.bytes == bytes) return value.slot;
  const Slot slot = new_slot(width_bits);
  callable.frame_values.push_back({slot, bytes, static_cast<std::uint32_t>(address)});
  callable.registers.emplace_back(slot, bytes);
  return slot;
}

void Decoder::copy_params(const PtxInstruction& in, const std::vector<std::pair<std::int32_t, std::int32_t>>& from_to) {
  if (from_to.empty()) return;
  Inst inst;
  guard(inst, in);
  inst.fn = &copy_lanes;
  inst.extras = static_cast<std::uint32_t>(from_to.size());
  inst.extra = static_cast<std::uint32_t>(program_.extras.size());
  for (const auto& [from, to] : from_to) {
    const std::int64_t bytes = std::min(variable(from).bytes, variable(to).bytes);
    add_extras({static_cast<std::uint32_t>(address_of(from)), static_cast<std::uint32_t>(address_of(to)),
                static_cast<std::uint32_t>(bytes)});
  }
  emit(inst);
}

// What the toolkit's headers call and the driver provides.
bool Decoder::decode_builtin_call(const PtxInstruction& in, const std::string& name,
                                  const std::vector<std::int32_t>& results,
                                  const std::vector<std::int32_t>& arguments) {
  Inst inst;
  guard(inst, in);
  if (name == "__assertfail" && arguments.size() >= 3) {
    inst.extra = add_extras({static_cast<std::uint32_t>(address_of(arguments[0])),
                             static_cast<std::uint32_t>(address_of(arguments[1])),
                             static_cast<std::uint32_t>(address_of(arguments[2]))});
    inst.fn = &assertion_failed;
  } else if (name == "vprintf" && results.size() == 1) {
    inst.imm = static_cast<std::int64_t>(address_of(results[0]));
    inst.fn = &prints_nothing;
  } else {
    return false;
  }
  emit(inst);
  return true;
}

// call (results), name or register, (arguments): arguments are copied in, results out, around the jump itself.
void Decoder::decode_call(const PtxInstruction& in, Binder& b) {
  std::size_t n = 0;
  std::vector<std::int32_t> results, arguments;
  auto take = [&](std::vector<std::int32_t>& into) {
    for (const Operand& part : b.operand(n).parts) {
      if (part.kind != Operand::Kind::kVariable) b.refuse("a call argument that is no .param variable");
      into.push_back(part.index);
    }
    ++n;
  };
  if (b.operand(n).kind == Operand::Kind::kVector) take(results);
  const Operand& target = b.operand(n++);
  if (n < b.operands() && b.operand(n).kind == Operand::Kind::kVector) take(arguments);
  if (target.kind == Operand::Kind::kRegister)
    return decode_frame_call(in, b.source(target, 64), 0, results, arguments);
  if (target.kind != Operand::Kind::kName) b.refuse("a call of this form");
  const PtxFunction* callee = module_.find(target.name);
  if (callee == nullptr && decode_builtin_call(in, target.name, results, arguments)) return;
  if (callee == nullptr || callee->entry)
    b.refuse("a call of '" + target.name + "', which this module does not define");
  if (callee->params.size() != arguments.size() || callee->returns.size() != results.size())
    b.refuse("a call of '" + target.name + "' with another number of parameters");
  const auto number = static_cast<std::size_t>(callee - module_.functions.data());
  if (program_.callables[number].reentrant) return decode_frame_call(in, kNoSlot, number, results, arguments);
  std::vector<std::pair<std::int32_t, std::int32_t>> into, out_of;
  for (std::size_t k = 0; k < arguments.size(); ++k) into.emplace_back(arguments[k], callee->params[k]);
  for (std::size_t k = 0; k < results.size(); ++k) out_of.emplace_back(callee->returns[k], results[k]);
  copy_params(in, into);
  Inst inst;
  guard(inst, in);
  inst.flow = Flow::kCall;
  calls_.emplace_back(program_.code.size(), target.name);
  emit(inst);
  copy_params(in, out_of);
}

void Decoder::decode_frame_call(const PtxInstruction& in, Slot address, std::size_t number,
                                const std::vector<std::int32_t>& results, const std::vector<std::int32_t>& arguments) {
  Inst inst;
  guard(inst, in);
  inst.flow = Flow::kCallFrame;
  inst.a = address;
  inst.imm = static_cast<std::int64_t>(number);
  inst.extra = add_extras({static_cast<std::uint32_t>(arguments.size()), static_cast<std::uint32_t>(results.size())});
  for (const auto* list : {&arguments, &results})
    for (const std::int32_t v : *list)
      add_extras({static_cast<std::uint32_t>(address_of(v)), static_cast<std::uint32_t>(variable(v).bytes)});
  emit(inst);
}

bool bind_stack(Binder& b) {
  const std::string_view op = b.op();
  if (op != "alloca" && op != "stacksave" && op != "stackrestore") return false;
  const int bits = bits_of(b.take_type());
  if (bits != 32 && bits != 64) return false;
  b.out.width = static_cast<std::uint8_t>(bits / 8);
  if (op == "stackrestore") {
    b.out.a = b.source(0, bits);
    b.out.fn = &restore_stack;
    return true;
  }
  b.out.d = b.dest(0, bits);
  b.out.fn = op == "alloca" ? &allocate : &save_stack;
  if (op == "stacksave") return true;
  b.out.a = b.source(1, bits);
  b.out.imm = b.operands() > 2 ? static_cast<std::int64_t>(b.immediate(2)) : 8;
  return b.out.imm > 0 && b.out.imm <= 4096 && std::has_single_bit(static_cast<std::uint64_t>(b.out.imm));
}

}  // namespace kf::emulator
