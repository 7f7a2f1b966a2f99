// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <kfactory/error.h>

namespace kf {

// What a cubin says of one entry point.
struct CubinEntry {
  std::string name;
  int registers = 0;        // .nv.info REGCOUNT
  int frame_bytes = 0;      // .nv.info FRAME_SIZE
  int max_threads = 0;      // .nv.info.<entry> MAX_THREADS, product of x, y, z; 0: none
  int parameter_bytes = 0;  // .nv.info.<entry>
};

struct CubinVariable {
  std::string name;
  std::string section;  // ".nv.global", ".nv.global.init", ".nv.constant3"
  std::uint64_t bytes = 0;
};

struct CubinFacts {
  std::vector<CubinEntry> entries;       // in symbol order
  std::vector<std::string> functions;    // that are no entries
  std::vector<CubinVariable> variables;  // of the module: what outlives a launch
  std::vector<std::string> undefined;    // symbols that something else would have to provide
};

// Reads an ELF64 cubin. The bytes are checked as they are read: any file gives an answer or an error.
OrError<CubinFacts> read_cubin(std::span<const std::byte> cubin);

}  // namespace kf
