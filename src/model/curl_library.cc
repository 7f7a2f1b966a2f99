// SPDX-License-Identifier: Apache-2.0
#include "curl_library.h"

#include <mutex>
#include <span>

#include "os/shared_library.h"

namespace kf {
namespace {

// Keeps the first name that is missing.
template <class Function>
void look_up(const SharedLibrary& library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(library.symbol(name));
  if (function == nullptr && missing.empty()) {
    missing = name;
  }
}

std::string look_up_all(const SharedLibrary& library, CurlLibrary& curl) {
  std::string missing;
  look_up(library, "curl_global_init", curl.global_init, missing);
  look_up(library, "curl_easy_init", curl.easy_init, missing);
  look_up(library, "curl_easy_cleanup", curl.easy_cleanup, missing);
  look_up(library, "curl_easy_reset", curl.easy_reset, missing);
  look_up(library, "curl_easy_setopt", curl.easy_setopt, missing);
  look_up(library, "curl_easy_getinfo", curl.easy_getinfo, missing);
  look_up(library, "curl_easy_strerror", curl.easy_strerror, missing);
  look_up(library, "curl_multi_init", curl.multi_init, missing);
  look_up(library, "curl_multi_cleanup", curl.multi_cleanup, missing);
  look_up(library, "curl_multi_add_handle", curl.multi_add_handle, missing);
  look_up(library, "curl_multi_remove_handle", curl.multi_remove_handle, missing);
  look_up(library, "curl_multi_perform", curl.multi_perform, missing);
  look_up(library, "curl_multi_poll", curl.multi_poll, missing);
  look_up(library, "curl_multi_wakeup", curl.multi_wakeup, missing);
  look_up(library, "curl_multi_info_read", curl.multi_info_read, missing);
  look_up(library, "curl_slist_append", curl.slist_append, missing);
  look_up(library, "curl_slist_free_all", curl.slist_free_all, missing);
  look_up(library, "curl_version", curl.version, missing);
  return missing;
}

}  // namespace

std::vector<std::string> CurlLibrary::default_names() {
  return {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};
}

OrError<std::shared_ptr<const CurlLibrary>> CurlLibrary::open(const std::vector<std::string>& names) {
  static std::mutex mutex;  // curl_global_init is not thread-safe before 7.84; repeated calls only count
  const std::lock_guard lock(mutex);
  std::string tried;
  for (const std::string& name : names) {
    const auto library = SharedLibrary::open("models over HTTP (libcurl)", std::span(&name, 1));
    if (!library) {
      tried += "; " + to_string(library.error());
      continue;
    }
    auto curl = std::make_shared<CurlLibrary>();
    curl->path = library->path();
    if (const std::string missing = look_up_all(*library, *curl); !missing.empty()) {
      tried += "; " + name + ": has no " + missing + " (libcurl 7.68 or newer is needed)";
    } else if (curl->global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
      tried += "; " + name + ": curl_global_init failed";
    } else {
      return curl;
    }
  }
  return std::unexpected(Error{"libcurl",
                               "no usable libcurl was found: " + (tried.empty() ? "no name to try" : tried.substr(2)),
                               "apt-get install libcurl4, or use a replay, exchange or command model"});
}

}  // namespace kf
