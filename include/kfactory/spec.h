// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kfactory/case.h>
#include <kfactory/dtype.h>
#include <kfactory/expression.h>
#include <kfactory/values.h>

namespace kf {

struct Axis {
  enum class Kind : std::uint8_t { kConst, kVar, kExpr } kind = Kind::kVar;
  std::int64_t value = 0;  // kConst
  Expression expression;   // kExpr, over other axes
  std::string description;
};

// An input or output as the spec states it. Scalars have no shape and only occur as inputs.
struct TensorSpec {
  std::string name;
  bool scalar = false;
  std::vector<Expression> shape;
  std::vector<Expression> strides;  // in elements; empty = dense, row-major
  std::int64_t align = 16;          // bytes that the base address is a multiple of
  std::string dtype;                // name of a Dtype or of an entry of Spec::types
  TensorRole role = TensorRole::kInput;
  bool optional = false;                // cases say which optional tensors are there
  bool values_from_case = false;        // "values": "case": contents are listed in the case
  std::optional<double> default_value;  // scalars
  std::string description;
};

struct WorkSpec {
  Expression read_bytes, write_bytes, flops;
};

struct SourceFile {
  std::string path;  // as the spec names it, relative to the spec
  std::string content;
};

struct ReferenceSpec {
  SourceFile cuda;    // candidate file format; outputs are float64, conditions end in "__cond"
  std::string slice;  // axis along which it may be computed in parts; empty = whole
};

struct BaselineSpec {
  enum class Kind : std::uint8_t { kCuda, kPython } kind = Kind::kCuda;
  std::string name;
  SourceFile source;
};

struct LimitsSpec {
  Expression workspace_bytes = Expression::constant(64LL << 20);
  bool deterministic = false;
  std::vector<std::string> nvrtc_flags;
  double cliff = 8.0;  // a neighbour of a timed case may be slower than its work explains by this factor; 0: any
  std::vector<std::string> allow;  // "clock", "globaltimer", "gridid": special registers otherwise refused
};

struct ObjectiveSpec {
  std::string minimise = "latency";
  std::string aggregate = "geomean";
  CacheState state = CacheState::kCold;
  double veto = 0.0;  // a case may be slower than the baseline by this share at most; 0 = no veto
};

enum class Nonfinite : std::uint8_t { kPropagate, kIsolate, kUnspecified };

struct Spec {
  std::string name, op_type, description;
  std::vector<std::string> tags, constraints_text;
  std::vector<Expression> constraints;  // each must be non-zero for every case
  std::vector<std::pair<std::string, std::vector<Dtype>>> types;
  std::vector<std::pair<std::string, Axis>> axes;  // in the order of the file
  std::vector<TensorSpec> tensors;                 // inputs, then outputs, in the order of the file
  ReferenceSpec reference;
  Map<Bound> tolerance;  // by output
  WorkSpec work;
  Map<std::vector<std::string>> families;  // by input; first = default
  Nonfinite nonfinite = Nonfinite::kUnspecified;
  Map<std::vector<Case>> cases;        // "check", "time", "emulate", "held_out", expanded
  std::vector<std::string> relations;  // "permute:M", "scale:x", "concat:M"
  std::string arch;                    // "sm_90a"
  LimitsSpec limits;
  ObjectiveSpec objective;
  std::vector<BaselineSpec> baselines;
  std::string json;  // the file, byte for byte
};

// Reads specs/<name>.json with the files that it names (same folder or below it; no absolute path and
// no ".."). Every error found is returned, each with its JSON path.
OrErrors<Spec> load_spec(const std::string& path);
// The same from memory; `read` returns the text of a file named in the spec.
OrErrors<Spec> parse_spec(std::string_view json,
                          const std::function<OrError<std::string>(const std::string& path)>& read);

// The values of axes, sizes and alignments of one case, ready for expressions.
Scope scope_of(const Spec& spec, const Case& of);

// Bytes and operations of one case, from Spec::work.
struct Work {
  std::int64_t read_bytes = 0, write_bytes = 0, flops = 0;
};
OrError<Work> work_of(const Spec& spec, const Case& of);

// The case with `extent` indices of `axis` (empty: as it is): extents shrink, strides stay. Errors: no var axis, an
// extent beyond the case's own.
OrError<Case> narrowed(const Spec& spec, const Case& of, const std::string& axis, std::int64_t extent);

// What the reference works on: the same case with the axis set to `extent` (an empty axis: the whole case). Inputs keep
// dtype and strides; outputs are dense float64; conditions follow as further outputs ("y__cond"); the contents of an
// inout tensor before the launch are the input "state__in". Pass it to build_request and resolve_plan as any case.
OrError<Case> slice_of(const Spec& spec, const Case& of, const std::string& axis, std::int64_t extent);

// The same choices (types, scalars, optional tensors, family) with other values of var axes, in another set. An error
// where a constraint does not hold, and for cases that list contents.
OrError<Case> resized_case(const Spec& spec, const Case& of, const Map<std::int64_t>& var_axes, std::string set);

}  // namespace kf
