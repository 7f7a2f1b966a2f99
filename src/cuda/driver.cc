// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver.h"

#include <array>
#include <string>

namespace kf::cuda {
namespace {

#define KF_TEXT_OF(name) #name
#define KF_TEXT(name) KF_TEXT_OF(name)
#define KF_ENTRY(name, version) DriverEntry{#name, KF_TEXT(name), version},
constexpr auto kEntries =
    std::to_array<DriverEntry>({KF_DRIVER_FUNCTIONS(KF_ENTRY) KF_OPTIONAL_DRIVER_FUNCTIONS(KF_ENTRY)});
#undef KF_ENTRY

template <class F>
bool look_up(PFN_cuGetProcAddress_v12000 get, const char* name, int version, F& function) {
  void* address = nullptr;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  const CUresult result = get(name, &address, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found);
  function = result == CUDA_SUCCESS && found == CU_GET_PROC_ADDRESS_SUCCESS ? reinterpret_cast<F>(address) : nullptr;
  return function != nullptr;
}

Error failed(const Driver& driver, const char* call, CUresult result) {
  const char* name = nullptr;
  driver.cuGetErrorName(result, &name);
  return {"CUDA driver", std::string(call) + " gave " + (name != nullptr ? name : std::to_string(result)),
          "is a GPU visible here? nvidia-smi should list it"};
}

}  // namespace

std::span<const DriverEntry> driver_entries() {
  return kEntries;
}

OrError<std::shared_ptr<const Driver>> open_driver() {
  const std::string names[] = {"libcuda.so.1"};
  auto library = SharedLibrary::open("the CUDA driver", names);
  if (!library) {
    return std::unexpected(library.error());
  }
  auto driver = std::make_shared<Driver>(Driver{.library = *library});
  const auto get = reinterpret_cast<PFN_cuGetProcAddress_v12000>(library->symbol("cuGetProcAddress_v2"));
  std::string missing = get == nullptr ? "cuGetProcAddress_v2" : "";
#define KF_LOOK_UP(name, number)                                                                                    \
  if (missing.empty() && !look_up(get, #name, number, driver->name)) {                                              \
    missing = #name " (CUDA " + std::to_string((number) / 1000) + "." + std::to_string((number) % 1000 / 10) + ")"; \
  }
  KF_DRIVER_FUNCTIONS(KF_LOOK_UP)
#undef KF_LOOK_UP
  if (!missing.empty()) {
    return std::unexpected(
        Error{library->path(), "has no " + missing, "kfactory needs a driver of CUDA 12.0 or newer"});
  }
#define KF_LOOK_UP(name, number) look_up(get, #name, number, driver->name);
  KF_OPTIONAL_DRIVER_FUNCTIONS(KF_LOOK_UP)
#undef KF_LOOK_UP
  if (const CUresult result = driver->cuInit(0); result != CUDA_SUCCESS) {
    return std::unexpected(failed(*driver, "cuInit", result));
  }
  driver->cuDriverGetVersion(&driver->version);
  return driver;
}

}  // namespace kf::cuda
