// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/toy_operation.h"

#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <limits>
#include <memory>
#include <thread>

namespace kf::fakes {
namespace {

constexpr double kA = 1.5;

Tensor tensor(std::string name, TensorRole role, Dtype dtype, std::vector<std::int64_t> extent,
              std::vector<std::int64_t> stride, std::vector<std::string> dims) {
  Tensor made;
  made.name = std::move(name);
  made.role = role;
  made.dtype = dtype;
  made.extent = std::move(extent);
  made.stride = std::move(stride);
  made.dims = std::move(dims);
  return made;
}

template <class T>
Arg scalar(T value) {
  Arg arg;
  arg.width = sizeof value;
  std::memcpy(&arg.bits, &value, sizeof value);
  return arg;
}
Arg tensor_arg(int index) {
  Arg arg;
  arg.kind = Arg::Kind::kTensor;
  arg.index = index;
  return arg;
}

Digest build_id(const std::string& name) {
  return sha256("build of " + name);
}
Build build_named(const std::string& name) {
  Build build;
  build.id = build_id(name);
  build.ptx = "// " + name;
  build.cubin = {std::byte{1}, std::byte{2}, std::byte{0}, std::byte{255}};
  return build;
}

ResolvedPlan plan_of(const std::string& entry, const Case& of, const std::vector<int>& tensors,
                     const std::vector<Workspace>& workspaces) {
  ResolvedPlan plan;
  plan.of = of.id;
  plan.build = build_id(entry);
  plan.workspaces = workspaces;
  Launch launch;
  launch.id = launch.entry = entry;
  for (const int index : tensors) {
    launch.args.push_back(tensor_arg(index));
  }
  launch.args.push_back(scalar(static_cast<float>(of.scalars.at("a"))));
  launch.args.back().scalar = "a";
  launch.args.back().type = Dtype::kFloat32;
  for (const char* axis : {"M", "N", "LDX"}) {
    launch.args.push_back(scalar(static_cast<std::int32_t>(of.axes.at(axis))));
  }
  for (std::size_t i = 0; i < workspaces.size(); ++i) {
    Arg arg;
    arg.kind = Arg::Kind::kWorkspace;
    arg.index = static_cast<int>(i);
    launch.args.push_back(arg);
  }
  if (of.axes.at("M") * of.axes.at("N") > 0) {
    plan.launches.push_back(launch);
  }
  return plan;
}

// The arguments of a launch by name.
struct Call {
  const float *x, *w;
  float* y;
  float a;
  std::int32_t m, n, ldx;
  float* workspace = nullptr;
};
Call call_of(const HostLaunch& launch) {
  Call call{launch.pointer<const float>(0), launch.pointer<const float>(1),
            launch.pointer<float>(2),       launch.scalar<float>(3),
            launch.scalar<std::int32_t>(4), launch.scalar<std::int32_t>(5),
            launch.scalar<std::int32_t>(6), nullptr};
  if (launch.pointers.size() > 7) {
    call.workspace = launch.pointer<float>(7);
  }
  return call;
}
float right(const Call& call, std::int64_t row, std::int64_t column) {
  return std::fma(call.a, call.x[row * call.ldx + column], call.w[column]);
}
template <class Value>
OrFault<void> each(const Call& call, const Value& value) {
  for (std::int64_t row = 0; row < call.m; ++row) {
    for (std::int64_t column = 0; column < call.n; ++column) {
      call.y[row * call.ldx + column] = value(row, column);
    }
  }
  return {};
}
HostKernel valued(std::function<float(const Call&, std::int64_t, std::int64_t)> value) {
  return [value](const HostLaunch& launch) {
    const Call call = call_of(launch);
    return each(call, [&](std::int64_t row, std::int64_t column) { return value(call, row, column); });
  };
}
// Writes only the elements that `covers` accepts.
HostKernel partial(std::function<bool(const Call&, std::int64_t, std::int64_t)> covers) {
  return [covers](const HostLaunch& launch) -> OrFault<void> {
    const Call call = call_of(launch);
    for (std::int64_t row = 0; row < call.m; ++row) {
      for (std::int64_t column = 0; column < call.n; ++column) {
        if (covers(call, row, column)) {
          call.y[row * call.ldx + column] = right(call, row, column);
        }
      }
    }
    return {};
  };
}
HostKernel right_and(std::function<OrFault<void>(const Call&)> more) {
  return [more](const HostLaunch& launch) -> OrFault<void> {
    const Call call = call_of(launch);
    (void)each(call, [&](std::int64_t row, std::int64_t column) { return right(call, row, column); });
    return more(call);
  };
}
HostKernel faulting(DeviceFault::Kind kind) {
  return [kind](const HostLaunch&) -> OrFault<void> { return std::unexpected(DeviceFault{kind, "in the toy kernel"}); };
}

OrFault<void> reference(const HostLaunch& launch) {
  const auto* x = launch.pointer<const float>(0);
  const auto* w = launch.pointer<const float>(1);
  auto* y = launch.pointer<double>(2);
  auto* condition = launch.pointer<double>(3);
  const double a = launch.scalar<float>(4);
  const std::int64_t m = launch.scalar<std::int32_t>(5), n = launch.scalar<std::int32_t>(6),
                     ldx = launch.scalar<std::int32_t>(7);
  for (std::int64_t row = 0; row < m; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      const double product = a * x[row * ldx + column];
      y[row * n + column] = product + w[column];
      condition[row * n + column] = std::abs(product) + std::abs(static_cast<double>(w[column]));
    }
  }
  return {};
}

void add_wrong_values(std::map<std::string, HostKernel>& kernels) {
  kernels["nothing"] = partial([](const Call&, std::int64_t, std::int64_t) { return false; });
  kernels["odd_elements"] = partial([](const Call&, std::int64_t, std::int64_t column) { return column % 2 == 1; });
  kernels["half_rows"] = partial([](const Call& c, std::int64_t, std::int64_t column) { return column < c.n / 2; });
  kernels["no_tail"] = partial([](const Call& c, std::int64_t, std::int64_t column) { return column < c.n / 8 * 8; });
  kernels["ignores_w"] =
      valued([](const Call& c, std::int64_t row, std::int64_t column) { return c.a * c.x[row * c.ldx + column]; });
  kernels["ignores_a"] = valued([](const Call& c, std::int64_t row, std::int64_t column) {
    return static_cast<float>(kA) * c.x[row * c.ldx + column] + c.w[column];
  });
  kernels["copies_x"] =
      valued([](const Call& c, std::int64_t row, std::int64_t column) { return c.x[row * c.ldx + column]; });
  kernels["nan"] =
      valued([](const Call&, std::int64_t, std::int64_t) { return std::numeric_limits<float>::quiet_NaN(); });
  kernels["low_precision"] = valued(
      [](const Call& c, std::int64_t row, std::int64_t column) { return right(c, row, column) * (1.0F + 1e-3F); });
}

void add_trespassers(std::map<std::string, HostKernel>& kernels) {
  kernels["past_the_end"] = right_and([](const Call& c) -> OrFault<void> {
    c.y[(c.m - 1) * c.ldx + c.n] = 1.0F;
    return {};
  });
  kernels["before_the_start"] = right_and([](const Call& c) -> OrFault<void> {
    c.y[-1] = 1.0F;
    return {};
  });
  kernels["into_padding"] = right_and([](const Call& c) -> OrFault<void> {
    if (c.ldx > c.n && c.m > 1) {
      c.y[c.n] = 1.0F;
    }
    return {};
  });
  kernels["changes_x"] = right_and([](const Call& c) -> OrFault<void> {
    const_cast<float*>(c.x)[0] += 1.0F;
    return {};
  });
  kernels["uses_workspace"] = right_and([](const Call& c) -> OrFault<void> {
    c.workspace[0] = 1.0F;
    return {};
  });
  kernels["restores_workspace"] = [](const HostLaunch& launch) {
    const Call call = call_of(launch);
    const float before = call.workspace[0];  // zero, as promised
    (void)each(call, [&](std::int64_t row, std::int64_t column) { return right(call, row, column) + before; });
    call.workspace[0] = 0.0F;
    return OrFault<void>{};
  };
  kernels["needs_zero"] = [](const HostLaunch& launch) {
    const Call call = call_of(launch);
    (void)each(call,
               [&](std::int64_t row, std::int64_t column) { return right(call, row, column) + call.workspace[0]; });
    call.workspace[0] += 1.0F;
    return OrFault<void>{};
  };
}

// Kernels with memory across launches; on_load of toy_device() does not reach it, as a covert store would not be
// reached.
void add_stateful(std::map<std::string, HostKernel>& kernels) {
  const auto launches = std::make_shared<int>(0);
  kernels["counts_launches"] = [launches](const HostLaunch& launch) {
    const Call call = call_of(launch);
    const bool honest = ++*launches <= 6;
    return each(call, [&](std::int64_t row, std::int64_t column) { return honest ? right(call, row, column) : 0.0F; });
  };
  const auto answer = std::make_shared<std::vector<float>>();
  kernels["remembers"] = [answer](const HostLaunch& launch) {
    const Call call = call_of(launch);
    const auto elements = static_cast<std::size_t>(call.m * call.n);
    if (answer->size() != elements) {
      answer->clear();
      for (std::int64_t row = 0; row < call.m; ++row) {
        for (std::int64_t column = 0; column < call.n; ++column) {
          answer->push_back(right(call, row, column));
        }
      }
    }
    return each(call, [&](std::int64_t row, std::int64_t column) {
      return (*answer)[static_cast<std::size_t>(row * call.n + column)];
    });
  };
  const auto flips = std::make_shared<int>(0);
  kernels["differs_in_bits"] = [flips](const HostLaunch& launch) {
    const Call call = call_of(launch);
    const bool up = ++*flips % 2 == 0;
    return each(call, [&](std::int64_t row, std::int64_t column) {
      const float value = right(call, row, column);
      return up ? std::nextafter(value, std::numeric_limits<float>::infinity()) : value;
    });
  };
}

}  // namespace

Case toy_case(std::int64_t m, std::int64_t n, std::int64_t ldx) {
  ldx = ldx == 0 ? std::max<std::int64_t>(n, 1) : ldx;
  Case made;
  made.id.value = "check/M=" + std::to_string(m) + ",N=" + std::to_string(n) + ",LDX=" + std::to_string(ldx);
  made.set = "check";
  made.axes = {{"M", m}, {"N", n}, {"LDX", ldx}};
  made.tensors = {tensor("x", TensorRole::kInput, Dtype::kFloat32, {m, n}, {ldx, 1}, {"M", "N"}),
                  tensor("w", TensorRole::kInput, Dtype::kFloat32, {n}, {1}, {"N"}),
                  tensor("y", TensorRole::kOutput, Dtype::kFloat32, {m, n}, {ldx, 1}, {"M", "N"})};
  made.scalars = {{"a", kA}};
  made.scalar_types = {{"a", Dtype::kFloat32}};
  made.family = "normal";
  return made;
}

Arm toy_arm(const std::string& name, const std::string& entry, const std::vector<Case>& cases,
            const std::vector<Workspace>& workspaces) {
  Arm arm;
  arm.name = name;
  arm.builds = {build_named(entry)};
  for (const Case& of : cases) {
    arm.plans.push_back(plan_of(entry, of, {0, 1, 2}, workspaces));
  }
  return arm;
}

ReferenceArm toy_reference(const std::vector<Case>& cases, std::int64_t slice_extent) {
  const auto slice = [](const Case& of, std::int64_t extent) {
    Case made = of;
    made.axes["M"] = extent;
    made.tensors[0].extent[0] = extent;
    const std::int64_t n = of.axes.at("N");
    made.tensors[2] = tensor("y", TensorRole::kOutput, Dtype::kFloat64, {extent, n}, {n, 1}, {"M", "N"});
    made.tensors.push_back(made.tensors[2]);
    made.tensors[3].name = "y__cond";
    return made;
  };
  ReferenceArm arm;
  arm.builds = {build_named("reference")};
  for (const Case& of : cases) {
    const std::int64_t m = of.axes.at("M");
    ReferencePlan plan;
    plan.axis = "M";
    plan.extent = std::min(slice_extent, m);
    plan.slice_case = slice(of, plan.extent);
    plan.plan = plan_of("reference", plan.slice_case, {0, 1, 2, 3}, {});
    if (plan.extent > 0 && m % plan.extent != 0) {
      plan.tail_case = slice(of, m % plan.extent);
      plan.tail_plan = plan_of("reference", *plan.tail_case, {0, 1, 2, 3}, {});
    }
    arm.plans.push_back(std::move(plan));
  }
  return arm;
}

Job toy_check(const std::string& entry, const std::vector<Case>& cases, std::vector<std::uint64_t> seeds) {
  Job job;
  job.kind = Job::Kind::kCheck;
  job.cases = cases;
  job.arms = {toy_arm("candidate", entry, cases)};
  job.reference = toy_reference(cases);
  job.harness = build_named("harness");
  job.bounds["y"] = {1.0, 4.0, "y__cond", 0.0, {}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    job.checks.push_back({static_cast<std::int32_t>(i), "normal", seeds, 0});
  }
  job.deadline = std::chrono::milliseconds(20'000);
  return job;
}

Job toy_time(const std::vector<std::string>& entries, const std::vector<Case>& cases) {
  Job job = toy_check("good", cases);
  job.kind = Job::Kind::kTime;
  job.arms.clear();
  for (const std::string& entry : entries) {
    const bool first = job.arms.empty();
    job.arms.push_back(toy_arm(first ? "candidate" : "baseline:" + entry, entry, cases));
  }
  job.time_seeds.assign(cases.size(), 99);
  return job;
}

std::map<std::string, HostKernel> toy_kernels() {
  std::map<std::string, HostKernel> kernels;
  kernels["good"] = kernels["naive"] = kernels["champion"] = valued(right);
  kernels["reference"] = reference;
  add_wrong_values(kernels);
  add_trespassers(kernels);
  add_stateful(kernels);
  kernels["crash"] = [](const HostLaunch&) -> OrFault<void> {
    std::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
    return {};
  };
  kernels["hang"] = [](const HostLaunch&) -> OrFault<void> {
    for (;;) {
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  };
  kernels["exit"] = [](const HostLaunch&) -> OrFault<void> { ::_exit(0); };
  kernels["illegal"] = faulting(DeviceFault::Kind::kIllegalAccess);
  kernels["refused"] = faulting(DeviceFault::Kind::kLaunchRefused);
  return kernels;
}

HostDeviceOptions toy_device() {
  HostDeviceOptions options;
  options.kernels = toy_kernels();
  return options;
}

}  // namespace kf::fakes
