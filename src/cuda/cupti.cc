// SPDX-License-Identifier: Apache-2.0
#include "cuda/cupti.h"

#include <cupti.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <mutex>

#include "os/shared_library.h"

namespace kf::cuda {

struct ActivityRecorder::Table {
  SharedLibrary library;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush = nullptr;
  decltype(&cuptiActivityGetNextRecord) next = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) callbacks = nullptr;
  decltype(&cuptiGetVersion) version = nullptr;
};

namespace {

constexpr std::size_t kBufferBytes = 1u << 20;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMSET};

// CUPTI's callbacks carry no user data, so what they write to lies here. Guarded by `mutex`: they may run on a thread
// of CUPTI's own.
struct Sink {
  std::mutex mutex;
  const ActivityRecorder::Table* table = nullptr;
  std::vector<Activity> records;
  std::size_t dropped = 0;
};
Sink& sink() {
  static Sink instance;
  return instance;
}

template <class Record>
Activity activity_of(Activity::Kind kind, const CUpti_Activity* record) {
  const auto* typed = reinterpret_cast<const Record*>(record);
  Activity activity;
  activity.kind = kind;
  activity.start = typed->start;
  activity.end = typed->end;
  activity.correlation = typed->correlationId;
  return activity;
}

void keep(const CUpti_Activity* record, std::vector<Activity>& records) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL: {
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel10*>(record);
      Activity activity = activity_of<CUpti_ActivityKernel10>(Activity::Kind::kKernel, record);
      activity.name = kernel->name != nullptr ? kernel->name : "";
      activity.grid = {kernel->gridX, kernel->gridY, kernel->gridZ};
      activity.block = {kernel->blockX, kernel->blockY, kernel->blockZ};
      records.push_back(std::move(activity));
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      records.push_back(activity_of<CUpti_ActivityMemcpy6>(Activity::Kind::kMemcpy, record));
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      records.push_back(activity_of<CUpti_ActivityMemset4>(Activity::Kind::kMemset, record));
      break;
    default:
      break;
  }
}

// No exception may leave these two: they are called from C.
void CUPTIAPI on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) noexcept {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI on_complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) noexcept {
  Sink& to = sink();
  const std::scoped_lock lock(to.mutex);
  if (to.table != nullptr) {
    CUpti_Activity* record = nullptr;
    while (to.table->next(buffer, valid, &record) == CUPTI_SUCCESS) {
      keep(record, to.records);
    }
    std::size_t dropped = 0;
    if (to.table->dropped(nullptr, 0, &dropped) == CUPTI_SUCCESS) {
      to.dropped += dropped;
    }
  }
  std::free(buffer);
}

template <class F>
bool look_up(const SharedLibrary& library, const char* name, F& function) {
  function = reinterpret_cast<F>(library.symbol(name));
  return function != nullptr;
}

Error refused(const std::string& call, CUptiResult result) {
  return {"CUPTI", call + " gave " + std::to_string(static_cast<int>(result)),
          "another profiler in this process (nsys, ncu, cuda-gdb) keeps CUPTI to itself"};
}

OrError<std::unique_ptr<ActivityRecorder::Table>> open_table(const ToolkitQuery& query) {
  const auto found = find_cupti(query);
  if (!found) {
    return std::unexpected(found.error());
  }
  const std::string names[] = {found->path};
  auto library = SharedLibrary::open("kernel times (CUPTI)", names);
  if (!library) {
    return std::unexpected(library.error());
  }
  auto table = std::make_unique<ActivityRecorder::Table>(ActivityRecorder::Table{*library});
  if (!look_up(*library, "cuptiActivityEnable", table->enable) ||
      !look_up(*library, "cuptiActivityDisable", table->disable) ||
      !look_up(*library, "cuptiActivityFlushAll", table->flush) ||
      !look_up(*library, "cuptiActivityGetNextRecord", table->next) ||
      !look_up(*library, "cuptiActivityGetNumDroppedRecords", table->dropped) ||
      !look_up(*library, "cuptiActivityRegisterCallbacks", table->callbacks) ||
      !look_up(*library, "cuptiGetVersion", table->version)) {
    return std::unexpected(
        Error{library->path(), "lacks a function of the activity interface", "use CUPTI 12 or newer"});
  }
  return table;
}

}  // namespace

ActivityRecorder::ActivityRecorder(std::unique_ptr<Table> table) : table_(std::move(table)) {}

OrError<std::unique_ptr<ActivityRecorder>> ActivityRecorder::open(const ToolkitQuery& query) {
  auto table = open_table(query);
  if (!table) {
    return std::unexpected(table.error());
  }
  {
    const std::scoped_lock lock(sink().mutex);
    if (sink().table != nullptr) {
      return std::unexpected(Error{"CUPTI", "is already recording in this process", ""});
    }
    sink().table = table->get();
    sink().records.clear();
    sink().dropped = 0;
  }
  std::unique_ptr<ActivityRecorder> recorder(new ActivityRecorder(std::move(*table)));  // detaches in its destructor
  if (const CUptiResult result = recorder->table_->callbacks(on_request, on_complete); result != CUPTI_SUCCESS) {
    return std::unexpected(refused("cuptiActivityRegisterCallbacks", result));
  }
  for (const CUpti_ActivityKind kind : kKinds) {
    if (const CUptiResult result = recorder->table_->enable(kind); result != CUPTI_SUCCESS) {
      return std::unexpected(refused("cuptiActivityEnable", result));
    }
  }
  return recorder;
}

ActivityRecorder::~ActivityRecorder() {
  for (const CUpti_ActivityKind kind : kKinds) {
    table_->disable(kind);
  }
  table_->flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const std::scoped_lock lock(sink().mutex);
  sink().table = nullptr;
}

OrError<std::vector<Activity>> ActivityRecorder::take() {
  if (const CUptiResult result = table_->flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); result != CUPTI_SUCCESS) {
    return std::unexpected(refused("cuptiActivityFlushAll", result));
  }
  std::vector<Activity> records;
  std::size_t dropped = 0;
  {
    const std::scoped_lock lock(sink().mutex);
    records.swap(sink().records);
    std::swap(dropped, sink().dropped);
  }
  if (dropped > 0) {
    return std::unexpected(
        Error{"CUPTI", "dropped " + std::to_string(dropped) + " records", "time fewer launches at once"});
  }
  std::ranges::sort(records, {}, &Activity::correlation);
  return records;
}

OrError<CuptiFacts> cupti_facts(const ToolkitQuery& query) {
  const auto found = find_cupti(query);
  if (!found) {
    return std::unexpected(found.error());
  }
  const auto table = open_table(query);
  if (!table) {
    return std::unexpected(table.error());
  }
  CuptiFacts facts{(*table)->library.path(), found->via};
  (*table)->version(&facts.version);
  return facts;
}

std::string counters_refused() {
  if (geteuid() == 0) {
    return "";
  }
  std::ifstream parameters("/proc/driver/nvidia/params");
  for (std::string line; std::getline(parameters, line);) {
    if (line.starts_with("RmProfilingAdminOnly:")) {
      return line.ends_with(" 0") ? "" : "the driver keeps counters to administrators (RmProfilingAdminOnly)";
    }
  }
  return "the driver's parameters cannot be read";
}

}  // namespace kf::cuda
