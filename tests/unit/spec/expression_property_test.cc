// SPDX-License-Identifier: Apache-2.0
// Random expressions against Python's integers, which have no width: Python checks the range of each intermediate
// value.
#include <gtest/gtest.h>
#include <kfactory/expression.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace kf {
namespace {

constexpr const char* kPython = R"(
LOW, HIGH = -2**63, 2**63 - 1
class Bad(Exception): pass
def fit(v):
    if not LOW <= v <= HIGH: raise Bad("overflow")
    return v
def nonzero(b):
    if b == 0: raise Bad("division by zero")
def add(a, b): return fit(a + b)
def sub(a, b): return fit(a - b)
def mul(a, b): return fit(a * b)
def div(a, b):
    nonzero(b)
    q = abs(a) // abs(b)
    return fit(q if (a < 0) == (b < 0) else -q)
def mod(a, b):
    nonzero(b)
    return a - div(a, b) * b
def power(a, b):
    if b < 0: raise Bad("negative")
    if a in (0, 1): return 1 if b == 0 else a
    if a == -1: return 1 if b % 2 == 0 else -1
    if b > 64: raise Bad("overflow")
    return fit(a ** b)
def neg(a): return fit(-a)
def inv(a): return int(a == 0)
def lt(a, b): return int(a < b)
def le(a, b): return int(a <= b)
def gt(a, b): return int(a > b)
def ge(a, b): return int(a >= b)
def eq(a, b): return int(a == b)
def ne(a, b): return int(a != b)
def both(a, b): return int(a() != 0 and b() != 0)
def either(a, b): return int(a() != 0 or b() != 0)
def cond(c, a, b): return a() if c() != 0 else b()
def sizes(a, b):
    if a < 0 or b < 0: raise Bad("negative")
    nonzero(b)
    return -(-a // b)
def ceil_div(a, b): return fit(sizes(a, b))
def round_up(a, b): return fit(sizes(a, b) * b)
def pow2_ceil(a):
    if a < 0: raise Bad("negative")
    return fit(1 if a == 0 else 1 << (a - 1).bit_length())
M, N, ZERO, NEG, MAX, MIN = 7, 4096, 0, -7, HIGH, LOW
def run(f):
    try: print(f())
    except Bad as e: print(e)
)";

// The same expression twice: as we write it, with no more parentheses than C needs, and as calls for Python.
struct Written {
  std::string ours, python;
  int precedence = 10;  // of the outermost operator; 10: an atom
};

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Written next(int depth) {
    if (depth == 0 || chance(6)) {
      return atom();
    }
    switch (pick(10)) {
      case 0:
        return unary(depth);
      case 1:
        return conditional(depth);
      case 2:
        return call(depth);
      case 3:
        return lazy(depth);
      default:
        return binary(depth);
    }
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int n) { return pick(n) == 0; }
  std::string space() { return chance(3) ? " " : ""; }

  std::string wrapped(const Written& part, int least) {
    const bool need = part.precedence < least || chance(12);
    return need ? "(" + space() + part.ours + space() + ")" : part.ours;
  }

  Written atom() {
    static const std::vector<std::string> kAtoms{"M",
                                                 "N",
                                                 "ZERO",
                                                 "NEG",
                                                 "MAX",
                                                 "MIN",
                                                 "0",
                                                 "1",
                                                 "2",
                                                 "3",
                                                 "8",
                                                 "63",
                                                 "1000",
                                                 "4096",
                                                 "65535",
                                                 "2147483647",
                                                 "9223372036854775807"};
    const std::string& text = kAtoms[static_cast<std::size_t>(pick(static_cast<int>(kAtoms.size())))];
    return {text, text};
  }

  Written unary(int depth) {
    const Written operand = next(depth - 1);
    const bool negate = chance(2);
    return {(negate ? "-" : "!") + space() + wrapped(operand, 7), (negate ? "neg(" : "inv(") + operand.python + ")", 7};
  }

  Written binary(int depth) {
    struct Operator {
      const char *ours, *python;
      int precedence;
    };
    static const std::vector<Operator> kOperators{{"+", "add", 5}, {"-", "sub", 5}, {"*", "mul", 6}, {"/", "div", 6},
                                                  {"%", "mod", 6}, {"<", "lt", 4},  {"<=", "le", 4}, {">", "gt", 4},
                                                  {">=", "ge", 4}, {"==", "eq", 3}, {"!=", "ne", 3}, {"^", "power", 8}};
    const Operator& op = kOperators[static_cast<std::size_t>(pick(static_cast<int>(kOperators.size())))];
    const Written left = next(depth - 1);
    const Written right = next(depth - 1);
    const bool power = op.precedence == 8;  // right associative; its right side may carry a sign
    return {wrapped(left, power ? 9 : op.precedence) + space() + op.ours + space() +
                wrapped(right, power ? 7 : op.precedence + 1),
            std::string(op.python) + "(" + left.python + "," + right.python + ")", op.precedence};
  }

  Written lazy(int depth) {
    const bool both = chance(2);
    const Written left = next(depth - 1);
    const Written right = next(depth - 1);
    return {wrapped(left, both ? 2 : 1) + (both ? "&&" : "||") + wrapped(right, both ? 3 : 2),
            std::string(both ? "both" : "either") + "(lambda:" + left.python + ",lambda:" + right.python + ")",
            both ? 2 : 1};
  }

  Written conditional(int depth) {
    const Written condition = next(depth - 1);
    const Written yes = next(depth - 1);
    const Written no = next(depth - 1);
    return {wrapped(condition, 1) + "?" + space() + wrapped(yes, 0) + ":" + wrapped(no, 0),
            "cond(lambda:" + condition.python + ",lambda:" + yes.python + ",lambda:" + no.python + ")", 0};
  }

  Written call(int depth) {
    static const std::vector<std::string> kFunctions{"ceil_div", "round_up", "min", "max", "pow2_ceil"};
    const std::string& name = kFunctions[static_cast<std::size_t>(pick(5))];
    const Written first = next(depth - 1);
    if (name == "pow2_ceil") {
      return {name + "(" + first.ours + ")", name + "(" + first.python + ")"};
    }
    const Written second = next(depth - 1);
    return {name + "(" + first.ours + "," + space() + second.ours + ")",
            name + "(" + first.python + "," + second.python + ")"};
  }

  std::mt19937_64 random_;
};

std::string kind_of(const OrError<std::int64_t>& result) {
  if (result) {
    return std::to_string(*result);
  }
  for (const char* kind : {"overflow", "division by zero", "negative"}) {
    if (result.error().what.starts_with(kind)) {
      return kind;
    }
  }
  return "another error: " + to_string(result.error());
}

std::vector<std::string> lines_of_python(const std::string& script) {
  const std::string path = testing::TempDir() + "kf_expressions.py";
  std::ofstream(path) << script;
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("python3 " + path).c_str(), "r"), pclose);
  std::vector<std::string> lines;
  char line[256];
  while (pipe != nullptr && fgets(line, sizeof line, pipe.get()) != nullptr) {
    lines.emplace_back(line);
    lines.back().pop_back();
  }
  std::remove(path.c_str());
  return lines;
}

TEST(Expression, AgreesWithPythonOnThousandsOfRandomExpressions) {
  constexpr int kCount = 6000;
  Generator generator(20261130);
  std::vector<Written> written;
  std::string script = kPython;
  for (int i = 0; i < kCount; ++i) {
    written.push_back(generator.next(1 + i % 5));
    script += "run(lambda:" + written.back().python + ")\n";
  }
  const std::vector<std::string> expected = lines_of_python(script);
  ASSERT_EQ(expected.size(), written.size()) << "python3 did not answer; it is needed for this test";

  Scope scope;
  scope.values = {{"M", 7},
                  {"N", 4096},
                  {"ZERO", 0},
                  {"NEG", -7},
                  {"MAX", std::numeric_limits<std::int64_t>::max()},
                  {"MIN", std::numeric_limits<std::int64_t>::min()}};
  int values = 0;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto expression = Expression::parse(written[i].ours, "");
    ASSERT_TRUE(expression) << written[i].ours << ": " << to_string(expression.error());
    const std::string found = kind_of(expression->evaluate(scope));
    ASSERT_EQ(found, expected[i]) << written[i].ours << "\n" << written[i].python;
    values += found.find_first_not_of("-0123456789") == std::string::npos ? 1 : 0;
  }
  EXPECT_GT(values, kCount / 3) << "too few expressions have a value for this test to mean much";
  EXPECT_LT(values, kCount - kCount / 20) << "too few expressions fail for this test to mean much";
}

}  // namespace
}  // namespace kf
