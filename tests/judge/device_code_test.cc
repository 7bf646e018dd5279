// Compiles the device code of evaluate/task/data_cuda_source.h for this processor, with a few names
// of CUDA defined, and compares it with the host's code: the same numbers, poison and findings.
// That a GPU computes the same is shown by the tests that need one.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "evaluate/judge/compare.h"
#include "evaluate/task/data.h"
#include "evaluate/task/data_cuda_source.h"

namespace specgen {
namespace {

constexpr std::string_view kShim = R"(
#include <cmath>
#include <cstring>
using std::fabs;
using std::fmax;
#define __device__ static
#define __global__
#define __shared__ static
struct Dimension { unsigned x; };
static Dimension blockIdx{0}, threadIdx{0}, blockDim{1}, gridDim{1};
extern "C" void be_block(unsigned block, unsigned blocks) { blockIdx.x = block; gridDim.x = blocks; }
static void __syncthreads() {}
template <class To, class From> static To same_bits(From from) {
  To to; std::memcpy(&to, &from, sizeof(to)); return to;
}
static float __uint_as_float(unsigned x) { return same_bits<float>(x); }
static unsigned __float_as_uint(float x) { return same_bits<unsigned>(x); }
static double __longlong_as_double(long long x) { return same_bits<double>(x); }
static float __fmul_rn(float a, float b) { return a * b; }
static float __fadd_rn(float a, float b) { return a + b; }
static double __dmul_rn(double a, double b) { return a * b; }
static double __dadd_rn(double a, double b) { return a + b; }
static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
)";

using BeBlock = void(unsigned, unsigned);
using Fill = void(void*, int, long long, int, double, double, unsigned long long);
using MakePoison = void(void*, int, long long, unsigned long long);
using Compare = void(const void*, int, const long long*, long long, long long, const double*,
                     const double*, double, double, double, double, unsigned long long,
                     OutputReport*);
using CompareBaseline = void(const void*, const void*, int, long long, long long, double, double,
                             double, double, double, unsigned long long, OutputReport*);

constexpr unsigned kBlocks = 3;
constexpr std::array kDtypes{Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16,
                             Dtype::i64, Dtype::i32, Dtype::u8};

class DeviceCode : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    static auto folder = TemporaryFolder::make();
    ASSERT_TRUE(folder);
    std::string source = (folder->path() / "device.cc").string();
    std::string library = (folder->path() / "device.so").string();
    ASSERT_TRUE(write_file_durably(source, std::string(kShim) + std::string(kInputKernelSource)));
    std::string command = std::string(SPECGEN_TEST_COMPILER) +
                          " -std=c++20 -O1 -ffp-contract=off -shared -fPIC -o " + library + " " +
                          source;
    ASSERT_EQ(std::system(command.c_str()), 0);
    handle_ = ::dlopen(library.c_str(), RTLD_NOW);
    ASSERT_NE(handle_, nullptr) << ::dlerror();
  }

  template <class Signature>
  static Signature* function(const char* name) {
    return reinterpret_cast<Signature*>(::dlsym(handle_, name));
  }
  // Runs a kernel as a grid of single threads.
  static void launch(auto&& kernel) {
    for (unsigned block = 0; block < kBlocks; ++block) {
      function<BeBlock>("be_block")(block, kBlocks);
      kernel();
    }
  }
  static OutputReport merged(const std::array<OutputReport, kBlocks>& blocks) {
    OutputReport all;
    for (const OutputReport& block : blocks) merge(all, block);
    return all;
  }
  static void expect_same(const OutputReport& device, const OutputReport& host, Dtype dtype) {
    EXPECT_EQ(device.elements, host.elements) << to_string(dtype);
    EXPECT_EQ(device.unwritten, host.unwritten) << to_string(dtype);
    EXPECT_EQ(device.nonfinite, host.nonfinite) << to_string(dtype);
    EXPECT_EQ(device.beyond, host.beyond) << to_string(dtype);
    EXPECT_EQ(device.worst_at, host.worst_at) << to_string(dtype);
    EXPECT_EQ(device.worst_ratio, host.worst_ratio) << to_string(dtype);
    EXPECT_EQ(device.worst_relative, host.worst_relative) << to_string(dtype);
    EXPECT_TRUE(device.worst_got == host.worst_got || std::isnan(host.worst_got));
    EXPECT_EQ(device.worst_expected, host.worst_expected) << to_string(dtype);
    EXPECT_NEAR(device.error_squares, host.error_squares, 1e-12 * host.error_squares);
    EXPECT_NEAR(device.value_squares, host.value_squares, 1e-12 * host.value_squares);
  }

  static void* handle_;
};
void* DeviceCode::handle_ = nullptr;

TEST_F(DeviceCode, input_data_has_the_same_bits_as_on_the_host) {
  using Kind = Distribution::Kind;
  constexpr std::size_t kCount = 30001;
  const std::vector<Distribution> all{{Kind::normal, 0, 1},      {Kind::normal, -3, 0.01},
                                      {Kind::normal, 0, 2e-6},   {Kind::uniform, -30, 30},
                                      {Kind::heavy, 1, 1},       {Kind::heavy, 250, 1},
                                      {Kind::positive, 1e-7, 2}, {Kind::integers, 0, 200}};
  for (Dtype dtype : kDtypes) {
    for (const Distribution& distribution : all) {
      if (!is_float(dtype) && distribution.kind != Kind::integers) continue;
      std::vector<std::byte> host(kCount * size_of(dtype)), device(host.size());
      fill(host, dtype, distribution, 123);
      launch([&] {
        function<Fill>("specgen_fill")(device.data(), static_cast<int>(dtype), kCount,
                                       static_cast<int>(distribution.kind), distribution.a,
                                       distribution.b, 123);
      });
      EXPECT_TRUE(device == host) << to_string(dtype) << " " << distribution.text();
    }
  }
}

TEST_F(DeviceCode, poison_has_the_same_bits_as_on_the_host) {
  for (Dtype dtype : kDtypes) {
    std::vector<std::byte> host(1000 * size_of(dtype)), device(host.size());
    poison(dtype, host, {.secret = 55});
    launch([&] {
      function<MakePoison>("specgen_poison")(device.data(), static_cast<int>(dtype), 1000, 55);
    });
    EXPECT_TRUE(device == host) << to_string(dtype);
  }
}

TEST_F(DeviceCode, a_comparison_finds_what_the_host_finds) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr Poison kPoison{.secret = 55};
  for (Dtype dtype : kDtypes) {
    Tensor tensor{"y", dtype, {50, 60}, 3000};
    Distribution data{Distribution::Kind::integers, 0, 200};
    if (is_float(dtype)) data = {Distribution::Kind::normal, 0, 1};
    std::vector<std::byte> right(tensor.bytes()), unwritten(tensor.bytes());
    fill(right, dtype, data, 1);
    poison(dtype, unwritten, kPoison);
    Expected expected{.at = {}, .first = 0, .value = std::vector<double>(3000), .scale = {}};
    to_doubles(dtype, right, expected.value);
    for (double value : expected.value) expected.scale.push_back(3 * std::abs(value));
    Case of;
    of.reduction = 64;
    Tolerance tolerance = tolerance_of(CheckPolicy{}, of, dtype);
    Bounds bounds = bounds_of(tolerance, dtype);

    std::vector<std::byte> got = right;
    auto set = [&](std::size_t i, double value) {
      std::size_t size = size_of(dtype);
      from_doubles(dtype, std::span(&value, 1), std::span(got).subspan(i * size, size));
    };
    for (int trouble = 0; trouble < 5; ++trouble) {
      if (trouble == 1) set(2000, expected.value[2000] * 1.0001 + 1);
      if (trouble == 2) expected.value[77] = is_float(dtype) ? kInfinity : 7.5;
      if (trouble == 3) set(1500, std::nan("")), set(1600, kInfinity);
      if (trouble == 4) std::copy(unwritten.begin() + 800, unwritten.end(), got.begin() + 800);
      std::array<OutputReport, kBlocks> blocks;
      auto device_compare = [&](const Expected& what) {
        launch([&] {
          function<Compare>("specgen_compare")(
              got.data(), static_cast<int>(dtype),
              what.at.empty() ? nullptr : reinterpret_cast<const long long*>(what.at.data()),
              what.first, static_cast<long long>(what.value.size()), what.value.data(),
              what.scale.data(), bounds.scale_factor, bounds.value_factor, bounds.floor,
              bounds.overflow, kPoison.secret, blocks.data());
        });
        return merged(blocks);
      };
      expect_same(device_compare(expected), compare(tensor, got, expected, tolerance, kPoison),
                  dtype);
      Expected samples{.at = {2000, 77, 5, 1500},
                       .first = 0,
                       .value = {expected.value[2000], 60000, 1, expected.value[1500]},
                       .scale = {1, 60000, 1, kInfinity}};
      expect_same(device_compare(samples), compare(tensor, got, samples, tolerance, kPoison),
                  dtype);

      Bounds wide = baseline_bounds_of(tolerance, dtype);
      launch([&] {
        function<CompareBaseline>("specgen_compare_baseline")(
            got.data(), right.data(), static_cast<int>(dtype), 10, 2900, 2.0, wide.scale_factor,
            wide.value_factor, wide.floor, wide.overflow, kPoison.secret, blocks.data());
      });
      expect_same(merged(blocks),
                  compare_with_baseline(tensor, got, right, 2, tolerance, kPoison,
                                        {.first = 10, .count = 2900}),
                  dtype);
    }
  }
}

}  // namespace
}  // namespace specgen
