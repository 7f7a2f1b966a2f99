// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "entry_facts.h"
#include "format/nearest.h"
#include "resolution.h"

namespace kf {
namespace {

constexpr int kTensorMapBytes = 128;
constexpr int kMaxParameterBytes = 32764;  // since CUDA 12.1 on sm_70 and newer

template <class T>
Arg scalar(T value) {
  Arg arg;
  arg.width = sizeof(T);
  std::memcpy(&arg.bits, &value, sizeof(T));
  return arg;
}

template <class T>
std::optional<Arg> checked(std::int64_t value) {
  if (!std::in_range<T>(value)) {
    return std::nullopt;
  }
  return scalar(static_cast<T>(value));
}

template <class T>
std::optional<Arg> exact(std::int64_t value) {
  const T converted = static_cast<T>(value);
  const bool same = std::abs(static_cast<double>(converted)) < 9.2e18 && static_cast<std::int64_t>(converted) == value;
  return same ? std::optional(scalar(converted)) : std::nullopt;
}

// nullopt: the value does not fit.
std::optional<Arg> integer_as(std::int64_t value, std::string_view type) {
  if (type == "i32") {
    return checked<std::int32_t>(value);
  }
  if (type == "u32") {
    return checked<std::uint32_t>(value);
  }
  if (type == "i64") {
    return scalar(value);
  }
  if (type == "u64") {
    return checked<std::uint64_t>(value);
  }
  return type == "f32" ? exact<float>(value) : exact<double>(value);
}

// Bits of `value` in a format with `exponent_bits` and `mantissa` bits (16 in all), rounded to nearest even.
std::uint16_t narrowed(double value, int exponent_bits, int mantissa) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto infinity = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << mantissa);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>(sign | infinity | (1 << (mantissa - 1)));
  }
  if (value == 0.0 || std::isinf(value)) {
    return static_cast<std::uint16_t>(sign | (value == 0.0 ? 0 : infinity));
  }
  const int exponent = std::max(std::ilogb(value), 1 - bias);
  // An integer of mantissa + 1 bits at most; its carry into the next binade is the right encoding by itself.
  const double significand = std::nearbyint(std::ldexp(std::abs(value), mantissa - exponent));
  const double encoded = significand + std::ldexp(static_cast<double>(exponent + bias - 1), mantissa);
  return static_cast<std::uint16_t>(sign | (encoded >= infinity ? infinity : static_cast<std::uint16_t>(encoded)));
}

std::optional<Arg> scalar_of(double value, Dtype dtype) {
  const auto whole = static_cast<std::int64_t>(is_floating(dtype) ? 0.0 : value);
  switch (dtype) {
    case Dtype::kFloat64:
      return scalar(value);
    case Dtype::kFloat32:
      return scalar(static_cast<float>(value));
    case Dtype::kFloat16:
      return scalar(narrowed(value, 5, 10));
    case Dtype::kBfloat16:
      return scalar(narrowed(value, 8, 7));
    case Dtype::kInt64:
      return scalar(whole);
    case Dtype::kInt32:
      return checked<std::int32_t>(whole);
    case Dtype::kInt16:
      return checked<std::int16_t>(whole);
    case Dtype::kInt8:
      return checked<std::int8_t>(whole);
    case Dtype::kUint8:
      return checked<std::uint8_t>(whole);
    case Dtype::kBool:
      return whole == 0 || whole == 1 ? checked<std::uint8_t>(whole) : std::nullopt;
    default:
      return std::nullopt;  // eight-bit floats are no parameters
  }
}

class ArgResolver {
 public:
  ArgResolver(Resolution& to, std::size_t kernel, const Scope& in)
      : to_(to), kernel_(to.plan.kernels[kernel]), path_(kernel_path(kernel) + ".args"), in_(in) {}

  std::optional<std::vector<Arg>> all() {
    const std::size_t before = to_.errors.size();
    std::vector<Arg> args;
    int bytes = 0;
    for (std::size_t i = 0; i < kernel_.args.size(); ++i) {
      const std::optional<Arg> arg = one(kernel_.args[i], path_ + "[" + std::to_string(i) + "]");
      if (arg) {
        args.push_back(*arg);
        bytes += arg->width;
      }
    }
    if (bytes > kMaxParameterBytes) {
      to_.fail(path_, std::to_string(bytes) + " bytes of arguments, at most " + std::to_string(kMaxParameterBytes) +
                          " are allowed");
    }
    if (to_.errors.size() == before) {
      compare_with_entry(args);
    }
    return to_.errors.size() == before ? std::optional(std::move(args)) : std::nullopt;
  }

 private:
  std::optional<Arg> one(const ArgSpec& arg, const std::string& path) {
    if (const std::optional<Arg> pointer = pointer_of(arg.name, path)) {
      if (!arg.type.empty()) {
        to_.fail(path, "\"" + arg.text + "\": a pointer takes no type", "write \"" + arg.name + "\"");
        return std::nullopt;
      }
      return pointer;
    }
    if (map_failed_) {
      return std::nullopt;
    }
    if (const auto value = to_.of.scalars.find(arg.name); value != to_.of.scalars.end()) {
      return scalar_named(arg, value->second, path);
    }
    if (arg.value) {
      return integer(arg, path);
    }
    unknown(arg, path);
    return std::nullopt;
  }

  std::optional<Arg> pointer_of(const std::string& name, const std::string& path) {
    map_failed_ = false;
    Arg arg;
    const auto tensor = std::ranges::find(to_.of.tensors, name, &Tensor::name);
    if (tensor != to_.of.tensors.end()) {
      to_.bound.insert(name);
      arg.kind = Arg::Kind::kTensor;
      arg.index = static_cast<int>(tensor - to_.of.tensors.begin());
      return arg;
    }
    if (std::ranges::find(to_.of.absent, name) != to_.of.absent.end()) {
      arg.kind = Arg::Kind::kNull;
      return arg;
    }
    const auto workspace = std::ranges::find(to_.plan.workspaces, name, &WorkspaceSpec::name);
    if (workspace != to_.plan.workspaces.end()) {
      arg.kind = Arg::Kind::kWorkspace;
      arg.index = static_cast<int>(workspace - to_.plan.workspaces.begin());
      return arg;
    }
    const auto map = std::ranges::find(to_.plan.tensor_maps, name, &TensorMapSpec::name);
    if (map == to_.plan.tensor_maps.end()) {
      return std::nullopt;
    }
    if (std::ranges::find(to_.of.absent, map->of) != to_.of.absent.end()) {
      to_.fail(path, "the tensor map \"" + name + "\" is of \"" + map->of + "\", which is absent in this case",
               "give the kernel \"when\": \"has(" + map->of + ")\" and another one for the other cases");
      map_failed_ = true;
      return std::nullopt;
    }
    const std::optional<int> index = resolve_map(to_, *map);
    map_failed_ = !index;
    arg.kind = Arg::Kind::kTensorMap;
    arg.index = index.value_or(0);
    arg.width = kTensorMapBytes;
    return index ? std::optional(arg) : std::nullopt;
  }

  std::optional<Arg> scalar_named(const ArgSpec& arg, double value, const std::string& path) {
    const Dtype declared = to_.of.scalar_types.at(arg.name);
    if (arg.type.empty() || arg.type == "f32" || arg.type == "f64") {
      const Dtype dtype = arg.type.empty() ? declared : arg.type == "f32" ? Dtype::kFloat32 : Dtype::kFloat64;
      const std::optional<Arg> result = scalar_of(value, dtype);
      if (!result) {
        to_.fail(path, "the scalar \"" + arg.name + "\" is " + std::to_string(value) + ", which does not fit " +
                           std::string(to_string(dtype)));
      }
      return of_scalar(result, arg.name, dtype);
    }
    const bool whole = value == std::trunc(value) && std::abs(value) < 9.0e15;
    const std::optional<Arg> result = whole ? integer_as(static_cast<std::int64_t>(value), arg.type) : std::nullopt;
    if (!result) {
      to_.fail(path,
               "the scalar \"" + arg.name + "\" is " + std::to_string(value) + ", which does not fit " + arg.type);
    }
    return of_scalar(result, arg.name, result && result->width == 4 ? Dtype::kInt32 : Dtype::kInt64);
  }

  // Admission gives it another value.
  static std::optional<Arg> of_scalar(std::optional<Arg> arg, const std::string& name, Dtype type) {
    if (arg) {
      arg->scalar = name;
      arg->type = type;
    }
    return arg;
  }

  std::optional<Arg> integer(const ArgSpec& arg, const std::string& path) {
    const std::optional<std::int64_t> value = to_.evaluate(*arg.value, in_);
    if (!value) {
      return std::nullopt;
    }
    std::optional<Arg> result = integer_as(*value, arg.type);
    if (!result) {
      const bool floating = arg.type == "f32" || arg.type == "f64";
      to_.fail(path,
               "\"" + arg.text + "\" is " + std::to_string(*value) + ", which does not fit " + arg.type +
                   (floating ? " exactly" : ""),
               floating ? "pass an integer type" : "use a 64-bit type");
    }
    return result;
  }

  void unknown(const ArgSpec& arg, const std::string& path) {
    if (in_.values.contains(arg.name)) {
      to_.fail(path, "the integer \"" + arg.name + "\" has no type",
               "write \"" + arg.name + ":i32\" or \"" + arg.name + ":i64\"");
      return;
    }
    std::vector<std::string> known;
    for (const Tensor& tensor : to_.of.tensors) {
      known.push_back(tensor.name);
    }
    known.insert(known.end(), to_.of.absent.begin(), to_.of.absent.end());
    for (const auto& [name, value] : to_.of.scalars) {
      known.push_back(name);
    }
    for (const WorkspaceSpec& workspace : to_.plan.workspaces) {
      known.push_back(workspace.name);
    }
    for (const TensorMapSpec& map : to_.plan.tensor_maps) {
      known.push_back(map.name);
    }
    to_.fail(path, "unknown argument \"" + arg.text + "\"; known: " + joined(known), did_you_mean(arg.name, known));
  }

  // The driver copies as many parameters as the entry has: too few arguments would be read past their end.
  void compare_with_entry(const std::vector<Arg>& args) {
    const std::optional<EntryFacts> facts = entry_facts(to_.build.ptx, kernel_.entry);
    if (!facts) {
      return;
    }
    if (facts->parameter_bytes.size() != args.size()) {
      to_.fail(path_, "found " + std::to_string(args.size()) + " arguments, \"" + kernel_.entry + "\" has " +
                          std::to_string(facts->parameter_bytes.size()) + " parameters");
      return;
    }
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (facts->parameter_bytes[i] != args[i].width) {
        to_.fail(path_ + "[" + std::to_string(i) + "]", "\"" + kernel_.args[i].text + "\" has " +
                                                            std::to_string(args[i].width) + " bytes, parameter " +
                                                            std::to_string(i + 1) + " of \"" + kernel_.entry +
                                                            "\" has " + std::to_string(facts->parameter_bytes[i]));
      }
    }
  }

  Resolution& to_;
  const KernelSpec& kernel_;
  std::string path_;
  const Scope& in_;
  bool map_failed_ = false;
};

}  // namespace

std::optional<std::vector<Arg>> resolve_args(Resolution& to, std::size_t kernel, const Scope& in) {
  static_assert(std::endian::native == std::endian::little);
  return ArgResolver(to, kernel, in).all();
}

}  // namespace kf
