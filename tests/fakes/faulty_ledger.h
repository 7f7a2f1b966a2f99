// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>
#include <csignal>
#include <mutex>
#include <type_traits>

#include <kfactory/error.h>
#include <kfactory/ledger.h>

namespace kf {

// A ledger that fails at its n-th write (open_attempt, append and put count, from 1). 0: never.
class FaultyLedger final : public Ledger {
 public:
  enum class Fault : std::uint8_t {
    kThrowBefore,  // the disk was full: nothing was recorded
    kThrowAfter,   // recorded, but the caller never learns it
    kKillBefore,   // SIGKILL to this process
    kKillAfter,
  };
  FaultyLedger(Ledger& real, std::int64_t at, Fault fault) : real_(real), at_(at), fault_(fault) {}

  std::int64_t writes() const {
    const std::lock_guard guard(mutex_);
    return writes_;
  }

  AttemptId open_attempt(const ModelCall& call, std::string_view json) override {
    return write([&] { return real_.open_attempt(call, json); });
  }
  void append(const Record& record) override {
    write([&] {
      real_.append(record);
      return true;
    });
  }
  Digest put(std::span<const std::byte> bytes) override {
    return write([&] { return real_.put(bytes); });
  }
  std::optional<Bytes> get(const Digest& digest) const override { return real_.get(digest); }
  std::vector<Record> read(AttemptId first, AttemptId last) const override { return real_.read(first, last); }
  AttemptId last_attempt() const override { return real_.last_attempt(); }

 private:
  template <class Write>
  std::invoke_result_t<Write> write(Write body) {
    const std::lock_guard guard(mutex_);
    ++writes_;
    // After the fault every further write fails too, as on a full disk.
    const bool faulty = at_ > 0 && writes_ >= at_;
    if (faulty && fault_ == Fault::kKillBefore) {
      ::kill(::getpid(), SIGKILL);
    }
    if (faulty && (fault_ == Fault::kThrowBefore || writes_ > at_)) {
      throw Fatal("injected: write " + std::to_string(writes_) + " of the ledger failed");
    }
    auto result = body();
    if (faulty && fault_ == Fault::kKillAfter) {
      ::kill(::getpid(), SIGKILL);
    }
    if (faulty) {
      throw Fatal("injected: the process ended after write " + std::to_string(writes_));
    }
    return result;
  }

  Ledger& real_;
  std::int64_t at_, writes_ = 0;
  Fault fault_;
  mutable std::mutex mutex_;
};

}  // namespace kf
