// SPDX-License-Identifier: Apache-2.0
#include <kfactory/expression.h>

#include <algorithm>
#include <limits>
#include <set>

#include "expression_node.h"
#include "format/nearest.h"

namespace kf {
namespace {

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

template <class M>
std::vector<std::string> keys_of(const M& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) {
    keys.push_back(key);
  }
  return keys;
}

// Walks the tree for one scope. Values are plain; an error ends the walk and carries the column.
class Evaluator {
 public:
  using Value = OrError<std::int64_t>;

  Evaluator(const Scope& scope, const std::string& where, const std::string& text)
      : scope_(scope), where_(where), text_(text) {}

  Value evaluate(const ExpressionNode& node) const {
    switch (node.operation) {
      case Operation::kLiteral:
        return node.literal;
      case Operation::kName:
        return look_up(node, scope_.values, "name");
      case Operation::kHas:
        return look_up(node, scope_.present, "optional tensor");
      case Operation::kSizeof:
        return look_up(node, scope_.sizes, "type or tensor");
      case Operation::kAlign:
        return look_up(node, scope_.alignments, "tensor");
      case Operation::kResident:
        return resident(node);
      case Operation::kAnd:
      case Operation::kOr:
        return logical(node);
      case Operation::kSelect:
        return select(node);
      default:
        return arithmetic(node);
    }
  }

 private:
  std::unexpected<Error> fail(const ExpressionNode& node, const std::string& what, std::string hint = "") const {
    return std::unexpected(
        Error{expression_where(where_, node.column), what + " in \"" + text_ + "\"", std::move(hint)});
  }

  template <class M>
  Value look_up(const ExpressionNode& node, const M& map, const std::string& kind) const {
    const auto found = map.find(node.name);
    if (found != map.end()) {
      return static_cast<std::int64_t>(found->second);
    }
    const std::vector<std::string> known = keys_of(map);
    const std::string list = known.empty() ? "there is none here" : "known here: " + joined(known);
    return fail(node, "unknown " + kind + " \"" + node.name + "\" (" + list + ")", did_you_mean(node.name, known));
  }

  Value resident(const ExpressionNode& node) const {
    if (!scope_.resident) {
      return fail(node, "resident(" + node.name + ") is not known here",
                  "it depends on the compiled kernel: use it in grid, workspaces and arguments only");
    }
    Value blocks = scope_.resident(node.name);
    return blocks ? blocks : fail(node, blocks.error().what, blocks.error().hint);
  }

  Value logical(const ExpressionNode& node) const {
    const Value left = evaluate(*node.operands[0]);
    if (!left) {
      return left;
    }
    const bool decided = (node.operation == Operation::kAnd) == (*left == 0);
    if (decided) {
      return *left != 0 ? 1 : 0;
    }
    const Value right = evaluate(*node.operands[1]);
    return right ? Value(*right != 0 ? 1 : 0) : right;
  }

  Value select(const ExpressionNode& node) const {
    const Value condition = evaluate(*node.operands[0]);
    return condition ? evaluate(*node.operands[*condition != 0 ? 1 : 2]) : condition;
  }

  Value arithmetic(const ExpressionNode& node) const {
    std::vector<std::int64_t> operands;
    for (const auto& operand : node.operands) {
      const Value value = evaluate(*operand);
      if (!value) {
        return value;
      }
      operands.push_back(*value);
    }
    return operands.size() == 1 ? apply(node, operands[0]) : apply(node, operands);
  }

  Value apply(const ExpressionNode& node, std::int64_t a) const {
    if (node.operation == Operation::kNot) {
      return a == 0 ? 1 : 0;
    }
    if (node.operation == Operation::kNegate) {
      return a == kMin ? overflow(node) : Value(-a);
    }
    if (a < 0) {
      return fail(node, "negative argument " + std::to_string(a) + " of pow2_ceil");
    }
    std::int64_t power = 1;
    while (power < a) {
      if (__builtin_mul_overflow(power, 2, &power)) {
        return overflow(node);
      }
    }
    return power;
  }

  Value apply(const ExpressionNode& node, const std::vector<std::int64_t>& operands) const {
    const std::int64_t a = operands[0];
    const std::int64_t b = operands[1];
    std::int64_t result = 0;
    bool overflows = false;
    switch (node.operation) {
      case Operation::kAdd:
        overflows = __builtin_add_overflow(a, b, &result);
        break;
      case Operation::kSubtract:
        overflows = __builtin_sub_overflow(a, b, &result);
        break;
      case Operation::kMultiply:
        overflows = __builtin_mul_overflow(a, b, &result);
        break;
      case Operation::kDivide:
      case Operation::kRemainder:
        return divide(node, a, b);
      case Operation::kPower:
        return power(node, a, b);
      case Operation::kLess:
        return a < b ? 1 : 0;
      case Operation::kLessEqual:
        return a <= b ? 1 : 0;
      case Operation::kGreater:
        return a > b ? 1 : 0;
      case Operation::kGreaterEqual:
        return a >= b ? 1 : 0;
      case Operation::kEqual:
        return a == b ? 1 : 0;
      case Operation::kNotEqual:
        return a != b ? 1 : 0;
      case Operation::kMin:
        return *std::ranges::min_element(operands);
      case Operation::kMax:
        return *std::ranges::max_element(operands);
      default:
        return tiles(node, a, b);
    }
    return overflows ? overflow(node) : Value(result);
  }

  Value overflow(const ExpressionNode& node) const { return fail(node, "overflow: the value does not fit 64 bits"); }

  Value divide(const ExpressionNode& node, std::int64_t a, std::int64_t b) const {
    if (b == 0) {
      return fail(node, "division by zero");
    }
    if (b == -1) {  // kMin / -1 has no value; the remainder is refused with it, so that both follow one rule
      return a == kMin ? overflow(node) : Value(node.operation == Operation::kDivide ? -a : 0);
    }
    return node.operation == Operation::kDivide ? a / b : a % b;
  }

  Value power(const ExpressionNode& node, std::int64_t base, std::int64_t exponent) const {
    if (exponent < 0) {
      return fail(node, "negative exponent " + std::to_string(exponent));
    }
    if (base == 0 || base == 1 || base == -1) {
      return exponent == 0 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : base;
    }
    std::int64_t result = 1;
    for (std::int64_t i = 0; i < exponent; ++i) {  // ends within 64 steps: |base| >= 2
      if (__builtin_mul_overflow(result, base, &result)) {
        return overflow(node);
      }
    }
    return result;
  }

  // ceil_div and round_up: sizes, so both arguments must not be negative.
  Value tiles(const ExpressionNode& node, std::int64_t a, std::int64_t b) const {
    const std::string function = node.operation == Operation::kCeilDiv ? "ceil_div" : "round_up";
    if (a < 0 || b < 0) {
      return fail(node, "negative argument " + std::to_string(a < 0 ? a : b) + " of " + function);
    }
    if (b == 0) {
      return fail(node, "division by zero: the second argument of " + function + " is 0");
    }
    std::int64_t result = a / b + (a % b != 0 ? 1 : 0);
    if (node.operation == Operation::kRoundUp && __builtin_mul_overflow(result, b, &result)) {
      return overflow(node);
    }
    return result;
  }

  const Scope& scope_;
  const std::string& where_;
  const std::string& text_;
};

void collect(const ExpressionNode& node, Operation operation, std::set<std::string>& names) {
  if (node.operation == operation) {
    names.insert(node.name);
  }
  for (const auto& operand : node.operands) {
    collect(*operand, operation, names);
  }
}

}  // namespace

Expression::Expression() : Expression(constant(0)) {}

Expression::Expression(std::shared_ptr<const ExpressionNode> root, std::string text, std::string where)
    : root_(std::move(root)), text_(std::move(text)), where_(std::move(where)) {}

Expression Expression::constant(std::int64_t value) {
  auto node = std::make_shared<ExpressionNode>();
  node->literal = value;
  return Expression(std::move(node), std::to_string(value), "");
}

OrError<std::int64_t> Expression::evaluate(const Scope& scope) const {
  return Evaluator(scope, where_, text_).evaluate(*root_);
}

const std::string& Expression::text() const {
  return text_;
}

std::vector<std::string> Expression::names() const {
  std::set<std::string> names;
  collect(*root_, Operation::kName, names);
  return {names.begin(), names.end()};
}

std::vector<std::string> Expression::resident_kernels() const {
  std::set<std::string> names;
  collect(*root_, Operation::kResident, names);
  return {names.begin(), names.end()};
}

}  // namespace kf
