// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>
#include <kfactory/plan.h>
#include <kfactory/spec.h>

#include <string>
#include <string_view>

// A small spec and plan that use most of the formats; tests change one place of the text.

namespace kf::test {

inline constexpr const char* kSpecText = R"json({
  "kfactory_spec": 1, "name": "scale_rows", "op_type": "elementwise", "description": "y = x * s",
  "tags": ["small"],
  "types": {"T": ["bfloat16", "float16", "float32"]},
  "axes": {"M": {"type": "var"}, "N": {"type": "var"}, "LDX": {"type": "expr", "expression": "N"},
           "S1": {"type": "expr", "expression": "BLOCK / 4"}, "BLOCK": {"type": "const", "value": 16}},
  "constraints": ["LDX >= N"],
  "inputs": {
    "x": {"shape": ["M", "N"], "strides": ["LDX", 1], "align": 16, "dtype": "T"},
    "bias": {"shape": ["N"], "dtype": "float32", "optional": true},
    "offsets": {"shape": ["S1"], "dtype": "int64", "values": "case"},
    "eps": {"shape": null, "dtype": "float32", "default": 0.5},
    "count": {"shape": null, "dtype": "int32", "default": 3}
  },
  "outputs": {
    "y": {"shape": ["M", "N"], "dtype": "T"},
    "norm": {"shape": ["M"], "dtype": "float32", "optional": true},
    "state": {"shape": ["M", 2], "dtype": "float32", "inout": true}
  },
  "reference": {"cuda": "scale.ref.cu", "slice": "M"},
  "tolerance": {"y": {"ulp": 1, "acc": 2, "cond": "y__cond"}, "norm": {"ulp": 1, "acc": 1, "cond": "norm__cond"},
                "state": {"ulp": 1, "rms": 2, "region": ["M"]}},
  "work": {"read_bytes": "M*N*sizeof(T) + 4*N*has(bias)", "write_bytes": "M*N*sizeof(T)", "flops": "4*M*N"},
  "families": {"x": ["normal", "large"], "bias": ["normal"]},
  "nonfinite": "propagate",
  "cases": {
    "check": [{"M": [1, 3], "N": [64, 100], "T": ["bfloat16", "float32"], "values": {"offsets": {"range": 0}}}],
    "time": [{"M": 128, "N": 4096, "T": "bfloat16", "values": {"offsets": {"even_split": "M*N"}}}]
  },
  "relations": ["permute:M", "scale:x"],
  "target": {"arch": "sm_90a"},
  "limits": {"workspace_bytes": "2^22", "deterministic": true, "nvrtc_flags": ["--use_fast_math"], "allow": ["clock"]},
  "objective": {"minimise": "latency", "aggregate": "geomean", "state": "warm", "veto": 0.25},
  "baselines": [{"name": "naive", "cuda": "scale.naive.cu"}, {"name": "torch", "python": "scale.py"}]
})json";

inline constexpr const char* kPlanText = R"json({
  "plan": 1, "hypothesis": "wide loads",
  "define": {"VEC": "N % 8 == 0 ? 8 : 1", "ROW_LEN": "N"},
  "tune": {"ROWS": [1, 2, 4], "STAGES": [2, 3]},
  "workspaces": {"partial": {"bytes": "sm_count * N * 4"}, "flags": {"bytes": "4 * M", "init": "zero_restored"}},
  "kernels": [{"id": "main", "name": "scale", "grid": ["min(ceil_div(M, ROWS), resident(main))"], "block": ["32 * ROWS"],
               "args": ["x", "bias", "offsets", "y", "norm", "state", "partial", "flags", "M:i32", "N:i64", "eps", "count"]}]
})json";

// `text` with the one place that holds `from` replaced; fails the test where there is none or several.
inline std::string with(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  const std::size_t at = result.find(from);
  EXPECT_NE(at, std::string::npos) << "not in the text: " << from;
  EXPECT_EQ(result.find(from, at + 1), std::string::npos) << "twice in the text: " << from;
  return at == std::string::npos ? result : result.replace(at, from.size(), to);
}

inline OrError<std::string> any_file(const std::string& path) {
  return "content of " + path;
}

inline OrErrors<Spec> spec_of(std::string_view text) {
  return parse_spec(text, any_file);
}

inline Spec good_spec() {
  OrErrors<Spec> spec = spec_of(kSpecText);
  EXPECT_TRUE(spec) << (spec ? "" : to_string(spec.error()));
  return spec.value_or(Spec{});
}

inline std::string spec_errors(std::string_view text) {
  const OrErrors<Spec> spec = spec_of(text);
  EXPECT_FALSE(spec) << "was accepted";
  return spec ? "" : to_string(spec.error());
}

inline LaunchPlan good_plan(std::string_view text = kPlanText) {
  OrErrors<LaunchPlan> plan = parse_plan(text, "");
  EXPECT_TRUE(plan) << (plan ? "" : to_string(plan.error()));
  return plan.value_or(LaunchPlan{});
}

inline std::string plan_errors(std::string_view text) {
  const OrErrors<LaunchPlan> plan = parse_plan(text, "");
  EXPECT_FALSE(plan) << "was accepted";
  return plan ? "" : to_string(plan.error());
}

// A build whose entries take 32 registers; without PTX, so that parameters are not compared.
inline Build build_with(std::initializer_list<const char*> entries) {
  Build build;
  for (const char* entry : entries) {
    KernelUse use;
    use.entry = entry;
    use.registers = 32;
    build.kernels.push_back(use);
  }
  return build;
}

inline DeviceFacts h200() {
  return *named_target("H200");
}

}  // namespace kf::test
