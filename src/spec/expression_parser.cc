// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>

#include "expression_node.h"
#include "format/nearest.h"

namespace kf {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct BinaryOperator {
  std::string_view text;
  Operation operation;
  int precedence;  // higher binds tighter, in C's order
};
// Longer spellings first, so that "<=" is not read as "<".
constexpr std::array<BinaryOperator, 13> kBinary{{
    {"||", Operation::kOr, 1},
    {"&&", Operation::kAnd, 2},
    {"==", Operation::kEqual, 3},
    {"!=", Operation::kNotEqual, 3},
    {"<=", Operation::kLessEqual, 4},
    {">=", Operation::kGreaterEqual, 4},
    {"<", Operation::kLess, 4},
    {">", Operation::kGreater, 4},
    {"+", Operation::kAdd, 5},
    {"-", Operation::kSubtract, 5},
    {"*", Operation::kMultiply, 6},
    {"/", Operation::kDivide, 6},
    {"%", Operation::kRemainder, 6},
}};

struct Function {
  std::string_view name;
  Operation operation;
  std::size_t least, most;  // arguments
  bool takes_name;          // has(residual): a name, not a value
};
constexpr std::array<Function, 9> kFunctions{{
    {"ceil_div", Operation::kCeilDiv, 2, 2, false},
    {"round_up", Operation::kRoundUp, 2, 2, false},
    {"min", Operation::kMin, 2, 16, false},
    {"max", Operation::kMax, 2, 16, false},
    {"pow2_ceil", Operation::kPow2Ceil, 1, 1, false},
    {"has", Operation::kHas, 1, 1, true},
    {"sizeof", Operation::kSizeof, 1, 1, true},
    {"align", Operation::kAlign, 1, 1, true},
    {"resident", Operation::kResident, 1, 1, true},
}};

}  // namespace

std::string expression_where(const std::string& where, int column) {
  return (where.empty() ? "" : where + ", ") + "column " + std::to_string(column);
}

// Precedence climbing; each step returns null after it has recorded the first error.
class ExpressionParser {
 public:
  using Node = ExpressionNode;
  using NodePointer = std::shared_ptr<const Node>;

  ExpressionParser(std::string_view text, std::string where) : text_(text), where_(std::move(where)) {}

  OrError<Expression> parse() {
    if (text_.size() > kMaxExpressionLength) {
      fail(0, "the expression has " + std::to_string(text_.size()) + " characters, at most " +
                  std::to_string(kMaxExpressionLength) + " are allowed");
      return std::unexpected(*error_);
    }
    NodePointer root = ternary();
    if (root != nullptr && !at_end()) {
      root = unexpected("an operator or the end");
    }
    if (root == nullptr) {
      return std::unexpected(*error_);
    }
    return Expression(std::move(root), std::string(text_), std::move(where_));
  }

 private:
  NodePointer fail(std::size_t at, std::string what, std::string hint = "") {
    if (!error_) {
      error_ = Error{expression_where(where_, static_cast<int>(at) + 1), std::move(what), std::move(hint)};
    }
    return nullptr;
  }
  NodePointer unexpected(const std::string& wanted) {
    if (at_end()) {
      return fail(position_, "the expression \"" + std::string(text_) + "\" ends where " + wanted + " is expected");
    }
    const char c = text_[position_];
    const bool printable = c > ' ' && c < '\x7f';
    return fail(position_,
                "found " + (printable ? "'" + std::string(1, c) + "'" : "a character outside ASCII") + " where " +
                    wanted + " is expected, in \"" + std::string(text_) + "\"",
                "allowed: integers, names, ( ), + - * / % ^ ?: && || ! < <= == != >= >, ceil_div round_up min max "
                "pow2_ceil has sizeof align resident");
  }

  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) {
      ++position_;
    }
  }
  bool at_end() {
    skip_space();
    return position_ >= text_.size();
  }
  bool take(std::string_view token) {
    skip_space();
    if (!text_.substr(position_).starts_with(token)) {
      return false;
    }
    position_ += token.size();
    return true;
  }

  NodePointer make(Operation operation, std::size_t at, std::vector<NodePointer> operands, std::string name = "") {
    auto node = std::make_shared<Node>();
    node->operation = operation;
    node->column = static_cast<int>(at) + 1;
    node->name = std::move(name);
    for (const NodePointer& operand : operands) {
      node->depth = std::max(node->depth, operand->depth + 1);
    }
    if (node->depth > kMaxDepth) {
      return too_deep();
    }
    node->operands = std::move(operands);
    return node;
  }
  NodePointer too_deep() {
    return fail(position_, "the expression is nested deeper than " + std::to_string(kMaxDepth) + " levels",
                "name a part of it in \"define\"");
  }

  NodePointer ternary() {
    const Nesting nesting(depth_);
    if (depth_ > kMaxDepth) {
      return too_deep();
    }
    NodePointer condition = binary(1);
    if (condition == nullptr) {
      return nullptr;
    }
    skip_space();
    const std::size_t at = position_;
    if (!take("?")) {
      return condition;
    }
    NodePointer yes = ternary();
    if (yes == nullptr) {
      return nullptr;
    }
    if (!take(":")) {
      return unexpected("':'");
    }
    NodePointer no = ternary();
    return no == nullptr ? nullptr : make(Operation::kSelect, at, {condition, yes, no});
  }

  const BinaryOperator* peek_binary(int least) {
    skip_space();
    for (const BinaryOperator& candidate : kBinary) {
      if (text_.substr(position_).starts_with(candidate.text)) {
        return candidate.precedence >= least ? &candidate : nullptr;
      }
    }
    return nullptr;
  }

  NodePointer binary(int least) {
    NodePointer left = unary();
    while (left != nullptr) {
      const BinaryOperator* next = peek_binary(least);
      if (next == nullptr) {
        break;
      }
      const std::size_t at = position_;
      position_ += next->text.size();
      NodePointer right = binary(next->precedence + 1);
      left = right == nullptr ? nullptr : make(next->operation, at, {left, right});
    }
    return left;
  }

  NodePointer unary() {
    const Nesting nesting(depth_);
    if (depth_ > kMaxDepth) {
      return too_deep();
    }
    skip_space();
    const std::size_t at = position_;
    const bool negate = take("-");
    if (negate || take("!")) {
      NodePointer operand = unary();
      return operand == nullptr ? nullptr : make(negate ? Operation::kNegate : Operation::kNot, at, {operand});
    }
    NodePointer base = primary();
    skip_space();
    const std::size_t power_at = position_;
    if (base == nullptr || !take("^")) {
      return base;
    }
    NodePointer exponent = unary();  // right associative, and tighter than a minus on its left: -2^2 is -4
    return exponent == nullptr ? nullptr : make(Operation::kPower, power_at, {base, exponent});
  }

  NodePointer primary() {
    if (at_end()) {
      return unexpected("a value");
    }
    if (take("(")) {
      NodePointer inner = ternary();
      if (inner != nullptr && !take(")")) {
        return unexpected("')'");
      }
      return inner;
    }
    if (is_digit(text_[position_])) {
      return literal();
    }
    return is_letter(text_[position_]) ? name_or_call() : unexpected("a value");
  }

  NodePointer literal() {
    const std::size_t at = position_;
    std::int64_t value = 0;
    bool overflow = false;
    while (position_ < text_.size() && is_digit(text_[position_])) {
      overflow |= __builtin_mul_overflow(value, 10, &value);
      overflow |= __builtin_add_overflow(value, text_[position_] - '0', &value);
      ++position_;
    }
    const std::string digits(text_.substr(at, position_ - at));
    if (position_ < text_.size() && (is_letter(text_[position_]) || text_[position_] == '.')) {
      return fail(position_, "an integer in decimal digits is expected, found \"" + digits + text_[position_] + "\"");
    }
    if (digits.size() > 1 && digits[0] == '0') {
      return fail(at, "the integer " + digits + " has a leading zero", "write it without");
    }
    if (overflow) {
      return fail(at, "overflow: the integer " + digits + " does not fit 64 bits");
    }
    auto node = std::make_shared<Node>();
    node->column = static_cast<int>(at) + 1;
    node->literal = value;
    return node;
  }

  std::string identifier() {
    skip_space();
    const std::size_t at = position_;
    while (position_ < text_.size() &&
           (is_letter(text_[position_]) || (position_ > at && is_digit(text_[position_])))) {
      ++position_;
    }
    return std::string(text_.substr(at, position_ - at));
  }

  NodePointer name_or_call() {
    const std::size_t at = position_;
    std::string name = identifier();
    if (!take("(")) {
      return make(Operation::kName, at, {}, std::move(name));
    }
    const auto* function = std::ranges::find(kFunctions, name, &Function::name);
    if (function == kFunctions.end()) {
      std::vector<std::string> known;
      for (const Function& row : kFunctions) {
        known.emplace_back(row.name);
      }
      return fail(at, "unknown function \"" + name + "\"; known: " + joined(known), did_you_mean(name, known));
    }
    return function->takes_name ? call_of_name(*function, at) : call(*function, at);
  }

  NodePointer call_of_name(const Function& function, std::size_t at) {
    std::string argument = identifier();
    if (argument.empty()) {
      return unexpected("a name, as in " + std::string(function.name) + "(x),");
    }
    return take(")") ? make(function.operation, at, {}, std::move(argument)) : unexpected("')'");
  }

  NodePointer call(const Function& function, std::size_t at) {
    std::vector<NodePointer> arguments;
    do {
      NodePointer argument = ternary();
      if (argument == nullptr) {
        return nullptr;
      }
      arguments.push_back(std::move(argument));
    } while (take(","));
    if (!take(")")) {
      return unexpected("',' or ')'");
    }
    if (arguments.size() < function.least || arguments.size() > function.most) {
      const std::string wanted = function.least == function.most
                                     ? std::to_string(function.least)
                                     : std::to_string(function.least) + " to " + std::to_string(function.most);
      return fail(at, std::string(function.name) + " takes " + wanted + " arguments, found " +
                          std::to_string(arguments.size()));
    }
    return make(function.operation, at, std::move(arguments));
  }

  struct Nesting {
    explicit Nesting(int& depth) : depth_(depth) { ++depth_; }
    ~Nesting() { --depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    int& depth_;
  };

  std::string_view text_;
  std::string where_;
  std::size_t position_ = 0;
  int depth_ = 0;
  std::optional<Error> error_;
};

OrError<Expression> Expression::parse(std::string_view text, std::string where) {
  return ExpressionParser(text, std::move(where)).parse();
}

}  // namespace kf
