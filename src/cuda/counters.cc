// SPDX-License-Identifier: Apache-2.0
#include "cuda/counters.h"

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "os/shared_library.h"

// Every structure of this interface begins with its size, by which CUPTI knows the version of the header.

namespace kf::cuda {
namespace {

#define KF_COUNTER_FUNCTIONS(X)                   \
  X(cuptiGetResultString)                         \
  X(cuptiProfilerInitialize)                      \
  X(cuptiProfilerDeInitialize)                    \
  X(cuptiProfilerDeviceSupported)                 \
  X(cuptiProfilerGetCounterAvailability)          \
  X(cuptiDeviceGetChipName)                       \
  X(cuptiProfilerHostInitialize)                  \
  X(cuptiProfilerHostDeinitialize)                \
  X(cuptiProfilerHostConfigAddMetrics)            \
  X(cuptiProfilerHostGetConfigImageSize)          \
  X(cuptiProfilerHostGetConfigImage)              \
  X(cuptiProfilerHostGetNumOfPasses)              \
  X(cuptiProfilerHostEvaluateToGpuValues)         \
  X(cuptiRangeProfilerEnable)                     \
  X(cuptiRangeProfilerDisable)                    \
  X(cuptiRangeProfilerGetCounterDataSize)         \
  X(cuptiRangeProfilerCounterDataImageInitialize) \
  X(cuptiRangeProfilerSetConfig)                  \
  X(cuptiRangeProfilerStart)                      \
  X(cuptiRangeProfilerStop)                       \
  X(cuptiRangeProfilerPushRange)                  \
  X(cuptiRangeProfilerPopRange)                   \
  X(cuptiRangeProfilerDecodeData)

struct Table {
#define KF_MEMBER(name) decltype(&::name) name = nullptr;
  KF_COUNTER_FUNCTIONS(KF_MEMBER)
#undef KF_MEMBER
};

// What CUPTI refused, in its own words; travels inside this file only.
struct Refused {
  Error error;
};

OrError<Table> open_table(const ToolkitQuery& query) {
  const auto found = find_cupti(query);
  if (!found) {
    return std::unexpected(found.error());
  }
  const std::string names[] = {found->path};
  const auto library = SharedLibrary::open("counters (CUPTI)", names);
  if (!library) {
    return std::unexpected(library.error());
  }
  Table table;
  const char* missing = nullptr;
#define KF_LOOK_UP(name)                                                    \
  table.name = reinterpret_cast<decltype(&::name)>(library->symbol(#name)); \
  missing = missing == nullptr && table.name == nullptr ? #name : missing;
  KF_COUNTER_FUNCTIONS(KF_LOOK_UP)
#undef KF_LOOK_UP
  if (missing != nullptr) {
    return std::unexpected(Error{library->path(), std::string("has no ") + missing,
                                 "counters need CUPTI 12.6 or newer (the range profiler)"});
  }
  return table;
}

}  // namespace

struct RangeCounter::State {
  Gpu& gpu;
  Table call;
  CUpti_Profiler_Host_Object* host = nullptr;
  CUpti_RangeProfiler_Object* range = nullptr;
  bool initialized = false;
  std::vector<std::string> metrics;
  std::vector<const char*> names;  // of `metrics`
  std::vector<std::uint8_t> availability, config, data;
  std::size_t passes = 0;

  State(Gpu& device, const Table& table) : gpu(device), call(table) {}
  ~State();

  template <class Params>
  void must(CUptiResult (*function)(Params*), Params& params, const char* name) const {
    if (const CUptiResult result = function(&params); result != CUPTI_SUCCESS) {
      const char* text = nullptr;
      call.cuptiGetResultString(result, &text);
      const bool privileges = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
      throw Refused{{"counters",
                     std::string("not permitted here: ") + name + " gave " +
                         (text != nullptr ? text : std::to_string(static_cast<int>(result))),
                     privileges ? "run as root, or load the driver with NVreg_RestrictProfilingToAdminUsers=0" : ""}};
    }
  }
  void check_support() const;
  void open_host_object(const char* chip);
  void close_host_object();
  CUptiResult add_metrics(std::span<const char*> more) const;
  void open_host(std::span<const std::string> wanted);
  void open_range();
  void set_config();
  Map<double> evaluate();
};

namespace {

template <class Params>
Params sized(std::size_t size) {
  Params params{};
  params.structSize = size;
  return params;
}
#define KF_PARAMS(type) sized<type>(type##_STRUCT_SIZE)

}  // namespace

RangeCounter::State::~State() {
  if (gpu.dead()) {
    return;  // these calls would wait for a kernel that never ends
  }
  if (range != nullptr) {
    auto disable = KF_PARAMS(CUpti_RangeProfiler_Disable_Params);
    disable.pRangeProfilerObject = range;
    call.cuptiRangeProfilerDisable(&disable);
  }
  close_host_object();
  if (initialized) {
    auto end = KF_PARAMS(CUpti_Profiler_DeInitialize_Params);
    call.cuptiProfilerDeInitialize(&end);
  }
}

void RangeCounter::State::check_support() const {
  auto supported = KF_PARAMS(CUpti_Profiler_DeviceSupported_Params);
  supported.cuDevice = gpu.device();
  supported.api = CUPTI_PROFILER_RANGE_PROFILING;
  must(call.cuptiProfilerDeviceSupported, supported, "cuptiProfilerDeviceSupported");
  if (supported.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) {
    return;
  }
  std::string why;
  const auto add = [&](CUpti_Profiler_Support_Level level, const char* what) {
    if (level != CUPTI_PROFILER_CONFIGURATION_SUPPORTED) {
      why += (why.empty() ? "" : ", ") + std::string(what);
    }
  };
  add(supported.architecture, "the architecture");
  add(supported.sli, "SLI");
  add(supported.vGpu, "a virtual GPU");
  add(supported.confidentialCompute, "confidential computing");
  add(supported.cmp, "CMP");
  add(supported.wsl, "WSL");
  throw Refused{{"counters", "not permitted here: CUPTI does not profile on this device because of " + why, ""}};
}

void RangeCounter::State::open_host_object(const char* chip) {
  auto open = KF_PARAMS(CUpti_Profiler_Host_Initialize_Params);
  open.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  open.pChipName = chip;
  open.pCounterAvailabilityImage = availability.data();
  must(call.cuptiProfilerHostInitialize, open, "cuptiProfilerHostInitialize");
  host = open.pHostObject;
}

void RangeCounter::State::close_host_object() {
  if (host != nullptr) {
    auto close = KF_PARAMS(CUpti_Profiler_Host_Deinitialize_Params);
    close.pHostObject = host;
    call.cuptiProfilerHostDeinitialize(&close);
    host = nullptr;
  }
}

CUptiResult RangeCounter::State::add_metrics(std::span<const char*> more) const {
  auto add = KF_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
  add.pHostObject = host;
  add.ppMetricNames = more.data();
  add.numMetrics = more.size();
  return call.cuptiProfilerHostConfigAddMetrics(&add);
}

void RangeCounter::State::open_host(std::span<const std::string> wanted) {
  auto chip = KF_PARAMS(CUpti_Device_GetChipName_Params);
  chip.deviceIndex = static_cast<std::size_t>(gpu.device());
  must(call.cuptiDeviceGetChipName, chip, "cuptiDeviceGetChipName");
  auto available = KF_PARAMS(CUpti_Profiler_GetCounterAvailability_Params);
  available.ctx = gpu.context();
  must(call.cuptiProfilerGetCounterAvailability, available, "cuptiProfilerGetCounterAvailability");
  availability.resize(available.counterAvailabilityImageSize);
  available.pCounterAvailabilityImage = availability.data();
  must(call.cuptiProfilerGetCounterAvailability, available, "cuptiProfilerGetCounterAvailability");

  // One by one: a name that the chip does not have makes the call fail, and every later call on the same object too.
  open_host_object(chip.pChipName);
  for (const std::string& metric : wanted) {
    names.push_back(metric.c_str());
    if (add_metrics(std::span(names).last(1)) == CUPTI_SUCCESS) {
      metrics.push_back(metric);
      continue;
    }
    names.pop_back();
    close_host_object();
    open_host_object(chip.pChipName);
    if (!names.empty() && add_metrics(names) != CUPTI_SUCCESS) {
      throw Refused{{"counters", "CUPTI refuses metrics that it has just accepted", ""}};
    }
  }
  if (metrics.empty()) {
    throw Refused{
        {"counters", std::string("chip ") + chip.pChipName + " has none of the metrics that were asked for", ""}};
  }
  names.clear();
  for (const std::string& metric : metrics) {
    names.push_back(metric.c_str());
  }
  auto size = KF_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params);
  size.pHostObject = host;
  must(call.cuptiProfilerHostGetConfigImageSize, size, "cuptiProfilerHostGetConfigImageSize");
  config.resize(size.configImageSize);
  auto image = KF_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params);
  image.pHostObject = host;
  image.configImageSize = config.size();
  image.pConfigImage = config.data();
  must(call.cuptiProfilerHostGetConfigImage, image, "cuptiProfilerHostGetConfigImage");
  auto count = KF_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params);
  count.configImageSize = config.size();
  count.pConfigImage = config.data();
  must(call.cuptiProfilerHostGetNumOfPasses, count, "cuptiProfilerHostGetNumOfPasses");
  passes = count.numOfPasses;
}

void RangeCounter::State::open_range() {
  auto enable = KF_PARAMS(CUpti_RangeProfiler_Enable_Params);
  enable.ctx = gpu.context();
  must(call.cuptiRangeProfilerEnable, enable, "cuptiRangeProfilerEnable");
  range = enable.pRangeProfilerObject;
  auto size = KF_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
  size.pRangeProfilerObject = range;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = 1;
  size.maxNumRangeTreeNodes = 1;
  must(call.cuptiRangeProfilerGetCounterDataSize, size, "cuptiRangeProfilerGetCounterDataSize");
  data.resize(size.counterDataSize);
}

// Anew for each launch that is counted: the data of the one before must not be added to.
void RangeCounter::State::set_config() {
  auto image = KF_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
  image.pRangeProfilerObject = range;
  image.counterDataSize = data.size();
  image.pCounterData = data.data();
  must(call.cuptiRangeProfilerCounterDataImageInitialize, image, "cuptiRangeProfilerCounterDataImageInitialize");
  auto set = KF_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
  set.pRangeProfilerObject = range;
  set.configSize = config.size();
  set.pConfig = config.data();
  set.counterDataImageSize = data.size();
  set.pCounterDataImage = data.data();
  set.range = CUPTI_UserRange;
  set.replayMode = CUPTI_UserReplay;
  set.maxRangesPerPass = 1;
  set.numNestingLevels = 1;
  set.minNestingLevel = 1;
  set.passIndex = 0;
  set.targetNestingLevel = 1;
  must(call.cuptiRangeProfilerSetConfig, set, "cuptiRangeProfilerSetConfig");
}

Map<double> RangeCounter::State::evaluate() {
  auto decode = KF_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
  decode.pRangeProfilerObject = range;
  must(call.cuptiRangeProfilerDecodeData, decode, "cuptiRangeProfilerDecodeData");
  if (decode.numOfRangeDropped != 0) {
    throw Refused{{"counters", "CUPTI dropped the range: the figures would be wrong", ""}};
  }
  std::vector<double> values(names.size());
  auto evaluated = KF_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  evaluated.pHostObject = host;
  evaluated.pCounterDataImage = data.data();
  evaluated.counterDataImageSize = data.size();
  evaluated.rangeIndex = 0;
  evaluated.ppMetricNames = names.data();
  evaluated.numMetrics = names.size();
  evaluated.pMetricValues = values.data();
  must(call.cuptiProfilerHostEvaluateToGpuValues, evaluated, "cuptiProfilerHostEvaluateToGpuValues");
  Map<double> found;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    found[metrics[i]] = values[i];
  }
  return found;
}

RangeCounter::RangeCounter(std::unique_ptr<State> state) : state_(std::move(state)) {}
RangeCounter::~RangeCounter() = default;

int RangeCounter::passes() const {
  return static_cast<int>(state_->passes);
}

OrError<std::unique_ptr<RangeCounter>> RangeCounter::open(Gpu& gpu, const ToolkitQuery& query,
                                                          std::span<const std::string> metrics) {
  const auto table = open_table(query);
  if (!table) {
    return std::unexpected(table.error());
  }
  auto state = std::make_unique<State>(gpu, *table);
  try {
    auto begin = KF_PARAMS(CUpti_Profiler_Initialize_Params);
    state->must(state->call.cuptiProfilerInitialize, begin, "cuptiProfilerInitialize");
    state->initialized = true;
    state->check_support();
    state->open_host(metrics);
    state->open_range();
  } catch (const Refused& refused) {
    return std::unexpected(refused.error);
  }
  return std::unique_ptr<RangeCounter>(new RangeCounter(std::move(state)));
}

OrError<Map<double>> RangeCounter::count(const std::function<void()>& prepare, const std::function<void()>& launch) {
  State& state = *state_;
  try {
    state.set_config();
    bool all = false;
    for (std::size_t pass = 0; !all; ++pass) {
      if (pass > state.passes + 1) {
        throw Refused{{"counters", "CUPTI asks for more passes than it announced", ""}};
      }
      prepare();
      auto start = KF_PARAMS(CUpti_RangeProfiler_Start_Params);
      start.pRangeProfilerObject = state.range;
      state.must(state.call.cuptiRangeProfilerStart, start, "cuptiRangeProfilerStart");
      auto push = KF_PARAMS(CUpti_RangeProfiler_PushRange_Params);
      push.pRangeProfilerObject = state.range;
      push.pRangeName = "launch";
      state.must(state.call.cuptiRangeProfilerPushRange, push, "cuptiRangeProfilerPushRange");
      launch();
      auto pop = KF_PARAMS(CUpti_RangeProfiler_PopRange_Params);
      pop.pRangeProfilerObject = state.range;
      state.must(state.call.cuptiRangeProfilerPopRange, pop, "cuptiRangeProfilerPopRange");
      auto stop = KF_PARAMS(CUpti_RangeProfiler_Stop_Params);
      stop.pRangeProfilerObject = state.range;
      state.must(state.call.cuptiRangeProfilerStop, stop, "cuptiRangeProfilerStop");
      all = stop.isAllPassSubmitted != 0;
    }
    return state.evaluate();
  } catch (const Refused& refused) {
    return std::unexpected(refused.error);
  }
}

}  // namespace kf::cuda
