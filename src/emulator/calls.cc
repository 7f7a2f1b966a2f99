// SPDX-License-Identifier: Apache-2.0
#include "calls.h"

#include <algorithm>
#include <cstring>

#include "access.h"
#include "async_copy.h"
#include "block.h"
#include "undefined.h"

namespace kf::emulator {
namespace {

constexpr std::size_t kDeepest = 4096;

struct Frame {  // of one lane, in local memory
  std::byte* bytes;
  std::uint8_t* written;
};
Frame frame_of(const Warp& w, int lane) {
  const std::size_t base = static_cast<std::size_t>(lane) * w.launch->program->local_bytes;
  return {w.local + base, w.local_written + base};
}

// What is kept of a function that is called again: registers, predicates, parameters and results with their flags.
void put_away(const Warp& w, int lane, const Callable& callee, std::vector<std::uint8_t>& into) {
  const Frame frame = frame_of(w, lane);
  for (const auto& [slot, bytes] : callee.registers) {
    const std::uint8_t* from = w.regs + slot + static_cast<std::size_t>(lane) * bytes;
    into.insert(into.end(), from, from + bytes);
  }
  for (const std::uint32_t predicate : callee.predicates) into.push_back(w.preds[predicate] >> lane & 1);
  for (const CallPlace& place : callee.variables) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(frame.bytes + place.at);
    into.insert(into.end(), from, from + place.bytes);
    into.insert(into.end(), frame.written + place.at, frame.written + place.at + place.bytes);
  }
}
void bring_back(Warp& w, int lane, const Callable& callee, const std::vector<std::uint8_t>& kept) {
  const Frame frame = frame_of(w, lane);
  const std::uint8_t* from = kept.data();
  for (const auto& [slot, bytes] : callee.registers) {
    std::memcpy(w.regs + slot + static_cast<std::size_t>(lane) * bytes, from, bytes);
    if (w.has_undefined) clear_undefined(w, Mask{1} << lane, slot, bytes);
    from += bytes;
  }
  for (const std::uint32_t predicate : callee.predicates)
    w.preds[predicate] = (w.preds[predicate] & ~(Mask{1} << lane)) | Mask{*from++} << lane;
  for (const CallPlace& place : callee.variables) {
    std::memcpy(frame.bytes + place.at, from, place.bytes);
    std::memcpy(frame.written + place.at, from + place.bytes, place.bytes);
    from += 2 * std::size_t{place.bytes};
  }
}

const Callable& target_of(Warp& w, const Inst& inst, int lane, std::uint32_t& number) {
  const auto& all = w.launch->program->callables;
  number = static_cast<std::uint32_t>(inst.imm);
  if (inst.a == kNoSlot) return all[number];
  const std::uint64_t address = w.reg<std::uint64_t>(inst.a)[lane];
  const std::uint64_t at = (address - kCodeBase) / kCodeStep;
  if (address < kCodeBase || (address - kCodeBase) % kCodeStep != 0 || at >= all.size() || all[at].name.empty())
    report(w, inst, lane, "calls through a pointer that is the address of no function");
  number = static_cast<std::uint32_t>(at);
  return all[at];
}

void check_shape(Warp& w, const Inst& inst, int lane, const Callable& callee, const std::uint32_t* list) {
  bool same = list[0] == callee.parameters.size() && list[1] == callee.results.size();
  for (std::size_t k = 0; same && k < list[0]; ++k) same = list[3 + 2 * k] == callee.parameters[k].bytes;
  for (std::size_t k = 0; same && k < list[1]; ++k) same = list[3 + 2 * (list[0] + k)] == callee.results[k].bytes;
  if (!same) report(w, inst, lane, "calls '" + callee.name + "' with other parameters or results than it has");
}

void copy(const Frame& frame, CallPlace from, CallPlace to) {
  const std::uint32_t bytes = std::min(from.bytes, to.bytes);
  std::memmove(frame.bytes + to.at, frame.bytes + from.at, bytes);
  std::memmove(frame.written + to.at, frame.written + from.at, bytes);
}

CallPlace place_in(const std::uint32_t* list, std::size_t n) {  // an argument; behind them, a result
  return {list[2 + 2 * n], list[3 + 2 * n]};
}

}  // namespace

std::uint32_t take_stack(Warp& w, const Inst& inst, int lane, std::uint64_t bytes, std::uint64_t align) {
  const Program& program = *w.launch->program;
  const std::uint64_t top = program.frame_bytes + std::uint64_t{w.stack_used[static_cast<std::size_t>(lane)]};
  const std::uint64_t at = (top + align - 1) / align * align;
  if (bytes > program.local_bytes || at + bytes > program.local_bytes)
    report(w, inst, lane,
           "the stack of a thread has " + std::to_string(program.local_bytes - program.frame_bytes) +
               " bytes here, and this needs more");
  std::memset(frame_of(w, lane).written + at, 0, bytes);
  w.stack_used[static_cast<std::size_t>(lane)] = static_cast<std::uint32_t>(at + bytes - program.frame_bytes);
  return static_cast<std::uint32_t>(at);
}

void call_with_frame(Warp& w, const Inst& inst, std::uint32_t pc, Mask lanes) {
  const std::uint32_t* list = w.launch->program->extras.data() + inst.extra;
  for (Mask rest = lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    std::uint32_t number = 0;
    const Callable& callee = target_of(w, inst, l, number);
    if (inst.a != kNoSlot) check_shape(w, inst, l, callee, list);
    auto& stack = w.calls[static_cast<std::size_t>(l)];
    if (stack.size() >= kDeepest) report(w, inst, l, "calls nest " + std::to_string(kDeepest) + " deep");
    CallFrame& made = stack.emplace_back();
    made.return_pc = pc + 1;
    made.call = pc;
    made.callee = number;
    made.stack_used = w.stack_used[static_cast<std::size_t>(l)];
    if (callee.reentrant) put_away(w, l, callee, made.kept);
    const Frame frame = frame_of(w, l);
    for (std::size_t k = 0; k < list[0]; ++k) copy(frame, place_in(list, k), callee.parameters[k]);
    if (!callee.frame_values.empty()) {
      const std::uint32_t base = take_stack(w, inst, l, callee.frame_bytes, 16);
      for (const FrameValue& value : callee.frame_values) {
        const std::uint64_t address = base + value.offset;
        std::memcpy(w.regs + value.slot + static_cast<std::size_t>(l) * value.bytes, &address, value.bytes);
      }
    }
    w.pc[static_cast<std::size_t>(l)] = callee.pc;
  }
}

void end_call(Warp& w, int lane) {
  auto& stack = w.calls[static_cast<std::size_t>(lane)];
  const CallFrame ended = std::move(stack.back());
  stack.pop_back();
  w.pc[static_cast<std::size_t>(lane)] = ended.return_pc;
  w.stack_used[static_cast<std::size_t>(lane)] = ended.stack_used;
  if (ended.callee == CallFrame::kPlain) return;
  const Program& program = *w.launch->program;
  const Callable& callee = program.callables[ended.callee];
  const std::uint32_t* list = program.extras.data() + program.code[ended.call].extra;
  const Frame frame = frame_of(w, lane);
  std::vector<std::byte> values;  // results survive what comes back
  std::vector<std::uint8_t> flags;
  for (const CallPlace& result : callee.results) {
    values.insert(values.end(), frame.bytes + result.at, frame.bytes + result.at + result.bytes);
    flags.insert(flags.end(), frame.written + result.at, frame.written + result.at + result.bytes);
  }
  if (callee.reentrant) bring_back(w, lane, callee, ended.kept);
  std::size_t at = 0;
  for (std::size_t k = 0; k < callee.results.size(); ++k) {
    const CallPlace to = place_in(list, list[0] + k);
    const std::uint32_t bytes = std::min(to.bytes, callee.results[k].bytes);
    std::memcpy(frame.bytes + to.at, values.data() + at, bytes);
    std::memcpy(frame.written + to.at, flags.data() + at, bytes);
    at += callee.results[k].bytes;
  }
}

}  // namespace kf::emulator
