// SPDX-License-Identifier: Apache-2.0
#include "cuda/harness_kernels.h"

#include <algorithm>
#include <cstring>

namespace kf::cuda {
namespace {

constexpr int kThreads = 128;  // of every harness kernel, see harness.cu
constexpr int kBlocksPerSm = 16;

using harness::i64;
using harness::u64;

}  // namespace

HarnessKernels::HarnessKernels(Gpu& gpu, const Build& build, int sm_count, std::int64_t shared_per_block)
    : gpu_(gpu), sm_count_(sm_count), shared_per_block_(shared_per_block) {
  if (build.cubin.empty()) {
    throw Faulted{{DeviceFault::Kind::kUnsupported, "the harness build has no cubin for this device"}};
  }
  module_ = load_module(gpu, build.cubin.data());
  const std::size_t most = std::max({sizeof(harness::Damage), sizeof(harness::DigestSum), sizeof(harness::Count)});
  partials_bytes_ = most * static_cast<std::size_t>(sm_count * kBlocksPerSm);
  partials_ = make_memory(gpu, static_cast<std::int64_t>(partials_bytes_));
  void* staged = nullptr;
  gpu.check(gpu->cuMemHostAlloc(&staged, partials_bytes_, 0), "cuMemHostAlloc");
  staged_ = Pinned(gpu, staged);
  sink_ = make_memory(gpu, 16);
}

CUfunction HarnessKernels::find(const char* name) const {
  if (const auto found = functions_.find(std::string_view(name)); found != functions_.end()) {
    return found->second;
  }
  CUfunction function = nullptr;
  gpu_.check(gpu_->cuModuleGetFunction(&function, module_.get(), name), name);
  if (gpu_->cuFuncLoad != nullptr) {
    gpu_.check(gpu_->cuFuncLoad(function), "cuFuncLoad");
  }
  return functions_.emplace(name, function).first->second;
}

template <class... Args>
void HarnessKernels::launch_grid(const char* name, unsigned blocks, unsigned threads, unsigned shared, CUstream stream,
                                 Args... args) const {
  void* parameters[] = {static_cast<void*>(&args)...};
  CUlaunchConfig config{blocks, 1, 1, threads, 1, 1, shared, stream, nullptr, 0};
  gpu_.check(gpu_->cuLaunchKernelEx(&config, find(name), parameters, nullptr), name);
}

template <class... Args>
void HarnessKernels::launch(const char* name, std::int64_t work, Args... args) const {
  launch_grid(name, blocks_for(work), kThreads, 0u, gpu_.stream(), args...);
}

unsigned HarnessKernels::blocks_for(std::int64_t work) const {
  const std::int64_t wanted = (work + kThreads - 1) / kThreads;
  return static_cast<unsigned>(
      std::clamp<std::int64_t>(wanted, 1, static_cast<std::int64_t>(sm_count_) * kBlocksPerSm));
}

CUdeviceptr HarnessKernels::scratch(std::int64_t bytes) {
  if (bytes > scratch_bytes_) {
    scratch_ = Memory();
    scratch_bytes_ = 0;
    scratch_ = make_memory(gpu_, bytes);
    scratch_bytes_ = bytes;
  }
  return scratch_.get();
}

void HarnessKernels::download(void* to, CUdeviceptr from, std::size_t bytes) {
  const bool fits =
      bytes <= partials_bytes_;  // pinned memory is read at once, other memory after a copy of the driver's
  gpu_.check(gpu_->cuMemcpyDtoHAsync(fits ? staged_.get() : to, from, bytes, gpu_.stream()), "cuMemcpyDtoHAsync");
  gpu_.wait(kOwnDeadline);
  if (fits) {
    std::memcpy(to, staged_.get(), bytes);
  }
}

template <class T, class... Args>
T HarnessKernels::reduce(const char* name, std::int64_t work, T start, Args... args) {
  launch(name, work, args..., partials_.get());
  std::vector<T> partials(blocks_for(work));
  download(partials.data(), partials_.get(), partials.size() * sizeof(T));
  for (const T& partial : partials) {
    merge(start, partial);
  }
  return start;
}

void HarnessKernels::poison(const Buffer& buffer, std::uint64_t seed) {
  const i64 pairs = buffer.at.total / 16;
  launch("kf_poison", pairs, buffer.memory.get(), i64{0}, pairs, static_cast<u64>(seed));
}

void HarnessKernels::poison_red_zones(const Buffer& buffer, std::uint64_t seed) {
  const i64 pairs = buffer.at.total / 16;
  const i64 inside = (buffer.at.front + 15) / 16;  // a pair that a zone shares with the inside is the zone's
  const i64 behind = std::max<i64>(inside, (buffer.at.front + buffer.at.bytes) / 16);
  launch("kf_poison", inside, buffer.memory.get(), i64{0}, inside, static_cast<u64>(seed));
  launch("kf_poison", pairs - behind, buffer.memory.get(), behind, pairs, static_cast<u64>(seed));
}

void HarnessKernels::fill(const Buffer& buffer, const harness::Layout& layout, int family, std::uint64_t seed) {
  launch("kf_fill", layout.elements, buffer.usable(), layout, family, static_cast<u64>(seed));
}

void HarnessKernels::scatter(const Buffer& buffer, const harness::Layout& layout, const Bytes& dense) {
  const CUdeviceptr staged = scratch(static_cast<std::int64_t>(dense.size()));
  gpu_.check(gpu_->cuMemcpyHtoDAsync(staged, dense.data(), dense.size(), gpu_.stream()), "cuMemcpyHtoDAsync");
  launch("kf_scatter", layout.elements, buffer.usable(), layout, staged);
  gpu_.wait(kOwnDeadline);  // `dense` is the caller's
}

ContentDigest HarnessKernels::digest(const Buffer& buffer) {
  const i64 pairs = buffer.at.total / 16;
  const auto sum = reduce("kf_digest", pairs, harness::empty_digest(), buffer.memory.get(), pairs);
  return {{sum.lane[0], sum.lane[1], sum.lane[2], sum.lane[3]}};
}

std::int64_t HarnessKernels::red_zone_damage(const Buffer& buffer, std::uint64_t seed) {
  const i64 end = buffer.at.front + buffer.at.bytes;
  std::size_t blocks = 0;  // of both zones, whose partial results lie behind each other and are fetched together
  const auto look = [&](i64 from, i64 to) {
    launch("kf_poison_damage", to - from, buffer.memory.get(), from, to, static_cast<u64>(seed),
           partials_.get() + static_cast<CUdeviceptr>(blocks * sizeof(harness::Count)));
    blocks += blocks_for(to - from);
  };
  look(0, buffer.at.front);
  look(end, buffer.at.total);
  std::vector<harness::Count> partials(blocks);
  download(partials.data(), partials_.get(), blocks * sizeof(harness::Count));
  harness::Count damage = harness::empty_count();
  for (const harness::Count& partial : partials) {
    merge(damage, partial);
  }
  return damage.value;
}

std::int64_t HarnessKernels::padding_damage(const Buffer& buffer, const harness::Layout& layout, std::uint64_t seed) {
  if (layout.dense != 0 && layout.elements * layout.bytes == buffer.at.bytes) {
    return 0;
  }
  const i64 begin = buffer.at.front;
  const i64 end = begin + buffer.at.bytes;
  return reduce("kf_padding_damage", buffer.at.bytes, harness::empty_count(), buffer.memory.get(), begin, end,
                static_cast<u64>(seed), layout)
      .value;
}

std::int64_t HarnessKernels::nonzero_bytes(const Buffer& buffer) {
  const i64 bytes = buffer.at.bytes;
  return reduce("kf_nonzero", bytes, harness::empty_count(), buffer.usable(), bytes).value;
}

std::int64_t HarnessKernels::differing_elements(const Buffer& a, const Buffer& b, const harness::Layout& layout) {
  return reduce("kf_differing", layout.elements, harness::empty_count(), a.usable(), b.usable(), layout).value;
}

std::int64_t HarnessKernels::count_bits(CUdeviceptr bitmap, std::int64_t words) {
  return reduce("kf_count_bits", words, harness::empty_count(), bitmap, static_cast<i64>(words)).value;
}

Mismatch HarnessKernels::compare(const harness::ComparePlan& plan, const Buffer& out, CUdeviceptr reference,
                                 CUdeviceptr condition) {
  const harness::Comparison& of = plan.of;
  const std::int64_t row_words = (of.elements / of.columns + 31) / 32;
  const std::int64_t column_words = (of.columns + 31) / 32;
  const CUdeviceptr rows = scratch(4 * (row_words + column_words));
  const CUdeviceptr columns = rows + static_cast<CUdeviceptr>(4 * row_words);
  gpu_.check(gpu_->cuMemsetD8Async(rows, 0, static_cast<std::size_t>(4 * (row_words + column_words)), gpu_.stream()),
             "cuMemsetD8Async");
  // kf_compare takes its bitmaps behind the partial results, so it cannot go through reduce().
  launch("kf_compare", of.elements, out.usable(), reference, condition, of, partials_.get(), rows, columns);
  std::vector<harness::Damage> partials(blocks_for(of.elements));
  download(partials.data(), partials_.get(), partials.size() * sizeof(harness::Damage));
  harness::Damage damage = harness::no_damage();
  for (const harness::Damage& partial : partials) {
    merge(damage, partial);
  }
  const bool any = damage.wrong > 0;
  Mismatch mismatch = harness::mismatch_of(plan, damage, any ? count_bits(rows, row_words) : 0,
                                           any ? count_bits(columns, column_words) : 0);
  if (plan.regions.size > 0 && !any) {
    judge_regions(plan, out, reference, mismatch);
  }
  return mismatch;
}

void HarnessKernels::judge_regions(const harness::ComparePlan& plan, const Buffer& out, CUdeviceptr reference,
                                   Mismatch& mismatch) {
  const std::int64_t chunks = plan.regions.regions * plan.regions.chunks;
  std::vector<harness::SquareSums> squares(static_cast<std::size_t>(chunks));
  const CUdeviceptr sums = scratch(chunks * static_cast<std::int64_t>(sizeof(harness::SquareSums)));
  launch_grid("kf_squares", static_cast<unsigned>(chunks), kThreads, 0u, gpu_.stream(), out.usable(), reference,
              plan.of, plan.regions, sums);
  download(squares.data(), sums, squares.size() * sizeof(harness::SquareSums));
  harness::judge_regions(plan, squares, mismatch);
}

void HarnessKernels::scrub_shared(std::uint64_t seed) {
  const CUfunction function = find("kf_scrub_shared");
  gpu_.check(gpu_->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(shared_per_block_)),
             "cuFuncSetAttribute");
  const auto words = static_cast<unsigned>(shared_per_block_ / 4);
  // One block fills a multiprocessor's shared memory; four times as many blocks as there are multiprocessors, so that
  // each gets at least one.
  launch_grid("kf_scrub_shared", static_cast<unsigned>(4 * sm_count_), 256u, static_cast<unsigned>(shared_per_block_),
              gpu_.stream(), static_cast<u64>(seed), words, sink_.get());
}

void HarnessKernels::gate(CUstream stream, CUdeviceptr open, CUdeviceptr timed_out, std::uint64_t timeout_nanoseconds) {
  launch_grid("kf_gate", 1u, 1u, 0u, stream, open, timed_out, static_cast<u64>(timeout_nanoseconds));
}

void HarnessKernels::disturb(CUstream stream, const DisturbArgs& with) {
  gpu_.check(gpu_->cuFuncSetAttribute(find("kf_disturb"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                      static_cast<int>(shared_per_block_)),
             "cuFuncSetAttribute");
  const double held = std::clamp(with.held_share, 0.0, 1.0) * 4294967295.0;
  launch_grid("kf_disturb", clock_blocks(), 256u, static_cast<unsigned>(shared_per_block_), stream, with.release,
              with.states, static_cast<u64>(with.seed), static_cast<unsigned int>(held),
              static_cast<u64>(with.longest_nanoseconds), static_cast<unsigned int>(with.staggered), with.scratch,
              static_cast<i64>(with.scratch_bytes / 16));
}

void HarnessKernels::read_clock(CUstream stream, CUdeviceptr pair) {
  launch_grid("kf_clock", clock_blocks(), 1u, 0u, stream, pair);
}

void HarnessKernels::read_sweep(CUstream stream, CUdeviceptr data, std::int64_t bytes) {
  const i64 vectors = bytes / 16;
  launch_grid("kf_flush", sweep_blocks(), 512u, 0u, stream, data, vectors, sink_.get());
}

}  // namespace kf::cuda
