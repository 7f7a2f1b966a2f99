// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "gates/trial.h"

namespace kf {

// Does every input matter? The baseline's answer to other contents of one tensor, or to another value of one scalar,
// must fail as the answer to the contents as they are.
class Sensitivity {
 public:
  using Points = std::vector<const CheckPoint*>;
  Sensitivity(Bench& bench, const Job& job, Trial& trial) : bench_(bench), job_(job), trial_(trial) {}

  // Other contents of the same family.
  void try_contents(const Points& points);
  // What nobody promises the baseline to bear, and what may therefore end the device: another value of a scalar, the
  // contents that another case lists. Nothing can be asked for afterwards where bench.alive() is false.
  void try_listed(const Points& points);

  // One for each input of the job's checks.
  std::vector<AdmissionRow> rows() const;

 private:
  struct Effect {
    bool tried = false, moved = false;
    bool refuses = true;  // that it could not be tried
    std::string why_not;  // ... and what to change
  };
  void try_scalar(const CheckPoint& point, const std::string& name, double value);
  void try_listed_tensor(const CheckPoint& point, std::size_t index);
  // `with`: what stands in place of what; `advice`: what to do where the baseline does not bear it.
  void try_on(Effect& effect, const CheckPoint& point, const ResolvedPlan& plan,
              const std::function<void(CaseBuffers&)>& change, const std::string& with, const std::string& advice);
  OrFault<bool> moves(const CheckPoint& point, const ResolvedPlan& plan,
                      const std::function<void(CaseBuffers&)>& change);

  Bench& bench_;
  const Job& job_;
  Trial& trial_;
  Map<Effect> effects_;
};

}  // namespace kf
