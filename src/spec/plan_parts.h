// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

#include <kfactory/plan.h>

#include "format/json_reader.h"

// Parts of a launch plan. Each records its errors in the document and leaves neutral values in their place.

namespace kf {

std::vector<Expression> read_dims(const JsonAt& at, std::size_t least);  // `least` to 3
void read_tensor_map(const JsonAt& at, TensorMapSpec& map);
void read_args(const JsonAt& at, KernelSpec& kernel);
void read_after(const JsonAt& at, KernelSpec& kernel);
void read_launch(const JsonAt& at, KernelSpec& kernel);

}  // namespace kf
