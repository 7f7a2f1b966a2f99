// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <expected>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <kfactory/digest.h>
#include <kfactory/values.h>

namespace kf {

struct BuildRequest {
  std::string source;                                        // device code as the candidate wrote it
  std::string prelude;                                       // put in front of it under `#line 1`
  std::string arch;                                          // "sm_90a"
  std::vector<std::string> defines;                          // "VEC=8", in a fixed order
  std::vector<std::string> flags;                            // further NVRTC options that the spec allows
  std::vector<std::pair<std::string, std::string>> headers;  // in-memory headers of our own sources: name, text
};

// Of one entry point, from ptxas' report and checked against the cubin's ELF.
struct KernelUse {
  std::string entry;
  int registers = 0, spill_store_bytes = 0, spill_load_bytes = 0, stack_bytes = 0, barriers = 0;
  std::int64_t static_shared_bytes = 0;
  int max_threads = 0;  // 0: no __launch_bounds__
  bool operator==(const KernelUse&) const = default;
};

// What an instruction scan found; the audit decides what of it is allowed.
struct BinaryFacts {
  std::vector<std::string> entries;            // in PTX order
  std::vector<std::string> written_globals;    // module variables that an instruction writes
  std::vector<std::string> escaping_globals;   // ... whose address is computed and leaves our sight
  std::vector<std::string> undefined_symbols;  // malloc, vprintf, __assertfail, cudaLaunchDevice...
  // %clock64, %globaltimer, %gridid, %envreg1 ... A %globaltimer whose value can only choose how long a thread
  // sleeps (cuda::barrier waits like that) is not among them.
  std::vector<std::string> special_registers;
  bool griddepcontrol = false;
  std::string unreadable;  // why the scan could not follow the PTX; empty: it could
};

struct Build {
  Digest id;  // of source, prelude, arch, defines, flags and compiler version
  std::string ptx;
  Bytes cubin;  // for the exact architecture; empty when only PTX was asked for
  std::vector<KernelUse> kernels;
  BinaryFacts facts;
  std::string toolchain;  // "NVRTC 13.0"
  std::string log;        // cleaned: no paths, no control characters, bounded length
  bool from_cache = false;
};

// A compilation that failed is a result, not an error.
struct BuildFailure {
  enum class Kind : std::uint8_t { kErrors, kTimeout, kMemory, kCrash, kPolicy } kind = Kind::kErrors;
  std::string log;  // cleaned; kPolicy: the audit's reason with line and column
};
std::string_view to_string(BuildFailure::Kind kind);

// Thread-safe. `compile` never throws for what the source does; a stop request ends the child.
struct Compiler {
  virtual ~Compiler() = default;
  virtual std::expected<Build, BuildFailure> compile(const BuildRequest& request, std::stop_token stop) = 0;
  virtual std::string version() const = 0;  // "NVRTC 13.0"
};

}  // namespace kf
