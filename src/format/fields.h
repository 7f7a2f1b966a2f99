// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kfactory/job.h>

#include "format/json_codec.h"

// The members of every value that crosses a process boundary or enters a record, each named once, and the words of
// the enumerations among them. docs/formats/worker-protocol.md shows the result.

namespace kf {

template <>
struct Words<Dtype> {
  static constexpr std::array<std::string_view, kDtypeCount> kWords{
      "float64", "float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0",
      "int64",   "int32",   "int16",    "int8",    "uint8",         "bool"};
};
template <>
struct Words<TensorRole> {
  static constexpr std::array<std::string_view, 3> kWords{"input", "output", "inout"};
};
template <>
struct Words<CacheState> {
  static constexpr std::array<std::string_view, 3> kWords{"cold", "steady", "warm"};
};
template <>
struct Words<ClockMethod> {
  static constexpr std::array<std::string_view, 5> kWords{"events", "graph", "cupti", "estimate", "host"};
};
template <>
struct Words<Gate> {
  static constexpr std::array<std::string_view, 13> kWords{
      "reply",     "source audit", "compile",   "binary audit", "plan",   "check",  "repeat",
      "relations", "perturbation", "timed run", "physics",      "cliffs", "confirm"};
};
template <>
struct Words<Nonfinite> {
  static constexpr std::array<std::string_view, 3> kWords{"propagate", "isolate", "unspecified"};
};
template <>
struct Words<Job::Kind> {
  static constexpr std::array<std::string_view, 7> kWords{"describe", "admit",   "check",   "time",
                                                          "profile",  "confirm", "sanitize"};
};
template <>
struct Words<Fault::Kind> {
  static constexpr std::array<std::string_view, 2> kWords{"candidate", "rig"};
};
template <>
struct Words<WorkspaceInit> {
  static constexpr std::array<std::string_view, 3> kWords{"poison", "zero", "zero_restored"};
};
template <>
struct Words<Swizzle> {
  static constexpr std::array<std::string_view, 4> kWords{"none", "32B", "64B", "128B"};
};
template <>
struct Words<L2Promotion> {
  static constexpr std::array<std::string_view, 4> kWords{"none", "64B", "128B", "256B"};
};
template <>
struct Words<Arg::Kind> {
  static constexpr std::array<std::string_view, 5> kWords{"tensor", "workspace", "tensor_map", "scalar", "null"};
};
template <>
struct Words<ReferenceVariant::Kind> {
  static constexpr std::array<std::string_view, 3> kWords{"float32", "float32_pairs", "wide_inputs"};
};
template <>
struct Words<Launch::Kind> {
  static constexpr std::array<std::string_view, 2> kWords{"kernel", "memcpy"};
};

// ---- vocabulary ------------------------------------------------------------------------------------

template <class V, Is<DeviceFacts> T>
void fields(V& visit, T& x) {
  visit("kind", x.kind), visit("uuid", x.uuid), visit("name", x.name), visit("arch", x.arch), visit("driver", x.driver);
  visit("sm_count", x.sm_count), visit("max_threads_per_block", x.max_threads_per_block);
  visit("max_threads_per_sm", x.max_threads_per_sm), visit("max_blocks_per_sm", x.max_blocks_per_sm);
  visit("warp_size", x.warp_size), visit("registers_per_sm", x.registers_per_sm);
  visit("registers_per_block", x.registers_per_block), visit("max_registers_per_thread", x.max_registers_per_thread);
  visit("shared_per_block", x.shared_per_block), visit("shared_per_sm", x.shared_per_sm);
  visit("shared_reserved_per_block", x.shared_reserved_per_block), visit("l2_bytes", x.l2_bytes);
  visit("memory_bytes", x.memory_bytes), visit("grid_max_x", x.grid_max_x), visit("grid_max_y", x.grid_max_y);
  visit("grid_max_z", x.grid_max_z), visit("max_cluster", x.max_cluster), visit("cluster_slots", x.cluster_slots);
  visit("dram_bytes_per_second", x.dram_bytes_per_second), visit("fp32_flops_per_second", x.fp32_flops_per_second);
  visit("tensor_flops_per_second", x.tensor_flops_per_second), visit("sm_hertz", x.sm_hertz);
  visit("l2_bytes_per_clock", x.l2_bytes_per_clock), visit("launch_nanoseconds", x.launch_nanoseconds);
  visit("source", x.source);
}
template <class V, Is<Tensor> T>
void fields(V& visit, T& x) {
  visit("name", x.name), visit("role", x.role), visit("dtype", x.dtype), visit("extent", x.extent);
  visit("stride", x.stride), visit("dims", x.dims), visit("align", x.align), visit("values", x.values);
}
template <class V, Is<Bound> T>
void fields(V& visit, T& x) {
  visit("ulp", x.ulp), visit("acc", x.acc), visit("condition", x.condition), visit("rms", x.rms);
  visit("region", x.region), visit("exact", x.exact), visit("ties_of", x.ties_of);
  visit("ties_along", x.ties_along), visit("ill_conditioned", x.ill_conditioned);
}
template <class V, Is<Case> T>
void fields(V& visit, T& x) {
  visit("id", x.id.value), visit("set", x.set), visit("types", x.types), visit("axes", x.axes);
  visit("tensors", x.tensors), visit("scalars", x.scalars), visit("scalar_types", x.scalar_types);
  visit("absent", x.absent), visit("family", x.family);
}
template <class V, Is<KernelUse> T>
void fields(V& visit, T& x) {
  visit("entry", x.entry), visit("registers", x.registers), visit("spill_store_bytes", x.spill_store_bytes);
  visit("spill_load_bytes", x.spill_load_bytes), visit("stack_bytes", x.stack_bytes), visit("barriers", x.barriers);
  visit("static_shared_bytes", x.static_shared_bytes), visit("max_threads", x.max_threads);
}
// Workers need the code and what it uses; the audit's findings and the log stay with the factory.
template <class V, Is<Build> T>
void fields(V& visit, T& x) {
  visit("id", x.id), visit("ptx", x.ptx), visit("cubin", x.cubin), visit("kernels", x.kernels);
  visit("toolchain", x.toolchain);
}

// ---- resolved plans --------------------------------------------------------------------------------

template <class V, Is<Workspace> T>
void fields(V& visit, T& x) {
  visit("name", x.name), visit("bytes", x.bytes), visit("init", x.init);
}
template <class V, Is<TensorMap> T>
void fields(V& visit, T& x) {
  visit("name", x.name), visit("of_workspace", x.of_workspace), visit("index", x.index), visit("dtype", x.dtype);
  visit("offset_bytes", x.offset_bytes), visit("dims", x.dims), visit("strides_bytes", x.strides_bytes);
  visit("box", x.box), visit("element_strides", x.element_strides), visit("interleave", x.interleave);
  visit("swizzle", x.swizzle), visit("l2_promotion", x.l2_promotion), visit("oob_nan", x.oob_nan);
}
template <class V, Is<Arg> T>
void fields(V& visit, T& x) {
  visit("kind", x.kind), visit("index", x.index), visit("bits", x.bits), visit("width", x.width);
  visit("scalar", x.scalar), visit("type", x.type);
}
template <class V, Is<LaunchFlags> T>
void fields(V& visit, T& x) {
  visit("cooperative", x.cooperative), visit("pdl", x.pdl), visit("non_portable_cluster", x.non_portable_cluster);
  visit("cluster_policy", x.cluster_policy), visit("carveout", x.carveout);
}
template <class V, Is<Launch> T>
void fields(V& visit, T& x) {
  visit("kind", x.kind), visit("id", x.id), visit("entry", x.entry), visit("grid", x.grid), visit("block", x.block);
  visit("cluster", x.cluster), visit("shared_bytes", x.shared_bytes), visit("flags", x.flags), visit("args", x.args);
  visit("after", x.after);
}
template <class V, Is<ResolvedPlan> T>
void fields(V& visit, T& x) {
  visit("of", x.of.value), visit("build", x.build), visit("workspaces", x.workspaces), visit("maps", x.maps);
  visit("launches", x.launches);
}

// ---- jobs ------------------------------------------------------------------------------------------

template <class V, Is<Arm> T>
void fields(V& visit, T& x) {
  visit("name", x.name), visit("builds", x.builds), visit("plans", x.plans), visit("own_cases", x.own_cases);
}
template <class V, Is<ReferencePlan> T>
void fields(V& visit, T& x) {
  visit("axis", x.axis), visit("extent", x.extent), visit("slice_case", x.slice_case), visit("plan", x.plan);
  visit("tail_case", x.tail_case), visit("tail_plan", x.tail_plan);
}
template <class V, Is<ReferenceArm> T>
void fields(V& visit, T& x) {
  visit("builds", x.builds), visit("plans", x.plans);
}
template <class V, Is<ReferenceVariant> T>
void fields(V& visit, T& x) {
  visit("kind", x.kind), visit("cases", x.cases), visit("arm", x.arm), visit("unavailable", x.unavailable);
}
template <class V, Is<CheckPoint> T>
void fields(V& visit, T& x) {
  visit("case_index", x.case_index), visit("family", x.family), visit("seeds", x.seeds), visit("misalign", x.misalign);
}
template <class V, Is<Job> T>
void fields(V& visit, T& x) {
  visit("kind", x.kind), visit("cases", x.cases), visit("arms", x.arms), visit("reference", x.reference);
  visit("harness", x.harness), visit("bounds", x.bounds), visit("nonfinite", x.nonfinite);
  visit("deterministic", x.deterministic), visit("checks", x.checks), visit("families", x.families),
      visit("variants", x.variants), visit("influence", x.influence), visit("relations", x.relations),
      visit("keep_going", x.keep_going), visit("passes", x.passes);
  visit("time_seeds", x.time_seeds), visit("state", x.state), visit("method", x.method);
  visit("target_half_width", x.target_half_width), visit("min_quads", x.min_quads), visit("max_quads", x.max_quads);
  visit("control_quads", x.control_quads), visit("counters", x.counters), visit("tool_limit_ms", x.tool_limit);
  visit("deadline_ms", x.deadline), visit("launch_deadline_ms", x.launch_deadline);
}

// ---- outcomes --------------------------------------------------------------------------------------

template <class V, Is<Mismatch> T>
void fields(V& visit, T& x) {
  visit("output", x.output), visit("elements", x.elements), visit("wrong", x.wrong), visit("unwritten", x.unwritten);
  visit("class_errors", x.class_errors), visit("worst_index", x.worst_index), visit("worst_out", x.worst_out);
  visit("worst_ref", x.worst_ref), visit("worst_bound", x.worst_bound), visit("worst_ratio", x.worst_ratio);
  visit("first_index", x.first_index), visit("last_index", x.last_index), visit("wrong_rows", x.wrong_rows);
  visit("rows", x.rows), visit("wrong_columns", x.wrong_columns), visit("columns", x.columns),
      visit("by_rms", x.by_rms), visit("inexact", x.inexact), visit("shape", x.shape);
}
template <class V, Is<SourcePlace> T>
void fields(V& visit, T& x) {
  visit("file", x.file), visit("line", x.line), visit("ptx_line", x.ptx_line), visit("instruction", x.instruction);
  visit("role", x.role);
}
template <class V, Is<Finding> T>
void fields(V& visit, T& x) {
  visit("kind", x.kind), visit("kernel", x.kernel), visit("what", x.what), visit("places", x.places);
  visit("block", x.block), visit("thread", x.thread);
}
template <class V, Is<Verdict> T>
void fields(V& visit, T& x) {
  visit("passed", x.passed), visit("gate", x.gate), visit("reason", x.reason), visit("message", x.message);
  visit("mismatch", x.mismatch), visit("case_id", x.case_id), visit("family", x.family), visit("checks", x.checks);
  visit("finding", x.finding);
}
template <class V, Is<Sample> T>
void fields(V& visit, T& x) {
  visit("arm", x.arm), visit("quad", x.quad), visit("slot", x.slot), visit("nanoseconds", x.nanoseconds);
  visit("sm_hertz", x.sm_hertz);
}
template <class V, Is<LaunchCounts> T>
void fields(V& visit, T& x) {
  visit("id", x.id), visit("blocks", x.blocks), visit("warp_instructions", x.warp_instructions);
  visit("lane_instructions", x.lane_instructions), visit("mix", x.mix), visit("dram_bytes", x.dram_bytes);
  visit("load_sectors", x.load_sectors), visit("store_sectors", x.store_sectors);
  visit("excess_load_sectors", x.excess_load_sectors), visit("excess_store_sectors", x.excess_store_sectors);
  visit("global_requests", x.global_requests), visit("shared_requests", x.shared_requests);
  visit("shared_wavefronts", x.shared_wavefronts), visit("bank_conflicts", x.bank_conflicts);
  visit("barriers", x.barriers), visit("atomics", x.atomics), visit("tensor_flops", x.tensor_flops);
}
template <class V, Is<CaseTiming> T>
void fields(V& visit, T& x) {
  visit("case_id", x.case_id), visit("method", x.method), visit("state", x.state), visit("arms", x.arms);
  visit("samples", x.samples), visit("notes", x.notes), visit("verified", x.verified);
  visit("counts", x.counts), visit("scaled_from", x.scaled_from);
}
template <class V, Is<CaseCounters> T>
void fields(V& visit, T& x) {
  visit("case_id", x.case_id), visit("values", x.values), visit("notes", x.notes);
}
template <class V, Is<Measurement> T>
void fields(V& visit, T& x) {
  visit("cases", x.cases), visit("device_busy_share", x.device_busy_share), visit("arms_share", x.arms_share);
  visit("device", x.device), visit("driver", x.driver), visit("counters", x.counters);
  visit("counters_refused", x.counters_refused);
}
template <class V, Is<Fault> T>
void fields(V& visit, T& x) {
  visit("kind", x.kind), visit("reason", x.reason), visit("what", x.what);
}
template <class V, Is<Cost> T>
void fields(V& visit, T& x) {
  visit("step", x.step), visit("milliseconds", x.milliseconds), visit("count", x.count);
}
template <class V, Is<CheckReport> T>
void fields(V& visit, T& x) {
  visit("verdict", x.verdict), visit("passes", x.passes), visit("all", x.all), visit("costs", x.costs);
}
template <class V, Is<AdmissionRow> T>
void fields(V& visit, T& x) {
  visit("name", x.name), visit("expected", x.expected), visit("found", x.found), visit("ok", x.ok);
  visit("tried", x.tried);
}
template <class V, Is<OutputRange> T>
void fields(V& visit, T& x) {
  visit("output", x.output), visit("largest", x.largest), visit("below", x.below);
}
template <class V, Is<AdmissionReport> T>
void fields(V& visit, T& x) {
  visit("rows", x.rows), visit("admitted", x.admitted), visit("ranges", x.ranges);
}
template <class V, Is<Profile> T>
void fields(V& visit, T& x) {
  visit("cases", x.cases), visit("refused", x.refused), visit("costs", x.costs);
}
template <class V, Is<ToolRun> T>
void fields(V& visit, T& x) {
  visit("tool", x.tool), visit("version", x.version), visit("ran", x.ran), visit("errors", x.errors);
  visit("warnings", x.warnings), visit("text", x.text), visit("milliseconds", x.milliseconds);
}
template <class V, Is<SanitizerReport> T>
void fields(V& visit, T& x) {
  visit("not_run", x.not_run), visit("tools", x.tools);
}
template <class V, Is<TimeReport> T>
void fields(V& visit, T& x) {
  visit("verdict", x.verdict), visit("arm", x.arm), visit("measurement", x.measurement), visit("costs", x.costs);
}

}  // namespace kf
