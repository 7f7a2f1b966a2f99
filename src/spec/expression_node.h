// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/expression.h>

namespace kf {

enum class Operation : std::uint8_t {
  kLiteral,
  kName,
  kNegate,
  kNot,
  kPower,
  kMultiply,
  kDivide,
  kRemainder,
  kAdd,
  kSubtract,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kEqual,
  kNotEqual,
  kAnd,
  kOr,
  kSelect,
  kCeilDiv,
  kRoundUp,
  kMin,
  kMax,
  kPow2Ceil,
  kHas,
  kSizeof,
  kAlign,
  kResident,
};

// One operation of the syntax tree. Depth is bounded by kMaxDepth, so walking it recursively is safe.
struct ExpressionNode {
  Operation operation = Operation::kLiteral;
  int column = 1;  // 1-based, of the operator, name or literal
  int depth = 1;
  std::int64_t literal = 0;
  std::string name;  // kName, kHas, kSizeof, kAlign, kResident
  std::vector<std::shared_ptr<const ExpressionNode>> operands;
};

inline constexpr int kMaxDepth = 200;
inline constexpr std::size_t kMaxExpressionLength = 4096;

// "$.grid[0], column 7", or "column 7" where there is no path.
std::string expression_where(const std::string& where, int column);

}  // namespace kf
