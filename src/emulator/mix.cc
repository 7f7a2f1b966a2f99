// SPDX-License-Identifier: Apache-2.0
#include "mix.h"

#include <algorithm>
#include <array>
#include <utility>

namespace kf::emulator {
namespace {

using Entry = std::pair<std::string_view, std::string_view>;

// Instructions whose kind does not depend on their type.
constexpr std::array<Entry, 63> kByName{{
    {"ld", "load"},
    {"ldu", "load"},
    {"st", "store"},
    {"atom", "atomic"},
    {"red", "atomic"},
    {"cp", "copy"},
    {"prefetch", "copy"},
    {"prefetchu", "copy"},
    {"mbarrier", "barrier"},
    {"bar", "barrier"},
    {"barrier", "barrier"},
    {"fence", "barrier"},
    {"membar", "barrier"},
    {"griddepcontrol", "barrier"},
    {"shfl", "warp"},
    {"vote", "warp"},
    {"match", "warp"},
    {"redux", "warp"},
    {"activemask", "warp"},
    {"elect", "warp"},
    {"mma", "tensor"},
    {"wgmma", "tensor"},
    {"ldmatrix", "tensor"},
    {"stmatrix", "tensor"},
    {"movmatrix", "tensor"},
    {"bra", "control"},
    {"brx", "control"},
    {"call", "control"},
    {"ret", "control"},
    {"exit", "control"},
    {"trap", "control"},
    {"nanosleep", "control"},
    {"setmaxnreg", "control"},
    {"cvt", "convert"},
    {"cvta", "move"},
    {"mov", "move"},
    {"mapa", "move"},
    {"getctarank", "move"},
    {"isspacep", "move"},
    {"createpolicy", "move"},
    {"setp", "compare"},
    {"set", "compare"},
    {"selp", "compare"},
    {"slct", "compare"},
    {"testp", "compare"},
    {"rcp", "special"},
    {"sqrt", "special"},
    {"rsqrt", "special"},
    {"sin", "special"},
    {"cos", "special"},
    {"lg2", "special"},
    {"ex2", "special"},
    {"tanh", "special"},
    {"div", "special"},
    {"rem", "special"},
    {"lop3", "integer"},
    {"prmt", "integer"},
    {"shf", "integer"},
    {"popc", "integer"},
    {"clz", "integer"},
    {"bfind", "integer"},
    {"dp4a", "integer"},
    {"dp2a", "integer"},
}};

bool has_type(std::string_view text, std::string_view type) {
  for (std::size_t at = text.find(type); at != std::string_view::npos; at = text.find(type, at + 1)) {
    const std::size_t end = at + type.size();
    if (end == text.size() || text[end] == '.' || text[end] == ' ' || text[end] == 'x') return true;
  }
  return false;
}

}  // namespace

std::string_view kind_of(std::string_view text) {
  const std::string_view op = text.substr(0, text.find_first_of(". "));
  if (const auto* found = std::ranges::find(kByName, op, &Entry::first); found != kByName.end()) return found->second;
  if (has_type(text, ".f64")) return "fp64";
  if (has_type(text, ".f32")) return "fp32";
  if (has_type(text, ".f16") || has_type(text, ".bf16")) return "fp16";
  return "integer";
}

}  // namespace kf::emulator
