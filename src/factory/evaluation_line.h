// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stop_token>

#include <kfactory/factory.h>
#include <kfactory/job.h>

#include "cases.h"
#include "costs.h"
#include "jobs.h"

namespace kf {

// The evaluation under way: what each step reads and adds to.
struct EvaluationLine {
  const Factory& factory;
  JobBuilder& jobs;
  const Candidate& candidate;
  const EvaluationSettings& settings;
  std::stop_token stop;
  ChosenCases cases;
  Evaluation result;
  CostLog costs;
  std::string emulators_word = {};  // of a confirmation: what the emulator that goes first said of one that it passed

  // What a gate says, kept, and told to who observes unless it is of the few cases of the probe and passed: the word on
  // all cases holds it. False: stop here.
  bool accept(Verdict verdict, Launches of = Launches::kNone);
  // Of a job that kept going: one step for each of its gates, the first refusal of each.
  bool accept_all(const CheckReport& report, Launches of);
};

Verdict passed_gate(Gate gate);

// The steps around a timing (timed_line.cc): arms, timed run, launch truth, physics, cliffs, score. `timed` is the
// candidate, built for the timed cases.
bool time_it(EvaluationLine& line, Arm timed);

}  // namespace kf
