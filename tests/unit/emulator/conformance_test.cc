// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "conformance_cases.h"
#include "kernel_bench.h"

namespace kf::emulator_test {
namespace {

struct Recorded {
  std::string family, body;
  std::vector<std::uint64_t> digests;
};

std::vector<Recorded> recorded() {
  std::ifstream file(KF_SOURCE_DIR "/tests/golden/emulator/h200.txt");
  std::vector<Recorded> all;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto first = line.find(" | "), second = line.rfind(" |");
    Recorded one{line.substr(0, first), line.substr(first + 3, second - first - 3), {}};
    std::istringstream digits(line.substr(second + 2));
    for (std::uint64_t digest = 0; digits >> std::hex >> digest;) one.digests.push_back(digest);
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<std::uint64_t> emulate(const ConformanceCase& one) {
  KernelBench bench(conformance_ptx(one));
  const int in = bench.buffer(conformance_inputs(one)), out = bench.allocate(8 * kConformanceInputs);
  const auto result = bench.pointer(in).pointer(out).launch("k", {{kConformanceInputs / 256}, {256}});
  if (!result) {
    ADD_FAILURE() << one.body << ": " << result.error().detail;
    return {};
  }
  return bench.read<std::uint64_t>(out, kConformanceInputs);
}

// Set KF_CONFORMANCE_RAW to a file of record_conformance to see the first differing input of each case.
std::map<std::string, std::vector<std::string>> raw_outputs() {
  std::map<std::string, std::vector<std::string>> all;
  const char* path = std::getenv("KF_CONFORMANCE_RAW");
  if (path == nullptr) return all;
  std::ifstream file(path);
  std::string body;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with(";"))
      body = line;
    else
      all[body].push_back(line);
  }
  return all;
}

std::string first_difference(const ConformanceCase& one, const std::vector<std::uint64_t>& got,
                             const std::vector<std::string>& want) {
  const auto in = conformance_inputs(one);
  int differ = 0;
  std::ostringstream text;
  text << std::hex;
  for (std::size_t n = 0; n < want.size() && n < got.size(); ++n) {
    if (std::stoull(want[n], nullptr, 16) == got[n]) continue;
    if (differ++ < 3)
      text << "\n    a " << in[3 * n] << " b " << in[3 * n + 1] << " c " << in[3 * n + 2] << ": emulator " << got[n]
           << ", GPU " << want[n];
  }
  text << std::dec << "\n    " << differ << " differ";
  return text.str();
}

// Divergences that are understood; docs/emulator.md explains each.
bool known(const std::string& body) {
  return body.starts_with("fns.b32");  // an offset of -2^31 only
}

TEST(Conformance, EveryRecordedInstructionGivesTheBitsOfAnH200) {
  const auto all = recorded();
  ASSERT_GT(all.size(), 900u);
  const auto raw = raw_outputs();
  std::map<std::string, std::pair<int, int>> table;  // family: tried, equal
  std::string differences;
  for (const Recorded& one : all) {
    const ConformanceCase of{one.family, one.body};
    const auto got = emulate(of);
    auto& [tried, equal] = table[one.family];
    ++tried;
    if (!got.empty() && conformance_digests(got) == one.digests) {
      ++equal;
    } else if (!known(one.body)) {
      differences += "\n  " + one.body;
      if (raw.contains(one.body) && !got.empty()) differences += first_difference(of, got, raw.at(one.body));
    }
  }
  for (const auto& [family, counts] : table)
    RecordProperty(family, std::to_string(counts.second) + " of " + std::to_string(counts.first) + " equal");
  EXPECT_EQ(differences, "");
}

TEST(Conformance, TheRecordingCoversEveryCaseThatTheDriverAccepts) {
  const auto all = recorded();
  std::size_t missing = 0;
  for (const ConformanceCase& one : conformance_cases())
    missing += std::ranges::find(all, one.body, &Recorded::body) == all.end();
  EXPECT_EQ(missing, 34u);  // what the driver refused: cvt.sat that cannot saturate, bf16 with 8-bit integers
}

}  // namespace
}  // namespace kf::emulator_test
