// SPDX-License-Identifier: Apache-2.0
#pragma once
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include <memory>
#include <string>
#include <vector>

#include <kfactory/error.h>

namespace kf {

// libcurl, opened at run time: the binary starts without it.
struct CurlLibrary {
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_easy_init) easy_init = nullptr;
  decltype(&::curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&::curl_easy_reset) easy_reset = nullptr;
  decltype(&::curl_easy_setopt) easy_setopt = nullptr;
  decltype(&::curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&::curl_easy_strerror) easy_strerror = nullptr;
  decltype(&::curl_multi_init) multi_init = nullptr;
  decltype(&::curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&::curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&::curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&::curl_multi_perform) multi_perform = nullptr;
  decltype(&::curl_multi_poll) multi_poll = nullptr;      // 7.66
  decltype(&::curl_multi_wakeup) multi_wakeup = nullptr;  // 7.68: the oldest libcurl that will do
  decltype(&::curl_multi_info_read) multi_info_read = nullptr;
  decltype(&::curl_slist_append) slist_append = nullptr;
  decltype(&::curl_slist_free_all) slist_free_all = nullptr;
  decltype(&::curl_version) version = nullptr;
  std::string path;  // where the loader found it

  // Opens the first of `names` that has every function, and initialises it. The error lists each name tried
  // and why it would not do.
  static OrError<std::shared_ptr<const CurlLibrary>> open(const std::vector<std::string>& names = default_names());
  static std::vector<std::string> default_names();
};

}  // namespace kf
