// SPDX-License-Identifier: Apache-2.0
// Contents that a case states itself: an explicit list, or one of a few generators for index tensors.
#include <array>
#include <limits>

#include "case_builder.h"
#include "format/nearest.h"

namespace kf {
namespace {

using Values = std::vector<std::int64_t>;

std::pair<std::int64_t, std::int64_t> range_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kInt64:
      return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    case Dtype::kInt32:
      return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    case Dtype::kInt16:
      return {-32768, 32767};
    case Dtype::kInt8:
      return {-128, 127};
    case Dtype::kUint8:
      return {0, 255};
    case Dtype::kBool:
      return {0, 1};
    default: {  // integers that the significand holds exactly
      const std::int64_t exact = std::int64_t{1} << (mantissa_bits(dtype) + 1);
      return {-exact, exact};
    }
  }
}

std::unexpected<Error> fail(const JsonAt& at, std::string what, std::string hint = "") {
  return std::unexpected(Error{at.where(), std::move(what), std::move(hint)});
}

OrError<std::int64_t> number_at(const JsonAt& at, const Scope& scope) {
  if (at.is(JsonNode::Kind::kInteger)) {
    return at.node().integer;
  }
  if (!at.is(JsonNode::Kind::kString)) {
    return fail(at, "found " + described(at.node()) + ", expected an integer or an expression");
  }
  const OrError<Expression> expression = Expression::parse(at.node().text, at.where());
  if (!expression) {
    return std::unexpected(expression.error());
  }
  return expression->evaluate(scope);
}

OrError<Values> list_at(const JsonAt& at, const Scope& scope) {
  if (!at.is(JsonNode::Kind::kArray)) {
    return fail(at, "found " + described(at.node()) + ", expected a list");
  }
  Values values;
  for (const JsonAt& item : at.items()) {
    const OrError<std::int64_t> value = number_at(item, scope);
    if (!value) {
      return std::unexpected(value.error());
    }
    values.push_back(*value);
  }
  return values;
}

OrError<Values> running_sums(const JsonAt& at, const Scope& scope) {
  OrError<Values> lengths = list_at(at, scope);
  if (!lengths) {
    return lengths;
  }
  Values sums{0};
  for (const std::int64_t length : *lengths) {
    std::int64_t next = 0;
    if (__builtin_add_overflow(sums.back(), length, &next)) {
      return fail(at, "overflow: the sums do not fit 64 bits");
    }
    sums.push_back(next);
  }
  return sums;
}

// elements - 1 parts of `total` that differ by at most one: 0, total/n, 2*total/n, ..., total.
OrError<Values> even_split(const JsonAt& at, const Tensor& tensor, const Scope& scope) {
  const OrError<std::int64_t> total = number_at(at, scope);
  if (!total) {
    return std::unexpected(total.error());
  }
  const std::int64_t parts = tensor.elements() - 1;
  if (parts < 1 || *total < 0) {
    return fail(at, "even_split needs two elements or more and a total that is not negative");
  }
  Values values;
  for (std::int64_t i = 0; i <= parts; ++i) {
    values.push_back(*total / parts * i + *total % parts * i / parts);  // total * i / parts without overflow
  }
  return values;
}

OrError<Values> generate(const JsonAt& at, const Tensor& tensor, const Scope& scope) {
  static const std::vector<std::string> kGenerators{"fill", "range", "running_sums", "even_split"};
  const auto members = at.members();
  if (members.size() != 1) {
    return fail(at, "a generator has exactly one key, found " + std::to_string(members.size()) +
                        "; allowed: " + joined(kGenerators));
  }
  const auto& [name, argument] = members[0];
  if (name == "running_sums") {
    return running_sums(argument, scope);
  }
  if (name == "even_split") {
    return even_split(argument, tensor, scope);
  }
  if (name != "fill" && name != "range") {
    return fail(argument, "unknown generator \"" + name + "\"; allowed: " + joined(kGenerators),
                did_you_mean(name, kGenerators));
  }
  const OrError<std::int64_t> first = number_at(argument, scope);
  if (!first) {
    return std::unexpected(first.error());
  }
  Values values;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    std::int64_t value = *first;
    if (name == "range" && __builtin_add_overflow(*first, i, &value)) {
      return fail(argument, "overflow: the range does not fit 64 bits");
    }
    values.push_back(value);
  }
  return values;
}

}  // namespace

OrError<Values> read_values(const JsonAt& at, const Tensor& tensor, const Scope& scope) {
  constexpr std::int64_t kMaxValues = 1 << 20;
  if (tensor.elements() > kMaxValues) {
    return fail(at, "\"" + tensor.name + "\" has " + std::to_string(tensor.elements()) +
                        " elements; a case can state at most " + std::to_string(kMaxValues));
  }
  const bool generated = at.is(JsonNode::Kind::kObject);
  OrError<Values> values = generated ? generate(at, tensor, scope) : list_at(at, scope);
  if (!values) {
    return values;
  }
  if (static_cast<std::int64_t>(values->size()) != tensor.elements()) {
    return fail(at, "found " + std::to_string(values->size()) + " values for \"" + tensor.name + "\", which has " +
                        std::to_string(tensor.elements()) + " elements");
  }
  const auto [least, most] = range_of(tensor.dtype);
  for (std::size_t i = 0; i < values->size(); ++i) {
    const std::int64_t value = (*values)[i];
    if (value < least || value > most) {
      return fail(at, "value " + std::to_string(value) + " at index " + std::to_string(i) + " does not fit " +
                          std::string(to_string(tensor.dtype)));
    }
  }
  return values;
}

}  // namespace kf
