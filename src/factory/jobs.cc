// SPDX-License-Identifier: Apache-2.0
#include "jobs.h"

#include <algorithm>
#include <thread>

#include <kfactory/audit.h>
#include <kfactory/harness.h>

#include "cases.h"
#include "copy_arms.h"
#include "parallel.h"
#include "stop.h"

namespace kf {
namespace {

std::int32_t at_once(std::int32_t compile_jobs) {
  return compile_jobs > 0 ? compile_jobs : static_cast<std::int32_t>(std::max(1U, std::thread::hardware_concurrency()));
}

Verdict refused(Gate gate, std::string reason, std::string message) {
  Verdict verdict;
  verdict.passed = false;
  verdict.gate = gate;
  verdict.reason = std::move(reason);
  verdict.message = std::move(message);
  return verdict;
}

Verdict refused(const BuildFailure& failure) {
  const bool policy = failure.kind == BuildFailure::Kind::kPolicy;
  return refused(policy ? Gate::kSourceAudit : Gate::kCompile, std::string(to_string(failure.kind)), failure.log);
}

Candidate own_candidate(const SourceFile& file) {
  OrErrors<Candidate> candidate = parse_candidate(file.content, file.path);
  if (!candidate) {
    throw Fatal(file.path + " of the spec is no candidate file:\n" + to_string(candidate.error()));
  }
  return std::move(*candidate);
}

// What makes two requests the same build.
Digest key_of(const BuildRequest& request) {
  std::string text = request.source + '\0' + request.prelude + '\0' + request.arch;
  for (const auto* list : {&request.defines, &request.flags}) {
    text += '\1';
    for (const std::string& item : *list) {
      text += item + '\0';
    }
  }
  for (const auto& [name, content] : request.headers) {
    text += '\2' + name + '\0' + content;
  }
  return sha256(text);
}

// Distinct requests, and for each case the one that it uses.
struct Requests {
  std::vector<BuildRequest> distinct;
  std::vector<std::size_t> of_case;
};

OrErrors<Requests> requests_for(const Spec& spec, const Candidate& candidate, std::span<const Case> cases,
                                const Assignment& chosen, const DeviceFacts& facts) {
  Requests requests;
  std::map<Digest, std::size_t> seen;
  for (const Case& of : cases) {
    OrErrors<BuildRequest> request = build_request(spec, candidate, of, chosen, facts);
    if (!request) {
      return std::unexpected(request.error());
    }
    const auto [place, fresh] = seen.emplace(key_of(*request), requests.distinct.size());
    if (fresh) {
      requests.distinct.push_back(std::move(*request));
    }
    requests.of_case.push_back(place->second);
  }
  return requests;
}

void add_once(std::vector<Build>& builds, const Build& build) {
  if (std::ranges::find(builds, build.id, &Build::id) == builds.end()) {
    builds.push_back(build);
  }
}

// Of a confirmation: quads that are timed once more without the candidate, for the sabotage check.
constexpr std::int32_t kControlQuads = 10;

// A stuck launch ends after its own, much shorter deadline; this bounds a job that goes on for ever in small steps.
std::chrono::milliseconds deadline_for(const Job& job, bool emulated) {
  std::int64_t elements = 0;
  for (const Case& of : job.cases) {
    elements += elements_of(of);
  }
  // Of a check: each point once, one point a case five times more (repeat), a launch and its turned twin for each
  // relation, and up to five launches on four points for the perturbation.
  constexpr std::size_t kRepeats = 5, kRelated = 2, kDisturbed = 20;
  const std::size_t further =
      job.checks.empty() ? 0 : job.cases.size() * kRepeats + job.relations.size() * kRelated + kDisturbed;
  const auto launches = static_cast<std::int64_t>(job.checks.size() + further + job.cases.size() * job.arms.size());
  const std::chrono::milliseconds time(30'000 + launches * 500 + elements / 100'000);
  return emulated ? time * 20 : time;
}

}  // namespace

JobBuilder::JobBuilder(const Factory& factory, std::int32_t compile_jobs, std::counting_semaphore<>* shared_slots)
    : factory_(factory),
      compile_jobs_(static_cast<std::size_t>(at_once(compile_jobs))),
      own_slots_(at_once(compile_jobs)),
      compile_slots_(shared_slots == nullptr ? own_slots_ : *shared_slots),
      reference_(own_candidate(factory.spec->reference.cuda)) {
  for (const BaselineSpec& baseline : factory.spec->baselines) {
    if (baseline.kind == BaselineSpec::Kind::kCuda) {
      baselines_.push_back({baseline.name, own_candidate(baseline.source)});
    }
  }
  if (factory.emulator != nullptr) {
    emulator_first_ = std::make_unique<EmulatorFirst>(factory, compile_jobs, compile_slots_);
  }
}

std::expected<Build, BuildFailure> JobBuilder::compile(const BuildRequest& request, const std::stop_token& stop) {
  throw_if_stopped(stop);
  std::expected<Build, BuildFailure> build = [&] {
    compile_slots_.acquire();
    struct Slot {
      std::counting_semaphore<>& slots;
      ~Slot() { slots.release(); }
    } const slot{compile_slots_};  // given back when a compile process that cannot be had ends the run, too
    return factory_.compiler->compile(request, stop);
  }();
  if (!build) {
    throw_if_stopped(stop);  // a child ended by a stop is no verdict on the candidate
  }
  return build;
}

std::expected<Arm, Verdict> JobBuilder::arm(std::string name, const Candidate& candidate, std::span<const Case> cases,
                                            const Assignment& chosen, std::stop_token stop, CostLog* costs,
                                            std::vector<Verdict>* audited) {
  CostLog unheard(nullptr);
  CostLog& log = costs == nullptr ? unheard : *costs;
  const Spec& spec = *factory_.spec;
  OrErrors<Requests> requests = requests_for(spec, candidate, cases, chosen, factory_.facts);
  if (!requests) {
    return std::unexpected(refused(Gate::kPlan, "expression", to_string(requests.error())));
  }
  std::vector<std::expected<Build, BuildFailure>> builds(requests->distinct.size());
  log.during("compile", [&] {
    for_each_index(builds.size(), compile_jobs_,
                   [&](std::size_t i) { builds[i] = compile(requests->distinct[i], stop); });
  });

  Arm arm;
  arm.name = std::move(name);
  for (std::size_t i = 0; i < builds.size(); ++i) {
    std::optional<Verdict> verdict =
        builds[i] ? log.during("binary audit", [&] { return audit_binary(*builds[i], candidate.plan, spec); })
                  : refused(builds[i].error());
    if (verdict) {
      verdict->case_id =
          cases[static_cast<std::size_t>(std::ranges::find(requests->of_case, i) - requests->of_case.begin())].id.value;
      if (!builds[i] || audited == nullptr) {
        return std::unexpected(std::move(*verdict));
      }
      audited->push_back(std::move(*verdict));
    }
    add_once(arm.builds, *builds[i]);
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    OrErrors<ResolvedPlan> plan = log.during("plan", [&] {
      return resolve_plan(spec, candidate.plan, cases[i], chosen, factory_.facts, *builds[requests->of_case[i]]);
    });
    if (!plan) {
      Verdict verdict = refused(Gate::kPlan, "limits", to_string(plan.error()));
      verdict.case_id = cases[i].id.value;
      return std::unexpected(std::move(verdict));
    }
    arm.plans.push_back(std::move(*plan));
  }
  return arm;
}

const Build& JobBuilder::harness(std::stop_token stop) {
  {
    const std::lock_guard lock(mutex_);
    if (harness_) {
      return *harness_;
    }
  }
  const auto built = compile(harness::harness_build_request(factory_.facts.arch), stop);
  if (!built) {
    throw Fatal("the harness kernels of kfactory do not compile for " + factory_.facts.arch + ":\n" +
                built.error().log + "\n(kfactory doctor shows the toolkit that was found)");
  }
  const std::lock_guard lock(mutex_);
  if (!harness_) {
    harness_ = std::make_shared<const Build>(*built);
  }
  return *harness_;
}

std::expected<std::pair<ResolvedPlan, Build>, std::string> JobBuilder::resolve_reference(const Case& slice,
                                                                                         std::string_view more_prelude,
                                                                                         const std::stop_token& stop) {
  const Spec& spec = *factory_.spec;
  const Assignment none = tune_points(reference_.plan).front();
  OrErrors<BuildRequest> request = build_request(spec, reference_, slice, none, factory_.facts);
  if (!request) {
    return std::unexpected(to_string(request.error()));
  }
  request->prelude += more_prelude;
  std::expected<Build, BuildFailure> build = compile(*request, stop);
  if (!build) {
    return std::unexpected(build.error().log);
  }
  OrErrors<ResolvedPlan> plan = resolve_plan(spec, reference_.plan, slice, none, factory_.facts, *build);
  if (!plan) {
    return std::unexpected(to_string(plan.error()));
  }
  return std::pair{std::move(*plan), std::move(*build)};
}

std::expected<JobBuilder::Reference, std::string> JobBuilder::make_reference(const Case& of,
                                                                             std::string_view more_prelude,
                                                                             const std::stop_token& stop) {
  const Spec& spec = *factory_.spec;
  Reference reference;
  ReferencePlan& plan = reference.plan;
  plan.axis = spec.reference.slice;
  const auto add = [&](std::int64_t extent, Case& slice, ResolvedPlan& resolved) -> std::string {
    OrError<Case> made = slice_of(spec, of, plan.axis, extent);
    if (!made) {
      return "it cannot be sliced: " + to_string(made.error());
    }
    auto built = resolve_reference(*made, more_prelude, stop);
    if (!built) {
      return built.error();
    }
    slice = std::move(*made);
    resolved = std::move(built->first);
    add_once(reference.builds, built->second);
    return "";
  };
  const std::int64_t whole = plan.axis.empty() ? 0 : of.axes.at(plan.axis);
  plan.extent = whole;
  if (whole > 0) {
    const OrError<Case> one = slice_of(spec, of, plan.axis, 1);
    if (!one) {
      return std::unexpected("it cannot be sliced: " + to_string(one.error()));
    }
    plan.extent = slice_extent(*one, whole);
  }
  std::string failed = add(plan.extent, plan.slice_case, plan.plan);
  if (failed.empty() && whole > 0 && whole % plan.extent != 0) {
    failed = add(whole % plan.extent, plan.tail_case.emplace(), plan.tail_plan.emplace());
  }
  return failed.empty() ? std::expected<Reference, std::string>(std::move(reference)) : std::unexpected(failed);
}

JobBuilder::Reference JobBuilder::reference_for(const Case& of, const std::stop_token& stop) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = references_.find(of.id.value); known != references_.end()) {
      return *known->second;
    }
  }
  std::expected<Reference, std::string> made = make_reference(of, "", stop);
  if (!made) {
    throw Fatal("the reference " + factory_.spec->reference.cuda.path + " cannot be used for case " + of.id.value +
                ":\n" + made.error());
  }
  const std::lock_guard lock(mutex_);
  references_[of.id.value] = std::make_shared<const Reference>(*made);
  return std::move(*made);
}

Job JobBuilder::common(Job::Kind kind, const std::vector<Case>& cases, std::stop_token stop) {
  const Spec& spec = *factory_.spec;
  Job job;
  job.kind = kind;
  job.cases = cases;
  job.harness = harness(stop);
  job.bounds = spec.tolerance;
  job.nonfinite = spec.nonfinite;
  job.deterministic = spec.limits.deterministic;
  job.families = spec.families;
  job.state = spec.objective.state;
  job.method = factory_.facts.kind == "emulator" ? ClockMethod::kEstimate : ClockMethod::kEvents;
  std::vector<Reference> references(cases.size());
  for_each_index(cases.size(), compile_jobs_, [&](std::size_t i) { references[i] = reference_for(cases[i], stop); });
  for (Reference& reference : references) {
    for (const Build& build : reference.builds) {
      add_once(job.reference.builds, build);
    }
    job.reference.plans.push_back(std::move(reference.plan));
  }
  if (std::ranges::any_of(job.bounds, [](const auto& entry) { return entry.second.ill_conditioned > 0; })) {
    job.variants.push_back(variant(ReferenceVariant::Kind::kWideInputs, cases, cases.size(), stop));
  }
  return job;
}

Job JobBuilder::check_job(const std::vector<Case>& cases, Arm candidate, std::vector<CheckPoint> checks,
                          std::stop_token stop) {
  Job job = common(Job::Kind::kCheck, cases, stop);
  job.arms.push_back(std::move(candidate));
  job.checks = std::move(checks);
  job.relations = factory_.spec->relations;
  job.deadline = deadline_for(job, factory_.facts.kind == "emulator");
  return job;
}

Job JobBuilder::admission_job(const std::vector<Case>& cases, std::size_t probed, Arm naive,
                              std::vector<CheckPoint> checks, std::vector<CheckPoint> influence, std::stop_token stop) {
  Job job = check_job(cases, std::move(naive), std::move(checks), stop);
  job.kind = Job::Kind::kAdmit;
  job.influence = std::move(influence);
  using Kind = ReferenceVariant::Kind;
  for (const auto kind : {Kind::kFloat32, Kind::kFloat32Pairs, Kind::kWideInputs}) {
    if (std::ranges::find(job.variants, kind, &ReferenceVariant::kind) == job.variants.end()) {
      job.variants.push_back(variant(kind, cases, probed, stop));
    }
  }
  job.deadline = 4 * deadline_for(job, factory_.facts.kind == "emulator");  // a dozen null candidates for each check
  return job;
}

void JobBuilder::build_reference(const Case& of, std::stop_token stop) {
  reference_for(of, stop);
}

std::vector<Arm> JobBuilder::baseline_arms(const std::vector<Case>& cases, const EvaluationSettings& settings,
                                           std::stop_token stop) {
  std::vector<Arm> arms;
  for (const Baseline& baseline : baselines_) {
    const Candidate tuned =
        baseline_tuning_.settled(factory_, *this, baseline.name, baseline.candidate, settings, stop);
    const Assignment first = tune_points(tuned.plan).front();
    std::expected<Arm, Verdict> built = arm("baseline:" + baseline.name, tuned, cases, first, stop);
    if (!built) {
      throw Fatal("the baseline " + baseline.name + " of the spec was refused (" +
                  std::string(to_string(built.error().gate)) + "): " + built.error().message);
    }
    arms.push_back(std::move(*built));
  }
  return arms;
}

Job JobBuilder::time_job(const std::vector<Case>& cases, std::vector<Arm> arms, bool with_baselines,
                         const EvaluationSettings& settings, std::stop_token stop) {
  Job job = common(Job::Kind::kTime, cases, stop);
  job.arms = std::move(arms);
  if (with_baselines) {
    std::ranges::move(baseline_arms(cases, settings, stop), std::back_inserter(job.arms));
    add_copy_arm(job, settings, stop);
  }
  const Purpose purpose = settings.confirm ? Purpose::kConfirm : Purpose::kTime;
  for (const Case& of : cases) {
    job.time_seeds.push_back(seed_for(settings.secret, purpose, settings.variant, of.id.value, 1'000));
  }
  job.max_quads = std::max(job.min_quads, settings.max_quads);
  job.control_quads = settings.confirm ? kControlQuads : 0;
  job.deadline = deadline_for(job, factory_.facts.kind == "emulator");
  return job;
}

void JobBuilder::add_copy_arm(Job& job, const EvaluationSettings& settings, const std::stop_token& stop) {
  if (factory_.facts.kind == "emulator") {
    return;  // a copy has no instructions to count; score.cc says what the row is then
  }
  const std::vector<Launch> ways = copy_ways_.fastest(factory_, job.cases, job.harness, settings, stop);
  job.arms.push_back(copy_arm("copy", *factory_.spec, job.cases, ways, job.harness));
}

Job job_of_cases(const Job& whole, const std::vector<std::size_t>& at) {
  const auto keep = [&]<class T>(std::vector<T>& of_case) {
    std::vector<T> kept;
    for (const std::size_t index : at) {
      if (index < of_case.size()) {
        kept.push_back(of_case[index]);
      }
    }
    of_case = std::move(kept);
  };
  Job part = whole;
  keep(part.cases), keep(part.time_seeds), keep(part.reference.plans);
  for (ReferenceVariant& variant : part.variants) {
    keep(variant.cases), keep(variant.arm.plans);
  }
  for (Arm& arm : part.arms) {
    keep(arm.plans), keep(arm.own_cases);
  }
  return part;
}

std::int64_t slice_extent(const Case& one, std::int64_t whole) {
  std::int64_t bytes = 0;  // of float64 outputs, a slice of extent 1
  for (const Tensor& tensor : one.tensors) {
    bytes += tensor.role == TensorRole::kInput ? 0 : tensor.elements() * 8;
  }
  return std::clamp<std::int64_t>(kReferenceSliceBytes / std::max<std::int64_t>(bytes, 1), 1, whole);
}

}  // namespace kf
