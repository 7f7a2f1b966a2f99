// SPDX-License-Identifier: Apache-2.0
#include "ledger/sqlite_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <random>
#include <set>
#include <thread>

#include <kfactory/error.h>
#include "tests/fakes/faulty_ledger.h"
#include "tests/unit/ledger/temporary_folder.h"

namespace kf {
namespace {

using testing::HasSubstr;
constexpr auto kWrite = SqliteLedger::Mode::kWrite;
constexpr auto kRead = SqliteLedger::Mode::kRead;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
ModelCall call_number(std::uint64_t ordinal) {
  return {Role::kWriter, ordinal, "system", "prefix", "prompt " + std::to_string(ordinal), 1000};
}
std::string fatal_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Fatal& fault) {
    return fault.what();
  }
  return "(nothing was thrown)";
}
std::string sql_error(const std::filesystem::path& file, const char* statement) {
  sqlite3* handle = nullptr;
  sqlite3_open(file.c_str(), &handle);
  char* error = nullptr;
  sqlite3_exec(handle, statement, nullptr, nullptr, &error);
  std::string text = error == nullptr ? "" : error;
  sqlite3_free(error);
  sqlite3_close(handle);
  return text;
}
std::string sql_value(const std::filesystem::path& file, const char* query) {
  sqlite3* handle = nullptr;
  sqlite3_stmt* statement = nullptr;
  sqlite3_open(file.c_str(), &handle);
  sqlite3_prepare_v2(handle, query, -1, &statement, nullptr);
  std::string value =
      sqlite3_step(statement) == SQLITE_ROW ? reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)) : "none";
  sqlite3_finalize(statement);
  sqlite3_close(handle);
  return value;
}

class SqliteLedgerTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "ledger.sqlite";
};

TEST_F(SqliteLedgerTest, CountsAttemptsFromOneWithoutGaps) {
  SqliteLedger ledger(file_, kWrite);
  EXPECT_EQ(ledger.last_attempt().value, 0);
  for (std::int64_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(ledger.open_attempt(call_number(static_cast<std::uint64_t>(i)), "{}").value, i);
  }
  EXPECT_EQ(ledger.last_attempt().value, 5);
}

TEST_F(SqliteLedgerTest, KeepsTheWholeCallBeforeItIsSent) {
  SqliteLedger ledger(file_, kWrite);
  const AttemptId id = ledger.open_attempt(call_number(7), R"({"role":"writer"})");
  const std::vector<Record> records = ledger.read(id, id);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].stage, Stage::kOpened);
  EXPECT_EQ(records[0].json, R"({"role":"writer"})");
  ASSERT_EQ(records[0].blobs.size(), 3U);
  EXPECT_EQ(text_of(*ledger.get(records[0].blobs[0])), "system");
  EXPECT_EQ(text_of(*ledger.get(records[0].blobs[1])), "prefix");
  EXPECT_EQ(text_of(*ledger.get(records[0].blobs[2])), "prompt 7");
}

TEST_F(SqliteLedgerTest, GivesRecordsInTheOrderInWhichTheyWereAppended) {
  SqliteLedger ledger(file_, kWrite);
  const AttemptId first = ledger.open_attempt(call_number(1), "{}");
  const AttemptId second = ledger.open_attempt(call_number(2), "{}");
  ledger.append({0, {second, 0}, Stage::kReplied, R"({"n":1})", {}});
  ledger.append({0, {first, 3}, Stage::kVerdict, R"({"n":2})", {}});
  ledger.append({0, {AttemptId{0}, 0}, Stage::kRun, R"({"n":3})", {}});
  const std::vector<Record> all = ledger.read({0}, {2});
  ASSERT_EQ(all.size(), 5U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].sequence, static_cast<std::int64_t>(i) + 1);
  }
  EXPECT_EQ(all[3].of, (VariantId{first, 3}));
  EXPECT_EQ(all[3].stage, Stage::kVerdict);
  EXPECT_EQ(ledger.read({0}, {0}).size(), 1U);
  EXPECT_EQ(ledger.read(first, first).size(), 2U);
  EXPECT_TRUE(ledger.read({9}, {12}).empty());
}

TEST_F(SqliteLedgerTest, StoresEqualBlobsOnce) {
  SqliteLedger ledger(file_, kWrite);
  const Digest first = ledger.put(bytes_of("the same"));
  EXPECT_EQ(ledger.put(bytes_of("the same")), first);
  EXPECT_EQ(first, sha256("the same"));
  ledger.append({0, {}, Stage::kRun, "{}", {first, first}});
  ledger.append({0, {}, Stage::kRun, "{}", {ledger.put(bytes_of("the same"))}});
  EXPECT_EQ(sql_value(file_, "SELECT count(*) FROM blob"), "1");
}

TEST_F(SqliteLedgerTest, ABlobIsReadableAtOnceAndKeptWithTheFirstRecordThatNamesIt) {
  {
    SqliteLedger ledger(file_, kWrite);
    ledger.put(bytes_of("of no record"));
    const Digest named = ledger.put(bytes_of("of a record"));
    EXPECT_EQ(text_of(*ledger.get(named)), "of a record");
    EXPECT_EQ(sql_value(file_, "SELECT count(*) FROM blob"), "0");
    ledger.append({0, {}, Stage::kRun, "{}", {named}});
    EXPECT_EQ(sql_value(file_, "SELECT count(*) FROM blob"), "1");
    EXPECT_EQ(text_of(*ledger.get(named)), "of a record");
  }
  const SqliteLedger again(file_, SqliteLedger::Mode::kRead);
  EXPECT_TRUE(again.get(sha256("of a record")).has_value());
  EXPECT_FALSE(again.get(sha256("of no record")).has_value());
}

TEST_F(SqliteLedgerTest, KeepsBlobsOfAnyBytes) {
  SqliteLedger ledger(file_, kWrite);
  std::string odd("\0\xff\n'--", 6);
  EXPECT_EQ(text_of(*ledger.get(ledger.put(bytes_of(odd)))), odd);
  const std::string large(5'000'000, 'x');
  EXPECT_EQ(text_of(*ledger.get(ledger.put(bytes_of(large)))), large);
  ledger.append({0, {}, Stage::kRun, "{}", {ledger.put(bytes_of(odd)), ledger.put(bytes_of(large))}});
  EXPECT_EQ(text_of(*ledger.get(sha256(odd))), odd);
  EXPECT_EQ(text_of(*ledger.get(sha256(large))), large);
}

TEST_F(SqliteLedgerTest, KeepsTheEmptyBlob) {
  SqliteLedger ledger(file_, kWrite);
  const Digest digest = ledger.put({});
  ledger.append({0, {}, Stage::kRun, "{}", {digest}});
  ASSERT_TRUE(ledger.get(digest).has_value());
  EXPECT_TRUE(ledger.get(digest)->empty());
}

TEST_F(SqliteLedgerTest, SaysWhenABlobIsNotThere) {
  const SqliteLedger ledger(file_, kWrite);
  EXPECT_FALSE(ledger.get(sha256("never put")).has_value());
}

TEST_F(SqliteLedgerTest, RefusesARecordWhoseBlobWasNotPut) {
  SqliteLedger ledger(file_, kWrite);
  const std::string error = fatal_of([&] { ledger.append({0, {}, Stage::kRun, "{}", {sha256("never put")}}); });
  EXPECT_THAT(error, HasSubstr("must have been put"));
  EXPECT_TRUE(ledger.read({0}, {0}).empty()) << "the record itself must be gone with it";
}

TEST_F(SqliteLedgerTest, RefusesARecordOfAnAttemptThatWasNotOpened) {
  SqliteLedger ledger(file_, kWrite);
  EXPECT_THAT(fatal_of([&] { ledger.append({0, {{3}, 0}, Stage::kVerdict, "{}", {}}); }), HasSubstr("never opened"));
}

TEST_F(SqliteLedgerTest, KeepsTheOrderAndRepetitionOfARecordsBlobs) {
  SqliteLedger ledger(file_, kWrite);
  const Digest a = ledger.put(bytes_of("a"));
  const Digest b = ledger.put(bytes_of("b"));
  ledger.append({0, {}, Stage::kRun, "{}", {b, a, b}});
  EXPECT_EQ(ledger.read({0}, {0})[0].blobs, (std::vector<Digest>{b, a, b}));
}

TEST_F(SqliteLedgerTest, GoesOnWhereItStoppedAfterClosing) {
  {
    SqliteLedger ledger(file_, kWrite);
    ledger.open_attempt(call_number(1), "{}");
  }
  SqliteLedger again(file_, kWrite);
  EXPECT_EQ(again.open_attempt(call_number(2), "{}").value, 2);
  EXPECT_EQ(again.read({1}, {2}).back().sequence, 2);
}

TEST_F(SqliteLedgerTest, LeavesOneFileAndTheLockWhenClosed) {
  {
    SqliteLedger(file_, kWrite).open_attempt(call_number(1), "{}");
  }
  std::vector<std::string> names;
  for (const auto& [name, content] : tree_of(folder_.path())) {
    names.push_back(name);
  }
  EXPECT_THAT(names, testing::ElementsAre("ledger.lock", "ledger.sqlite"));
  EXPECT_EQ(content_of(folder_ / "ledger.lock"), "") << "no host, command or path stays behind";
}

TEST_F(SqliteLedgerTest, IsMarkedAsOurs) {
  {
    SqliteLedger(file_, kWrite).put({});
  }
  EXPECT_EQ(sql_value(file_, "PRAGMA application_id"), std::to_string(0x6b666c67));
  EXPECT_EQ(sql_value(file_, "PRAGMA user_version"), "1");
  EXPECT_EQ(sql_value(file_, "PRAGMA journal_mode"), "wal");
}

TEST_F(SqliteLedgerTest, RefusesToChangeOrDeleteWhatIsThere) {
  {
    SqliteLedger ledger(file_, kWrite);
    ledger.open_attempt(call_number(1), "{}");
  }
  for (const char* statement : {"UPDATE record SET json = '{}'", "DELETE FROM record", "UPDATE attempt SET role = 'x'",
                                "DELETE FROM attempt", "UPDATE blob SET bytes = x'00'", "DELETE FROM blob",
                                "UPDATE record_blob SET position = 9", "DELETE FROM record_blob"}) {
    EXPECT_THAT(sql_error(file_, statement), HasSubstr("append-only")) << statement;
  }
}

TEST_F(SqliteLedgerTest, ReadsWhileAnotherWrites) {
  SqliteLedger writer(file_, kWrite);
  writer.open_attempt(call_number(1), "{}");
  const SqliteLedger reader(file_, kRead);
  EXPECT_EQ(reader.last_attempt().value, 1);
  writer.open_attempt(call_number(2), "{}");
  EXPECT_EQ(reader.last_attempt().value, 2) << "a reader sees what is durable by now";
}

TEST_F(SqliteLedgerTest, AReaderNeverWrites) {
  {
    SqliteLedger(file_, kWrite).open_attempt(call_number(1), "{}");
  }
  SqliteLedger reader(file_, kRead);
  EXPECT_THAT(fatal_of([&] { reader.open_attempt(call_number(2), "{}"); }), HasSubstr("opened for reading"));
  EXPECT_THAT(fatal_of([&] { reader.append({}); }), HasSubstr("opened for reading"));
  EXPECT_THAT(fatal_of([&] { reader.put({}); }), HasSubstr("opened for reading"));
}

TEST_F(SqliteLedgerTest, AReaderLeavesNoFileBehind) {
  {
    SqliteLedger(file_, kWrite).open_attempt(call_number(1), "{}");
  }
  EXPECT_EQ(SqliteLedger(file_, kRead).last_attempt().value, 1);
  EXPECT_FALSE(std::filesystem::exists(file_.string() + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(file_.string() + "-shm"));
}

TEST_F(SqliteLedgerTest, AReaderThatClosesLeavesALiveWriterItsJournal) {
  SqliteLedger writer(file_, kWrite);
  writer.open_attempt(call_number(1), "{}");
  {
    const SqliteLedger reader(file_, kRead);
    EXPECT_EQ(reader.last_attempt().value, 1);
  }
  EXPECT_TRUE(std::filesystem::exists(file_.string() + "-wal"));
  writer.open_attempt(call_number(2), "{}");
  EXPECT_EQ(SqliteLedger(file_, kRead).last_attempt().value, 2);
}

TEST_F(SqliteLedgerTest, ReadsInAFolderThatCannotBeWritten) {
  {
    SqliteLedger(file_, kWrite).open_attempt(call_number(1), "{}");
  }
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  EXPECT_EQ(SqliteLedger(file_, kRead).last_attempt().value, 1);
}

TEST_F(SqliteLedgerTest, SaysWhenThereIsNothingToRead) {
  EXPECT_THAT(fatal_of([&] { SqliteLedger(file_, kRead); }), HasSubstr("does not exist"));
  EXPECT_FALSE(std::filesystem::exists(file_)) << "reading must not create a ledger";
}

TEST_F(SqliteLedgerTest, SaysWhenTheFolderIsNotThere) {
  EXPECT_THAT(fatal_of([&] { SqliteLedger(folder_ / "no" / "ledger.sqlite", kWrite); }),
              HasSubstr("No such file or directory"));
}

TEST_F(SqliteLedgerTest, StaysOneLedgerUnderManyThreads) {
  SqliteLedger ledger(file_, kWrite);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        const AttemptId id = ledger.open_attempt(call_number(static_cast<std::uint64_t>(i)), "{}");
        const Digest blob = ledger.put(bytes_of(std::to_string(t) + "/" + std::to_string(i)));
        ledger.append({0, {id, 0}, Stage::kReplied, "{}", {blob}});
        EXPECT_GE(ledger.read(id, id).size(), 2U);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(ledger.last_attempt().value, 80);
  EXPECT_EQ(ledger.read({0}, {80}).size(), 160U);
  EXPECT_EQ(ledger.read({0}, {80}).back().sequence, 160);
}

// Against a plain model of what a ledger is, with reopening in between.
TEST_F(SqliteLedgerTest, HoldsWhatAnyMixOfCallsPutIntoIt) {
  std::mt19937 random(7);
  std::vector<Record> expected;
  std::map<std::string, Digest> blobs;
  std::set<Digest> named;
  std::int64_t attempts = 0;
  auto ledger = std::make_unique<SqliteLedger>(file_, kWrite);
  for (int step = 0; step < 300; ++step) {
    switch (random() % 5) {
      case 0: {
        const std::string json = "{\"step\":" + std::to_string(step) + "}";
        const AttemptId id = ledger->open_attempt(call_number(static_cast<std::uint64_t>(step)), json);
        ASSERT_EQ(id.value, ++attempts);
        const std::vector<Digest> call{sha256("system"), sha256("prefix"), sha256("prompt " + std::to_string(step))};
        expected.push_back({static_cast<std::int64_t>(expected.size()) + 1, {id, 0}, Stage::kOpened, json, call});
        break;
      }
      case 1: {
        const std::string text(random() % 3000, static_cast<char>('a' + random() % 26));
        blobs[text] = ledger->put(bytes_of(text));
        break;
      }
      case 2:
        ledger.reset();
        ledger = std::make_unique<SqliteLedger>(file_, kWrite);
        std::erase_if(blobs, [&](const auto& blob) { return !named.contains(blob.second); });  // kept by no record
        break;
      default: {
        Record record{0,
                      {{static_cast<std::int64_t>(random() % static_cast<unsigned>(attempts + 1))},
                       static_cast<std::int32_t>(random() % 4)},
                      static_cast<Stage>(random() % 10),
                      "{\"x\":" + std::to_string(random()) + "}",
                      {}};
        for (const auto& [text, digest] : blobs) {
          if (random() % 4 == 0) {
            record.blobs.push_back(digest);
            named.insert(digest);
          }
        }
        ledger->append(record);
        record.sequence = static_cast<std::int64_t>(expected.size()) + 1;
        expected.push_back(record);
      }
    }
  }
  const std::vector<Record> found = ledger->read({0}, {attempts});
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].sequence, expected[i].sequence);
    EXPECT_EQ(found[i].of, expected[i].of);
    EXPECT_EQ(found[i].stage, expected[i].stage);
    EXPECT_EQ(found[i].json, expected[i].json);
    EXPECT_EQ(found[i].blobs, expected[i].blobs);
  }
  for (const auto& [text, digest] : blobs) {
    EXPECT_EQ(text_of(*ledger->get(digest)), text);
  }
}

TEST_F(SqliteLedgerTest, FaultyLedgerFailsAtTheWriteThatItWasToldAndAtAllLaterOnes) {
  SqliteLedger real(file_, kWrite);
  FaultyLedger faulty(real, 2, FaultyLedger::Fault::kThrowBefore);
  faulty.open_attempt(call_number(1), "{}");
  EXPECT_THAT(fatal_of([&] { faulty.append({0, {{1}, 0}, Stage::kReplied, "{}", {}}); }), HasSubstr("write 2"));
  EXPECT_THAT(fatal_of([&] { faulty.put({}); }), HasSubstr("write 3"));
  EXPECT_EQ(real.read({0}, {1}).size(), 1U);
}

TEST_F(SqliteLedgerTest, FaultyLedgerCanRecordAndFailAllTheSame) {
  SqliteLedger real(file_, kWrite);
  FaultyLedger faulty(real, 1, FaultyLedger::Fault::kThrowAfter);
  EXPECT_THAT(fatal_of([&] { faulty.open_attempt(call_number(1), "{}"); }), HasSubstr("after write 1"));
  EXPECT_EQ(real.last_attempt().value, 1);
}

}  // namespace
}  // namespace kf
