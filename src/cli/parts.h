// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <stop_token>
#include <string>

#include <kfactory/factory.h>

#include "cli/commands.h"

// Where concrete parts are wired together; the commands see seams.

namespace kf {

// The device that a command works with, and how it was come by.
struct Machine {
  DeviceFacts facts;
  std::unique_ptr<Rig> rig;       // null: device none
  std::unique_ptr<Rig> emulator;  // beside a GPU, which candidates meet after it; null: they go to the GPU at once
  std::string note;               // "no GPU here (...): candidates run on the emulator"
};
// This program's file. Other processes have another /proc/self/exe.
std::string own_path();

// Whether candidates may meet an emulator before the GPU: where the settings say so, and never in a bench.
enum class BesideGpu : std::uint8_t { kEmulator, kNothing };

// Follows device.kind; `auto` takes the GPU, else the emulator. UsageError when what was asked for is not there.
Machine open_machine(const Session& session, const std::string& spec_arch, BesideGpu beside = BesideGpu::kEmulator);

std::unique_ptr<Compiler> open_compiler(const Settings& settings);

// Reads a spec or throws UsageError with every mistake in it.
Spec read_spec(const std::string& path);
Candidate read_candidate_file(const std::string& path);

// Ids of the timed cases that --cases names; empty: all.
std::vector<std::string> timed_cases(const Session& session, const Spec& spec, const DeviceFacts& facts);

// How the device was come by, for people: "device: NVIDIA H200: no target of the emulator has sm_100a: ...". Nothing
// where there is nothing to say of it.
void say_device(Console& console, const Machine& machine);
// The same on stderr, unless there is no device (the result says so) or --json (where the note is in the report).
void remark_device(Session& session, const Machine& machine);

// On a terminal, the live line says what is under way, until something is printed: references and checks take seconds.
// `session` outlives the factory.
void show_progress(Session& session, Factory& factory, const std::string& of);

// Figures of the emulator are never called times.
std::string label_of(const DeviceFacts& facts);

template <class T>
T or_usage(OrErrors<T> value) {
  if (!value) {
    throw UsageError{value.error()};
  }
  return std::move(*value);
}
template <class T>
T or_usage(OrError<T> value) {
  if (!value) {
    throw UsageError{{value.error()}};
  }
  return std::move(*value);
}

// A factory that judges candidates without a model or a ledger: eval, gauntlet. All arguments outlive it.
Factory judging_factory(const Spec& spec, const Machine& machine, Compiler& compiler, Clock& clock);
// What the command line and the settings say of an evaluation.
EvaluationSettings evaluation_settings(const Session& session, const Spec& spec, const DeviceFacts& facts);

}  // namespace kf
