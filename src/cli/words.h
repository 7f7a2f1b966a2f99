// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/error.h>

namespace kf {

// A command line in one setting, without a shell: blanks separate words; '...' is literal; within "..." and outside
// of quotes a backslash takes the next character as it is. Nothing is expanded. An open quote is an error.
OrError<std::vector<std::string>> words_of(std::string_view text);
// Text that words_of reads back as the same words.
std::string quoted(const std::vector<std::string>& words);
// A word of a command line as a POSIX shell reads it back: '...' where it holds anything else than plain characters.
std::string shell_quoted(std::string_view word);

}  // namespace kf
