// SPDX-License-Identifier: Apache-2.0
#include "mutants.h"

#include <algorithm>
#include <optional>

namespace kf::emulator_test {
namespace {

constexpr int kInputs = 4096;

struct Statement {
  std::size_t at = 0, bytes = 0;  // without the semicolon
  std::string text;               // without guard
  std::string guard;              // "@%p1 " or nothing
};

// The statements of a module's functions; directives, labels and braces are skipped over.
std::vector<Statement> statements(const std::string& ptx) {
  std::vector<Statement> all;
  for (std::size_t line = ptx.find('{'); line < ptx.size();) {
    const std::size_t end = std::min(ptx.find('\n', line), ptx.size());
    for (std::size_t at = line; at < end;) {
      const std::size_t semicolon = ptx.find(';', at);
      if (semicolon == std::string::npos || semicolon >= end) break;
      Statement s;
      s.at = at;
      for (bool moved = true; moved;) {
        moved = false;
        while (s.at < semicolon && std::string_view(" \t{}").find(ptx[s.at]) != std::string_view::npos) ++s.at;
        const std::size_t colon = ptx.find(": ", s.at);
        if (colon < semicolon && ptx.substr(s.at, colon - s.at).find_first_of(" \t[") == std::string::npos)
          s.at = colon + 1, moved = true;
      }
      s.bytes = semicolon - s.at;
      s.text = ptx.substr(s.at, s.bytes);
      if (s.text.starts_with('@')) {
        const std::size_t space = s.text.find_first_of(" \t");
        s.guard = s.text.substr(0, space) + " ";
        s.text = s.text.substr(s.text.find_first_not_of(" \t", space));
      }
      if (!s.text.empty() && s.text[0] != '.' && s.text[0] != '/') all.push_back(s);
      at = semicolon + 1;
    }
    line = end + 1;
  }
  return all;
}

struct Change {
  std::string what, instead;
};

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  return text.replace(text.find(from), from.size(), to);
}

// What the statement becomes; nullopt for one that is left alone.
std::optional<Change> change(const Statement& s) {
  const std::string& t = s.text;
  auto starts = [&](std::string_view with) { return t.starts_with(with); };
  if (starts("mbarrier.try_wait") || starts("mbarrier.test_wait")) {
    const std::size_t from = t.find_first_of(" \t");
    return Change{"mbarrier", "setp.eq.u32 " + t.substr(from, t.find(',') - from) + ", 0, 0"};
  }
  if (starts("mbarrier.")) return Change{"mbarrier", ""};
  if (starts("bar.warp.sync")) return Change{"warp barrier", ""};
  if (starts("bar.") || starts("barrier.")) return Change{"barrier", ""};
  if (starts("fence.proxy") || starts("fence.mbarrier_init")) return Change{"proxy fence", ""};
  if (starts("fence.") || starts("membar.")) return Change{"fence", ""};
  if (starts("cp.async.wait") || starts("cp.async.bulk.wait") || starts("griddepcontrol.wait"))
    return Change{"wait", ""};
  if (starts("cp.async.commit") || starts("cp.async.bulk.commit")) return Change{"commit", ""};
  if (starts("shfl.sync") || starts("vote.sync")) return Change{"mask", t.substr(0, t.rfind(',')) + ", 65535"};
  if (starts("ld.") || starts("st.") || starts("atom.") || starts("red."))
    for (const std::string_view order : {".acquire.", ".release.", ".acq_rel."})
      if (has(t, order)) return Change{"order", replaced(t, order, ".relaxed.")};
  return std::nullopt;
}

// "instruction a, b, LAST" with LAST + 1, or with LAST ^ 1; LAST may be a register.
std::string with_last(const Statement& s, const std::string& op) {
  const std::size_t comma = s.text.rfind(',');
  std::string last = s.text.substr(comma + 1);
  last.erase(0, last.find_first_not_of(' '));
  return "{ .reg .b32 kfm; " + op + " kfm, " + last + ", 1; " + s.guard + s.text.substr(0, comma) + ", kfm; }";
}
// The number behind the instruction's last blank, changed by `by`.
std::string with_number(const Statement& s, int by) {
  const std::size_t at = s.text.find_last_of(" \t") + 1;
  return s.guard + s.text.substr(0, at) + std::to_string(std::stoi(s.text.substr(at)) + by) + ";";
}

// Other faults than taking something away; each gives the text that stands instead of the whole statement.
std::vector<Change> faults(const Statement& s) {
  const std::string& t = s.text;
  auto starts = [&](std::string_view with) { return t.starts_with(with); };
  std::vector<Change> all;
  if ((starts("mbarrier.try_wait") || starts("mbarrier.test_wait")) && has(t, ".parity"))
    all.push_back({"phase bit flipped", with_last(s, "xor.b32")});
  if (starts("mbarrier.init")) all.push_back({"one arrival too many expected", with_last(s, "add.u32")});
  if (starts("mbarrier.init")) all.push_back({"one arrival too few expected", with_last(s, "sub.u32")});
  if (starts("cp.async.wait_group") || starts("cp.async.bulk.wait_group"))
    all.push_back({"wait for one group less", with_number(s, 1)});
  if (starts("fence.") || starts("membar.gl"))
    for (const std::string_view scope : {".gpu", ".gl", ".sys"})
      if (t.ends_with(scope)) all.push_back({"fence of its block alone", s.guard + replaced(t, scope, ".cta") + ";"});
  if (starts("shfl.sync") || starts("vote.sync"))
    all.push_back({"mask without lane 0", s.guard + t.substr(0, t.rfind(',')) + ", -2;"});
  if ((starts("ld.volatile") || starts("st.volatile") || has(t, ".relaxed.gpu.global")) && !starts("red") &&
      !starts("atom")) {
    std::string weak = t;
    for (const std::string_view word : {".volatile", ".relaxed.gpu"})
      if (has(weak, word)) weak = replaced(weak, word, "");
    all.push_back({"strong access made weak", s.guard + weak + ";"});
  }
  return all;
}

// Barriers that come one access to shared memory too late.
std::optional<std::string> barrier_moved(const std::string& ptx, const std::vector<Statement>& all, std::size_t n) {
  const Statement& barrier = all[n];
  if (!barrier.text.starts_with("bar.sync") && !barrier.text.starts_with("barrier.sync")) return std::nullopt;
  for (std::size_t k = n + 1; k < all.size(); ++k) {
    const Statement& next = all[k];
    if (next.text.starts_with("bra") || next.text.starts_with("bar") || next.text.starts_with("ret") ||
        ptx.substr(all[k - 1].at + all[k - 1].bytes, next.at - all[k - 1].at - all[k - 1].bytes).find(':') !=
            std::string::npos)
      return std::nullopt;
    if (!next.text.starts_with("ld.shared") && !next.text.starts_with("st.shared")) continue;
    std::string text = ptx;
    text.insert(next.at + next.bytes + 1, " " + barrier.guard + barrier.text + ";");
    return text.erase(barrier.at, barrier.bytes + 1);
  }
  return std::nullopt;
}

std::string expand_bounds(const std::string& source, int without) {
  std::string text = "#define BOUND(c) (c)\n#define NO_BOUND(c) ((c) || true)\n" + source;
  std::size_t at = text.find("extern \"C\"");
  for (int n = 0; (at = text.find("BOUND(", at)) != std::string::npos; at += 9, ++n)
    if (n == without) text.insert(at, "NO_");
  return text;
}

std::string compiled(const RightKernel& kernel, int without) {
  const auto ptx = compile_to_ptx(expand_bounds(kernel.source, without));
  if (!ptx) throw std::runtime_error("no NVRTC on this machine");
  return *ptx;
}

}  // namespace

std::vector<Mutant> mutants_of(const RightKernel& kernel) {
  const std::string right = compiled(kernel, -1);
  std::vector<Mutant> all{{"none", "", right}};
  const std::vector<Statement> all_statements = statements(right);
  for (std::size_t n = 0; n < all_statements.size(); ++n) {
    const Statement& s = all_statements[n];
    for (const Change& fault : faults(s)) {
      std::string text = right;
      all.push_back({fault.what, s.guard + s.text, text.replace(s.at, s.bytes + 1, fault.instead)});
    }
    if (auto moved = barrier_moved(right, all_statements, n))
      all.push_back({"barrier moved behind an access", s.guard + s.text, *std::move(moved)});
    const auto changed = change(s);
    if (!changed) continue;
    std::string text = right;
    text.replace(s.at, s.bytes + 1, changed->instead.empty() ? "" : s.guard + changed->instead + ";");
    all.push_back({changed->what, s.guard + s.text, std::move(text)});
  }
  int bounds = 0;
  for (std::size_t at = 0; (at = kernel.source.find("BOUND(", at)) != std::string::npos; ++at, ++bounds)
    all.push_back({"bounds check", "BOUND " + std::to_string(bounds + 1), compiled(kernel, bounds)});
  return all;
}

std::string alarm(const RightKernel& kernel, const std::string& ptx, std::uint64_t seed) {
  EmulatorOptions options;
  options.seed = seed;
  options.step_budget = 12'000'000;  // a block that spins uses up 640,000 a turn
  KernelBench bench(ptx, options);
  std::vector<float> x(kInputs);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7 + seed * 5 + i / 19) % 23) - 11;
  const std::vector<float> want = kernel.expected(x, kernel.n);
  x.resize(static_cast<std::size_t>(kernel.inputs != 0 ? kernel.inputs : kernel.n));
  const int in = bench.buffer(x), out = bench.allocate(static_cast<std::int64_t>(4 * want.size()));
  const int scratch = bench.buffer(std::vector<std::uint32_t>(4096));
  const auto result = bench.pointer(in).pointer(out).pointer(scratch).scalar(kernel.n).launch("k", kernel.shape);
  if (!result) return fault_of(result);
  const auto got = bench.read<float>(out, want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    if (got[i] != want[i])
      return "element " + std::to_string(i) + " is " + std::to_string(got[i]) + ", not " + std::to_string(want[i]);
  return "";
}

}  // namespace kf::emulator_test
