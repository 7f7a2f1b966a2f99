// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <kfactory/spec.h>

#include "format/json_reader.h"

// Reading a spec, section by section. Each function records every error it finds in the document's JsonErrors and
// leaves neutral values in their place.

namespace kf {

using FileReader = std::function<OrError<std::string>(const std::string& path)>;

// Expression at `at`; the constant 0 after an error or when absent.
Expression read_expression(const JsonAt& at);
std::vector<Expression> read_expressions(const JsonAt& at);  // of a list; empty when absent

void read_types(const JsonAt& at, Spec& spec);
void read_axes(const JsonAt& at, Spec& spec);
void read_inputs(const JsonAt& at, Spec& spec);
void read_outputs(const JsonAt& at, Spec& spec);
// Names of axes, types and tensors: valid, and each used once in the whole spec.
void check_names(const JsonAt& root, const Spec& spec);
// Every name that shapes, strides, axes, constraints and work use is an axis; no axis depends on itself.
void check_axis_references(const JsonAt& root, const Spec& spec);

void read_reference(const JsonAt& at, const FileReader& read, Spec& spec);
void read_tolerance(const JsonAt& root, Spec& spec);
void read_work(const JsonAt& at, Spec& spec);
void read_families(const JsonAt& at, Spec& spec);
void read_relations(const JsonAt& at, Spec& spec);
void read_limits(const JsonAt& at, Spec& spec);
void read_objective(const JsonAt& at, Spec& spec);
void read_baselines(const JsonAt& at, const FileReader& read, Spec& spec);

// Only for a spec whose other sections are without errors.
void read_cases(const JsonAt& at, Spec& spec);

const TensorSpec* find_tensor(const Spec& spec, std::string_view name);
const Axis* find_axis(const Spec& spec, std::string_view name);
// Axes that `name` depends on through expressions, itself included.
std::set<std::string> axis_closure(const Spec& spec, const std::string& name);

}  // namespace kf
