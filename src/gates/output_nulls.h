// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include <kfactory/job.h>

namespace kf {

// Which output each null candidate got wrong somewhere. A null candidate is refused when one output is wrong; an output
// that none of its tries gets wrong is one that a kernel need not compute, beside others that it must.
class OutputNulls {
 public:
  // Of a null candidate that any output could have been left as: no copies of inputs, which may be an output's answer.
  void note(const std::string& null, const std::vector<Mismatch>& outputs);
  // Null candidates that some output still passes wherever it was tried.
  std::vector<std::string> open() const;
  std::vector<AdmissionRow> rows() const;

 private:
  struct Tried {
    std::string output, null;
    std::size_t tries = 0;
    bool refused = false;
  };
  std::vector<Tried> tried_;
};

}  // namespace kf
