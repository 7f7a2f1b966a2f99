// SPDX-License-Identifier: Apache-2.0
#include "compile/zygote.h"

int main() {
  return kf::compile_zygote_main();
}
