// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdio>
#include <functional>
#include <string>

#include "cli/console.h"

namespace kf {

// What `print` writes to a console of this terminal.
inline std::string printed(const Terminal& terminal, const std::function<void(Console&)>& print) {
  std::FILE* file = std::tmpfile();
  {
    Console console(file, terminal);
    print(console);
  }
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    text += static_cast<char>(c);
  }
  std::fclose(file);
  return text;
}

}  // namespace kf
