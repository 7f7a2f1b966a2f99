// SPDX-License-Identifier: Apache-2.0
#include "ledger/sqlite_ledger.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <cstring>
#include <map>
#include <mutex>

#include <kfactory/error.h>
#include "ledger/file_lock.h"
#include "ledger/ledger_file.h"

namespace kf {
namespace {

void bind(SQLite::Statement& statement, int index, const Digest& digest) {
  statement.bindNoCopy(index, digest.sha256.data(), static_cast<int>(digest.sha256.size()));
}
void bind(SQLite::Statement& statement, int index, std::string_view text) {
  statement.bind(index, std::string(text));
}

Digest digest_of(const SQLite::Column& column, const std::string& name) {
  Digest digest;
  if (column.getBytes() != static_cast<int>(digest.sha256.size())) {
    throw Fatal(name + " is damaged: a digest has " + std::to_string(column.getBytes()) + " bytes instead of 32; " +
                kRecover);
  }
  std::memcpy(digest.sha256.data(), column.getBlob(), digest.sha256.size());
  return digest;
}

}  // namespace

struct SqliteLedger::State {
  std::string name;
  Mode mode;
  std::optional<FileLock> lock;
  std::unique_ptr<SQLite::Database> database;
  std::mutex mutex;                 // guards what follows
  std::map<Digest, Bytes> pending;  // put, but of no record yet

  void writing(const char* what) const {
    if (mode == Mode::kRead) {
      throw Fatal(name + " was opened for reading; " + what + " needs the writer of the run");
    }
  }

  // Runs `body` in one transaction (for writing) or alone; turns SQLite's faults into Fatal.
  template <class Body>
  auto transact(const char* what, Body body) {
    writing(what);
    const std::lock_guard guard(mutex);
    try {
      SQLite::Transaction transaction(*database, SQLite::TransactionBehavior::IMMEDIATE);
      auto result = body(*database);
      transaction.commit();
      return result;
    } catch (const SQLite::Exception& fault) {
      throw Fatal(write_failure(fault, what));
    }
  }
  template <class Body>
  auto query(Body body) {
    const std::lock_guard guard(mutex);
    try {
      return body(*database);
    } catch (const SQLite::Exception& fault) {
      const std::string reason = reason_of(fault, database->getHandle());
      throw Fatal(is_damage(fault) ? name + damage_report(*database, reason) : name + " cannot be read: " + reason);
    }
  }

  std::string write_failure(const SQLite::Exception& fault, const char* what) const {
    const std::string reason = reason_of(fault, database->getHandle());
    if (is_damage(fault)) {
      return name + damage_report(*database, reason);
    }
    if (fault.getErrorCode() == SQLITE_FULL || fault.getErrorCode() == SQLITE_IOERR) {
      return name + ": " + what + " could not be written (" + reason +
             "; is the disk full?). Everything recorded before " + "is kept: make room, then go on with --resume";
    }
    if (fault.getErrorCode() == SQLITE_CONSTRAINT) {
      return name + ": " + what + " was refused (" + reason + "): every blob of a record must have been put before it";
    }
    return name + ": " + what + " failed: " + reason;
  }
};

namespace {

void insert_blob(SQLite::Database& database, const Digest& digest, std::span<const std::byte> bytes) {
  SQLite::Statement insert(database, "INSERT INTO blob (digest, bytes) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING");
  bind(insert, 1, digest);
  // A null pointer would be stored as NULL.
  insert.bindNoCopy(2, bytes.empty() ? "" : static_cast<const void*>(bytes.data()), static_cast<int>(bytes.size()));
  insert.exec();
}
Digest insert_blob(SQLite::Database& database, std::string_view text) {
  const Digest digest = sha256(text);
  insert_blob(database, digest, std::as_bytes(std::span(text.data(), text.size())));
  return digest;
}

bool holds_blob(SQLite::Database& database, const Digest& digest) {
  SQLite::Statement select(database, "SELECT 1 FROM blob WHERE digest = ?");
  bind(select, 1, digest);
  return select.executeStep();
}

void insert_record(SQLite::Database& database, const Record& record) {
  const std::int64_t sequence = database.execAndGet("SELECT ifnull(max(sequence), 0) + 1 FROM record").getInt64();
  SQLite::Statement insert(database,
                           "INSERT INTO record (sequence, attempt, tune, stage, json) VALUES (?, ?, ?, ?, ?)");
  insert.bind(1, sequence);
  insert.bind(2, record.of.attempt.value);
  insert.bind(3, record.of.tune);
  bind(insert, 4, to_string(record.stage));
  bind(insert, 5, record.json);
  insert.exec();
  SQLite::Statement link(database, "INSERT INTO record_blob (sequence, position, digest) VALUES (?, ?, ?)");
  for (std::size_t position = 0; position < record.blobs.size(); ++position) {
    link.bind(1, sequence);
    link.bind(2, static_cast<std::int64_t>(position));
    bind(link, 3, record.blobs[position]);
    link.exec();
    link.reset();
  }
}

std::int64_t last_id(SQLite::Database& database) {
  return database.execAndGet("SELECT ifnull(max(id), 0) FROM attempt").getInt64();
}

}  // namespace

SqliteLedger::SqliteLedger(const std::filesystem::path& file, Mode mode) : state_(std::make_unique<State>()) {
  state_->name = file.string();
  state_->mode = mode;
  const bool begun = ledger_has_begun(file);
  if (!begun && mode == Mode::kRead) {
    throw Fatal(state_->name + " does not exist; name the folder of a run (out/<spec>-<time>)");
  }
  if (mode == Mode::kWrite) {
    state_->lock.emplace(
        FileLock::take(file.parent_path() / "ledger.lock", "the run folder " + file.parent_path().string()));
  }
  state_->database = open_ledger_file(file, mode == Mode::kWrite);
}

SqliteLedger::~SqliteLedger() = default;

AttemptId SqliteLedger::open_attempt(const ModelCall& call, std::string_view json) {
  return state_->transact("opening an attempt", [&](SQLite::Database& database) {
    const AttemptId id{last_id(database) + 1};
    SQLite::Statement insert(database,
                             "INSERT INTO attempt (id, role, ordinal, max_output_tokens) VALUES (?, ?, ?, ?)");
    insert.bind(1, id.value);
    bind(insert, 2, to_string(call.role));
    insert.bind(3, static_cast<std::int64_t>(call.ordinal));
    insert.bind(4, call.max_output_tokens);
    insert.exec();
    const std::vector<Digest> blobs{insert_blob(database, call.system), insert_blob(database, call.prefix),
                                    insert_blob(database, call.prompt)};
    insert_record(database, {0, {id, 0}, Stage::kOpened, std::string(json), blobs});
    return id;
  });
}

void SqliteLedger::append(const Record& record) {
  state_->transact("a record", [&](SQLite::Database& database) {
    if (record.of.attempt.value < 0 || record.of.attempt.value > last_id(database)) {
      throw Fatal(state_->name + ": a record of attempt " + std::to_string(record.of.attempt.value) +
                  ", which was never opened");
    }
    for (const Digest& blob : record.blobs) {
      if (const auto put = state_->pending.find(blob); put != state_->pending.end()) {
        insert_blob(database, blob, put->second);
      }
    }
    insert_record(database, record);
    return true;
  });
  const std::lock_guard guard(state_->mutex);
  for (const Digest& blob : record.blobs) {
    state_->pending.erase(blob);
  }
}

Digest SqliteLedger::put(std::span<const std::byte> bytes) {
  constexpr std::size_t kLimit = 900'000'000;  // below SQLite's limit of 10^9
  if (bytes.size() > kLimit) {
    throw Fatal(state_->name + ": a blob of " + std::to_string(bytes.size()) + " bytes; the limit is " +
                std::to_string(kLimit));
  }
  state_->writing("a blob");
  const Digest digest = sha256(bytes);
  if (!state_->query([&](SQLite::Database& database) { return holds_blob(database, digest); })) {
    const std::lock_guard guard(state_->mutex);
    state_->pending.try_emplace(digest, bytes.begin(), bytes.end());
  }
  return digest;
}

std::optional<Bytes> SqliteLedger::get(const Digest& digest) const {
  return state_->query([&](SQLite::Database& database) -> std::optional<Bytes> {
    if (const auto put = state_->pending.find(digest); put != state_->pending.end()) {
      return put->second;
    }
    SQLite::Statement select(database, "SELECT bytes FROM blob WHERE digest = ?");
    bind(select, 1, digest);
    if (!select.executeStep()) {
      return std::nullopt;
    }
    const SQLite::Column column = select.getColumn(0);
    const auto* first = static_cast<const std::byte*>(column.getBlob());
    Bytes bytes(first, first + column.getBytes());
    if (sha256(bytes) != digest) {
      throw Fatal(state_->name + " is damaged: the bytes of blob " + to_hex(digest) + " do not match it; " + kRecover);
    }
    return bytes;
  });
}

std::vector<Record> SqliteLedger::read(AttemptId first, AttemptId last) const {
  return state_->query([&](SQLite::Database& database) {
    SQLite::Statement select(database,
                             "SELECT r.sequence, r.attempt, r.tune, r.stage, r.json, b.digest FROM record r "
                             "LEFT JOIN record_blob b USING (sequence) WHERE r.attempt BETWEEN ? AND ? "
                             "ORDER BY r.sequence, b.position");
    select.bind(1, first.value);
    select.bind(2, last.value);
    std::vector<Record> records;
    while (select.executeStep()) {
      const std::int64_t sequence = select.getColumn(0).getInt64();
      if (records.empty() || records.back().sequence != sequence) {
        const std::string stage = select.getColumn(3).getString();
        const std::optional<Stage> known = stage_from_string(stage);
        if (!known) {
          throw Fatal(state_->name + ": record " + std::to_string(sequence) + " has the unknown stage \"" + stage +
                      "\"");
        }
        const VariantId of{{select.getColumn(1).getInt64()}, select.getColumn(2).getInt()};
        records.push_back({sequence, of, *known, select.getColumn(4).getString(), {}});
      }
      if (!select.getColumn(5).isNull()) {
        records.back().blobs.push_back(digest_of(select.getColumn(5), state_->name));
      }
    }
    return records;
  });
}

AttemptId SqliteLedger::last_attempt() const {
  return state_->query([&](SQLite::Database& database) { return AttemptId{last_id(database)}; });
}

}  // namespace kf
