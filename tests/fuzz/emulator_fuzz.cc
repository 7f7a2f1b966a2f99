// SPDX-License-Identifier: Apache-2.0
// Broken PTX must end in an error or a finding, never in a crash. emulator_fuzz CORPUS RUNS [SEED]: changes the
// corpus' modules at random, loads each, and launches its kernel, once or three times, for a few thousand steps. The
// input at work when the process dies is in ./crash.ptx. LLVMFuzzerTestOneInput is for clang's -fsanitize=fuzzer,
// without main.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "emulator/emulator.h"

namespace {

std::string g_input;  // for the signal handler
struct {
  long loaded = 0, ran = 0;
} g_counts;  // so that a fuzzer whose inputs all fail early does not look like a good one

void run_once(const std::string& ptx) {
  kf::EmulatorOptions options;
  options.step_budget = 20'000;
  options.memory_bytes = 1 << 24;
  auto device = kf::open_emulator_device(*kf::named_target("H200"), options).value();
  kf::Build build;
  build.ptx = ptx;
  const auto module = device->load(build);
  if (!module) return;
  ++g_counts.loaded;
  std::vector<kf::BufferHandle> buffers;
  for (int n = 0; n < 3; ++n) {
    buffers.push_back(device->allocate({16384, 0}).value());
    if (!device->zero(buffers.back())) return;
  }
  kf::ResolvedPlan plan;
  kf::Launch launch;
  launch.id = launch.entry = "k";
  launch.grid = {2, 1, 1};
  launch.block = {64, 1, 1};
  launch.shared_bytes = 4096;
  for (int n = 0; n < 3; ++n) launch.args.push_back({kf::Arg::Kind::kTensor, n, 0, 8});
  launch.args.push_back({kf::Arg::Kind::kScalar, 0, 1024, 4});
  // One launch; a chain; a chain of dependent launches; launches that may run at the same time.
  const std::size_t form = ptx.size() % 4;
  for (int n = 0; n < (form == 0 ? 1 : 3); ++n) {
    if (n > 0 && form != 3) launch.after = {n - 1};
    launch.flags.pdl = form == 2;
    plan.launches.push_back(launch);
  }
  if (device->run(*module, plan, buffers, {}, {})) ++g_counts.ran;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run_once(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

#ifndef KF_LIBFUZZER
namespace {

void save_and_die(int signal) {
  const int file = open("crash.ptx", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0 && write(file, g_input.data(), g_input.size()) >= 0) close(file);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

using Random = std::mt19937_64;
std::size_t below(Random& random, std::size_t n) {
  return n == 0 ? 0 : static_cast<std::size_t>(random() % n);
}

// Start and length of a random word: letters, digits, '_', '.', '%'.
std::pair<std::size_t, std::size_t> word_at(const std::string& text, std::size_t at) {
  auto part = [&](std::size_t k) {
    const auto c = static_cast<unsigned char>(text[k]);
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '%';
  };
  std::size_t first = at, last = at;
  while (first > 0 && part(first - 1)) --first;
  while (last < text.size() && part(last)) ++last;
  return {first, last - first};
}

void change(std::string& text, const std::string& other, Random& random) {
  const std::size_t at = below(random, text.size());
  static const char* const kNumbers[] = {"0",          "1",  "-1", "4294967295", "9223372036854775807",
                                         "0x80000000", "31", "1e9"};
  switch (below(random, 8)) {
    case 0:
      text[at] = static_cast<char>(random());
      break;
    case 1:
      text.erase(at, 1 + below(random, 8));
      break;
    case 2: {  // a word of another module
      const auto [first, count] = word_at(text, at);
      const auto [from, length] = word_at(other, below(random, other.size()));
      text.replace(first, count, other, from, length);
      break;
    }
    case 3: {
      const auto [first, count] = word_at(text, at);
      text.replace(first, count, kNumbers[below(random, std::size(kNumbers))]);
      break;
    }
    case 4: {  // a line away, or twice
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
      const std::size_t begin = text.rfind('\n', at) + 1;
      if (end < begin) break;
      if ((random() & 1) != 0)
        text.erase(begin, end - begin + 1);
      else
        text.insert(begin, text.substr(begin, end - begin + 1));
      break;
    }
    case 5: {  // a line of another module
      const std::size_t from = other.rfind('\n', below(random, other.size())) + 1;
      const std::size_t to = std::min(other.find('\n', from), other.size());
      const std::size_t line = text.rfind('\n', at) + 1;
      text.insert(line, other.substr(from, to - from) + "\n");
      break;
    }
    case 6:
      text.resize(at);
      break;
    default: {  // two operands or words change places
      const auto [first, count] = word_at(text, at);
      const auto [second, length] = word_at(text, below(random, text.size()));
      const std::string a = text.substr(first, count), b = text.substr(second, length);
      if (first + count <= second) {
        text.replace(second, length, a);
        text.replace(first, count, b);
      }
    }
  }
}

std::vector<std::string> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> all;
  for (const auto& path : paths) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    if (!text.str().empty()) all.push_back(text.str());
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::puts("emulator_fuzz CORPUS RUNS [SEED]"), 2;
  const auto corpus = read_corpus(argv[1]);
  if (corpus.empty()) return std::puts("the corpus is empty"), 2;
  const long runs = std::atol(argv[2]);
  Random random(argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1);
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, save_and_die);
  for (const std::string& text : corpus) run_once(g_input = text);
  for (long run = 0; run < runs; ++run) {
    g_input = corpus[below(random, corpus.size())];
    for (std::size_t n = 1 + below(random, 3); n > 0 && !g_input.empty(); --n)
      change(g_input, corpus[below(random, corpus.size())], random);
    run_once(g_input);
  }
  std::printf("%zu modules, %ld changed ones: no crash; %ld loaded, %ld ran to their end\n", corpus.size(), runs,
              g_counts.loaded, g_counts.ran);
  return g_counts.loaded * 10 > runs && g_counts.ran > 0 ? 0 : 1;
}
#endif
