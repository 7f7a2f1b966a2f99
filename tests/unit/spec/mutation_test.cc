// SPDX-License-Identifier: Apache-2.0
// Bytes changed at random in specs and candidates: always an error or a value, never a crash or a hang. What is still
// accepted must also resolve or be refused without a crash.
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "fixtures.h"
#include "spec/entry_facts.h"

namespace kf {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(std::string(KF_SOURCE_DIR) + "/" + path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(file) << path;
  return text.str();
}

class Mutator {
 public:
  std::string operator()(std::string text) {
    static const std::string kPieces[] = {
        "\"", "{",  "}",          "[", "]", ",", ":", "-", "0",  "9",    "99999999999999999999", "null", "M",
        "N",  "*/", "/*kfactory", "(", ")", "?", "^", "%", "\\", "\xff", std::string(1, '\0'),   "1e999"};
    for (int changes = pick(2) == 0 ? 1 : 1 + pick(4); changes > 0 && !text.empty(); --changes) {
      const std::size_t at = static_cast<std::size_t>(pick(static_cast<int>(text.size())));
      const std::size_t length = std::min(text.size() - at, static_cast<std::size_t>(1 + pick(12)));
      switch (pick(5)) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text[at] = static_cast<char>(pick(256));
          break;
        case 2:
          text.insert(at, kPieces[pick(static_cast<int>(std::size(kPieces)))]);
          break;
        case 3:
          text.replace(at, length, kPieces[pick(static_cast<int>(std::size(kPieces)))]);
          break;
        default:
          text.insert(at, text.substr(static_cast<std::size_t>(pick(static_cast<int>(text.size()))), length));
          break;
      }
    }
    return text;
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  std::mt19937_64 random_{1234};
};

TEST(Mutation, OfSpecsGivesAnErrorOrASpec) {
  Mutator mutate;
  const std::string texts[] = {read_file("specs/rmsnorm_fwd.json"), read_file("tests/specs/softmax.json"),
                               test::kSpecText};
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const OrErrors<Spec> spec = test::spec_of(mutate(texts[i % 3]));
    accepted += spec ? 1 : 0;
    refused += spec ? 0 : 1;
    if (!spec) {
      ASSERT_FALSE(spec.error().empty());
    }
  }
  EXPECT_GT(accepted, 50) << "changes inside descriptions and numbers leave a spec a spec";
  EXPECT_GT(refused, 1000);
}

TEST(Mutation, OfCandidatesGivesAnErrorOrAPlanThatResolvesOrIsRefused) {
  Mutator mutate;
  const Spec spec = test::good_spec();
  const std::string source = "/*kfactory\n" + std::string(test::kPlanText) + "\n*/\n";
  int resolved = 0;
  int refused = 0;
  for (int i = 0; i < 6000; ++i) {
    const OrErrors<Candidate> candidate = parse_candidate(mutate(source), "mutant.cu");
    if (!candidate) {
      ASSERT_FALSE(candidate.error().empty());
      ++refused;
      continue;
    }
    const Case& of = spec.cases.at("time")[0];
    const auto point = assignment_for(candidate->plan, scope_of(spec, of), tune_points(candidate->plan).front());
    if (!point) {
      continue;
    }
    (void)build_request(spec, *candidate, of, *point, test::h200());
    resolved += resolve_plan(spec, candidate->plan, of, *point, test::h200(), test::build_with({"scale"})) ? 1 : 0;
  }
  EXPECT_GT(resolved, 50);
  EXPECT_GT(refused, 1000);
}

TEST(Mutation, OfExpressionsGivesAnErrorOrAValue) {
  Mutator mutate;
  const Spec spec = test::good_spec();
  const Scope scope = scope_of(spec, spec.cases.at("time")[0]);
  int values = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto expression =
        Expression::parse(mutate("N % 8 == 0 ? min(ceil_div(M, 4), 2^10) : round_up(N, sizeof(T)) - has(bias)"), "");
    values += expression && expression->evaluate(scope) ? 1 : 0;
  }
  EXPECT_GT(values, 200);
}

}  // namespace
}  // namespace kf
