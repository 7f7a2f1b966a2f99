// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

#include <kfactory/error.h>

namespace kf {

// A library opened at run time, and never closed: those opened here (the driver, CUPTI, NVRTC, libcurl) have threads,
// exit handlers and allocations of their own, which outlive the last user of a handle. Symbols are resolved now, not
// lazily, so that a library which cannot work here fails where it is opened.
class SharedLibrary {
 public:
  // Opens the first of `candidates` that opens. A candidate without a slash is a soname, for which the loader searches;
  // with one it is a path. The error names every candidate and why each failed. `purpose` says in a few words what is
  // missing without it ("counters (CUPTI)").
  static OrError<SharedLibrary> open(std::string_view purpose, std::span<const std::string> candidates);

  // Null when the library has no such symbol (an older version, for example).
  void* symbol(const char* name) const;
  // The same as a function of type F: `library.function<decltype(nvrtcVersion)>("nvrtcVersion")`.
  template <class F>
  F* function(const char* name) const {
    return reinterpret_cast<F*>(symbol(name));
  }
  // Where the loader found it, as an absolute path.
  const std::string& path() const { return path_; }

 private:
  SharedLibrary(void* handle, std::string path);
  void* handle_;
  std::string path_;
};

}  // namespace kf
