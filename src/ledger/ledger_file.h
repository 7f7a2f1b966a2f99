// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <memory>
#include <string>

namespace SQLite {
class Database;
class Exception;
}  // namespace SQLite
struct sqlite3;

namespace kf {

// Whether the file holds something. Throws Fatal where a ledger that had begun was cut off before its first page.
bool ledger_has_begun(const std::filesystem::path& file);

// Opens a ledger's file, checked; for writing, also makes it. Throws Fatal, which says what to do.
std::unique_ptr<SQLite::Database> open_ledger_file(const std::filesystem::path& file, bool write);

// What SQLite says, with the system's reason where there is one (a full disk, a limit, a lost mount).
std::string reason_of(const SQLite::Exception& fault, sqlite3* handle);
bool is_damage(const SQLite::Exception& fault);
// " is damaged (reason): records 1 to 812 of 37 attempts can still be read; copy ...", to be put behind the file's
// name.
std::string damage_report(SQLite::Database& database, const std::string& reason);
// What gets out the rest of a damaged file.
extern const char* const kRecover;

}  // namespace kf
