// SPDX-License-Identifier: Apache-2.0
#include "ledger/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>

#include <kfactory/error.h>
#include "ledger/sqlite_ledger.h"
#include "os/atomic_file.h"
#include "os/child_process.h"
#include "tests/unit/ledger/temporary_folder.h"

namespace kf {
namespace {

using testing::HasSubstr;
using testing::Not;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

constexpr std::uint8_t kSecretByte = 0x5c;
RunSecret secret() {
  RunSecret of;
  of.bytes.fill(kSecretByte);
  return of;
}
std::string secret_hex() {
  Digest digest;
  digest.sha256 = secret().bytes;
  return to_hex(digest);
}

RunInfo info() {
  RunInfo info;
  info.spec_name = "vector_add";
  info.spec_sha256 = sha256("{}");
  info.started = "2026-11-30T12:38:35Z";
  info.version = "0.1.0";
  info.compiler = "NVRTC 13.0";
  info.models["writer"] = "replay specs/transcripts/x.jsonl";
  info.settings.budget.attempts = 33;
  info.settings.budget.wall = std::chrono::minutes(7);
  info.settings.margin = 0.01;
  info.settings.secret = secret();
  info.device.kind = "cuda";
  info.device.name = "NVIDIA H200";
  info.device.arch = "sm_90a";
  info.device.driver = "580.1 (CUDA 13.0)";
  info.device.sm_count = 132;
  info.seeds = seeds_digest(secret());
  return info;
}

Spec spec() {
  Spec spec;
  spec.name = "vector_add";
  spec.json = "{}";
  spec.reference.cuda = {"vector_add.ref.cu", "// reference"};
  spec.baselines.push_back({BaselineSpec::Kind::kCuda, "naive", {"kernels/naive.cu", "// naive"}});
  return spec;
}

Score score_of(double speedup, Comparison against_baseline = Comparison::kWin) {
  Score score;
  score.speedup = speedup;
  score.against_baseline = against_baseline;
  CaseScore of;
  of.case_id = "time/0:M=4096";
  of.candidate = {1000 / speedup, 990 / speedup, 1010 / speedup, 24};
  of.baseline = {1000, 990, 1010, 24};
  of.baseline_name = "naive";
  of.to_baseline = {1 / speedup, 0.99 / speedup, 1.01 / speedup, 24};
  of.floor_nanoseconds = 120;
  score.cases.push_back(of);
  return score;
}

class RunFolderTest : public testing::Test {
 protected:
  RunFolderTest() { open(); }
  void open() { ledger_ = std::make_unique<SqliteLedger>(folder_ / "ledger.sqlite", SqliteLedger::Mode::kWrite); }

  // An attempt with its records, as the factory leaves them.
  Attempt& attempt(AttemptState state, const std::string& source, std::optional<Score> score = {}) {
    Attempt attempt;
    attempt.id = ledger_->open_attempt({Role::kWriter, attempts_.size() + 1, "be good", "the task", "what is new", 100},
                                       R"({"role":"writer","blobs":["system","prefix","prompt"]})");
    const VariantId of{attempt.id, 0};
    ledger_->append({0,
                     of,
                     Stage::kReplied,
                     R"({"finish":"done","blobs":["reply"]})",
                     {ledger_->put(bytes_of("```cuda\n" + source + "```"))}});
    if (state == AttemptState::kMeasured) {
      const std::vector<Digest> blobs{ledger_->put(bytes_of(".version 9.0")),
                                      ledger_->put(bytes_of("\x7f"
                                                            "ELF")),
                                      ledger_->put(bytes_of("ptxas info"))};
      ledger_->append({0, of, Stage::kBuilt, R"({"case":"x","blobs":["ptx","cubin","log"]})", blobs});
    }
    attempt.state = state;
    attempt.source = source;
    attempt.hypothesis = "wider loads";
    attempt.source_hash = to_hex(sha256("ptx" + source));
    attempt.verdict.passed = state != AttemptState::kRejected;
    attempt.verdict.checks = 42;
    attempt.score = std::move(score);
    attempts_.push_back(std::move(attempt));
    return attempts_.back();
  }
  void some_run() {
    attempt(AttemptState::kRejected, "// one\n").verdict.gate = Gate::kCompile;
    attempt(AttemptState::kMeasured, "// two\n", score_of(1.5));
    attempt(AttemptState::kMeasured, "// three\n", score_of(0.8, Comparison::kLoss));
    attempt(AttemptState::kNoReply, "");
    Lesson lesson;
    lesson.claim = "wider is faster";
    lesson.origin = "run";
    lessons_.push_back(lesson);
  }
  RunView view() { return {&info_, &spec_, ledger_.get(), attempts_, lessons_, "# Lessons\n"}; }
  // Everything but the ledger's own files.
  std::map<std::string, std::string> tree(const std::filesystem::path& root) {
    std::map<std::string, std::string> files = tree_of(root);
    std::erase_if(files, [](const auto& file) { return file.first.starts_with("ledger."); });
    return files;
  }

  TemporaryFolder folder_;
  std::unique_ptr<SqliteLedger> ledger_;
  RunInfo info_ = info();
  Spec spec_ = spec();
  std::vector<Attempt> attempts_;
  std::vector<Lesson> lessons_;
};

TEST_F(RunFolderTest, HasTheFilesThatItsFormatNames) {
  some_run();
  RunFolder(folder_.path()).project(view());
  std::vector<std::string> names;
  for (const auto& [name, content] : tree(folder_.path())) {
    names.push_back(name);
  }
  const std::string one = "attempts/" + attempt_folder_name(attempts_[0]) + "/";
  const std::string two = "attempts/" + attempt_folder_name(attempts_[1]) + "/";
  const std::string three = "attempts/" + attempt_folder_name(attempts_[2]) + "/";
  const std::string winner = "winners/" + attempt_folder_name(attempts_[1]) + "/";
  EXPECT_THAT(
      names, testing::UnorderedElementsAre(
                 "run.json", "lessons.jsonl", "lessons.md", "spec/vector_add.json", "spec/vector_add.ref.cu",
                 "spec/kernels/naive.cu", one + "candidate.cu", one + "request.md", one + "reply.md",
                 one + "attempt.json", one + "verdict.json", two + "candidate.cu", two + "request.md", two + "reply.md",
                 two + "attempt.json", two + "verdict.json", two + "score.json", two + "kernel.ptx", two + "build.log",
                 three + "candidate.cu", three + "request.md", three + "reply.md", three + "attempt.json",
                 three + "verdict.json", three + "score.json", three + "kernel.ptx", three + "build.log",
                 "attempts/0004-none/request.md", "attempts/0004-none/reply.md", "attempts/0004-none/attempt.json",
                 winner + "kernel.cu", winner + "evidence.json", winner + "README.md"));
}

TEST_F(RunFolderTest, KeepsTheRequestAndTheReplyAsTheyWere) {
  some_run();
  RunFolder(folder_.path()).project(view());
  const auto files = tree(folder_.path() / "attempts" / attempt_folder_name(attempts_[1]));
  EXPECT_EQ(files.at("request.md"), "# system\n\nbe good\n\n\n# prefix\n\nthe task\n\n\n# prompt\n\nwhat is new\n");
  EXPECT_EQ(files.at("reply.md"), "# reply\n\n```cuda\n// two\n```\n");
  EXPECT_EQ(files.at("kernel.ptx"), ".version 9.0");
  EXPECT_EQ(files.at("candidate.cu"), "// two\n");
}

TEST_F(RunFolderTest, ShowsTheLogOfTheCompilationThatFailed) {
  Attempt& broken = attempt(AttemptState::kRejected, "// one\n");
  broken.verdict.gate = Gate::kCompile;
  for (const char* log : {"a warning", "the error"}) {
    ledger_->append({0, {broken.id, 0}, Stage::kBuilt, R"({"blobs":["log"]})", {ledger_->put(bytes_of(log))}});
  }
  RunFolder(folder_.path()).project(view());
  EXPECT_EQ(content_of(folder_.path() / "attempts" / attempt_folder_name(broken) / "build.log"), "the error");
}

TEST_F(RunFolderTest, WritingAgainChangesNothingAndTouchesNothing) {
  some_run();
  RunFolder(folder_.path()).project(view());
  const auto before = tree(folder_.path());
  int writes = 0;
  RunFolder(folder_.path(), [&](const std::string&, std::string_view) -> OrError<void> {
    ++writes;
    return {};
  }).project(view());
  EXPECT_EQ(writes, 0);
  EXPECT_EQ(tree(folder_.path()), before);
}

TEST_F(RunFolderTest, IsAFunctionOfTheLedgerForAnyRun) {
  std::mt19937 random(11);
  for (int round = 0; round < 12; ++round) {
    const auto state = static_cast<AttemptState>(random() % 5);
    const std::string source = state == AttemptState::kNoReply ? "" : "// " + std::to_string(random() % 6) + "\n";
    std::optional<Score> score;
    if (state == AttemptState::kMeasured) {
      score = score_of(0.5 + static_cast<double>(random() % 100) / 50, static_cast<Comparison>(random() % 5));
    }
    attempt(state, source, score);
    RunFolder(folder_.path()).project(view());  // over what the rounds before left
    const TemporaryFolder fresh;
    RunFolder(fresh.path()).project(view());  // and from nothing
    ASSERT_EQ(tree(folder_.path()), tree(fresh.path())) << "round " << round;
  }
}

TEST_F(RunFolderTest, IsPutRightAfterAFailureAtAnyWrite) {
  some_run();
  const TemporaryFolder undisturbed;
  RunFolder(undisturbed.path()).project(view());
  for (int at = 1;; ++at) {
    const TemporaryFolder torn;
    int writes = 0;
    const RunFolder::Write fails_at = [&](const std::string& path, std::string_view text) -> OrError<void> {
      if (++writes == at) {
        return std::unexpected(Error{path, "No space left on device", ""});
      }
      return write_file_atomically(path, text);
    };
    try {
      RunFolder(torn.path(), fails_at).project(view());
      EXPECT_GT(at, 25) << "there were that many files to fail at";
      break;
    } catch (const Fatal& fault) {
      EXPECT_THAT(fault.what(), HasSubstr("--resume"));
    }
    RunFolder(torn.path()).project(view());
    ASSERT_EQ(tree(torn.path()), tree(undisturbed.path())) << "failure at write " << at;
  }
}

TEST_F(RunFolderTest, IsPutRightAfterAKillBeforeAnyRename) {
  some_run();
  const TemporaryFolder undisturbed;
  RunFolder(undisturbed.path()).project(view());
  for (int at = 1; at <= 30; at += 3) {
    const TemporaryFolder torn;
    ledger_.reset();  // SQLite's connections must not cross a fork
    auto child = ChildProcess::fork({}, [&] {
      open();
      int writes = 0;
      RunFolder(torn.path(), [&](const std::string& path, std::string_view text) -> OrError<void> {
        if (++writes == at) {  // what a kill between write and rename leaves
          std::ofstream(path + ".Ab3xYz") << text.substr(0, text.size() / 2);
          ::raise(SIGKILL);
        }
        return write_file_atomically(path, text);
      }).project(view());
      return 0;
    });
    ASSERT_TRUE(child);
    ASSERT_EQ(child->wait(std::chrono::milliseconds(10'000))->signal, SIGKILL);
    open();
    RunFolder(torn.path()).project(view());
    ASSERT_EQ(tree(torn.path()), tree(undisturbed.path())) << "kill at write " << at;
  }
}

TEST_F(RunFolderTest, GrowsAttemptByAttemptIntoTheSameFolder) {
  const RunFolder folder(folder_.path());
  some_run();
  const std::vector<Attempt> all = attempts_;
  attempts_.clear();
  for (const Attempt& next : all) {
    Attempt open = next;
    open.state = AttemptState::kOpen;
    open.source.clear();
    open.score.reset();
    attempts_.push_back(open);
    folder.project_attempt(view(), attempts_.back());
    attempts_.back() = next;
    folder.project_attempt(view(), attempts_.back());
  }
  auto grown = tree(folder_.path());
  const TemporaryFolder fresh;
  RunFolder(fresh.path()).project(view());
  auto whole = tree(fresh.path());
  std::erase_if(whole, [](const auto& file) { return !file.first.starts_with("attempts/"); });
  std::erase_if(grown, [](const auto& file) { return !file.first.starts_with("attempts/"); });
  EXPECT_EQ(grown, whole);
}

TEST_F(RunFolderTest, RemovesWhatBelongsToNothing) {
  some_run();
  const RunFolder folder(folder_.path());
  folder.project(view());
  const auto before = tree(folder_.path());
  std::filesystem::create_directories(folder_ / "winners" / "0009-deadbeef");
  std::ofstream(folder_ / "winners" / "0009-deadbeef" / "kernel.cu") << "old";
  std::ofstream(folder_ / "attempts" / "0004-none" / "candidate.cu") << "old";
  std::ofstream(folder_ / "run.json.Ab3xYz") << "torn";
  std::ofstream(folder_ / "notes.txt") << "the user's own";
  folder.project(view());
  auto after = tree(folder_.path());
  EXPECT_EQ(after.erase("notes.txt"), 1U) << "files of the user in the root stay";
  EXPECT_EQ(after, before);
}

TEST_F(RunFolderTest, RepairsAFileThatSomeoneEdited) {
  some_run();
  const RunFolder folder(folder_.path());
  folder.project(view());
  const auto before = tree(folder_.path());
  std::ofstream(folder_ / "run.json") << "{}";
  folder.project(view());
  EXPECT_EQ(tree(folder_.path()), before);
}

TEST_F(RunFolderTest, HoldsNoSecretAndNoAbsolutePath) {
  some_run();
  ledger_->append({0, {}, Stage::kRun, R"({"event":"started","secret":")" + secret_hex() + "\"}", {}});
  RunFolder(folder_.path()).project(view());
  const std::string raw(32, static_cast<char>(kSecretByte));
  for (const auto& [name, content] : tree(folder_.path())) {
    EXPECT_THAT(content, Not(HasSubstr(secret_hex()))) << name;
    EXPECT_THAT(content, Not(HasSubstr(raw))) << name;
    EXPECT_THAT(content, Not(HasSubstr(folder_.path().string()))) << name;
  }
}

TEST_F(RunFolderTest, MovesAsAWhole) {
  some_run();
  RunFolder(folder_.path()).project(view());
  const TemporaryFolder elsewhere;
  std::filesystem::copy(folder_.path(), elsewhere.path(), std::filesystem::copy_options::recursive);
  const auto before = tree(elsewhere.path());
  RunFolder(elsewhere.path()).project(view());
  EXPECT_EQ(tree(elsewhere.path()), before);
}

TEST_F(RunFolderTest, SaysWhichFileCannotBeWritten) {
  some_run();
  std::ofstream(folder_ / "attempts") << "in the way";
  try {
    RunFolder(folder_.path()).project(view());
    FAIL() << "expected Fatal";
  } catch (const Fatal& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("attempts/0001-"));
  }
}

TEST_F(RunFolderTest, CallsOnlyProvenAndFasterKernelsWinners) {
  attempt(AttemptState::kMeasured, "// a\n", score_of(1.2));
  attempt(AttemptState::kMeasured, "// tie\n", score_of(1.001, Comparison::kTie));
  attempt(AttemptState::kMeasured, "// refused\n", score_of(3, Comparison::kRefused));
  attempt(AttemptState::kRejected, "// wrong\n", score_of(9));
  attempt(AttemptState::kMeasured, "// b\n", score_of(1.7));
  attempt(AttemptState::kMeasured, "// right no longer\n", score_of(2)).verdict.passed = false;
  std::vector<std::int64_t> ids;
  for (const Attempt* winner : winners_of(attempts_)) {
    ids.push_back(winner->id.value);
  }
  EXPECT_THAT(ids, testing::ElementsAre(5, 1));
}

TEST_F(RunFolderTest, NamesEqualCodeOnceAmongWinners) {
  attempt(AttemptState::kMeasured, "// a\n", score_of(1.2)).source_hash = "same";
  attempt(AttemptState::kMeasured, "// a renamed\n", score_of(1.3)).source_hash = "same";
  ASSERT_EQ(winners_of(attempts_).size(), 1U);
  EXPECT_EQ(winners_of(attempts_)[0]->id.value, 2);
}

TEST_F(RunFolderTest, LimitsTheNumberOfWinners) {
  for (int i = 0; i < 6; ++i) {
    attempt(AttemptState::kMeasured, "// " + std::to_string(i) + "\n", score_of(1.1 + i));
  }
  EXPECT_EQ(winners_of(attempts_).size(), 3U);
  EXPECT_EQ(winners_of(attempts_, 1)[0]->id.value, 6);
}

TEST(Evidence, SaysWhatWasMeasuredHowAndWhere) {
  Attempt winner;
  winner.id = {7};
  winner.source = "// x\n";
  winner.state = AttemptState::kMeasured;
  winner.verdict.checks = 99;
  winner.tune["ROWS"] = 4;
  winner.score = score_of(1.5);
  Attempt lost;
  lost.state = AttemptState::kRejected;
  lost.verdict.gate = Gate::kCheck;
  const std::string json = evidence_json(info(), winner, std::vector<Attempt>{winner, lost});
  for (const char* part :
       {"\"label\": \"measured\"", "\"clock\": \"events\"", "\"cache_state\": \"cold\"", "\"device\": \"NVIDIA H200\"",
        "\"driver\": \"580.1 (CUDA 13.0)\"", "\"launches_compared\": 99", "\"speedup\": 1.5", "\"ROWS\": 4",
        "\"rejected_by\"", "\"check\": 1", "\"floor_ns\": 120.0", "\"copy_ns\": null", "\"confirmed\": false"}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
  EXPECT_THAT(json, HasSubstr(to_hex(seeds_digest(secret()))));
  EXPECT_THAT(json, Not(HasSubstr(secret_hex())));
}

TEST(Evidence, LabelsAnEmulatorsFiguresAsEstimates) {
  Attempt winner;
  winner.score = score_of(1.5);
  winner.score->method = ClockMethod::kEstimate;
  EXPECT_THAT(evidence_json(info(), winner, {}), HasSubstr("\"label\": \"estimate\""));
}

// One case that ran on the emulator and two that its counts were scaled to.
Attempt estimated_winner() {
  Attempt winner;
  winner.id = {3};
  winner.source = "// x\n";
  winner.state = AttemptState::kMeasured;
  winner.score = score_of(2);
  winner.score->method = ClockMethod::kEstimate;
  winner.score->confirmed = true;
  winner.score->cases.front().case_id = "emulate/M=8";
  for (const char* id : {"time/M=4096", "time/M=8192"}) {
    winner.score->cases.push_back(winner.score->cases.front());
    winner.score->cases.back().case_id = id;
    winner.score->cases.back().scaled_from = "emulate/M=8";
  }
  winner.checked = {{"check", 18, 6, "cases of more than 2^20 elements need a GPU"},
                    {"held_out", 0, 2, "cases of more than 2^20 elements need a GPU"}};
  return winner;
}

TEST(Evidence, SaysWhichCasesTheSpeedUpIsOfAndWhichWereChecked) {
  const Attempt winner = estimated_winner();
  const std::string json = evidence_json(info(), winner, {});
  EXPECT_THAT(json, HasSubstr("\"cases_in_speedup\": 2"));
  EXPECT_THAT(json, HasSubstr("\"in_speedup\": false"));
  EXPECT_THAT(json, HasSubstr("\"scaled_from\": \"emulate/M=8\""));
  EXPECT_THAT(json, HasSubstr("\"set\": \"held_out\""));
  EXPECT_THAT(json, HasSubstr("\"left_out\": 2"));
  EXPECT_THAT(evidence_json(info(), Attempt{}, {}), HasSubstr("\"checked\": null"));
}

TEST_F(RunFolderTest, AWinnersReadmeSaysExactlyWhatWasEstimatedCheckedAndConfirmed) {
  Attempt& winner = attempt(AttemptState::kMeasured, "// two\n");
  const AttemptId id = winner.id;
  winner = estimated_winner();
  winner.id = id;
  winner.verdict.checks = 42;
  spec_.cases["time"].resize(5);  // of three there is no estimate
  RunFolder(folder_.path()).project(view());
  const auto files = tree(folder_.path());
  const std::string readme = files.at("winners/" + attempt_folder_name(winner) + "/README.md");
  EXPECT_THAT(
      readme,
      HasSubstr(
          "geometric mean over 2 of the spec's 5 timed cases: **2.000x** (an emulator's **estimate**, not a time)"));
  EXPECT_THAT(readme, HasSubstr("No case of these sizes was executed: what 1 smaller cases"));
  EXPECT_THAT(readme, HasSubstr("Confirmed: evaluated once more"));
  EXPECT_THAT(readme, HasSubstr("in 42 launches, all right: 18 of 24 check cases, none of 2 held-out cases (the others "
                                "were left out: cases of more than 2^20 elements need a GPU)"));
  EXPECT_THAT(readme, HasSubstr("| candidate, estimated us |"));
  EXPECT_THAT(readme, HasSubstr("| emulate/M=8 | 0.50 | 1.00 | - | 0.500 | no: executed, and scaled to the others |"));
  EXPECT_THAT(readme, HasSubstr("| yes, scaled from emulate/M=8 |"));
}

TEST_F(RunFolderTest, AWinnersReadmeClaimsNoChecksThatWereNotRecorded) {
  attempt(AttemptState::kMeasured, "// two\n", score_of(1.5));
  RunFolder(folder_.path()).project(view());
  const auto files = tree(folder_.path());
  const std::string readme = files.at("winners/" + attempt_folder_name(attempts_.back()) + "/README.md");
  EXPECT_THAT(readme, HasSubstr("of which cases was not recorded"));
  EXPECT_THAT(readme, HasSubstr("Not confirmed"));
  EXPECT_THAT(readme, Not(HasSubstr("held-out")));
}

TEST(RunJson, ComesBackAsItWentExceptForTheSecret) {
  const RunInfo before = info();
  const OrError<RunInfo> after = run_info_from_json(run_json(before));
  ASSERT_TRUE(after) << to_string(after.error());
  EXPECT_EQ(run_json(*after), run_json(before));
  EXPECT_EQ(after->settings.budget.attempts, 33);
  EXPECT_EQ(after->settings.budget.wall, std::chrono::minutes(7));
  EXPECT_EQ(after->settings.margin, 0.01);
  EXPECT_EQ(after->device.sm_count, 132);
  EXPECT_EQ(after->settings.secret.bytes, RunSecret{}.bytes);
}

TEST(RunJson, RefusesWhatIsNotARun) {
  EXPECT_THAT(run_info_from_json("{").error().what, HasSubstr("not JSON"));
  EXPECT_THAT(run_info_from_json("{}").error().what, HasSubstr("kfactory_run"));
  EXPECT_THAT(run_info_from_json(R"({"kfactory_run":2})").error().what, HasSubstr("found 2"));
  EXPECT_THAT(run_info_from_json(R"({"kfactory_run":1})").error().what, HasSubstr("started"));
  EXPECT_FALSE(run_info_from_json("[]"));
}

TEST(SeedsDigest, DiffersForEachSecretAndIsNotTheSecret) {
  RunSecret other = secret();
  other.bytes[31] ^= 1;
  EXPECT_NE(seeds_digest(secret()), seeds_digest(other));
  EXPECT_NE(to_hex(seeds_digest(secret())), secret_hex());
}

TEST(BlobNames, AreThoseOfTheRecord) {
  EXPECT_THAT(blob_names({0, {}, Stage::kBuilt, R"({"blobs":["ptx","cubin"]})", {}}),
              testing::ElementsAre("ptx", "cubin"));
  EXPECT_THAT(blob_names({0, {}, Stage::kBuilt, "{}", {}}), testing::IsEmpty());
  EXPECT_THAT(blob_names({0, {}, Stage::kBuilt, "torn", {}}), testing::IsEmpty());
}

}  // namespace
}  // namespace kf
