// SPDX-License-Identifier: Apache-2.0
#include "os/shared_library.h"

#include <dlfcn.h>
#include <link.h>

#include <utility>

namespace kf {

OrError<SharedLibrary> SharedLibrary::open(std::string_view purpose, std::span<const std::string> candidates) {
  std::string tried;
  for (const std::string& candidate : candidates) {
    if (void* handle = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
      link_map* map = nullptr;
      const bool known = ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name != nullptr;
      return SharedLibrary(handle, known ? map->l_name : candidate);
    }
    const char* told = ::dlerror();
    const std::string reason = told != nullptr ? told : "unknown reason";
    tried += (tried.empty() ? "" : "; ") + (reason.starts_with(candidate) ? reason : candidate + ": " + reason);
  }
  return std::unexpected(Error{std::string(purpose),
                               "no library could be opened: " + (tried.empty() ? "no candidates" : tried),
                               "install it, or add its folder to LD_LIBRARY_PATH"});
}

SharedLibrary::SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}

void* SharedLibrary::symbol(const char* name) const {
  return ::dlsym(handle_, name);
}

}  // namespace kf
