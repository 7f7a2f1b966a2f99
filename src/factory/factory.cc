// SPDX-License-Identifier: Apache-2.0
// The loop: W attempts at once, each on a thread of its own; models, compilations and the device are shared seams that
// order themselves. Attempt k sees attempts 1 .. k - W, all closed; nothing that it does depends on the others.
#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "attempt.h"
#include "closed_attempts.h"
#include "confirm.h"
#include "format/json_tree.h"
#include "learn.h"
#include "score.h"

namespace kf {
namespace {

using Why = AttemptEnd::Why;

// Wall time that earlier starts of this run had used when their last attempt closed: the largest "elapsed" event.
std::chrono::milliseconds elapsed_before(const Ledger& ledger) {
  std::int64_t most = 0;
  for (const Record& record : ledger.read({0}, {0})) {
    const OrErrors<JsonNode> json = parse_json_tree(record.json, "");
    const JsonNode* event = json ? json->member("event") : nullptr;
    const JsonNode* detail = json ? json->member("detail") : nullptr;
    if (event != nullptr && detail != nullptr && event->text == "elapsed") {
      most = std::max<std::int64_t>(most, std::strtoll(detail->text.c_str(), nullptr, 10));
    }
  }
  return std::chrono::milliseconds(most);
}

std::string seconds_text(std::chrono::milliseconds time) {
  return std::to_string(time.count() / 1000) + "." + std::to_string(time.count() % 1000 / 100) + " s";
}

class Loop {
 public:
  Loop(const Factory& factory, const RunSettings& settings, JobBuilder& jobs, std::stop_token stop)
      : factory_(factory),
        settings_(settings),
        jobs_(jobs),
        outer_(stop, [this] { stop_.request_stop(); }),
        begun_(factory.clock->now()),
        before_(elapsed_before(*factory.ledger)) {}

  // Runs until a budget is spent or something ends the run. Throws what a thread threw, after all have ended.
  void run() {
    try {
      take_up_open_attempts();
      for (std::int64_t k = factory_.ledger->last_attempt().value + 1; may_start(k); ++k) {
        start(open(k));
      }
    } catch (...) {  // those under way are cut short, not waited for to their natural end
      fail(std::current_exception());
    }
    wait_for_all();
  }

  StopReason reason() const { return reason_; }
  const std::string& detail() const { return detail_; }
  // After run(), once.
  std::vector<Attempt> take_attempts() { return closed_.take(); }
  // Of the budget, before a call that is not an attempt's.
  bool may_ask(std::string& why) const { return within_tokens_and_time(why); }

 private:
  std::int64_t width() const { return std::max(settings_.search.in_flight, 1); }

  // Of the whole run: pauses between a stop and its resumption do not count, nor what a kill cut off.
  std::chrono::milliseconds elapsed() const {
    return before_ + std::chrono::duration_cast<std::chrono::milliseconds>(factory_.clock->now() - begun_);
  }

  // Attempts that an interrupted run left open go on first; the closed ones are what was known.
  void take_up_open_attempts() {
    std::vector<AttemptRecords> open;
    for (AttemptId id{1}; id <= factory_.ledger->last_attempt(); ++id.value) {
      AttemptRecords records = read_attempt(*factory_.ledger, id);
      ++ordinals_[records.proposal.role];
      if (records.closed) {
        factory_.spending->add(records.closed->usage);
        records.closed->id = id;
        closed_.add(std::move(*records.closed));
      } else {
        open.push_back(std::move(records));
      }
    }
    for (AttemptRecords& records : open) {
      for (const auto& reply : records.replies) {
        factory_.spending->add(reply ? reply->usage : reply.error().spent);
      }
      start(std::move(records));
    }
  }

  // Attempts 1 .. k - W: what attempt k may know.
  VisibleAttempts visible_to(std::int64_t k) const {
    const std::lock_guard lock(mutex_);
    return closed_.up_to(k - width());
  }

  bool within_tokens_and_time(std::string& why) const {
    const std::chrono::milliseconds wall = settings_.budget.wall;
    const std::chrono::milliseconds passed = elapsed();
    why = wall.count() > 0 && passed >= wall ? "wall time: " + seconds_text(passed) + " of " + seconds_text(wall)
                                             : factory_.spending->refusal();
    return why.empty();
  }

  // Waits until everything that attempt k may see is closed. False: no further attempt is to be opened.
  bool may_start(std::int64_t k) {
    std::unique_lock lock(mutex_);
    if (k > settings_.budget.attempts) {
      end_for(StopReason::kBudget, "attempts: " + std::to_string(settings_.budget.attempts) + " of " +
                                       std::to_string(settings_.budget.attempts));
      return false;
    }
    changed_.wait(lock,
                  [&] { return ending_ || stop_.stop_requested() || closed_.all_up_to(k - width()) || running_ == 0; });
    if (ending_ || stop_.stop_requested() || !closed_.all_up_to(k - width())) {
      return false;
    }
    std::string why;
    if (!within_tokens_and_time(why)) {
      end_for(StopReason::kBudget, why);
      return false;
    }
    return true;
  }

  AttemptRecords open(std::int64_t k) {
    const VisibleAttempts visible = visible_to(k);
    AttemptRecords records;
    records.proposal = next_proposal(k, visible.all(), settings_.search);
    records.ordinal = ++ordinals_[records.proposal.role];
    const TaskView task = task_view(factory_, visible.all());
    ModelCall call = compose_call(records.proposal, task, records.ordinal, settings_.search);
    records.id = factory_.ledger->open_attempt(call, opened_json(records.proposal, call));
    records.calls.push_back(std::move(call));
    return records;
  }

  void start(AttemptRecords records) {
    join_ended();
    const std::lock_guard lock(mutex_);
    const std::int64_t id = records.id.value;
    threads_[id] = std::jthread([this, records = std::move(records)]() mutable { carry_out(std::move(records)); });
    ++running_;  // it cannot end before the lock is given back
  }

  // A thread that has ended keeps its stack until it is joined.
  void join_ended() {
    std::vector<std::jthread> ended;  // joins when it goes, after the lock
    const std::lock_guard lock(mutex_);
    for (const std::int64_t id : ended_) {
      ended.push_back(std::move(threads_.extract(id).mapped()));
    }
    ended_.clear();
  }

  // A thread's whole life. Exceptions (a full disk, a broken spec) end the run and are thrown again by run().
  void carry_out(AttemptRecords records) {
    const std::int64_t id = records.id.value;
    try {
      const VisibleAttempts visible = visible_to(id);
      AttemptTask task{&factory_, &settings_, &jobs_, std::move(records), visible.all(), champion_of(visible.all())};
      finish(run_attempt(task, stop_.get_token()));
    } catch (...) {
      fail(std::current_exception());
    }
    const std::lock_guard lock(mutex_);
    --running_;
    ended_.push_back(id);
    changed_.notify_all();
  }

  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    failure_ = failure_ ? failure_ : std::move(failure);
    ending_ = true;
    stop_.request_stop();
  }

  void finish(AttemptEnd end) {
    const std::lock_guard lock(mutex_);
    switch (end.why) {
      case Why::kClosed:
        closed_.add(std::move(end.attempt));
        write_event(*factory_.ledger, "elapsed", std::to_string(elapsed().count()));
        break;
      case Why::kInterrupted:
        break;
      case Why::kWaiting:  // the others of the window are still asked, so that all their requests lie there
        waiting_ = true;
        break;
      case Why::kBudget:  // it stays open: with a larger budget it is asked
        end_for(StopReason::kBudget, end.detail);
        break;
      case Why::kModelFailed:
        end_for(StopReason::kModelFailed, end.detail);
        break;
      case Why::kRigFailed:
        end_for(StopReason::kRigFailed, end.detail);
        stop_.request_stop();
        break;
    }
  }

  // The first reason stays, but a failure says more than a spent budget. The caller holds the lock.
  void end_for(StopReason reason, std::string detail) {
    if (!ending_ || (reason_ == StopReason::kBudget && reason != StopReason::kBudget)) {
      reason_ = reason;
      detail_ = std::move(detail);
    }
    ending_ = true;
  }

  void wait_for_all() {
    for (auto& [id, thread] : threads_) {
      thread.join();
    }
    threads_.clear();
    if (failure_) {
      std::rethrow_exception(failure_);
    }
    const bool budget_only = !ending_ || reason_ == StopReason::kBudget;
    if (waiting_ && budget_only) {
      reason_ = StopReason::kWaiting;
      detail_ = "waiting for replies";
    }
    if (stop_.stop_requested() && budget_only) {
      reason_ = StopReason::kInterrupted;
      detail_ = "interrupted";
    }
  }

  const Factory& factory_;
  const RunSettings& settings_;
  JobBuilder& jobs_;
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> outer_;
  std::chrono::steady_clock::time_point begun_;
  std::chrono::milliseconds before_;

  std::map<Role, std::uint64_t> ordinals_;  // touched by the opening thread alone
  mutable std::mutex mutex_;                // guards what follows
  std::condition_variable changed_;
  ClosedAttempts closed_;
  std::int64_t running_ = 0;
  bool ending_ = false, waiting_ = false;
  StopReason reason_ = StopReason::kBudget;
  std::string detail_;
  std::exception_ptr failure_;
  std::vector<std::int64_t> ended_;               // threads that are about to be gone
  std::map<std::int64_t, std::jthread> threads_;  // by attempt; touched by the opening thread alone
};

void tell(const Factory& factory, Event event) {
  if (factory.observe) {
    factory.observe(event);
  }
}
void tell(const Factory& factory, Event::Kind kind, std::string text) {
  tell(factory, {kind, {}, std::move(text), {}});
}

// Calibrated rates differ a little each time a device is opened. Prompts and floors of one run rest on those of its
// first start, so that a resumed run asks the very same questions. Throws Fatal for another kind of device: figures of
// two devices do not belong in one run.
void keep_device(DeviceFacts& facts, const DeviceFacts& first) {
  if (facts.kind != first.kind || facts.name != first.name || facts.arch != first.arch) {
    throw Fatal("this run began on " + first.name + " (" + first.kind + ", " + first.arch + "); it cannot go on with " +
                facts.name + " (" + facts.kind + ", " + facts.arch +
                "): resume it on such a device, or start another run with --lessons");
  }
  facts.dram_bytes_per_second = first.dram_bytes_per_second;
  facts.fp32_flops_per_second = first.fp32_flops_per_second;
  facts.source = first.source;
}

// What an earlier start of this run drew and was given holds; a new run writes it down before anything else.
void begin(Factory& factory, RunSettings& settings) {
  if (const std::optional<RunStart> start = read_start(*factory.ledger)) {
    keep_device(factory.facts, start->device);
    settings.secret = start->secret;
    settings.search = start->search;
    settings.screen_cases = start->screen_cases;
    settings.max_variants = start->max_variants;
    settings.margin = start->margin;
    factory.lessons = start->lessons;
    write_event(*factory.ledger, "resumed", "");
    tell(factory, Event::Kind::kRunStarted,
         "resumed after attempt " + std::to_string(factory.ledger->last_attempt().value));
    return;
  }
  write_start(*factory.ledger, factory, settings);
  tell(factory, Event::Kind::kRunStarted, factory.spec->name + " on " + factory.facts.name);
}

// Callers of observe are many threads; its receiver is promised one at a time.
Observer one_at_a_time(const Observer& observe) {
  if (!observe) {
    return {};
  }
  return [observe, mutex = std::make_shared<std::mutex>()](const Event& event) {
    const std::lock_guard lock(*mutex);
    observe(event);
  };
}

bool is_win(const Attempt& attempt) {
  return attempt.score && attempt.score->against_baseline == Comparison::kWin;
}

}  // namespace

RunResult run_factory(const Factory& given, const RunSettings& wanted, std::stop_token stop) {
  Factory factory = given;
  RunSettings settings = wanted;
  factory.observe = one_at_a_time(given.observe);
  factory.spending = given.spending != nullptr ? given.spending : std::make_shared<Spending>();
  factory.spending->limit(settings.budget);
  begin(factory, settings);
  JobBuilder jobs(factory, settings.compile_jobs);
  Loop loop(factory, settings, jobs, stop);
  loop.run();

  RunResult result;
  result.reason = loop.reason();
  result.detail = loop.detail();
  result.attempts = loop.take_attempts();
  if (result.reason == StopReason::kBudget && factory.rig != nullptr) {
    confirm_champion(factory, settings, jobs, result, stop);
  }
  result.champion = final_champion(result.attempts);
  if (result.champion) {
    const Attempt& best = *std::ranges::find(result.attempts, *result.champion, &Attempt::id);
    result.beat_baseline = is_win(best);
    tell(factory,
         scored_event(Event::Kind::kChampion, best.id, "attempt " + std::to_string(best.id.value), *best.score));
  }
  std::string why;
  if (result.reason == StopReason::kBudget && loop.may_ask(why)) {
    learn(factory, settings, result, stop);
  } else if (!why.empty()) {
    tell(factory, Event::Kind::kNote, "no lessons were asked for: " + why);
  }
  if (const LessonRound round = read_lesson_round(*factory.ledger, factory.ledger->last_attempt());
      result.lessons.empty()) {
    result.lessons = round.lessons;
  }
  write_event(*factory.ledger, "stopped", std::string(to_string(result.reason)) + ": " + result.detail);
  tell(factory, Event::Kind::kRunStopped, result.detail);
  return result;
}

}  // namespace kf
