// SPDX-License-Identifier: Apache-2.0
#include "agent/task_prefix.h"

#include <kfactory/integers.h>

#include <algorithm>

#include "agent/case_text.h"
#include "agent/lesson_text.h"
#include "agent/prompts.h"

namespace kf {
namespace {

constexpr std::size_t kMostCases = 60;  // of one list; the others are counted
constexpr std::size_t kMostLessons = 16;
constexpr std::size_t kExampleBytes = 8'000;

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const std::string& part : parts) {
    text += (text.empty() ? "" : separator) + part;
  }
  return text;
}
std::string joined(const std::vector<Expression>& parts) {
  std::vector<std::string> texts;
  std::ranges::transform(parts, std::back_inserter(texts), [](const Expression& e) { return e.text(); });
  return joined(texts, ", ");
}

std::string axes_text(const Spec& spec) {
  std::string text = "Axes (64-bit integers):\n";
  for (const auto& [name, axis] : spec.axes) {
    text += "- `" + name + "`: ";
    switch (axis.kind) {
      case Axis::Kind::kConst:
        text += "always " + std::to_string(axis.value);
        break;
      case Axis::Kind::kVar:
        text += "given by the case";
        break;
      case Axis::Kind::kExpr:
        text += "`" + axis.expression.text() + "` unless the case says otherwise";
        break;
    }
    text += (axis.description.empty() ? "" : "; " + axis.description) + "\n";
  }
  return text;
}

std::string types_text(const Spec& spec) {
  std::string text;
  for (const auto& [name, dtypes] : spec.types) {
    std::vector<std::string> names;
    std::ranges::transform(dtypes, std::back_inserter(names),
                           [](Dtype dtype) { return std::string(to_string(dtype)); });
    text += (text.empty() ? "Types, one for each compilation:\n" : "") + ("- `" + name + "`: ") + joined(names, ", ") +
            "\n";
  }
  return text;
}

const char* role_word(TensorRole role) {
  return role == TensorRole::kInput ? "input" : role == TensorRole::kOutput ? "output" : "input and output, in place";
}

std::string tensors_text(const Spec& spec) {
  std::string text = "| name | role | type | shape | strides | aligned to, bytes | |\n|---|---|---|---|---|---|---|\n";
  for (const TensorSpec& tensor : spec.tensors) {
    const std::string about =
        (tensor.optional ? std::string("optional: the case says whether it is there. ") : "") + tensor.description;
    if (tensor.scalar) {
      text += "| `" + tensor.name + "` | scalar | " + tensor.dtype + " | - | - | - | " + about + " |\n";
      continue;
    }
    text += "| `" + tensor.name + "` | " + role_word(tensor.role) + " | " + tensor.dtype + " | [" +
            joined(tensor.shape) + "] | " + (tensor.strides.empty() ? "dense" : "[" + joined(tensor.strides) + "]") +
            " | " + std::to_string(tensor.align) + " | " + about +
            (tensor.values_from_case ? " (contents are part of the case)" : "") + " |\n";
  }
  return text;
}

std::string constraints_text(const Spec& spec) {
  std::string text;
  for (const Expression& constraint : spec.constraints) {
    text += "- always: `" + constraint.text() + "`\n";
  }
  for (const std::string& constraint : spec.constraints_text) {
    const auto said = std::ranges::find(spec.constraints, constraint, &Expression::text);
    text += said == spec.constraints.end() ? "- " + constraint + "\n" : "";
  }
  return text;
}

std::string errors_text(const Bound& bound) {
  std::string text = "ulp " + decimal(bound.ulp, 2) + ", acc " + decimal(bound.acc, 2) + ", cond " +
                     (bound.condition.empty() ? "|ref|" : "`" + bound.condition + "` of the reference");
  if (bound.rms > 0) {
    text += "; over each " + (bound.region.empty() ? "tensor" : "region [" + joined(bound.region, ", ") + "]") +
            " the RMS error may be " + decimal(bound.rms, 6) + " of the RMS of ref";
  }
  if (!bound.exact.empty()) {
    text += "; on contents of " + joined(bound.exact, ", ") + ", where float32 is exact, it must be ref, rounded once";
  }
  return text;
}

std::string excused_text(const Bound& bound) {
  std::string text;
  if (!bound.ties_of.empty()) {
    text += "; any index along " + bound.ties_along + " is right whose value in `" + bound.ties_of +
            "` equals the value at the reference's index, none twice in a row";
  }
  if (bound.ill_conditioned > 0) {
    text += "; in checks, not in timed launches, " + decimal(100 * bound.ill_conditioned, 2) +
            " % of the elements may differ where moving the inputs by one float32 ulp moves ref as far";
  }
  return text;
}

std::string tolerance_text(const Spec& spec) {
  std::string text =
      "Per element `|out - ref| <= ulp * (one unit in the last place of the output's type at ref) + acc * 2^-24 * "
      "cond`; NaN and "
      "infinities where the reference has them. Integers: equal.\n\n";
  for (const auto& [output, bound] : spec.tolerance) {
    const auto tensor = std::ranges::find(spec.tensors, output, &TensorSpec::name);
    const bool integers = tensor != spec.tensors.end() && only_integers(spec, tensor->dtype);
    text += "- `" + output + "`: " + (integers ? "integers, equal" : errors_text(bound)) + excused_text(bound) + "\n";
  }
  return text;
}

std::string objective_text(const Spec& spec) {
  const ObjectiveSpec& objective = spec.objective;
  std::string text =
      "Minimise " + objective.minimise + ": the " + objective.aggregate +
      " over the timed cases of baseline time / your time. The baseline of a case is the fastest one that is "
      "correct there";
  std::vector<std::string> names;
  std::ranges::transform(spec.baselines, std::back_inserter(names), &BaselineSpec::name);
  text += names.empty() ? ".\n" : " (" + joined(names, ", ") + ").\n";
  switch (objective.state) {
    case CacheState::kCold:
      text +=
          "Cache state: cold. Before each launch the L2 is swept by reads of other memory; contents are new each "
          "time.\n";
      break;
    case CacheState::kSteady:
      text += "Cache state: steady. Launches rotate over several input sets, so that inputs are not in the L2.\n";
      break;
    case CacheState::kWarm:
      text += "Cache state: warm. The same buffers again and again.\n";
      break;
  }
  if (objective.veto > 0) {
    text += "No case may be more than " + decimal(100 * objective.veto, 1) + " % slower than its baseline.\n";
  }
  text += "Time is that of all launches of your plan together, memsets of `zero` workspaces included.";
  if (spec.limits.deterministic) {
    text += " Results must be bit-equal from launch to launch.";
  }
  return text + " Workspaces together: at most `" + spec.limits.workspace_bytes.text() + "` bytes.";
}

std::string timed_text(const Spec& spec, const DeviceFacts& facts) {
  std::string text = "| case | bytes read + written | floor, us |\n|---|---|---|\n";
  for (const Case& of : shown_cases(spec, "time")) {
    const OrError<Work> work = work_of(spec, of);
    const std::optional<double> floor = floor_nanoseconds(spec, of, facts);
    text += "| " + describe_case(spec, of) + " | " +
            (work ? std::to_string(work->read_bytes) + " + " + std::to_string(work->write_bytes) : "unknown") + " | " +
            (floor ? decimal(*floor / 1000, 2) : "unknown") + " |\n";
  }
  return text;
}

// One line a shape, with the types that it comes in.
std::string case_list(const Spec& spec, std::string_view set) {
  std::vector<std::pair<std::string, std::vector<std::string>>> lines;
  for (const Case& of : shown_cases(spec, set)) {
    const std::string shape = describe_shape(spec, of);
    auto line = std::ranges::find(lines, shape, [](const auto& entry) { return entry.first; });
    if (line == lines.end()) {
      line = lines.insert(line, {shape, {}});
    }
    if (!of.types.empty()) {
      line->second.push_back(describe_types(of));
    }
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kMostCases); ++i) {
    text += "- " + lines[i].first + (lines[i].second.empty() ? "" : ": " + joined(lines[i].second, "; ")) + "\n";
  }
  if (lines.size() > kMostCases) {
    text += "- ... and " + std::to_string(lines.size() - kMostCases) + " more of these kinds\n";
  }
  return text;
}

std::string checked_text(const Spec& spec, const DeviceFacts& facts) {
  std::string text = case_list(spec, "check");
  if (facts.kind == "emulator") {
    const std::string emulated = case_list(spec, "emulate");
    text += emulated.empty() ? "" : "\nThe emulator runs only these:\n\n" + emulated;
  }
  return text.empty() ? "The timed ones.\n" : text + "\nThe timed cases are checked too, at full size.";
}

std::string device_text(const DeviceFacts& facts) {
  const auto kib = [](std::int64_t bytes) { return decimal(static_cast<double>(bytes) / 1024, 0) + " KiB"; };
  std::string text = (facts.name.empty() ? facts.arch : facts.name + " (" + facts.arch + ")") + ": " +
                     std::to_string(facts.sm_count) + " SMs; per SM " + std::to_string(facts.max_threads_per_sm) +
                     " threads, " + std::to_string(facts.max_blocks_per_sm) + " blocks, " +
                     std::to_string(facts.registers_per_sm) + " registers, " + kib(facts.shared_per_sm) +
                     " shared memory; per block " + std::to_string(facts.max_threads_per_block) + " threads, " +
                     kib(facts.shared_per_block) + " shared memory (dynamic), clusters up to " +
                     std::to_string(facts.max_cluster) + "; L2 " +
                     decimal(static_cast<double>(facts.l2_bytes) / (1 << 20), 0) + " MiB; ";
  text += facts.dram_bytes_per_second > 0 ? "DRAM " + decimal(facts.dram_bytes_per_second / 1e12, 2) + " TB/s"
                                          : "DRAM bandwidth unknown";
  text +=
      facts.fp32_flops_per_second > 0 ? "; fp32 " + decimal(facts.fp32_flops_per_second / 1e12, 1) + " TFLOP/s" : "";
  return text + (facts.source.empty() ? "." : ". Source of these figures: " + facts.source + ".");
}

std::string example_text(const Spec& spec) {
  for (const BaselineSpec& baseline : spec.baselines) {
    if (baseline.kind == BaselineSpec::Kind::kCuda && baseline.source.content.size() <= kExampleBytes) {
      return "A correct candidate for this very operation, plain and slow (baseline \"" + baseline.name + "\"):\n\n" +
             fenced("", baseline.source.content);
    }
  }
  return "";
}

std::string prelude_text(const Spec& spec) {
  for (const char* set : {"time", "check", "emulate"}) {
    if (!shown_cases(spec, set).empty()) {
      return fenced("", prelude_for(spec, shown_cases(spec, set).front()));
    }
  }
  return "(nothing)";
}

std::string families_text(const Spec& spec) {
  std::string text;
  for (const auto& [input, families] : spec.families) {
    text += (text.empty() ? "" : "; ") + ("`" + input + "`: ") + joined(families, ", ");
  }
  return text.empty() ? "normal" : text;
}

std::string nonfinite_text(Nonfinite rule) {
  switch (rule) {
    case Nonfinite::kPropagate:
      return "NaN and infinities in the inputs appear in the outputs exactly as in the reference.";
    case Nonfinite::kIsolate:
      return "NaN and infinities in one row stay in that row: the other rows are right.";
    case Nonfinite::kUnspecified:
      break;
  }
  return "What happens to NaN and infinities is not specified.";
}

std::string allowed_registers(const Spec& spec) {
  return spec.limits.allow.empty() ? "" : " (allowed here: " + joined(spec.limits.allow, ", ") + ")";
}

// Empty where the spec lets a neighbour be as slow as it likes.
std::string cliffs_row(const Spec& spec) {
  return spec.limits.cliff == 0
             ? ""
             : "| cliffs | a shape beside a timed one (one row or column more or less) that takes more than " +
                   decimal(spec.limits.cliff, 1) + " times as long as its work explains |\n";
}

std::string lessons_text(const TaskView& task) {
  const std::vector<Lesson> lessons = lessons_for(task.lessons, *task.spec, task.facts.arch, kMostLessons);
  std::string text;
  for (const Lesson& lesson : lessons) {
    text += "- " + lesson_line(lesson) + "\n";
  }
  return text.empty() ? "None yet.\n" : text;
}

}  // namespace

std::string task_prefix(const TaskView& task) {
  const Spec& spec = *task.spec;
  return fill_prompt("task", {{"name", spec.name},
                              {"description", spec.description},
                              {"arch", spec.arch},
                              {"note", task.secret_free_note.empty() ? "" : " " + task.secret_free_note},
                              {"axes", axes_text(spec)},
                              {"types", types_text(spec)},
                              {"tensors", tensors_text(spec)},
                              {"constraints", constraints_text(spec)},
                              {"reference", fenced("", spec.reference.cuda.content)},
                              {"tolerance", tolerance_text(spec)},
                              {"objective", objective_text(spec)},
                              {"timed", timed_text(spec, task.facts)},
                              {"checked", checked_text(spec, task.facts)},
                              {"device", device_text(task.facts)},
                              {"format", fill_prompt("candidate_format", {})},
                              {"prelude", prelude_text(spec)},
                              {"example", example_text(spec)},
                              {"allowed_registers", allowed_registers(spec)},
                              {"cliffs", cliffs_row(spec)},
                              {"families", families_text(spec)},
                              {"nonfinite", nonfinite_text(spec.nonfinite)},
                              {"lessons", lessons_text(task)}});
}

}  // namespace kf
