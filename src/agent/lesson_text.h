// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include <kfactory/lesson.h>

namespace kf {

// "claim (technique; sm_90a rmsnorm, bfloat16, N <= 512): 3 measurements for it, 1 against, typical ratio 0.83", or
// labelled as a conjecture.
std::string lesson_line(const Lesson& lesson);

}  // namespace kf
