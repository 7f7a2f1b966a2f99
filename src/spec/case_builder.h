// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <kfactory/spec.h>

#include "format/json_reader.h"

namespace kf {

// One combination of what a case of the spec chooses.
struct CaseChoice {
  std::string set;
  Map<Expression> axes;  // var axes, and expr axes that the case sets itself
  Map<Dtype> types;
  Map<double> scalars;            // only those given
  std::vector<std::string> with;  // optional tensors that are there
  std::string family;             // empty: the spec's first
  std::optional<JsonAt> values;   // object: contents of the tensors with "values": "case"
};

// The case, with every extent, stride and value worked out and checked. The first error: its `where` is empty or a
// path below "values".
OrError<Case> build_case(const Spec& spec, const CaseChoice& choice);

// "check/M=1,N=256,T=bfloat16,with=residual": what the case chooses, never its place in the file, so that it keeps
// its name when cases are added.
std::string case_id(const Spec& spec, const CaseChoice& choice, const Case& of);

// Extents and strides of a tensor for these axes. Dense, row-major where it has no strides.
OrError<Tensor> lay_out(const TensorSpec& tensor, Dtype dtype, const Scope& scope);
std::vector<std::int64_t> dense_strides(const std::vector<std::int64_t>& extent);

// The contents that a case lists or generates for `tensor`.
OrError<std::vector<std::int64_t>> read_values(const JsonAt& at, const Tensor& tensor, const Scope& scope);

// Every axis for these choices; expr axes from their expressions unless chosen.
OrError<Map<std::int64_t>> evaluate_axes(const Spec& spec, const Map<Expression>& chosen, const Scope& sizes);

// dtype of a tensor or scalar in a case with these types.
Dtype dtype_in(const std::string& dtype, const Map<Dtype>& types);
// "1e-06", "0.5": as short as it reads back.
std::string number_text(double value);

}  // namespace kf
