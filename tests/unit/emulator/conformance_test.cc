// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
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
  const bool packed_in_shared = body.find("atom.shared.add.noftz.f16x2") != std::string::npos ||
                                body.find("atom.shared.add.noftz.bf16x2") != std::string::npos;
  return packed_in_shared;
}

TEST(Conformance, EveryRecordedInstructionGivesTheBitsOfAnH200) {
  const auto all = recorded();
  ASSERT_GT(all.size(), 1000u);
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
  for (const ConformanceCase& one : conformance_cases()) {
    if (one.family == "approximation") continue;
    missing += std::ranges::find(all, one.body, &Recorded::body) == all.end();
  }
  // The driver refused 34: cvt.sat that cannot saturate, bf16 with 8-bit integers.
  EXPECT_EQ(missing, 34u);
}

TEST(Conformance, CasesOfWmmaAndOfOutsideValuesRunAndHaveDifferentOutputs) {
  std::map<std::string, int> run;
  for (const ConformanceCase& one : conformance_cases()) {
    if (one.family != "wmma" && one.family != "oob") continue;
    const auto got = emulate(one);
    ASSERT_EQ(got.size(), std::size_t{kConformanceInputs}) << one.body;
    auto different = got;
    std::ranges::sort(different);
    EXPECT_GT(std::ranges::unique(different).begin() - different.begin(), one.family == "wmma" ? 200 : 1) << one.body;
    ++run[one.family];
  }
  EXPECT_EQ(run["wmma"], 4 * (3 * 9 + 6));
  EXPECT_EQ(run["oob"], 40);
}

double decoded(const std::string& body, std::uint64_t word) {
  const bool half = body.find(".f16") != std::string::npos, bf16 = body.find("bf16") != std::string::npos;
  if (!half) return std::bit_cast<float>(static_cast<std::uint32_t>(bf16 ? word << 16 : word));
  const int exponent = static_cast<int>(word >> 10 & 31), fraction = static_cast<int>(word & 1023);
  const double sign = (word >> 15 & 1) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  return sign * (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

struct Bound {
  double relative = 0, absolute = 0;
};
// Twice what PTX ISA 9.0 allows an implementation, because both sides may err, and a unit of rounding.
Bound bound_of(const std::string& body) {
  if (body.find("bf16") != std::string::npos) return {0x1p-6, 0};
  if (body.find(".f16") != std::string::npos) return {0x1p-8, 0x1p-24};  // a subnormal may be one unit off
  if (body.starts_with("sin") || body.starts_with("cos")) return {0x1p-23, 0x1p-19};
  if (body.starts_with("lg2")) return {0x1p-21, 0x1p-21};
  if (body.starts_with("tanh")) return {0x1p-10, 0};
  return {0x1p-21, 0x1p-148};  // rcp, sqrt, rsqrt, ex2, div: up to 2 units in the last place
}
// Where PTX states no bound, or lets the result be zero.
bool unbounded(const std::string& body, std::uint64_t a, std::uint64_t b) {
  const double x = std::fabs(std::bit_cast<float>(static_cast<std::uint32_t>(a)));
  const double y = std::fabs(std::bit_cast<float>(static_cast<std::uint32_t>(b)));
  if (body.starts_with("sin") || body.starts_with("cos")) return !(x <= 6.2831853) && std::isfinite(x);
  if (body.starts_with("div.approx")) return !(y >= 0x1p-126 && y <= 0x1p126);
  return false;
}

TEST(Conformance, ApproximationsAreAsCloseToAnH200AsPtxBoundsBoth) {
  std::ifstream file(KF_SOURCE_DIR "/tests/golden/emulator/h200_approximations.txt");
  int tried = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const ConformanceCase of{"approximation", line.substr(0, line.find(" |"))};
    std::istringstream digits(line.substr(line.find(" |") + 2));
    const auto in = conformance_inputs(of), got = emulate(of);
    const Bound bound = bound_of(of.body);
    int far = 0;
    std::size_t n = 0;
    std::string first;
    for (std::uint64_t word = 0; digits >> std::hex >> word; ++n) {
      if (unbounded(of.body, in[3 * n], in[3 * n + 1])) continue;
      const double want = decoded(of.body, word), have = decoded(of.body, got.at(n));
      const bool same = want == have || (std::isnan(want) && std::isnan(have));
      if (same || std::fabs(want - have) <= bound.absolute + bound.relative * std::fabs(want)) continue;
      if (far++ == 0) {
        std::ostringstream text;
        text << std::hex << " input " << n << " a " << in[3 * n] << " b " << in[3 * n + 1] << ": emulator " << got[n]
             << ", GPU " << word;
        first = text.str();
      }
    }
    EXPECT_EQ(n, std::size_t{kConformanceInputs});
    EXPECT_EQ(far, 0) << of.body << first;
    ++tried;
  }
  EXPECT_EQ(tried, 23);
}

// PTX leaves order and width of a sum of products open. k products and c, cut off at the width of the largest one,
// differ by less than (k + 1) units of its last place; two sums may differ by twice that and a rounding each.
double sum_bound(const std::string& body) {
  const auto shape = body.find("mma.sync.aligned.m16n8k");
  const double terms = std::stod(body.substr(shape + 23)) + 1;
  const bool fp8 = body.find("e4m3") != std::string::npos || body.find("e5m2") != std::string::npos;
  const bool half_sum = body.find(".row.col.f16") != std::string::npos;
  return 2 * terms * (fp8 ? 0x1p-14 : 0x1p-24) + (half_sum ? 0x1p-10 : 0x1p-23);
}
double upper(std::uint64_t word) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(word >> 32));
}
double lower(std::uint64_t word) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(word));
}

TEST(Conformance, SumsOfRealProductsAreNoLargerThanThoseOfTheirMagnitudes) {
  const auto all = tensor_sum_cases();
  EXPECT_EQ(all.size(), 16u);
  for (const ConformanceCase& of : all) {
    const auto got = emulate(of);
    ASSERT_EQ(got.size(), std::size_t{kConformanceInputs}) << of.body;
    int negative = 0;
    for (const std::uint64_t word : got) {
      ASSERT_GT(lower(word), 0.05) << of.body;  // 4 products of at least 1/64
      ASSERT_LT(std::fabs(upper(word)), 2 * lower(word)) << of.body;
      negative += upper(word) < 0;
    }
    EXPECT_GT(negative, kConformanceInputs / 4) << of.body;
    EXPECT_LT(negative, kConformanceInputs * 3 / 4) << of.body;
  }
}

TEST(Conformance, SumsOfRealProductsAreAsCloseToAnH200AsTheirOrderAndWidthAllow) {
  std::ifstream file(KF_SOURCE_DIR "/tests/golden/emulator/h200_sums.txt");
  std::size_t tried = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const ConformanceCase of{"tensor sum", line.substr(0, line.find(" |"))};
    std::istringstream digits(line.substr(line.find(" |") + 2));
    const auto got = emulate(of);
    const double bound = sum_bound(of.body);
    double largest = 0;
    std::size_t n = 0;
    for (std::uint64_t word = 0; digits >> std::hex >> word; ++n)
      largest = std::max(largest, std::fabs(upper(word) - upper(got.at(n))) / lower(word));
    EXPECT_EQ(n, std::size_t{kConformanceInputs});
    EXPECT_LE(largest, bound) << of.body;
    RecordProperty("sum" + std::to_string(tried++), std::to_string(100 * largest / bound) + "% of the bound");
  }
  EXPECT_EQ(tried, tensor_sum_cases().size());
}

}  // namespace
}  // namespace kf::emulator_test
