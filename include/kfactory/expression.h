// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/error.h>
#include <kfactory/values.h>

namespace kf {

// What the names in an expression stand for. A name that is missing is an error, never 0.
struct Scope {
  Map<std::int64_t> values;      // axes, tune values, sm_count, l2_bytes, smem_per_block, smem_per_sm
  Map<bool> present;             // has(optional)
  Map<std::int64_t> sizes;       // sizeof(T), sizeof(x): bytes of one element
  Map<std::int64_t> alignments;  // align(x): bytes
  // resident(kernel): blocks of that kernel that can be on the device at once. Empty: an error.
  std::function<OrError<std::int64_t>(std::string_view kernel)> resident;
};

struct ExpressionNode;

// A checked 64-bit integer expression: + - * / % ^ (power) ?: && || ! < <= == != >= >, ceil_div round_up
// min max pow2_ceil, has sizeof align resident. Division truncates toward zero. Overflow, division by
// zero, a negative argument of ceil_div/round_up/pow2_ceil and unknown names are errors that give the
// 1-based column. && || ?: evaluate only the side they need. Immutable, cheap to copy.
class Expression {
 public:
  // `where` (a JSON path) is put in front of every error of this expression.
  static OrError<Expression> parse(std::string_view text, std::string where);
  static Expression constant(std::int64_t value);
  Expression();  // the constant 0

  OrError<std::int64_t> evaluate(const Scope& scope) const;
  const std::string& text() const;
  // Names that evaluate() may look up in scope.values, each once, sorted.
  std::vector<std::string> names() const;
  // Kernel names inside resident(...), each once, sorted.
  std::vector<std::string> resident_kernels() const;

 private:
  Expression(std::shared_ptr<const ExpressionNode> root, std::string text, std::string where);
  std::shared_ptr<const ExpressionNode> root_;
  std::string text_, where_;
  friend class ExpressionParser;
};

}  // namespace kf
