// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <kfactory/build.h>
#include <kfactory/device_facts.h>
#include <kfactory/expression.h>
#include <kfactory/spec.h>

namespace kf {

// ---- as the candidate writes it (docs/formats/candidate.md) -------------------------------------

enum class WorkspaceInit : std::uint8_t { kPoison, kZero, kZeroRestored };

struct WorkspaceSpec {
  std::string name;
  Expression bytes;
  WorkspaceInit init = WorkspaceInit::kPoison;
};

enum class Swizzle : std::uint8_t { kNone, k32B, k64B, k128B };
enum class L2Promotion : std::uint8_t { kNone, k64B, k128B, k256B };

struct TensorMapSpec {
  std::string name;
  std::string of;                         // a tensor or a workspace
  std::optional<Dtype> dtype;             // default: the tensor's; a workspace must say
  Expression offset;                      // bytes from its base
  std::vector<Expression> dims;           // innermost first, 1 to 5
  std::vector<Expression> strides_bytes;  // of dims 1.., one fewer than dims
  std::vector<Expression> box;
  std::vector<Expression> element_strides;  // default 1
  bool interleave_16b = false, interleave_32b = false;
  Swizzle swizzle = Swizzle::kNone;
  L2Promotion l2_promotion = L2Promotion::kNone;
  bool oob_nan = false;  // "oob": "nan" instead of zero
};

struct ArgSpec {
  std::string text;                 // as written: "x", "M:i32", "eps"
  std::string name;                 // tensor, workspace, tensor map or scalar ...
  std::optional<Expression> value;  // ... or an integer expression
  std::string type;                 // "i32", "i64", "u32", "u64", "f32", "f64"; empty for pointers
};

struct KernelSpec {
  std::string id, entry;
  std::optional<Expression> when;                // 0: not launched
  std::vector<Expression> grid, block, cluster;  // 1 to 3 each; cluster may be empty
  Expression shared;                             // dynamic bytes
  std::vector<ArgSpec> args;
  std::vector<std::string> after;  // ids, "k[s]", "k[s-2]"; empty = the kernel before
  bool after_given = false;
  std::optional<std::pair<std::string, Expression>> repeat;  // variable, count
  bool cooperative = false, pdl = false;
  std::string cluster_policy = "default";  // "default", "spread", "load_balancing"
  std::optional<int> carveout;             // percent of shared memory; nullopt = default
};

using Assignment = Map<std::int64_t>;  // one value for each tune name

struct LaunchPlan {
  std::string hypothesis;
  std::vector<std::pair<std::string, Expression>> defines;
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> tune;
  std::vector<std::pair<std::optional<Expression>, Assignment>> select;
  std::vector<WorkspaceSpec> workspaces;
  std::vector<TensorMapSpec> tensor_maps;
  std::vector<KernelSpec> kernels;
  std::string json;
  std::size_t json_begin = 0;  // where it stands in the candidate file
};

// A candidate file: its plan and the whole text, which is what gets compiled.
struct Candidate {
  LaunchPlan plan;
  std::string source;
};

// Finds the one /*kfactory {...} */ comment and reads it. Errors carry file:line (of `name`) and JSON path.
OrErrors<Candidate> parse_candidate(std::string_view source, const std::string& name);
OrErrors<LaunchPlan> parse_plan(std::string_view json, const std::string& where);

// Every assignment of `tune`, first name slowest; one empty assignment when there is none. With `select`
// the result has size 1 and the choice is made per case by `assignment_for`.
std::vector<Assignment> tune_points(const LaunchPlan& plan);
// The assignment that holds for a case: the first `select` whose `when` is non-zero, over `chosen`; else `chosen`.
// build_request and resolve_plan apply it themselves; applying it twice changes nothing.
OrError<Assignment> assignment_for(const LaunchPlan& plan, const Scope& scope, const Assignment& chosen);

// One line of a `select`: this assignment where `when` holds; an empty one always holds.
struct Selection {
  std::string when;
  Assignment set;
};
// The candidate with `select` in place of `tune`, its text otherwise untouched; `name` as for parse_candidate. Errors:
// it has no `tune`, or what comes out is no plan (the last selection must always hold).
OrErrors<Candidate> settle(const Candidate& candidate, const std::vector<Selection>& selections,
                           const std::string& name);

// Text put in front of candidates: `using T = ...`, KF_T_BFLOAT16, CUtensorMap, fixed-width names.
std::string prelude_for(const Spec& spec, const Case& of);

// What to compile for this case. Equal requests of several cases are one build.
OrErrors<BuildRequest> build_request(const Spec& spec, const Candidate& candidate, const Case& of,
                                     const Assignment& assignment, const DeviceFacts& facts);

// ---- resolved for one case and one device --------------------------------------------------------

struct Workspace {
  std::string name;
  std::int64_t bytes = 0;
  WorkspaceInit init = WorkspaceInit::kPoison;
};

struct TensorMap {
  std::string name;
  bool of_workspace = false;
  int index = 0;  // into Case::tensors or ResolvedPlan::workspaces
  Dtype dtype = Dtype::kFloat32;
  std::int64_t offset_bytes = 0;
  std::vector<std::uint64_t> dims, strides_bytes;
  std::vector<std::uint32_t> box, element_strides;
  int interleave = 0;  // 0, 16, 32 bytes
  Swizzle swizzle = Swizzle::kNone;
  L2Promotion l2_promotion = L2Promotion::kNone;
  bool oob_nan = false;
};

struct Arg {
  enum class Kind : std::uint8_t { kTensor, kWorkspace, kTensorMap, kScalar, kNull } kind = Kind::kScalar;
  int index = 0;           // kTensor: into Case::tensors; kNull: an absent optional
  std::uint64_t bits = 0;  // kScalar: little-endian value
  int width = 8;           // bytes
  std::string scalar;      // kScalar: the spec's scalar that it holds; empty: an integer expression
  // Of such a scalar as the kernel takes it; unsigned ones as the signed type of their width.
  Dtype type = Dtype::kInt64;
};

struct LaunchFlags {
  bool cooperative = false, pdl = false, non_portable_cluster = false;
  std::string cluster_policy = "default";
  std::optional<int> carveout;
};

struct Launch {
  enum class Kind : std::uint8_t { kKernel, kMemcpy } kind = Kind::kKernel;  // kMemcpy: only our own copy row
  std::string id;                                                            // "main", "k[3]"
  std::string entry;
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  LaunchFlags flags;
  std::vector<Arg> args;   // kMemcpy: destination, source, bytes
  std::vector<int> after;  // earlier launches it waits for; {-1} never occurs
};

struct ResolvedPlan {
  CaseId of;
  Digest build;
  std::vector<Workspace> workspaces;
  std::vector<TensorMap> maps;
  std::vector<Launch> launches;  // in launch order; empty only for empty outputs
};

// Evaluates every expression for one case, checks each against the device's limits and the build's facts.
// Errors name the plan's JSON path, the value found, the limit and what to do.
OrErrors<ResolvedPlan> resolve_plan(const Spec& spec, const LaunchPlan& plan, const Case& of,
                                    const Assignment& assignment, const DeviceFacts& facts, const Build& build);

// Blocks per multiprocessor, after the occupancy rules of the CUDA programming guide for facts.arch.
int resident_blocks_per_sm(const KernelUse& use, int threads, std::int64_t dynamic_shared_bytes,
                           const DeviceFacts& facts);

}  // namespace kf
