// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kf {

// A key. It cannot be printed, compared, concatenated or converted; the transport alone reveals it, into the
// header it sends.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  bool empty() const { return value_.empty(); }
  const std::string& reveal() const { return value_; }

 private:
  std::string value_;
};
std::ostream& operator<<(std::ostream& out, const Secret& secret) = delete;

// Takes known secrets out of text that came from outside: servers do echo keys in their error messages.
class Redactor {
 public:
  void add(const Secret& secret);
  // Each occurrence becomes "[redacted]".
  std::string clean(std::string text) const;

 private:
  std::vector<Secret> secrets_;
};

}  // namespace kf
