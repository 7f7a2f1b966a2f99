// SPDX-License-Identifier: Apache-2.0
#include "compile/ptx_special.h"

#include <algorithm>
#include <array>

namespace kf {
namespace {

constexpr std::array kSpecialPrefixes = {
    std::string_view{"%tid"},
    std::string_view{"%ntid"},
    std::string_view{"%laneid"},
    std::string_view{"%warpid"},
    std::string_view{"%nwarpid"},
    std::string_view{"%ctaid"},
    std::string_view{"%nctaid"},
    std::string_view{"%smid"},
    std::string_view{"%nsmid"},
    std::string_view{"%gridid"},
    std::string_view{"%is_explicit_cluster"},
    std::string_view{"%clusterid"},
    std::string_view{"%nclusterid"},
    std::string_view{"%cluster_ctaid"},
    std::string_view{"%cluster_nctaid"},
    std::string_view{"%cluster_ctarank"},
    std::string_view{"%cluster_nctarank"},
    std::string_view{"%lanemask_eq"},
    std::string_view{"%lanemask_le"},
    std::string_view{"%lanemask_lt"},
    std::string_view{"%lanemask_ge"},
    std::string_view{"%lanemask_gt"},
    std::string_view{"%clock"},
    std::string_view{"%clock_hi"},
    std::string_view{"%clock64"},
    std::string_view{"%globaltimer"},
    std::string_view{"%globaltimer_lo"},
    std::string_view{"%globaltimer_hi"},
    std::string_view{"%total_smem_size"},
    std::string_view{"%aggr_smem_size"},
    std::string_view{"%dynamic_smem_size"},
    std::string_view{"%current_graph_exec"},
    std::string_view{"%reserved_smem_offset_begin"},
    std::string_view{"%reserved_smem_offset_end"},
    std::string_view{"%reserved_smem_offset_cap"},
};

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool is_special_ptx_register(std::string_view name) {
  const std::string_view base = name.substr(0, name.find('.'));
  for (const std::string_view numbered : {"%envreg", "%pm", "%reserved_smem_offset_"}) {
    if (base.starts_with(numbered)) {
      std::string_view digits = base.substr(numbered.size());
      if (digits.ends_with("_64")) {
        digits.remove_suffix(3);
      }
      if (is_number(digits)) {
        return true;
      }
    }
  }
  return std::ranges::find(kSpecialPrefixes, base) != kSpecialPrefixes.end();
}

}  // namespace kf
