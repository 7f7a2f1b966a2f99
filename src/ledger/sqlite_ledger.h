// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>

#include <kfactory/ledger.h>

namespace kf {

// The ledger of a run folder, in one SQLite file (docs/formats/ledger.md).
//
// kWrite creates the file where there is none, and holds `ledger.lock` beside it: a second writer, in this or another
// process of any host that sees the lock, gets a Fatal that says who has it. The lock ends with the process, however it
// ends. Open one writer per process and folder: the lock is the process's, so a second one in it would not be refused.
// kRead takes no lock, also while a writer is at work, and sees each record once it is durable; it works in a folder
// that cannot be written. Its append, put and open_attempt throw Fatal.
//
// Opening throws Fatal for a file that is no ledger, of a newer version, damaged or truncated; the message says how
// much of it can still be read. The folder must exist.
class SqliteLedger final : public Ledger {
 public:
  enum class Mode : std::uint8_t { kWrite, kRead };
  SqliteLedger(const std::filesystem::path& file, Mode mode);
  ~SqliteLedger() override;
  SqliteLedger(SqliteLedger&&) = delete;

  AttemptId open_attempt(const ModelCall& call, std::string_view json) override;
  void append(const Record& record) override;
  Digest put(std::span<const std::byte> bytes) override;
  std::optional<Bytes> get(const Digest& digest) const override;
  std::vector<Record> read(AttemptId first, AttemptId last) const override;
  AttemptId last_attempt() const override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kf
