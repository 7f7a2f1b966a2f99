// SPDX-License-Identifier: Apache-2.0
#include "compile/ptx_scopes.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "compile/ptx_special.h"

namespace kf {
namespace {

// More than any compiler emits. Without a limit, a text could be made that takes hours to look names up in.
constexpr std::size_t kMaxRanges = 256;

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

int PtxScopes::add(PtxEntity entity) {
  entities_.push_back(std::move(entity));
  return static_cast<int>(entities_.size()) - 1;
}

int PtxScopes::declare(PtxEntity entity) {
  const std::string name = entity.name;
  const int id = add(std::move(entity));
  scopes_.back().names[name] = id;
  return id;
}

int PtxScopes::function(const std::string& name) {
  const auto found = scopes_.front().names.find(name);
  if (found != scopes_.front().names.end()) {
    return found->second;
  }
  const int id = add({PtxEntity::Kind::kFunction, name, "", {}});
  scopes_.front().names[name] = id;
  return id;
}

bool PtxScopes::declare_registers(std::string prefix, int count) {
  scopes_.back().ranges.push_back({std::move(prefix), count});
  return scopes_.back().ranges.size() <= kMaxRanges;
}

int PtxScopes::find_in_ranges(Scope& scope, std::string_view name, bool in_block) {
  for (const RegisterRange& range : scope.ranges) {
    if (name.starts_with(range.prefix) && is_number(name.substr(range.prefix.size()))) {
      int index = range.count;
      std::from_chars(name.data() + range.prefix.size(), name.data() + name.size(), index);
      if (index < range.count) {
        const bool authored = in_block || !range.prefix.starts_with('%');
        const int id = add({PtxEntity::Kind::kRegister, std::string(name), "", {}, authored});
        scope.names[std::string(name)] = id;
        return id;
      }
    }
  }
  return -1;
}

int PtxScopes::find_declared(std::string_view name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->names.find(std::string(name)); found != scope->names.end()) {
      return found->second;
    }
    const bool in_block = scopes_.rend() - scope > 2;  // module, function, blocks
    if (const int id = find_in_ranges(*scope, name, in_block); id >= 0) {
      return id;
    }
  }
  return -1;
}

int PtxScopes::find(std::string_view name) {
  if (const int id = find_declared(name); id >= 0) {
    return id;
  }
  if (is_special_ptx_register(name)) {
    const int id = add({PtxEntity::Kind::kSpecial, std::string(name), "", {}});
    scopes_.front().names[std::string(name)] = id;
    return id;
  }
  const std::size_t dot = name.rfind('.');
  const bool component = dot != name.npos && dot > 0 && dot + 2 == name.size() &&
                         std::string_view("xyzwrgba").find(name.back()) != std::string_view::npos;
  return component ? find_declared(name.substr(0, dot)) : -1;
}

}  // namespace kf
