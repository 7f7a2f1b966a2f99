// SPDX-License-Identifier: Apache-2.0
// Every verb of the harness against its host side: equal bit for bit. Digests cover whole allocations, red zones and
// padding included.
#include <random>

#include "cuda/memory_pool.h"
#include "gpu/fixture.h"
#include "kernels/harness/fill.cuh"

namespace kf::gpu_tests {
namespace {

// The same allocation twice: on the device and here.
struct Pair {
  BufferHandle device;
  harness::Placement at;
  Bytes host;
  std::span<std::byte> usable() {
    return std::span(host).subspan(static_cast<std::size_t>(at.front), static_cast<std::size_t>(at.bytes));
  }
};

struct HarnessOnGpu : GpuTest {
  Pair pair(std::int64_t bytes, std::int64_t misalign, std::uint64_t seed) {
    Pair made{buffer(bytes, misalign), harness::place({bytes, misalign}), {}};
    made.at.total = cuda::MemoryPool::size_class(made.at.total);  // the rest of a pooled block is red zone
    made.host.resize(static_cast<std::size_t>(made.at.total));
    harness::poison(made.host, seed);
    EXPECT_TRUE(device().poison(made.device, seed));
    return made;
  }
  void expect_equal(const Pair& pair, const std::string& what) {
    const auto found = device().digest(pair.device);
    ASSERT_TRUE(found) << found.error().detail;
    EXPECT_TRUE(*found == harness::digest(pair.host)) << what;
  }
};

Tensor strided(Dtype dtype) {
  return {.name = "t", .dtype = dtype, .extent = {5, 7, 96}, .stride = {7 * 101 + 3, 101, 1}, .dims = {"B", "M", "N"}};
}
Tensor dense(Dtype dtype) {
  return {
      .name = "t", .dtype = dtype, .extent = {3, 5, 7, 31}, .stride = {1085, 217, 31, 1}, .dims = {"A", "B", "M", "N"}};
}

TEST_F(HarnessOnGpu, PoisonAndDigestEqualTheHosts) {
  for (const std::int64_t bytes : {0LL, 1LL, 255LL, 4096LL, (1LL << 20) + 3}) {
    for (const std::int64_t misalign : {0, 2, 16, 254}) {
      expect_equal(pair(bytes, misalign, 99),
                   std::to_string(bytes) + " bytes, misaligned by " + std::to_string(misalign));
    }
  }
}

TEST_F(HarnessOnGpu, EveryFamilyOfEveryTypeEqualsTheHosts) {
  for (int type = 0; type < kDtypeCount; ++type) {
    for (const Tensor& tensor : {strided(static_cast<Dtype>(type)), dense(static_cast<Dtype>(type))}) {
      Pair both = pair(tensor.span_bytes(), 16, 5);
      for (const FamilyFacts& family : kFamilies) {
        const TensorFill contents{std::string(family.name), 0xABCDEF0123456789ull};
        ASSERT_TRUE(device().fill(both.device, tensor, contents));
        ASSERT_TRUE(harness::fill(both.usable(), tensor, contents));
        expect_equal(both, std::string(family.name) + " as " + std::string(to_string(tensor.dtype)));
      }
    }
  }
}

TEST_F(HarnessOnGpu, ListedValuesEqualTheHosts) {
  Tensor tensor{.name = "t", .dtype = Dtype::kInt64, .extent = {3, 2}, .stride = {5, 1}};
  tensor.values = {0, -1, 7, 1LL << 62, 42, 3};
  Pair both = pair(tensor.span_bytes(), 0, 1);
  ASSERT_TRUE(device().fill(both.device, tensor, {"normal", 1}));
  ASSERT_TRUE(harness::fill(both.usable(), tensor, {"normal", 1}));
  expect_equal(both, "values");
}

TEST_F(HarnessOnGpu, RefusesWhatTheHostRefuses) {
  const Tensor tensor = dense(Dtype::kFloat32);
  const BufferHandle small = buffer(tensor.span_bytes() - 4);
  EXPECT_EQ(device().fill(small, tensor, {"normal", 1}).error().kind, DeviceFault::Kind::kUnsupported);
  const BufferHandle right = buffer(tensor.span_bytes());
  EXPECT_EQ(device().fill(right, tensor, {"gaussian", 1}).error().kind, DeviceFault::Kind::kUnsupported);
  EXPECT_EQ(device().read(right, 4, tensor.span_bytes()).error().kind, DeviceFault::Kind::kUnsupported);
  EXPECT_TRUE(device().fill(right, tensor, {"normal", 1}));
}

TEST_F(HarnessOnGpu, SeesDamageInRedZonesAndPadding) {
  const Tensor tensor{.name = "t", .dtype = Dtype::kFloat16, .extent = {4, 5}, .stride = {8, 1}};
  Pair both = pair(tensor.span_bytes() + 6, 2, 8);
  ASSERT_TRUE(device().fill(both.device, tensor, {"normal", 1}));
  EXPECT_EQ(*device().red_zone_damage(both.device, 8), 0);
  EXPECT_EQ(*device().padding_damage(both.device, tensor, 8), 0);
  const std::byte changed[2] = {std::byte{1}, std::byte{2}};
  ASSERT_TRUE(device().write(both.device, 12, changed));                       // row 0, column 6
  ASSERT_TRUE(device().write(both.device, tensor.span_bytes() + 1, changed));  // past the last element
  EXPECT_EQ(*device().padding_damage(both.device, tensor, 8), 4);
  const ModuleHandle module =
      load(R"(extern "C" __global__ void poke(unsigned char* p, long long offset) { p[offset] ^= 1; })");
  run(module,
      chain({launch("poke", 1, 1, {tensor_arg(0), long_arg(-1)}),
             launch("poke", 1, 1, {tensor_arg(0), long_arg(both.at.bytes)}),
             launch("poke", 1, 1, {tensor_arg(0), long_arg(-200)})}),
      {both.device});
  EXPECT_EQ(*device().red_zone_damage(both.device, 8), 3);
}

TEST_F(HarnessOnGpu, CountsNonzeroBytesAndDifferingElements) {
  const Tensor tensor{.name = "t", .dtype = Dtype::kFloat32, .extent = {100, 30}, .stride = {40, 1}};
  const BufferHandle a = buffer(tensor.span_bytes());
  const BufferHandle b = buffer(tensor.span_bytes());
  ASSERT_TRUE(device().zero(a));
  ASSERT_TRUE(device().zero(b));
  EXPECT_EQ(*device().nonzero_bytes(a), 0);
  const std::byte one[1] = {std::byte{1}};
  ASSERT_TRUE(device().write(a, 4 * (40 * 7 + 3), one));
  ASSERT_TRUE(device().write(a, 4 * 35, one));  // padding
  EXPECT_EQ(*device().nonzero_bytes(a), 2);
  EXPECT_EQ(*device().differing_elements(a, b, tensor), 1);
}

void expect_same(const Mismatch& a, const Mismatch& b, const std::string& what) {
  const auto bits = [](double value) { return harness::bits_of(value); };
  EXPECT_EQ(a.elements, b.elements) << what;
  EXPECT_EQ(a.wrong, b.wrong) << what;
  EXPECT_EQ(a.unwritten, b.unwritten) << what;
  EXPECT_EQ(a.class_errors, b.class_errors) << what;
  EXPECT_EQ(a.worst_index, b.worst_index) << what;
  EXPECT_EQ(bits(a.worst_out), bits(b.worst_out)) << what;
  EXPECT_EQ(bits(a.worst_ref), bits(b.worst_ref)) << what;
  EXPECT_EQ(bits(a.worst_bound), bits(b.worst_bound)) << what;
  EXPECT_EQ(bits(a.worst_ratio), bits(b.worst_ratio)) << what;
  EXPECT_EQ(a.first_index, b.first_index) << what;
  EXPECT_EQ(a.last_index, b.last_index) << what;
  EXPECT_EQ(a.wrong_rows, b.wrong_rows) << what;
  EXPECT_EQ(a.rows, b.rows) << what;
  EXPECT_EQ(a.wrong_columns, b.wrong_columns) << what;
  EXPECT_EQ(a.columns, b.columns) << what;
  EXPECT_EQ(a.by_rms, b.by_rms) << what;
}

// Compares on both sides; returns the host's answer.
struct CompareOnGpu : HarnessOnGpu {
  Mismatch compare_both(Pair& out, const Tensor& tensor, const std::vector<double>& reference,
                        const std::vector<double>& condition, CompareRequest request, const std::string& what) {
    const BufferHandle ref = buffer(static_cast<std::int64_t>(8 * reference.size()));
    const BufferHandle cond = buffer(static_cast<std::int64_t>(8 * std::max<std::size_t>(1, condition.size())));
    write(out.device, out.usable().data(), out.usable().size());
    write(ref, reference);
    write(cond, condition);
    request.out = out.device;
    request.tensor = &tensor;
    request.ref = ref;
    request.condition = condition.empty() ? ref : cond;
    request.has_condition = !condition.empty();
    const auto found = device().compare(request);
    EXPECT_TRUE(found) << found.error().detail;
    const Mismatch wanted =
        harness::compare(*harness::plan_comparison(request, out.at), out.host, reference, condition);
    if (found) {
      expect_same(*found, wanted, what);
    }
    return wanted;
  }
};

TEST_F(CompareOnGpu, AgreesWithTheHostOnRandomDamage) {
  std::mt19937_64 random(1);
  std::int64_t judged_wrong = 0;
  for (int type = 0; type < kDtypeCount; ++type) {
    for (int round = 0; round < 8; ++round) {
      const Tensor tensor = round % 2 == 0 ? strided(static_cast<Dtype>(type)) : dense(static_cast<Dtype>(type));
      const std::int64_t elements = tensor.elements();
      Pair out = pair(tensor.span_bytes(), 0, 42);
      ASSERT_TRUE(harness::fill(out.usable(), tensor, {round < 4 ? "mixed" : "nonfinite", random()}));
      const harness::Layout layout = *harness::layout_of(tensor);
      auto* base = reinterpret_cast<harness::u8*>(out.usable().data());
      std::vector<double> reference;
      std::vector<double> condition;
      for (std::int64_t i = 0; i < elements; ++i) {
        const std::int64_t offset = harness::offset_of(layout, i);
        reference.push_back(harness::decode(type, harness::load_element(base, offset, layout.bytes)));
        condition.push_back(std::abs(reference.back()) * 3.0);
        if (random() % 50 == 0) {  // another value, a rounding error, or never written
          const auto poison =
              harness::poison_at(42, static_cast<harness::u64>(out.at.front + offset * layout.bytes), layout.bytes);
          const double near = reference.back() * (1.0 + static_cast<double>(random() % 9) * 0x1p-9);
          harness::store_element(base, offset, layout.bytes, random() % 4 == 0 ? poison : harness::encode(type, near));
        }
      }
      CompareRequest request{
          .bound = {.ulp = 1.0, .acc = 2.0}, .poison_seed = 42, .nonfinite_unspecified = round % 3 == 2};
      const std::string what = std::string(to_string(tensor.dtype)) + ", round " + std::to_string(round);
      judged_wrong +=
          compare_both(out, tensor, reference, round % 4 < 2 ? condition : std::vector<double>{}, request, what).wrong;
    }
  }
  EXPECT_GT(judged_wrong, 1000);
}

TEST_F(CompareOnGpu, AgreesWithTheHostOnSlices) {
  const Tensor tensor = strided(Dtype::kBfloat16);
  Pair out = pair(tensor.span_bytes(), 0, 42);
  ASSERT_TRUE(harness::fill(out.usable(), tensor, {"normal", 3}));
  for (int dim = 0; dim < 3; ++dim) {
    CompareRequest request{.slice_dim = dim, .slice_first = 2, .slice_extent = 3, .poison_seed = 42};
    const std::int64_t elements = tensor.elements() / tensor.extent[static_cast<std::size_t>(dim)] * 3;
    const Mismatch found = compare_both(out, tensor, std::vector<double>(static_cast<std::size_t>(elements), 0.25), {},
                                        request, "dim " + std::to_string(dim));
    EXPECT_EQ(found.elements, elements);
    EXPECT_GT(found.wrong, 0);
  }
}

TEST_F(CompareOnGpu, AgreesWithTheHostOnRmsBounds) {
  Tensor tensor{
      .name = "t", .dtype = Dtype::kFloat32, .extent = {6, 40'000}, .stride = {40'000, 1}, .dims = {"M", "N"}};
  Pair out = pair(tensor.span_bytes(), 0, 42);
  ASSERT_TRUE(harness::fill(out.usable(), tensor, {"normal", 3}));
  std::vector<double> reference;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    float value;
    std::memcpy(&value, out.usable().data() + 4 * i, 4);
    reference.push_back(static_cast<double>(value) * (i / 40'000 == 4 ? 1.01 : 1.0001));
  }
  for (const std::vector<std::string>& region : {std::vector<std::string>{"N"}, {"M"}, {"M", "N"}, {}}) {
    CompareRequest request{.bound = {.ulp = 1e9, .rms = 1e-3, .region = region}, .poison_seed = 42};
    const Mismatch found =
        compare_both(out, tensor, reference, {}, request, "region of " + std::to_string(region.size()));
    EXPECT_TRUE(found.by_rms);
  }
}

TEST_F(CompareOnGpu, AgreesOnALargeTensor) {
  const Tensor tensor{
      .name = "t", .dtype = Dtype::kFloat16, .extent = {4000, 2000}, .stride = {2000, 1}, .dims = {"M", "N"}};
  Pair out = pair(tensor.span_bytes(), 0, 42);
  ASSERT_TRUE(harness::fill(out.usable(), tensor, {"uniform", 3}));
  std::vector<double> reference(static_cast<std::size_t>(tensor.elements()), 0.5);
  const Mismatch found =
      compare_both(out, tensor, reference, {}, {.bound = {.ulp = 500.0}, .poison_seed = 42}, "large");
  EXPECT_GT(found.wrong, 1'000'000);
  EXPECT_EQ(found.wrong_rows, 4000);
}

}  // namespace
}  // namespace kf::gpu_tests
