// SPDX-License-Identifier: Apache-2.0
#include "compile/options.h"

#include <algorithm>
#include <array>

#include "compile/headers.h"

namespace kf {
namespace {

// Absolute, so that no name of the folder that a worker runs in becomes part of PTX or cubin: equal requests give
// equal bytes.
const std::string kCandidatePath = std::string("/") + kCandidateName;

constexpr std::array kFlags = {
    std::string_view{"--use_fast_math"},
    std::string_view{"-use_fast_math"},
    std::string_view{"--fmad=true"},
    std::string_view{"--fmad=false"},
    std::string_view{"--ftz=true"},
    std::string_view{"--ftz=false"},
    std::string_view{"--prec-div=true"},
    std::string_view{"--prec-div=false"},
    std::string_view{"--prec-sqrt=true"},
    std::string_view{"--prec-sqrt=false"},
    std::string_view{"--extra-device-vectorization"},
    std::string_view{"--restrict"},
    std::string_view{"--disable-warnings"},
    std::string_view{"-w"},
};
// Options with a number of their own.
constexpr std::array kNumberFlags = {std::string_view{"--maxrregcount="}, std::string_view{"-maxrregcount="},
                                     std::string_view{"--ptxas-options=-O"},
                                     std::string_view{"--ptxas-options=--maxrregcount="}};

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}
bool is_name(std::string_view text) {
  const auto word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && std::ranges::all_of(text, word) && !(text[0] >= '0' && text[0] <= '9');
}

bool is_allowed_flag(std::string_view flag) {
  return std::ranges::find(kFlags, flag) != kFlags.end() ||
         std::ranges::any_of(kNumberFlags, [flag](std::string_view prefix) {
           return flag.starts_with(prefix) && is_digits(flag.substr(prefix.size()));
         });
}

bool is_arch(std::string_view arch) {
  for (const std::string_view prefix : {"sm_", "compute_"}) {
    if (arch.starts_with(prefix)) {
      std::string_view digits = arch.substr(prefix.size());
      if (digits.ends_with('a') || digits.ends_with('f')) {
        digits.remove_suffix(1);
      }
      return is_digits(digits) && digits.size() <= 3;
    }
  }
  return false;
}

}  // namespace

std::optional<std::string> refuse_options(const BuildRequest& request) {
  if (!is_arch(request.arch)) {
    return "architecture \"" + request.arch + "\": expected sm_90a, sm_100a, compute_90a and the like";
  }
  for (const std::string& define : request.defines) {
    const std::size_t equals = define.find('=');
    const std::string_view value =
        equals == define.npos ? std::string_view{} : std::string_view(define).substr(equals + 1);
    if (!is_name(std::string_view(define).substr(0, equals)) || value.find_first_of("\n\r\\") != value.npos) {
      return "define \"" + define + "\": expected NAME or NAME=VALUE on one line";
    }
  }
  for (const std::string& flag : request.flags) {
    if (!is_allowed_flag(flag)) {
      return "NVRTC option \"" + flag +
             "\" is not available; allowed are --use_fast_math, --fmad=, --ftz=, --prec-div=, "
             "--prec-sqrt= (true or false), --maxrregcount=N, --ptxas-options=-ON, --extra-device-vectorization, "
             "--restrict, --disable-warnings";
    }
  }
  return std::nullopt;
}

NvrtcJob nvrtc_job(const BuildRequest& request, const std::vector<std::string>& include_folders, int nvrtc_major) {
  NvrtcJob job;
  job.name = kCandidatePath;
  job.source = "#line 1 \"/prelude.h\"\n" + request.prelude + "\n#line 1 \"" + kCandidatePath + "\"\n" + request.source;
  job.headers = request.headers;
  for (const auto& [name, text] : stand_in_headers()) {
    job.headers.emplace_back(name, text);
  }
  job.options = {"--gpu-architecture=" + request.arch, "--std=c++20", "--device-as-default-execution-space",
                 "-lineinfo", "--ptxas-options=-v"};
  if (nvrtc_major >= 13) {
    job.options.push_back("--no-cache");  // a cached cubin would come without ptxas' report
  }
  for (const std::string& folder : include_folders) {
    job.options.push_back("--include-path=" + folder);
  }
  for (const std::string& define : request.defines) {
    job.options.push_back("--define-macro=" + define);
  }
  job.options.insert(job.options.end(), request.flags.begin(), request.flags.end());
  return job;
}

}  // namespace kf
