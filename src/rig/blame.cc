// SPDX-License-Identifier: Apache-2.0
#include "rig/blame.h"

namespace kf {

void Blame::enter(bool candidate, Time now) {
  if (candidate_) {
    candidate_time_ += now - since_;
  }
  candidate_ = candidate;
  since_ = now;
}

Fault Blame::at_once(std::string reason, std::string what) const {
  what += candidate_ ? " while the candidate's kernels ran" : " outside the candidate's launches";
  return {candidate_ ? Fault::Kind::kCandidate : Fault::Kind::kRig, std::move(reason), std::move(what)};
}

Fault Blame::at_deadline(std::string what, Time now) const {
  const auto candidate_time = candidate_time_ + (candidate_ ? now - since_ : std::chrono::steady_clock::duration{0});
  const bool candidate = candidate_ || candidate_time * 2 > now - start_;
  what += candidate ? "; most of the time, or the last of it, went to the candidate's kernels"
                    : "; the candidate's kernels were not running";
  return {candidate ? Fault::Kind::kCandidate : Fault::Kind::kRig, "timeout", std::move(what)};
}

}  // namespace kf
