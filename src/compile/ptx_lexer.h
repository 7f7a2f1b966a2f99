// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <kfactory/error.h>

namespace kf {

struct PtxToken {
  // kWord: names, opcodes and directives with all their dots ("ld.global.L2::128B.v4.f32", "%tid.x", ".reg").
  enum class Kind { kWord, kNumber, kString, kPunctuator, kEnd } kind = Kind::kEnd;
  std::string_view text;  // into the PTX
  int line = 0;
};

// Splits PTX into tokens, without comments. A character that PTX does not have is an error: what cannot be read
// cannot be audited.
OrError<std::vector<PtxToken>> read_ptx_tokens(std::string_view ptx);

}  // namespace kf
