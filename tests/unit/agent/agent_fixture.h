// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <kfactory/agent.h>

namespace kf {

inline const Spec& spec_named(const std::string& path) {
  static Map<Spec> specs;
  const auto found = specs.find(path);
  if (found != specs.end()) {
    return found->second;
  }
  OrErrors<Spec> spec = load_spec(std::string(KF_SOURCE_DIR) + "/" + path);
  if (!spec) {
    ADD_FAILURE() << to_string(spec.error());
    return specs[path];
  }
  return specs[path] = std::move(*spec);
}
inline const Spec& rmsnorm() {
  return spec_named("specs/rmsnorm_fwd.json");
}

// A candidate file that can be read.
inline std::string good_source(const std::string& hypothesis = "wider loads") {
  return "/*kfactory\n{ \"plan\": 1, \"hypothesis\": \"" + hypothesis +
         "\",\n  \"kernels\": [{\"name\": \"add\", \"grid\": [\"1\"], \"block\": [\"32\"], \"args\": [\"x\"]}] }\n*/\n"
         "extern \"C\" __global__ void add(const float* x) {}\n";
}

// Builds the attempts of a run one after the other, as the ledger would tell them.
class Trail {
 public:
  Attempt& add(AttemptState state) {
    Attempt attempt;
    attempt.id = {static_cast<std::int64_t>(attempts_.size()) + 1};
    attempt.state = state;
    attempt.direction = "vectorised loads: one thread moves 16 bytes";
    attempt.hypothesis = "idea " + std::to_string(attempt.id.value);
    if (state != AttemptState::kNoReply) {
      attempt.source = good_source(attempt.hypothesis);
      attempt.source_hash = "hash " + std::to_string(attempt.id.value);
    }
    attempts_.push_back(std::move(attempt));
    return attempts_.back();
  }
  Attempt& measured(double speedup) {
    Attempt& attempt = add(AttemptState::kMeasured);
    attempt.score.emplace().speedup = speedup;
    return attempt;
  }
  // Measured in every timed case of the spec: `nanoseconds` times the case's number from 1.
  Attempt& timed(const Spec& spec, double nanoseconds) {
    Attempt& attempt = measured(1e6 / nanoseconds);
    double number = 0;
    for (const Case& of : spec.cases.at("time")) {
      CaseScore score;
      score.case_id = of.id.value;
      const double median = nanoseconds * ++number;
      score.candidate = {median, median * 0.99, median * 1.01, 24};
      score.baseline = {2000 * number, 1990 * number, 2010 * number, 24};
      score.floor_nanoseconds = 500 * number;
      attempt.score->cases.push_back(score);
    }
    return attempt;
  }
  Attempt& rejected(Gate gate, const std::string& reason) {
    Attempt& attempt = add(AttemptState::kRejected);
    attempt.verdict.passed = false;
    attempt.verdict.gate = gate;
    attempt.verdict.reason = reason;
    return attempt;
  }
  std::vector<Attempt>& attempts() { return attempts_; }
  std::span<const Attempt> first(std::int64_t count) const {
    return std::span<const Attempt>(attempts_).first(static_cast<std::size_t>(count));
  }

 private:
  std::vector<Attempt> attempts_;
};

inline TaskView task_of(const Spec& spec, std::span<const Attempt> visible = {}) {
  TaskView task;
  task.spec = &spec;
  task.facts = *named_target("H200");
  task.visible = visible;
  return task;
}

inline std::string everything(const ModelCall& call) {
  return call.system + call.prefix + call.prompt;
}

}  // namespace kf
