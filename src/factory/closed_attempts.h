// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <kfactory/attempt.h>

namespace kf {

// The closed attempts 1 .. n of a run, without gaps. Values stay where they are while this lives, whatever is added.
class VisibleAttempts {
 public:
  VisibleAttempts() = default;
  VisibleAttempts(std::shared_ptr<const std::vector<Attempt>> owner, std::size_t count)
      : owner_(std::move(owner)), first_(owner_->data(), count) {}
  std::span<const Attempt> all() const { return first_; }

 private:
  std::shared_ptr<const std::vector<Attempt>> owner_;
  std::span<const Attempt> first_;
};

// The attempts of a run that have ended. What one attempt may see is a view of it, not a copy: ten thousand attempts
// would copy each other ten thousand times. Not thread-safe; views of it are.
class ClosedAttempts {
 public:
  // Attempts may end in any order; each id once.
  void add(Attempt attempt);
  // 1 .. last are all closed.
  bool all_up_to(std::int64_t last) const { return last <= std::ssize(*known_); }
  // Attempts 1 .. last; fewer where one of them is not closed.
  VisibleAttempts up_to(std::int64_t last) const;
  // Everything, by id, also what lies behind one that is still open; nothing is left here, nor in any view.
  std::vector<Attempt> take();

 private:
  void append(Attempt attempt);
  std::shared_ptr<std::vector<Attempt>> known_ = std::make_shared<std::vector<Attempt>>();
  std::map<std::int64_t, Attempt> ahead_;  // closed before one with a smaller id was
};

}  // namespace kf
