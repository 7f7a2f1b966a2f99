// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <expected>
#include <stdexcept>
#include <string>
#include <vector>

namespace kf {

// A failure that the caller can react to: returned, never thrown, never printed where it arises.
// `where` is a JSON path, file:line or expression column; `what` says what was found and what is
// allowed; `hint` says what to do and may be empty.
struct Error {
  std::string where;
  std::string what;
  std::string hint;
};
using Errors = std::vector<Error>;

// "where: what (hint)", without the parts that are empty.
std::string to_string(const Error& error);
// One line an error.
std::string to_string(const Errors& errors);

template <class T>
using OrError = std::expected<T, Error>;
template <class T>
using OrErrors = std::expected<T, Errors>;

// What cannot go on. Thrown; caught once, in main, which prints it and exits with code 1.
class Fatal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace kf
