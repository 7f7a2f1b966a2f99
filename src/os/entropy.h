// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>

#include <kfactory/seed.h>

namespace kf {

// Bytes that nobody can predict, from the kernel (getrandom). Throws Fatal when there are none.
void fill_with_entropy(std::span<std::byte> bytes);
RunSecret draw_run_secret();

}  // namespace kf
