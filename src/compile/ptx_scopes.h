// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compile/ptx_module.h"

namespace kf {

// Which entity a name means at one place of a PTX text: the innermost declaration, then PTX's own registers. Entities
// are added to the module's list.
class PtxScopes {
 public:
  explicit PtxScopes(std::vector<PtxEntity>& entities) : entities_(entities) { open(); }

  void open() { scopes_.emplace_back(); }
  void close() { scopes_.pop_back(); }
  std::size_t depth() const { return scopes_.size(); }

  // In the innermost scope; a name that it has already is replaced.
  int declare(PtxEntity entity);
  // The one function of that name, in the module's scope.
  int function(const std::string& name);
  // prefix0 .. prefix(count - 1), each made when it is first looked up. False: too many ranges in one scope.
  bool declare_registers(std::string prefix, int count);
  // -1: nothing declares it. A component (".x") means its vector.
  int find(std::string_view name);

 private:
  struct RegisterRange {
    std::string prefix;
    int count = 0;
  };
  struct Scope {
    std::unordered_map<std::string, int> names;
    std::vector<RegisterRange> ranges;
  };
  int add(PtxEntity entity);
  int find_in_ranges(Scope& scope, std::string_view name, bool in_block);
  int find_declared(std::string_view name);

  std::vector<PtxEntity>& entities_;
  std::vector<Scope> scopes_;  // module, function, blocks
};

}  // namespace kf
