// SPDX-License-Identifier: Apache-2.0
#include "ledger/ledger_file.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <kfactory/embedded.h>
#include <kfactory/error.h>

namespace kf {
namespace {

constexpr int kApplicationId = 0x6b666c67;  // "kflg"
constexpr int kVersion = 1;
constexpr std::uintmax_t kSmallestFile = 512;  // one page of SQLite at least
constexpr int kBusyMilliseconds = 10'000;

// What a person can do about a file that does not open.
const char* way_out(const SQLite::Exception& fault) {
  switch (fault.getErrorCode()) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return "make room (is the disk full?), then start again; a run that has begun goes on with --resume";
    case SQLITE_BUSY:
      return "another program reads or writes it; end that, or wait";
    default:
      return "the file, its folder and ledger.sqlite-wal and -shm beside it need read and write permission; or take "
             "another folder";
  }
}

// Nothing empties a ledger that has begun: SQLite would throw away the journal beside it and begin anew.
void refuse_emptied(const std::filesystem::path& file) {
  std::error_code none;
  const std::uintmax_t journal = std::filesystem::file_size(file.string() + "-wal", none);
  const bool has_journal = !none && journal > 0;
  if (has_journal || std::filesystem::exists(file.parent_path() / "run.json", none)) {
    throw Fatal(file.string() + " is empty, though " + (has_journal ? "its journal" : "run.json") +
                " beside it says that a run has begun: the file was cut off. Put a copy of it back, or take another "
                "folder (--out)");
  }
}

// "records 1 to 812 of attempts 1 to 37 can be read", by walking until the damage.
std::string readable_part(SQLite::Database& database) {
  std::int64_t records = 0;
  std::int64_t attempts = 0;
  try {
    database.exec("PRAGMA writable_schema = ON");  // or SQLite refuses a file that is shorter than its header says
    SQLite::Statement walk(database, "SELECT sequence, attempt, length(json) FROM record ORDER BY sequence");
    while (walk.executeStep()) {
      records = walk.getColumn(0).getInt64();
      attempts = std::max(attempts, walk.getColumn(1).getInt64());
    }
  } catch (const SQLite::Exception&) {  // here the damage begins
  }
  return records == 0 ? "no record can be read"
                      : "records 1 to " + std::to_string(records) + " of " + std::to_string(attempts) +
                            " attempts can still be read";
}

std::int64_t pragma(SQLite::Database& database, const char* name) {
  return database.execAndGet("PRAGMA " + std::string(name)).getInt64();
}

void create_schema(SQLite::Database& database) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  database.exec(std::string(embedded_file("src/ledger/schema.sql")));
  database.exec("PRAGMA application_id = " + std::to_string(kApplicationId));
  database.exec("PRAGMA user_version = " + std::to_string(kVersion));
  transaction.commit();
}

// Refuses what is no ledger of ours, or not whole.
void check_file(SQLite::Database& database, const std::string& name, bool thorough) {
  const std::int64_t id = pragma(database, "application_id");
  if (id != kApplicationId) {
    throw Fatal(name + " is an SQLite file, but not a ledger of kfactory (application_id " + std::to_string(id) +
                "); take another folder");
  }
  const std::int64_t version = pragma(database, "user_version");
  if (version != kVersion) {
    throw Fatal(name + " has version " + std::to_string(version) + ", this kfactory reads version " +
                std::to_string(kVersion) + "; use the kfactory that wrote it");
  }
  if (!thorough) {
    return;
  }
  const std::string found = database.execAndGet("PRAGMA quick_check(1)").getString();
  if (found != "ok") {
    throw Fatal(name + damage_report(database, found));
  }
}

// A folder without write permission has no place for the WAL's index. Without a WAL the file is all there is.
bool only_immutable(const std::filesystem::path& file) {
  std::error_code ignored;
  return !std::filesystem::exists(file.string() + "-wal", ignored);
}

std::unique_ptr<SQLite::Database> open_database(const std::filesystem::path& file, bool write) {
  // A reader may write too, as far as SQLite knows: one that may not leaves the -wal and -shm that it had to make.
  // Where it is the last to close the file it puts a killed writer's journal into it; beside a writer it changes
  // nothing.
  const int flags = SQLite::OPEN_READWRITE | (write ? SQLite::OPEN_CREATE : 0);
  auto database = std::make_unique<SQLite::Database>(file.string(), flags, kBusyMilliseconds);
  if (!write) {
    try {
      pragma(*database, "user_version");  // the first real access
      database->exec("PRAGMA query_only = ON");
    } catch (const SQLite::Exception& fault) {
      if (fault.getErrorCode() != SQLITE_CANTOPEN && fault.getErrorCode() != SQLITE_READONLY) {
        throw;
      }
      if (only_immutable(file)) {
        const std::string uri = "file:" + std::filesystem::absolute(file).string() + "?immutable=1";
        database = std::make_unique<SQLite::Database>(uri, SQLite::OPEN_READONLY | SQLite::OPEN_URI, kBusyMilliseconds);
      }
    }
  }
  return database;
}

}  // namespace

const char* const kRecover = "copy the folder, then `sqlite3 ledger.sqlite .recover` gets out what is left";

std::string reason_of(const SQLite::Exception& fault, sqlite3* handle) {
  std::string reason = fault.what();
  const int system_error = handle == nullptr ? 0 : sqlite3_system_errno(handle);
  if (system_error != 0) {
    reason += ", " + std::string(std::strerror(system_error));
  }
  return reason;
}

bool is_damage(const SQLite::Exception& fault) {
  return fault.getErrorCode() == SQLITE_CORRUPT || fault.getErrorCode() == SQLITE_NOTADB;
}

std::string damage_report(SQLite::Database& database, const std::string& reason) {
  return " is damaged (" + reason + "): " + readable_part(database) + "; " + kRecover;
}

bool ledger_has_begun(const std::filesystem::path& file) {
  std::error_code none;
  const bool there = std::filesystem::exists(file, none);
  if (there && !std::filesystem::is_regular_file(file, none)) {  // a pipe would be waited for
    throw Fatal(file.string() + " is no ledger, but a folder, a pipe or a device; take another folder");
  }
  const std::uintmax_t size = there ? std::filesystem::file_size(file, none) : 0;
  if (there && size == 0) {
    refuse_emptied(file);
  } else if (there && size < kSmallestFile) {  // SQLite would take it for an empty one
    throw Fatal(file.string() + " is not a ledger, or was cut off after " + std::to_string(size) +
                " bytes; take another folder");
  }
  return size > 0;
}

std::unique_ptr<SQLite::Database> open_ledger_file(const std::filesystem::path& file, bool write) {
  const std::string name = file.string();
  std::unique_ptr<SQLite::Database> database_file;
  try {
    database_file = open_database(file, write);
    SQLite::Database& database = *database_file;
    // A process killed while it created the file leaves one without tables.
    const bool empty = write && database.execAndGet("SELECT count(*) FROM sqlite_schema").getInt64() == 0 &&
                       pragma(database, "application_id") == 0;
    if (empty) {
      database.exec("PRAGMA journal_mode = WAL");
      create_schema(database);
    }
    check_file(database, name, write && !empty);
    if (write) {
      database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    }
  } catch (const SQLite::Exception& fault) {
    sqlite3* handle = database_file == nullptr ? nullptr : database_file->getHandle();
    const std::string reason = reason_of(fault, handle);
    if (fault.getErrorCode() == SQLITE_NOTADB) {
      throw Fatal(name + " is not a ledger, or its beginning is destroyed (" + reason + "); take another folder");
    }
    if (is_damage(fault)) {
      throw Fatal(name + (handle != nullptr ? damage_report(*database_file, reason)
                                            : " is damaged (" + reason + "): no record can be read; " + kRecover));
    }
    throw Fatal(name + " cannot be opened: " + reason + "; " + way_out(fault));
  }
  return database_file;
}

}  // namespace kf
