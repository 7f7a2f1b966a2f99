// SPDX-License-Identifier: Apache-2.0
// Which launches of a plan are ordered: by `after`, and with programmatic dependent launch by griddepcontrol.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include <kfactory/plan.h>

namespace kf::emulator {

// How far an earlier launch has come, at the least, when a later one acts. Ordered.
enum class Progress : std::uint8_t {
  kNothing,    // both may run at the same time
  kTriggered,  // each of its blocks has executed griddepcontrol.launch_dependents, or ended: its reads before are done
  kDone,       // it has ended, and what it wrote is visible
};

// A launch waits for all that it comes after, directly or not. With `pdl` it starts when those in its `after` have
// triggered; its griddepcontrol.wait waits until they are done, and no further: whom one of them has not waited for
// itself may still run (PTX ISA 9.0, griddepcontrol).
class PlanOrder {
 public:
  explicit PlanOrder(std::span<const kf::Launch> launches);
  // Whether any two launches may run at the same time.
  static bool overlaps(std::span<const kf::Launch> launches);

  // Launches start and end in the plan's order.
  void start(std::size_t launch);
  // waited: a thread has executed griddepcontrol.wait; before_trigger: in a block that had not triggered.
  void end(std::size_t launch, bool waited, bool before_trigger);

  // Of `earlier`, when `launch` acts before, or after, its griddepcontrol.wait.
  Progress progress(std::size_t launch, std::size_t earlier, bool waited) const {
    return (waited ? rows_[launch].waited : rows_[launch].started)[earlier];
  }

 private:
  struct Row {
    std::vector<Progress> started, waited;  // of each earlier launch
    bool has_waited = false, waited_before_trigger = false;
  };
  void follow(Row& row, std::size_t before) const;
  void follow_programmatic(Row& row, std::size_t before) const;

  std::span<const kf::Launch> launches_;
  std::vector<Row> rows_;
};

}  // namespace kf::emulator
