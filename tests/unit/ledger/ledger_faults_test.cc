// SPDX-License-Identifier: Apache-2.0
// What a ledger survives: kill -9, a full disk, another writer, damage.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <functional>

#include <kfactory/error.h>
#include "ledger/sqlite_ledger.h"
#include "os/child_process.h"
#include "tests/fakes/faulty_ledger.h"
#include "tests/unit/ledger/temporary_folder.h"

namespace kf {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
constexpr auto kWrite = SqliteLedger::Mode::kWrite;
constexpr auto kRead = SqliteLedger::Mode::kRead;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
ModelCall some_call() {
  return {Role::kWriter, 1, "system", "prefix", "prompt", 1000};
}
std::string fatal_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Fatal& fault) {
    return fault.what();
  }
  return "(nothing was thrown)";
}

class LedgerFaults : public testing::Test {
 protected:
  // One round of what the loop records, with a blob large enough that a kill often lands inside a write.
  static void record_round(Ledger& ledger, std::int64_t round) {
    const AttemptId id = ledger.open_attempt(some_call(), "{}");
    const std::string source = std::to_string(round) + std::string(40'000, 's');
    const Digest blob = ledger.put(bytes_of(source));
    ledger.append({0, {id, 0}, Stage::kReplied, "{\"round\":" + std::to_string(round) + "}", {blob}});
  }
  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_ / "ledger.sqlite";
};

// The child acknowledges each round through a pipe after the ledger's call returned. Whatever moment the kill hits,
// each acknowledged round must be there, whole, and ids must have no gap.
TEST_F(LedgerFaults, KeepsEverythingAcknowledgedBeforeKill9) {
  std::int64_t acknowledged = 0;
  for (int kill = 0; kill < 8; ++kill) {
    ChildOptions options;
    options.out = Stream::kPipe;
    auto child = ChildProcess::fork(options, [&] {
      SqliteLedger ledger(file_, kWrite);
      for (std::int64_t round = ledger.last_attempt().value + 1;; ++round) {
        record_round(ledger, round);
        if (!write_all(STDOUT_FILENO, std::to_string(round) + "\n")) {
          return 1;
        }
      }
    });
    ASSERT_TRUE(child) << to_string(child.error());
    // So many rounds, then a kill that falls anywhere in the next one.
    std::string said;
    const auto rounds = 3 + kill;
    while (std::ranges::count(said, '\n') < rounds) {
      auto more = read_some(child->out().get());
      ASSERT_TRUE(more && !more->empty()) << "the child ended by itself";
      said += *more;
    }
    ::usleep(static_cast<useconds_t>(kill * 137));
    ::kill(child->pid(), SIGKILL);
    const auto exit = child->wait(milliseconds(10'000));
    ASSERT_TRUE(exit && exit->signal == SIGKILL);
    while (true) {
      auto more = read_some(child->out().get());
      if (!more || more->empty()) {
        break;
      }
      said += *more;
    }
    said.resize(said.find_last_of('\n'));
    acknowledged =
        std::stoll(said.substr(said.find_last_of('\n') == std::string::npos ? 0 : said.find_last_of('\n') + 1));

    const SqliteLedger reader(file_, kRead);
    ASSERT_GE(reader.last_attempt().value, acknowledged);
    for (std::int64_t round = 1; round <= acknowledged; ++round) {
      const std::vector<Record> records = reader.read({round}, {round});
      // An attempt that a kill cut off before its acknowledgement has only its opening.
      ASSERT_GE(records.size(), 1U) << "attempt " << round;
      if (records.size() == 2) {
        EXPECT_EQ(reader.get(records[1].blobs.at(0))->size(), std::to_string(round).size() + 40'000);
      }
    }
    const std::vector<Record> last = reader.read({acknowledged}, {acknowledged});
    ASSERT_EQ(last.size(), 2U) << "the last acknowledged round is whole";
    EXPECT_EQ(last[1].json, "{\"round\":" + std::to_string(acknowledged) + "}");
  }
  SqliteLedger again(file_, kWrite);
  const std::vector<Record> all = again.read({0}, again.last_attempt());
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i].sequence, static_cast<std::int64_t>(i) + 1);
  }
}

TEST_F(LedgerFaults, IsWholeAfterAKillAtEveryWrite) {
  for (const auto fault : {FaultyLedger::Fault::kKillBefore, FaultyLedger::Fault::kKillAfter}) {
    for (std::int64_t at = 1; at <= 6; ++at) {
      const TemporaryFolder folder;
      const auto file = folder / "ledger.sqlite";
      auto child = ChildProcess::fork({}, [&] {
        SqliteLedger real(file, kWrite);
        FaultyLedger faulty(real, at, fault);
        record_round(faulty, 1);
        record_round(faulty, 2);
        return 0;
      });
      ASSERT_TRUE(child);
      ASSERT_EQ(child->wait(milliseconds(10'000))->signal, SIGKILL);
      SqliteLedger ledger(file, kWrite);
      const std::int64_t done = at - (fault == FaultyLedger::Fault::kKillBefore ? 1 : 0);
      EXPECT_EQ(ledger.last_attempt().value, (done + 2) / 3);
      EXPECT_EQ(static_cast<std::int64_t>(ledger.read({0}, {2}).size()), (done + 2) / 3 + done / 3);
    }
  }
}

TEST_F(LedgerFaults, SurvivesAKillWhileTheFileIsCreated) {
  // Between the creation of the file and its schema there is an SQLite file without tables.
  std::ofstream(file_).close();
  EXPECT_EQ(SqliteLedger(file_, kWrite).open_attempt(some_call(), "{}").value, 1);
}

TEST_F(LedgerFaults, SaysThatTheDiskIsFullAndKeepsWhatWasThere) {
  // A limit on file sizes stands for the full disk; it hits whichever file grows, WAL or database.
  auto child = ChildProcess::fork({}, [&] {
    ::signal(SIGXFSZ, SIG_IGN);
    SqliteLedger ledger(file_, kWrite);
    record_round(ledger, 1);
    const rlimit limit{400'000, 400'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::string message;
    std::int64_t round = 2;
    try {
      for (; round < 200; ++round) {
        record_round(ledger, round);
      }
    } catch (const Fatal& fault) {
      message = fault.what();
    }
    const bool says =
        message.find("is the disk full?") != std::string::npos && message.find("--resume") != std::string::npos;
    return says && round > 2 && round < 200 ? static_cast<int>(round) : 1;
  });
  ASSERT_TRUE(child);
  const auto exit = child->wait(milliseconds(20'000));
  ASSERT_TRUE(exit && exit->signal == 0) << to_string(*exit);
  const std::int64_t failed_round = exit->code;
  ASSERT_GT(failed_round, 2);

  SqliteLedger ledger(file_, kWrite);  // the disk has room again
  for (std::int64_t round = 1; round < failed_round; ++round) {
    EXPECT_EQ(ledger.read({round}, {round}).size(), 2U) << round;
  }
  const std::int64_t next = ledger.last_attempt().value + 1;
  EXPECT_LE(next, failed_round + 1);
  EXPECT_EQ(ledger.open_attempt(some_call(), "{}").value, next);
}

TEST_F(LedgerFaults, TellsASecondWriterWhoTheFirstIs) {
  ChildOptions options;
  options.in = options.out = Stream::kPipe;
  auto child = ChildProcess::fork(options, [&] {
    const SqliteLedger ledger(file_, kWrite);
    (void)write_all(STDOUT_FILENO, std::string_view("open\n"));
    return read_some(STDIN_FILENO) ? 0 : 1;  // until the parent lets go
  });
  ASSERT_TRUE(child);
  ASSERT_TRUE(read_some(child->out().get()));
  const std::string error = fatal_of([&] { SqliteLedger(file_, kWrite); });
  EXPECT_THAT(error, HasSubstr("is in use by process " + std::to_string(child->pid()) + " on "));
  EXPECT_THAT(error, HasSubstr("ledger_test"));
  EXPECT_THAT(error, HasSubstr("--out"));
  EXPECT_EQ(SqliteLedger(file_, kRead).last_attempt().value, 0) << "readers are welcome";
  child->in().reset();
  ASSERT_TRUE(child->wait(milliseconds(5'000))->ok());
  EXPECT_NO_THROW(SqliteLedger(file_, kWrite)) << "the lock ends with its holder";
}

TEST_F(LedgerFaults, AnOrphanOfAKilledWriterDoesNotKeepTheLock) {
  // The writer starts a child that outlives it; the lock must not be inherited.
  ChildOptions options;
  options.out = Stream::kPipe;
  auto writer = ChildProcess::fork(options, [&] {
    const SqliteLedger ledger(file_, kWrite);
    const pid_t orphan = ::fork();
    if (orphan == 0) {
      ::setpgid(0, 0);  // out of the group that is killed with the writer
      ::sleep(20);
      ::_exit(0);
    }
    (void)write_all(STDOUT_FILENO, std::to_string(orphan) + "\n");
    ::pause();
    return 0;
  });
  ASSERT_TRUE(writer);
  const auto said = read_some(writer->out().get());
  ASSERT_TRUE(said);
  const pid_t orphan = std::stoi(*said);
  ::kill(writer->pid(), SIGKILL);
  ASSERT_TRUE(writer->wait(milliseconds(5'000)));
  EXPECT_EQ(::kill(orphan, 0), 0) << "the orphan must still be there for this test to mean something";
  EXPECT_NO_THROW(SqliteLedger(file_, kWrite));
  ::kill(orphan, SIGKILL);
}

class DamagedLedger : public LedgerFaults {
 protected:
  void SetUp() override {
    SqliteLedger ledger(file_, kWrite);
    for (int round = 1; round <= 30; ++round) {
      record_round(ledger, round);
    }
  }
  void overwrite(std::uintmax_t offset, std::string_view text) {
    std::fstream stream(file_, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(offset));
    stream << text;
  }
};

TEST_F(DamagedLedger, RefusesATruncatedFileAndSaysWhatCanBeRead) {
  std::filesystem::resize_file(file_, std::filesystem::file_size(file_) / 2);
  const std::string error = fatal_of([&] { SqliteLedger(file_, kWrite); });
  EXPECT_THAT(error, HasSubstr("is damaged"));
  EXPECT_THAT(error, HasSubstr("can still be read"));
  EXPECT_THAT(error, HasSubstr(".recover"));
}

TEST_F(DamagedLedger, NeverCrashesAtAnyTruncation) {
  const std::string whole = content_of(file_);
  for (std::size_t size = 1; size < whole.size(); size += 37'123) {
    std::ofstream(file_, std::ios::binary | std::ios::trunc).write(whole.data(), static_cast<std::streamsize>(size));
    EXPECT_THAT(fatal_of([&] { SqliteLedger(file_, kWrite); }),
                testing::AnyOf(HasSubstr("damaged"), HasSubstr("not a ledger")))
        << size;
  }
}

TEST_F(DamagedLedger, IsCalledDamagedByAReaderTooWhereNothingIsLeft) {
  const std::string whole = content_of(file_);
  std::filesystem::remove(file_.string() + "-wal");
  for (const std::size_t size : {600, 4096, 8192}) {
    std::ofstream(file_, std::ios::binary | std::ios::trunc).write(whole.data(), static_cast<std::streamsize>(size));
    const std::string error = fatal_of([&] { SqliteLedger(file_, kRead); });
    EXPECT_THAT(error, AllOf(HasSubstr("damaged"), testing::Not(HasSubstr("permission")))) << size;
  }
}

TEST_F(DamagedLedger, RefusesWhatIsNoFileWithoutWaitingForIt) {
  for (const auto& make : std::vector<std::function<void()>>{
           [&] { ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0); },
           [&] { std::filesystem::create_directory(file_); },
           [&] { std::filesystem::create_symlink("/dev/zero", file_); },
       }) {
    std::filesystem::remove(file_);
    make();
    for (const auto mode : {kRead, kWrite}) {
      EXPECT_THAT(fatal_of([&] { SqliteLedger(file_, mode); }), HasSubstr("a folder, a pipe or a device"));
    }
  }
}

TEST_F(DamagedLedger, RefusesAFileWithoutABytesWhereARunHasBegun) {
  std::filesystem::resize_file(file_, 0);
  std::ofstream(folder_ / "run.json") << "{}";
  EXPECT_THAT(fatal_of([&] { SqliteLedger(file_, kWrite); }), AllOf(HasSubstr("run.json"), HasSubstr("was cut off")));
  std::filesystem::remove(folder_ / "run.json");
  std::ofstream(file_.string() + "-wal") << "a journal";
  const std::string error = fatal_of([&] { SqliteLedger(file_, kWrite); });
  EXPECT_THAT(error, AllOf(HasSubstr("its journal"), HasSubstr("Put a copy of it back")));
  EXPECT_EQ(std::filesystem::file_size(file_.string() + "-wal"), 9U);  // it was not thrown away
  std::filesystem::remove(file_.string() + "-wal");
  EXPECT_EQ(fatal_of([&] { SqliteLedger(file_, kWrite); }), "(nothing was thrown)");  // a kill may leave that
}

TEST_F(LedgerFaults, SaysWhatAFileThatDoesNotOpenNeeds) {
  std::filesystem::create_symlink(file_, file_);
  EXPECT_THAT(fatal_of([&] { SqliteLedger(file_, kWrite); }), HasSubstr("need read and write permission"));
}

TEST_F(DamagedLedger, RefusesADestroyedPage) {
  overwrite(4096 * 3, std::string(4096 * 4, '\xa5'));
  EXPECT_THAT(fatal_of([&] { SqliteLedger(file_, kWrite); }), HasSubstr("is damaged"));
}

TEST_F(DamagedLedger, RefusesADestroyedBeginning) {
  overwrite(0, "this is no longer a database");
  EXPECT_THAT(fatal_of([&] { SqliteLedger(file_, kWrite); }), HasSubstr("is not a ledger"));
}

TEST_F(DamagedLedger, NoticesABlobWhoseBytesChanged) {
  const Digest digest = SqliteLedger(file_, kRead).read({30}, {30}).at(1).blobs.at(0);
  const std::string whole = content_of(file_);
  const std::size_t at = whole.rfind(std::string(200, 's'));  // inside a blob's overflow page
  ASSERT_NE(at, std::string::npos);
  std::string damaged = whole;
  for (std::size_t i = 0; i < damaged.size(); ++i) {  // in every blob, in the middle of the text
    if (damaged.compare(i, 8, "ssssssss") == 0) {
      damaged[i + 4] = 'X';
      i += 64;
    }
  }
  std::ofstream(file_, std::ios::binary | std::ios::trunc) << damaged;
  const SqliteLedger reader(file_, kRead);
  EXPECT_THAT(fatal_of([&] { reader.get(digest); }), HasSubstr("do not match it"));
}

TEST_F(LedgerFaults, RefusesAnotherProgramsDatabase) {
  auto child = ChildProcess::start({.argv = {"python3", "-c",
                                             "import sqlite3,sys; c=sqlite3.connect(sys.argv[1]); "
                                             "c.execute('create table t(x)'); c.commit()",
                                             file_.string()},
                                    .inherit_environment = true});
  ASSERT_TRUE(child) << to_string(child.error());
  ASSERT_TRUE(child->wait(milliseconds(20'000))->ok());
  EXPECT_THAT(fatal_of([&] { SqliteLedger(file_, kWrite); }), HasSubstr("not a ledger of kfactory"));
}

TEST_F(LedgerFaults, RefusesALedgerOfANewerVersion) {
  {
    SqliteLedger(file_, kWrite).put({});
  }
  std::string whole = content_of(file_);
  whole[63] = 9;  // user_version is a big-endian word at offset 60 of the header
  std::ofstream(file_, std::ios::binary | std::ios::trunc) << whole;
  EXPECT_THAT(fatal_of([&] { SqliteLedger(file_, kWrite); }),
              testing::AllOf(HasSubstr("has version 9"), HasSubstr("reads version 1")));
}

TEST_F(LedgerFaults, RefusesAFileThatIsNoDatabase) {
  std::ofstream(file_) << std::string(9000, 'k');
  EXPECT_THAT(fatal_of([&] { SqliteLedger(file_, kWrite); }), HasSubstr("is not a ledger"));
}

}  // namespace
}  // namespace kf
