// SPDX-License-Identifier: Apache-2.0
#include "fakes.h"

#include <algorithm>

namespace kf {

std::chrono::steady_clock::time_point HandClock::now() const {
  const std::lock_guard lock(mutex_);
  return std::chrono::steady_clock::time_point(passed_);
}

bool HandClock::sleep(std::chrono::milliseconds time, std::stop_token stop) {
  advance(time);
  return !stop.stop_requested();
}

void HandClock::advance(std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex_);
  passed_ += time;
}

AttemptId MemoryLedger::open_attempt(const ModelCall& call, std::string_view json) {
  std::vector<Digest> blobs;
  for (const std::string* text : {&call.system, &call.prefix, &call.prompt}) {
    blobs.push_back(put(std::as_bytes(std::span(text->data(), text->size()))));
  }
  const std::lock_guard lock(mutex_);
  Record record;
  record.of = {{++attempts_}, 0};
  record.stage = Stage::kOpened;
  record.json = std::string(json);
  record.blobs = std::move(blobs);
  append_locked(record);
  return {attempts_};
}

void MemoryLedger::append_locked(Record record) {
  record.sequence = static_cast<std::int64_t>(records_.size()) + 1;
  records_.push_back(std::move(record));
}

void MemoryLedger::append(const Record& record) {
  const std::lock_guard lock(mutex_);
  for (const Digest& blob : record.blobs) {
    if (!blobs_.contains(blob)) {
      throw Fatal("a record names a blob that is not there");
    }
  }
  if (record.of.attempt.value > attempts_) {
    throw Fatal("a record of an attempt that was not opened");
  }
  append_locked(record);
}

Digest MemoryLedger::put(std::span<const std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  const Digest digest = sha256(bytes);
  blobs_[digest] = Bytes(bytes.begin(), bytes.end());
  return digest;
}

std::optional<Bytes> MemoryLedger::get(const Digest& digest) const {
  const std::lock_guard lock(mutex_);
  const auto found = blobs_.find(digest);
  return found == blobs_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Record> MemoryLedger::read(AttemptId first, AttemptId last) const {
  const std::lock_guard lock(mutex_);
  std::vector<Record> found;
  std::ranges::copy_if(records_, std::back_inserter(found),
                       [&](const Record& record) { return record.of.attempt >= first && record.of.attempt <= last; });
  return found;
}

AttemptId MemoryLedger::last_attempt() const {
  const std::lock_guard lock(mutex_);
  return {attempts_};
}

std::expected<Reply, ModelError> FakeModel::ask(const ModelCall& call, std::stop_token stop) {
  {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::string(to_string(call.role)) + " " + std::to_string(call.ordinal));
  }
  if (stop.stop_requested()) {
    return no_reply(ModelError::Kind::kCancelled);
  }
  return answer_(call);
}

std::vector<std::string> FakeModel::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

std::expected<Reply, ModelError> reply_with(std::string text) {
  Reply reply;
  reply.text = std::move(text);
  reply.model = "fake";
  reply.usage.input_tokens = 100;
  reply.usage.output_tokens = 50;
  return reply;
}

std::expected<Reply, ModelError> no_reply(ModelError::Kind kind, bool run_can_go_on) {
  ModelError error;
  error.kind = kind;
  error.message = "no reply from the fake";
  error.run_can_go_on = run_can_go_on;
  return std::unexpected(std::move(error));
}

std::expected<Build, BuildFailure> FakeCompiler::compile(const BuildRequest& request, std::stop_token) {
  {
    const std::lock_guard lock(mutex_);
    sources_.push_back(request.source);
  }
  if (request.source.find("DOES_NOT_COMPILE") != std::string::npos) {
    return std::unexpected(BuildFailure{BuildFailure::Kind::kErrors, "candidate.cu:3:1: error: DOES_NOT_COMPILE"});
  }
  Build build;
  build.ptx = request.source;
  std::string key = request.source + request.prelude;
  for (const std::string& define : request.defines) {
    key += define + ";";
    build.ptx += "\n// -D" + define;
  }
  build.id = sha256(key);
  build.toolchain = version();
  const std::string mark = "__global__ void ";
  for (std::size_t at = request.source.find(mark); at != std::string::npos; at = request.source.find(mark, at + 1)) {
    const std::size_t start = at + mark.size();
    const std::string entry = request.source.substr(start, request.source.find('(', start) - start);
    build.facts.entries.push_back(entry);
    KernelUse use;
    use.entry = entry;
    use.registers = 32;
    build.kernels.push_back(use);
  }
  return build;
}

int FakeCompiler::compiled(const std::string& marker) const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::ranges::count_if(
      sources_, [&](const std::string& source) { return source.find(marker) != std::string::npos; }));
}

namespace {

bool has(const Arm& arm, const std::string& marker) {
  return std::ranges::any_of(arm.builds,
                             [&](const Build& build) { return build.ptx.find(marker + "!") != std::string::npos; });
}

double time_of(const Arm& arm, std::size_t case_index) {
  const Build& build = *std::ranges::find(arm.builds, arm.plans[case_index].build, &Build::id);
  const std::size_t at = build.ptx.find("NS=");
  double time = at == std::string::npos ? 1000.0 : std::stod(build.ptx.substr(at + 3));
  const std::size_t factor = build.ptx.find("-DFACTOR=");
  return factor == std::string::npos ? time : time * std::stod(build.ptx.substr(factor + 9));
}

CheckReport check(const Job& job) {
  CheckReport report;
  report.verdict.gate = job.kind == Job::Kind::kConfirm ? Gate::kConfirm : Gate::kRepeat;
  report.verdict.checks = static_cast<std::int64_t>(job.checks.size());
  const auto elements = [](const Case& of) { return of.axes.at("N"); };
  const bool large = std::ranges::any_of(job.cases, [&](const Case& of) { return elements(of) > 100'000; });
  const Arm& arm = job.arms.front();
  if (has(arm, "WRONG") || (large && has(arm, "WRONG_LARGE")) ||
      (job.kind == Job::Kind::kConfirm && has(arm, "WRONG_CONFIRM"))) {
    report.verdict.passed = false;
    report.verdict.gate = job.kind == Job::Kind::kConfirm ? Gate::kConfirm : Gate::kCheck;
    report.verdict.reason = "mismatch";
    report.verdict.message = "every row is wrong";
    report.verdict.case_id = job.cases.front().id.value;
  }
  report.costs = {{"compare", 2.5, 3}};
  if (job.keep_going) {
    report.all.assign(job.checks.size(), report.verdict);
    for (std::size_t i = 0; i < job.checks.size(); ++i) {
      report.all[i].case_id = job.cases[static_cast<std::size_t>(job.checks[i].case_index)].id.value;
    }
  }
  return report;
}

// The control, the candidate a second time, in the first case.
void add_unequal_control(CaseTiming& timing) {
  const auto control = static_cast<std::int32_t>(timing.arms.size());
  timing.arms.push_back(timing.arms.front() + "_again");
  for (std::size_t i = 0, end = timing.samples.size(); i < end; ++i) {
    if (timing.samples[i].arm == 0) {
      Sample sample = timing.samples[i];
      sample.arm = control;
      sample.nanoseconds *= 2;
      timing.samples.push_back(sample);
    }
  }
}

TimeReport time(const Job& job, bool noisy) {
  TimeReport report;
  report.verdict.gate = Gate::kTimedRun;
  report.verdict.checks = static_cast<std::int64_t>(job.cases.size());
  for (std::size_t arm = 0; arm < job.arms.size(); ++arm) {
    const bool wrong = has(job.arms[arm], "WRONG_TIMED");
    const bool fault = has(job.arms[arm], "FAULTS_IN_BATCH");
    const bool other = has(job.arms[arm], "RUNS_OTHER_GRIDS") && job.method == ClockMethod::kCupti;
    if (wrong || fault || other) {
      report.verdict.passed = false;
      report.verdict.reason = wrong ? "mismatch" : fault ? "illegal_access" : "launch_truth";
      report.arm = fault && job.arms.size() > 1 ? -1 : static_cast<std::int32_t>(arm);
      return report;
    }
  }
  for (std::size_t i = 0; i < job.cases.size(); ++i) {
    CaseTiming timing;
    timing.case_id = job.cases[i].id.value;
    timing.method = job.method;
    timing.state = job.state;
    for (const Arm& arm : job.arms) {
      const auto index = static_cast<std::int32_t>(timing.arms.size());
      timing.arms.push_back(arm.name);
      for (std::int32_t quad = 0; quad < 12; ++quad) {
        for (std::int32_t slot = 0; slot < 2; ++slot) {
          timing.samples.push_back(
              {index, quad, slot, time_of(arm, i) * (1.0 + 0.0001 * ((quad * 7 + slot) % 5)), 1.7e9});
        }
      }
    }
    timing.verified = 1;
    if (noisy && i == 0) {
      add_unequal_control(timing);
    }
    report.measurement.cases.push_back(std::move(timing));
  }
  return report;
}

// A launch of READS_HALF read half of its 4-byte elements, one of FOUND_IN_L2 all of them, but nothing from memory.
Profile profile(const Job& job) {
  const Arm& arm = job.arms.front();
  Profile found;
  if (has(arm, "NO_COUNTERS")) {
    found.refused = "not permitted here: cuptiRangeProfilerEnable gave CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
    return found;
  }
  for (const Case& of : job.cases) {
    const double bytes = 4.0 * static_cast<double>(of.axes.at("N")) * (has(arm, "READS_HALF") ? 0.5 : 1.0);
    found.cases.push_back(
        {of.id.value,
         {{"dram__bytes_read.sum", has(arm, "FOUND_IN_L2") ? 0 : bytes}, {"lts__t_sectors_op_read.sum", bytes / 32}},
         {}});
  }
  return found;
}

}  // namespace

Outcome FakeRig::run(const Job& job, std::stop_token) {
  if (before) {
    before(job);
  }
  const std::lock_guard lock(mutex_);
  jobs_.push_back(job);
  if (has(job.arms.front(), "LOSES_DEVICE")) {
    return Fault{Fault::Kind::kRig, "vanished", "the worker is gone"};
  }
  if (has(job.arms.front(), "HANGS")) {
    return Fault{Fault::Kind::kCandidate, "timeout", "a launch did not end"};
  }
  if (job.kind == Job::Kind::kTime && job.method == ClockMethod::kCupti && has(job.arms.front(), "NO_CUPTI")) {
    return Fault{Fault::Kind::kRig, "unsupported", "no libcupti.so.13 here"};
  }
  if (job.kind == Job::Kind::kTime && job.method == ClockMethod::kCupti && has(job.arms.front(), "MISREAD_ONCE") &&
      std::exchange(misread_, true) == false) {
    TimeReport report;
    report.verdict.passed = false;
    report.verdict.gate = Gate::kTimedRun;
    report.verdict.reason = "launch_truth";
    report.arm = 0;
    return report;
  }
  if (job.kind == Job::Kind::kTime) {
    const Arm& arm = job.arms.front();
    const bool events = job.method == ClockMethod::kEvents && arm.name == "candidate";
    const bool once = events && has(arm, "NOISE_ONCE") && !std::exchange(noisy_, true);
    TimeReport report = time(job, once || (events && has(arm, "NOISE")));
    if (edit_timing) {
      edit_timing(job, report);
    }
    return report;
  }
  if (job.kind == Job::Kind::kProfile) {
    return profile(job);
  }
  if (job.kind == Job::Kind::kSanitize) {
    SanitizerReport report;
    report.tools = {{"memcheck", "2025.3.1", true, 0, 0, "", 900},
                    {"racecheck", "2025.3.1", true, 2, 1, "hazard", 1500}};
    return report;
  }
  if (job.kind == Job::Kind::kAdmit) {
    return AdmissionReport{{{"null candidate: zeros", "refused", "refused", true}}, true};
  }
  return check(job);
}

std::vector<Job> FakeRig::jobs() const {
  const std::lock_guard lock(mutex_);
  return jobs_;
}

std::vector<std::string> FakeRig::kinds() const {
  std::vector<std::string> kinds;
  for (const Job& job : jobs()) {
    const std::string name = job.kind == Job::Kind::kTime      ? (job.method == ClockMethod::kCupti            ? "records"
                                                                  : job.arms.front().name.starts_with("copy:") ? "copies"
                                                                                                               : "time")
                             : job.kind == Job::Kind::kConfirm ? "confirm"
                             : job.kind == Job::Kind::kAdmit   ? "admit"
                                                               : "check";
    kinds.push_back(name + ":" + std::to_string(job.cases.size()));
  }
  return kinds;
}

namespace {

constexpr std::string_view kPlan = R"plan(/*kfactory
{ "plan": 1, "hypothesis": "HYPOTHESIS", TUNE
  "kernels": [{"id": "main", "name": "twice", "grid": ["ceil_div(N, 128)"], "block": ["128"], "args": ["x", "y", "N:i32"]
}]
}
*/
)plan";

std::string file_with(const std::string& body, const std::string& tune, const std::string& out_type,
                      const std::string& hypothesis) {
  std::string plan(kPlan);
  plan.replace(plan.find("TUNE"), 4, tune.empty() ? "" : "\"tune\": {" + tune + "},");
  plan.replace(plan.find("HYPOTHESIS"), 10, hypothesis);
  return plan + "// " + body + "!\nextern \"C\" __global__ void twice(const T* x, " + out_type +
         "* y, int n) {\n  int i = blockIdx.x * 128 + threadIdx.x;\n  if (i < n) y[i] = 2.0f * x[i];\n}\n";
}

constexpr std::string_view kSpec =
    R"({ "kfactory_spec": 1, "name": "twice", "op_type": "elementwise", "description": "y = 2 x",
  "types": {"T": ["float32"]},
  "axes": {"N": {"type": "var"}},
  "inputs": {"x": {"shape": ["N"], "dtype": "T"}},
  "outputs": {"y": {"shape": ["N"], "dtype": "T"}},
  "reference": {"cuda": "twice.ref.cu", "slice": "N"},
  "tolerance": {"y": {"ulp": 1}},
  "work": {"read_bytes": "4*N", "write_bytes": "4*N", "flops": "N"},
  "families": {"x": ["normal", "large"]},
  "cases": {"check": [{"N": [8, 5000, 60000, 1100000], "T": "float32"}],
            "time": [{"N": [1048576, 4194304, 16777216], "T": "float32"}],
            "emulate": [{"N": 1024, "T": "float32"}],
            "held_out": [{"N": 4099, "T": "float32"}]},
  "target": {"arch": "sm_90a"},
  "baselines": [{"name": "naive", "cuda": "twice.naive.cu"}] })";

}  // namespace

std::string candidate_source(const std::string& body, const std::string& tune) {
  return file_with(body, tune, "T", body.substr(0, body.find('\n')));
}

std::string in_fence(const std::string& source) {
  return "Here it is.\n```cuda\n" + source + "```\n";
}

Spec small_spec() {
  const OrErrors<Spec> spec = parse_spec(kSpec, [](const std::string& path) -> OrError<std::string> {
    return path == "twice.ref.cu" ? file_with("REFERENCE", "", "double", "reference")
                                  : file_with("NAIVE NS=1000", "", "T", "naive");
  });
  if (!spec) {
    throw Fatal(to_string(spec.error()));
  }
  return *spec;
}

Factory factory_of(const Spec& spec, Compiler& compiler, Rig& rig, Clock& clock) {
  Factory made;
  made.spec = &spec;
  made.facts = gpu_facts();
  made.compiler = &compiler;
  made.rig = &rig;
  made.clock = &clock;
  return made;
}

DeviceFacts gpu_facts() {
  DeviceFacts facts = named_target("H200").value();
  facts.kind = "cuda";
  facts.dram_bytes_per_second = 1e15;  // the fakes' figures are not to meet the floor
  return facts;
}

}  // namespace kf
