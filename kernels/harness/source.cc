// SPDX-License-Identifier: Apache-2.0
#include <kfactory/embedded.h>

#include <set>

#include "kernels/harness/host.h"

namespace kf::harness {
namespace {

// Puts a harness file's text in the place of each #include of it, once.
void splice(std::string_view name, std::set<std::string, std::less<>>& seen, std::string& text) {
  if (!seen.insert(std::string(name)).second) {
    return;
  }
  std::string_view rest = embedded_file("kernels/harness/" + std::string(name));
  constexpr std::string_view kInclude = "#include \"";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size() - 1) + 1;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end);
    if (line.starts_with(kInclude)) {
      const std::string_view file = line.substr(kInclude.size());
      splice(file.substr(0, file.find('"')), seen, text);
    } else if (!line.starts_with("#pragma once")) {
      text += line;
    }
  }
}

Launch copy_kernel(std::string name, std::int64_t bytes, std::uint32_t grid, std::uint32_t block) {
  Launch launch;
  launch.id = name;
  launch.entry = std::move(name);
  launch.grid = {grid, 1, 1};
  launch.block = {block, 1, 1};
  launch.args = {{Arg::Kind::kTensor, 1, 0, 8},
                 {Arg::Kind::kTensor, 0, 0, 8},
                 {Arg::Kind::kScalar, 0, static_cast<std::uint64_t>(bytes), 8}};
  return launch;
}

}  // namespace

std::string harness_source() {
  std::string text;
  std::set<std::string, std::less<>> seen;
  splice("harness.cu", seen, text);
  return text;
}

BuildRequest harness_build_request(std::string_view arch) {
  return {harness_source(), "", std::string(arch), {}, {"--fmad=false"}};
}

std::vector<Launch> copy_launches(std::int64_t bytes, const DeviceFacts& facts) {
  Launch memcpy;
  memcpy.kind = Launch::Kind::kMemcpy;
  memcpy.id = "memcpy";
  memcpy.args = copy_kernel("", bytes, 1, 1).args;
  std::vector<Launch> launches{memcpy};
  const auto blocks_for = [&](std::int64_t bytes_per_block, std::int64_t most) {
    const std::int64_t wanted = std::max<std::int64_t>(1, (bytes + bytes_per_block - 1) / bytes_per_block);
    return static_cast<std::uint32_t>(std::min(wanted, most));
  };
  for (const auto& [name, unroll] : {std::pair{"kf_copy_1", 1}, std::pair{"kf_copy_4", 4}, std::pair{"kf_copy_8", 8}}) {
    for (const std::uint32_t block : {256u, 512u, 1024u}) {
      const std::int64_t tile = 16LL * block * unroll;
      launches.push_back(copy_kernel(name, bytes, blocks_for(tile, facts.grid_max_x), block));
      launches.back().id += "_b" + std::to_string(block);
      const std::int64_t wave =
          static_cast<std::int64_t>(facts.sm_count) * (facts.max_threads_per_sm / static_cast<int>(block));
      if (wave > 0 && blocks_for(tile, facts.grid_max_x) > wave) {  // also one resident wave that strides
        launches.push_back(copy_kernel(name, bytes, static_cast<std::uint32_t>(wave), block));
        launches.back().id += "_b" + std::to_string(block) + "_wave";
      }
    }
  }
  if (facts.arch >= "sm_90" || facts.arch.starts_with("sm_1")) {
    for (const std::uint32_t tile : {8192u, 16384u, 32768u, 65536u}) {
      const std::int64_t resident = facts.shared_per_sm / (2LL * tile + 2048);
      if (resident < 1 || 2LL * tile + 128 > facts.shared_per_block) {
        continue;
      }
      Launch launch = copy_kernel("kf_copy_bulk", bytes, blocks_for(tile, resident * facts.sm_count), 32);
      launch.shared_bytes = 2 * tile;
      launch.args.push_back({Arg::Kind::kScalar, 0, tile, 4});
      launch.id += "_t" + std::to_string(tile);
      launches.push_back(launch);
    }
  }
  return launches;
}

}  // namespace kf::harness
