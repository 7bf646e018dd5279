// The CUDA test rig on a real GPU. Run by scripts/gpu, not by `make test`. Failures print their cause.

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "base/file.h"
#include "evaluate/cuda/cuda_device.h"
#include "evaluate/cuda/rig_memory.h"
#include "evaluate/judge/input_source.h"
#include "evaluate/task/data.h"
#include "runtime/testing.h"
#include "support/cuda_candidates.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

class Drawn final : public InputSource {
 public:
  explicit Drawn(const KernelTask& task) : task_(task) {}
  Task<Result<std::vector<std::vector<std::byte>>>> draw(const Case& at,
                                                         std::uint64_t seed) override {
    std::vector<std::vector<std::byte>> all;
    for (std::size_t i = 0; i < at.inputs.size(); ++i) {
      all.emplace_back(at.inputs[i].bytes());
      fill(all.back(), at.inputs[i].dtype, distribution_of(task_, at, i), tensor_seed(seed, i));
    }
    co_return all;
  }
  Task<Result<std::vector<Expected>>> expect(const Case&, std::uint64_t, std::size_t) override {
    co_return fail(ErrorCode::harness_failed, "not asked for in this test");
  }
  Tolerance tolerance(const Case& at, const Tensor& output) const override {
    return tolerance_of(task_.check, at, output.dtype);
  }
  bool is_generated() const override { return on_the_device; }
  bool is_baseline() const override { return false; }
  Task<Result<EagerRun>> run_baseline(const Case&, std::uint64_t) override {
    co_return fail(ErrorCode::harness_failed, "not asked for in this test");
  }

  bool on_the_device = true;

 private:
  const KernelTask& task_;
};

// One runtime and one device for all tests: a context takes a second.
struct Shared {
  RealRuntime runtime;
  Processes processes{runtime.loop, runtime.driver};
  std::unique_ptr<CudaDevice> device;
  std::string defect;

  Shared() {
    std::string node = SPECGEN_NODE_BINARY;
    // On another host the programs are in the folder of this one.
    if (!std::filesystem::exists(node)) node = (program_folder() / "specgen-node").string();
    auto found = runtime.loop.run(CudaDevice::find(runtime.loop, runtime.driver, processes,
                                                   {.self = {node}, .wrap = unsandboxed()}));
    if (found) {
      device = std::move(*found);
    } else {
      defect = found.error().text();
    }
  }
};
Shared& shared() {
  static auto* one = new Shared;  // never destroyed: the driver must not be unloaded at exit
  return *one;
}
bool there_is_a_gpu() {
  return std::filesystem::exists("/dev/nvidiactl");
}

class CudaTestRig : public testing::Test {
 protected:
  void SetUp() override {
    if (!there_is_a_gpu()) {
      GTEST_SKIP() << "SKIPPED: THERE IS NO GPU ON THIS HOST. NOTHING WAS TESTED.";
    }
    ASSERT_TRUE(shared().device) << shared().defect;
    auto parsed = [](const char* text) { return Expression::parse(text).value(); };
    task_.name = "copy";
    task_.axes = {{.name = "rows", .high = 1 << 20}, {.name = "cols", .high = 1 << 20}};
    task_.inputs = {{.name = "x",
                     .shape = {parsed("rows"), parsed("cols")},
                     .data = {{.kind = Distribution::Kind::normal, .a = 0, .b = 1}}}};
    task_.outputs = {{.name = "y", .shape = {parsed("rows"), parsed("cols")}, .data = {}}};
    task_.scalars = {{.name = "one", .value = 1.0}};
    task_.bytes = parsed("8*rows*cols");
    task_.flops = parsed("0");
    task_.baseline_cu = std::string(kCopy);
  }

  CudaDevice& device() { return *shared().device; }
  JudgeGpu& gpu() { return *device().judge(); }
  template <class T>
  T run(Task<Result<T>> task) {
    auto result = shared().runtime.loop.run(std::move(task));
    if (result) {
      if constexpr (!std::is_void_v<T>)
        return std::move(*result);
      else
        return;
    }
    ADD_FAILURE() << result.error().text();
    if constexpr (!std::is_void_v<T>) return T();
  }
  template <class T>
  T get(Result<T> result) {
    if (result) return std::move(*result);
    ADD_FAILURE() << result.error().text();
    return T();
  }
  void ok(const Result<void>& result) { ASSERT_TRUE(result) << result.error().text(); }

  Program compiled(std::string_view source) {
    Compiled done = run(device().toolchain().compile(task_, std::string(source), {}));
    EXPECT_TRUE(done.finding.ok())
        << to_string(done.finding.verdict) << " line " << done.finding.evidence.line << ": "
        << done.finding.evidence.text;
    return done.program;
  }
  std::unique_ptr<TestRig> rig_of(std::string_view source, Duration limit = 10s) {
    Program candidate = compiled(source), baseline = compiled(kCopy);
    return run(device().open_rig(task_, candidate, baseline, source_, {.call = limit}));
  }
  Case make(std::int64_t rows, std::int64_t cols) {
    return get(make_case(task_, {{"rows", rows}, {"cols", cols}}));
  }
  // The expectation of a copy: the input itself.
  std::vector<Expected> copy_of_input(const Case& at, std::uint64_t seed) {
    std::vector<std::byte> bytes(at.inputs[0].bytes());
    fill(bytes, Dtype::f32, task_.inputs[0].data[0], tensor_seed(seed, 0));
    Expected expected;
    expected.value.resize(static_cast<std::size_t>(at.inputs[0].elements));
    to_doubles(Dtype::f32, bytes, expected.value);
    expected.scale = expected.value;
    for (double& scale : expected.scale) scale = std::abs(scale);
    return {expected};
  }
  // Lays out, calls once and compares; returns the verdict.
  Finding judge(std::string_view source, Case at, Placement placement, Duration limit = 10s) {
    auto rig = rig_of(source, limit);
    if (!rig) return finding(Verdict::harness_error, "no rig");
    return judge_on(*rig, std::move(at), placement);
  }
  Finding judge_on(TestRig& rig, Case at, Placement placement) {
    Finding found = run(rig.lay_out(task_, at, {41, 42}, placement, Called::both));
    for (std::size_t set : {0, 1}) {
      if (found.ok()) found = run(rig.call(Who::candidate, set));
      if (!found.ok()) return found;
      auto reports = run(rig.compare_outputs(set, copy_of_input(at, 41 + set), exact_));
      if (reports.size() != 1) return finding(Verdict::harness_error, "no report");
      found = judge_output(at, at.outputs[0], reports[0], exact_[0], -1);
    }
    return found;
  }
  void expect(Verdict verdict, const Finding& found) {
    EXPECT_EQ(to_string(found.verdict), to_string(verdict))
        << "line " << found.evidence.line << ": " << found.evidence.text;
  }
  void expect_device_works() {
    auto works = shared().runtime.loop.run(device().check_health());
    EXPECT_TRUE(works) << works.error().text();
  }

  KernelTask task_;
  Drawn source_{task_};
  std::vector<Tolerance> exact_{{.scale_factor = 0, .value_factor = 0}};
};

TEST(CudaWithoutGpu, a_host_without_a_gpu_is_reported_with_what_to_do) {
  if (there_is_a_gpu()) GTEST_SKIP() << "this host has a GPU";
  Shared& here = shared();
  ASSERT_FALSE(here.device);
  EXPECT_NE(here.defect.find("what to do"), std::string::npos) << here.defect;
  EXPECT_NE(here.defect.find("E604"), std::string::npos) << here.defect;
}

TEST_F(CudaTestRig, the_device_reports_its_properties) {
  const CudaDeviceFacts& facts = device().device_facts();
  std::cout << facts.name << " " << facts.architecture() << ", " << facts.multiprocessors
            << " multiprocessors, L2 " << facts.l2_bytes << ", memory " << facts.memory_bytes
            << ", granularity " << facts.granularity << ", shared " << facts.shared_bytes
            << ", note: '" << device().note() << "'\n";
  EXPECT_GT(facts.multiprocessors, 0);
  EXPECT_GE(facts.granularity, 4096U);
  EXPECT_GT(facts.l2_bytes, 0U);
}

const std::vector<Dtype> kAllDtypes{Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16,
                                    Dtype::i64, Dtype::i32, Dtype::u8};

TEST_F(CudaTestRig, inputs_drawn_on_the_device_equal_those_of_the_host) {
  using Kind = Distribution::Kind;
  const std::vector<Distribution> all{{Kind::normal, 0.5, 2},
                                      {Kind::uniform, -30, 30},
                                      {Kind::heavy, 3, 1},
                                      {Kind::positive, 0.1, 4},
                                      {Kind::integers, 3, 200}};
  constexpr std::int64_t kElements = 100'003;
  ok(gpu().enter());
  DeviceBuffer buffer = DeviceBuffer::create(gpu().driver(), gpu().device(), 8 * kElements).value();
  for (Dtype dtype : kAllDtypes) {
    for (const Distribution& distribution : all) {
      bool whole = distribution.kind == Kind::integers;
      if (!is_float(dtype) && !whole) continue;
      std::vector<std::byte> expected(kElements * size_of(dtype)), got(expected.size());
      fill(expected, dtype, distribution, 77);
      ok(gpu().fill(buffer.address(), dtype, kElements, distribution, 77));
      ok(gpu().download(got, buffer.address()));
      std::size_t first = 0;
      while (first < got.size() && got[first] == expected[first]) ++first;
      std::size_t at = std::min(first / size_of(dtype), std::size_t{kElements - 1});
      EXPECT_EQ(first, got.size())
          << to_string(dtype) << " " << distribution.text() << ": element " << at << " is "
          << load(dtype, got, at) << ", on the host " << load(dtype, expected, at);
    }
  }
}

TEST_F(CudaTestRig, poison_equals_that_of_the_host) {
  constexpr std::int64_t kElements = 5'001;
  ok(gpu().enter());
  DeviceBuffer buffer = DeviceBuffer::create(gpu().driver(), gpu().device(), 8 * kElements).value();
  for (Dtype dtype : kAllDtypes) {
    std::vector<std::byte> expected(kElements * size_of(dtype)), got(expected.size());
    poison(dtype, expected, {0xfeedbeef12345678});
    ok(gpu().poison(buffer.address(), dtype, kElements, 0xfeedbeef12345678));
    ok(gpu().download(got, buffer.address()));
    EXPECT_EQ(got, expected) << to_string(dtype);
  }
}

void expect_same(const OutputReport& device, const OutputReport& host, std::string_view what) {
  SCOPED_TRACE(what);
  EXPECT_EQ(device.elements, host.elements);
  EXPECT_EQ(device.unwritten, host.unwritten);
  EXPECT_EQ(device.nonfinite, host.nonfinite);
  EXPECT_EQ(device.beyond, host.beyond);
  EXPECT_EQ(device.worst_at, host.worst_at);
  EXPECT_EQ(device.worst_ratio, host.worst_ratio);
  EXPECT_EQ(device.worst_relative, host.worst_relative);
  EXPECT_EQ(device.worst_expected, host.worst_expected);
  // A NaN is not equal to itself.
  EXPECT_TRUE(device.worst_got == host.worst_got || std::isnan(host.worst_got));
  EXPECT_NEAR(device.error_squares, host.error_squares, 1e-11 * host.error_squares);
  EXPECT_NEAR(device.value_squares, host.value_squares, 1e-11 * host.value_squares);
}

TEST_F(CudaTestRig, comparing_on_the_device_equals_comparing_on_the_host) {
  Random random(5);
  ok(gpu().enter());
  constexpr std::int64_t kElements = 70'001;
  DeviceBuffer buffer = DeviceBuffer::create(gpu().driver(), gpu().device(), 8 * kElements).value();
  DeviceBuffer other = DeviceBuffer::create(gpu().driver(), gpu().device(), 8 * kElements).value();
  for (Dtype dtype : kAllDtypes) {
    for (int defect = 0; defect < 4; ++defect) {  // none, wrong, not finite, unwritten
      Tensor tensor{.name = "y", .dtype = dtype, .shape = {kElements}, .elements = kElements};
      Poison secret{random.next()};
      std::vector<std::byte> got(tensor.bytes()), base(tensor.bytes()), unwritten(tensor.bytes());
      poison(dtype, unwritten, secret);
      std::vector<double> values(kElements), results(kElements);
      Expected expected;
      for (std::size_t i = 0; i < kElements; ++i) {
        double value = is_float(dtype) ? random.normal(0, 10) : std::floor(random.uniform(0, 250));
        values[i] = value;
        results[i] = value + (is_float(dtype) ? 1e-3 * random.normal(0, 1) : 0);
        if (defect == 1 && random.chance(1e-3)) results[i] = value + 3;
        if (defect == 2 && is_float(dtype) && random.chance(1e-3)) results[i] = NAN;
      }
      from_doubles(dtype, results, got);
      from_doubles(dtype, values, base);
      for (std::size_t i = 0; defect == 3 && i < kElements; ++i) {
        if (!random.chance(1e-3)) continue;
        std::copy_n(unwritten.begin() + static_cast<std::ptrdiff_t>(i * size_of(dtype)),
                    size_of(dtype), got.begin() + static_cast<std::ptrdiff_t>(i * size_of(dtype)));
      }
      expected.value = values;
      for (double value : values) expected.scale.push_back(std::abs(value));
      Tolerance tolerance{.scale_factor = 1e-4, .value_factor = 1e-3};
      ok(gpu().upload(buffer.address(), got));
      ok(gpu().upload(other.address(), base));
      std::string what = std::string(to_string(dtype)) + " defect " + std::to_string(defect);
      expect_same(get(gpu().compare(buffer.address(), tensor, expected, tolerance, secret)),
                  compare(tensor, got, expected, tolerance, secret), what);
      Expected samples;
      samples.key = random.next() | 1;
      for (int i = 0; i < 999; ++i) {
        samples.at.push_back(static_cast<std::int64_t>(random.below(kElements)));
        samples.value.push_back(values[static_cast<std::size_t>(samples.at.back())]);
        samples.scale.push_back(1);
      }
      OutputReport on_host = compare(tensor, got, samples, tolerance, secret);
      OutputReport on_device =
          get(gpu().compare(buffer.address(), tensor, samples, tolerance, secret));
      EXPECT_EQ(on_device.beyond, on_host.beyond) << what;
      auto known =
          get(gpu().compare_known(buffer.address(), tensor, samples.key, tolerance, secret));
      ASSERT_TRUE(known) << what;
      expect_same(*known, on_device, what + ", kept on the device");
      EXPECT_FALSE(
          get(gpu().compare_known(buffer.address(), tensor, samples.key + 1, tolerance, secret)));
      EXPECT_EQ(on_device.unwritten, on_host.unwritten) << what;
      expect_same(get(gpu().compare_with_baseline(buffer.address(), other.address(), tensor, 2.5,
                                                  tolerance, secret)),
                  compare_with_baseline(tensor, got, base, 2.5, tolerance, secret),
                  what + " baseline");
    }
  }
}

TEST_F(CudaTestRig, a_digest_sees_every_byte) {
  ok(gpu().enter());
  constexpr std::size_t kBytes = 4099;  // not a multiple of a word
  DeviceBuffer buffer = DeviceBuffer::create(gpu().driver(), gpu().device(), kBytes).value();
  std::vector<std::byte> bytes(kBytes, std::byte{5});
  ok(gpu().upload(buffer.address(), bytes));
  std::uint64_t digest = get(gpu().digest(buffer.address(), kBytes));
  EXPECT_EQ(get(gpu().digest(buffer.address(), kBytes)), digest);
  for (std::size_t at : {std::size_t{0}, std::size_t{1234}, kBytes - 1}) {
    std::vector<std::byte> changed = bytes;
    changed[at] = std::byte{6};
    ok(gpu().upload(buffer.address(), changed));
    EXPECT_NE(get(gpu().digest(buffer.address(), kBytes)), digest) << at;
  }
}

TEST_F(CudaTestRig, every_feature_of_the_launch_line_works) {
  struct Feature {
    const char* name;
    std::string_view source;
  };
  for (const Feature& feature :
       {Feature{"plain", kCopy}, Feature{"template", kTemplateCopy}, Feature{"scalars", kScalars},
        Feature{"large shared memory", kLargeShared}, Feature{"cluster", kCluster},
        Feature{"cooperative", kCooperative}, Feature{"tensormap", kTensormap},
        Feature{"zeroed scratch", kZeroed}}) {
    SCOPED_TRACE(feature.name);
    for (Placement placement : {Placement::behind, Placement::before}) {
      // A size that fills no piece, with rows of a multiple of 16 bytes for the tensormap.
      expect(Verdict::ok, judge(feature.source, make(37, 100), placement));
    }
  }
}

TEST_F(CudaTestRig, inputs_from_the_host_work_like_those_of_the_device) {
  source_.on_the_device = false;
  expect(Verdict::ok, judge(kCopy, make(64, 1000), Placement::behind));
}

TEST_F(CudaTestRig, one_rig_serves_several_cases) {
  auto rig = rig_of(kCopy);
  ASSERT_TRUE(rig);
  for (auto [rows, cols] : {std::pair{1, 1}, {1024, 2048}, {3, 7}, {4096, 4096}, {1, 100'003}}) {
    expect(Verdict::ok, judge_on(*rig, make(rows, cols), Placement::before));
  }
}

// Memory is reused. With the same seed a smaller case has the first numbers of a larger one.
TEST_F(CudaTestRig, a_case_finds_no_data_of_the_last_case) {
  auto lazy = rig_of(kLazyWhenSmall);
  ASSERT_TRUE(lazy);
  expect(Verdict::ok, judge_on(*lazy, make(64, 64), Placement::before));
  expect(Verdict::ok, judge_on(*lazy, make(50, 40), Placement::before));
  expect(Verdict::unwritten, judge_on(*lazy, make(30, 30), Placement::before));
  auto careless = rig_of(kWritesBehindWhenSmall);
  ASSERT_TRUE(careless);
  expect(Verdict::ok, judge_on(*careless, make(64, 64), Placement::before));
  expect(Verdict::out_of_bounds, judge_on(*careless, make(30, 30), Placement::before));
  expect_device_works();
}

TEST_F(CudaTestRig, small_pieces_are_reused_as_far_as_they_are_needed) {
  auto request = [&](std::int64_t rows, std::size_t sets, std::uint64_t secret) {
    RigMemory::Request one;
    one.at = make(rows, rows), one.sets = sets, one.slack_secret = secret;
    return one;
  };
  Random random(1);
  auto memory = get(RigMemory::make(device().judge(), request(64, 2, 11), nullptr)).memory;
  ASSERT_TRUE(memory);
  memory->remember({0, 1, 2, 3});  // input, output, input, output
  ok(memory->poison(Who::candidate, 0, 5));

  EXPECT_EQ(memory->end_case(request(30, 2, 12), random).size(), 4U);
  memory = get(RigMemory::make(device().judge(), request(30, 2, 12), std::move(memory))).memory;
  ASSERT_TRUE(memory);
  auto numbers = memory->numbers();
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(numbers.at(i).value() % 2, i % 2) << "read-only pieces stay read-only";
  }
  for (std::size_t set : {0, 1}) {
    auto reports = get(
        memory->compare(set, copy_of_input(make(30, 30), 1), exact_, Poison{std::uint64_t{12}}));
    EXPECT_EQ(reports.at(0).unwritten, 900) << "data of the last case is left";
  }
  EXPECT_TRUE(get(memory->slack_holds(Who::candidate, std::vector<std::size_t>{0, 1})));

  EXPECT_EQ(memory->end_case(request(30, 1, 13), random).size(), 2U) << "an input and an output";
  memory = get(RigMemory::make(device().judge(), request(4096, 1, 14), std::move(memory))).memory;
  ASSERT_TRUE(memory);
  EXPECT_FALSE(memory->numbers().at(0)) << "too small for this case";
}

TEST_F(CudaTestRig, a_write_after_the_output_is_out_of_bounds_in_every_placement) {
  expect(Verdict::out_of_bounds, judge(kWritesBehind, make(64, 64), Placement::behind));
  expect(Verdict::out_of_bounds, judge(kWritesBehind, make(64, 64), Placement::before));
  // Between the tensor's end and the next multiple of its alignment.
  expect(Verdict::out_of_bounds, judge(kWritesBehind, make(3, 7), Placement::behind));
  expect_device_works();
}

TEST_F(CudaTestRig, a_write_before_the_output_is_out_of_bounds_in_every_placement) {
  expect(Verdict::out_of_bounds, judge(kWritesBefore, make(64, 64), Placement::behind));
  expect(Verdict::out_of_bounds, judge(kWritesBefore, make(64, 64), Placement::before));
}

TEST_F(CudaTestRig, a_read_far_after_an_input_is_out_of_bounds_and_not_a_write) {
  expect(Verdict::out_of_bounds, judge(kReadsFarBehind, make(64, 64), Placement::behind));
}

TEST_F(CudaTestRig, a_write_to_an_input_is_reported_as_such) {
  Finding found = judge(kWritesInput, make(64, 64), Placement::behind);
  expect(Verdict::input_modified, found);
  EXPECT_NE(found.evidence.text.find("x"), std::string::npos) << found.evidence.text;
  expect_device_works();
}

TEST_F(CudaTestRig, an_endless_kernel_is_a_timeout_and_the_device_still_works) {
  expect(Verdict::timeout, judge(kEndless, make(64, 64), Placement::behind, 1s));
  expect_device_works();
  expect(Verdict::ok, judge(kCopy, make(64, 64), Placement::behind));
}

TEST_F(CudaTestRig, a_crash_is_reported_and_the_device_still_works) {
  expect(Verdict::crash, judge(kMisaligned, make(64, 64), Placement::behind));
  expect_device_works();
  expect(Verdict::crash, judge(kTrap, make(64, 64), Placement::behind));
  EXPECT_TRUE(device().is_in_doubt());
  expect(Verdict::ok, judge(kCopy, make(64, 64), Placement::behind));
  EXPECT_FALSE(device().is_in_doubt()) << "a new process begins with a canary";
}

TEST_F(CudaTestRig, unwritten_elements_are_found) {
  expect(Verdict::unwritten, judge(kHalf, make(64, 64), Placement::behind));
}

TEST_F(CudaTestRig, a_launch_line_that_does_not_fit_its_kernel_is_rejected_with_its_line) {
  Finding found = judge(kTooFewArguments, make(64, 64), Placement::behind);
  expect(Verdict::rejected, found);
  EXPECT_EQ(found.evidence.line, 3);
  EXPECT_EQ(found.evidence.text, "kernel k takes 3 arguments, the launch line gives 2");
  found = judge(kTooManyThreads, make(64, 64), Placement::behind);
  expect(Verdict::rejected, found);
  EXPECT_EQ(found.evidence.line, 2);
}

TEST_F(CudaTestRig, a_rig_whose_executor_has_ended_is_an_error) {
  auto rig = rig_of(kTrap);
  ASSERT_TRUE(rig);
  expect(Verdict::crash, judge_on(*rig, make(64, 64), Placement::behind));
  auto again = shared().runtime.loop.run(rig->call(Who::candidate, 0));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::harness_failed);
}

TEST_F(CudaTestRig, a_fault_in_a_timed_round_is_found) {
  auto rig = rig_of(kWritesInput);
  ASSERT_TRUE(rig);
  expect(Verdict::ok,
         run(rig->lay_out(task_, make(64, 64), {1, 2, 3}, Placement::behind, Called::both)));
  Round round = run(rig->time_round({1}, exact_));
  expect(Verdict::input_modified, round.finding);
}

double middle(std::vector<double> samples) {
  std::ranges::sort(samples);
  return samples.empty() ? 0 : samples[samples.size() / 2];
}

TEST_F(CudaTestRig, timing_is_plausible_stable_and_equal_for_the_same_kernel) {
  Ceilings ceilings = run(device().measure_ceilings());
  auto rig = rig_of(kCopy);
  ASSERT_TRUE(rig);
  for (auto [rows, cols] : {std::pair{16384, 2048}, {64, 1000}}) {
    Case at = make(rows, cols);
    std::size_t sets = device().sets_for(at.footprint());
    std::vector<SetInput> seeds;
    for (std::size_t i = 0; i < sets; ++i) seeds.emplace_back(100 + i);
    expect(Verdict::ok, run(rig->lay_out(task_, at, seeds, Placement::behind, Called::both)));
    std::vector<double> baseline, candidate;
    for (int i = 0; i < 12; ++i) {
      for (SetInput& input : seeds) input.seed += 1000;
      run(rig->refresh(seeds));
      Round round = run(rig->time_round({1}, exact_));
      expect(Verdict::ok, round.finding);
      ASSERT_EQ(round.outputs.size(), 1U);
      EXPECT_EQ(round.outputs[0].elements, at.outputs[0].elements * static_cast<int>(sets));
      EXPECT_EQ(round.outputs[0].beyond + round.outputs[0].unwritten + round.outputs[0].nonfinite,
                0);
      ASSERT_EQ(round.baseline_ns.size(), sets);
      ASSERT_EQ(round.candidate_ns.size(), sets);
      if (i < 2) continue;  // warming up
      baseline.insert(baseline.end(), round.baseline_ns.begin(), round.baseline_ns.end());
      candidate.insert(candidate.end(), round.candidate_ns.begin(), round.candidate_ns.end());
    }
    double ns = middle(candidate);
    double bytes_per_second = 8.0 * rows * cols / ns * 1e9;
    std::cout << rows << "x" << cols << ", " << sets << " sets: candidate " << ns
              << " ns, baseline " << middle(baseline) << " ns, min "
              << *std::ranges::min_element(candidate) << ", max "
              << *std::ranges::max_element(candidate) << ", " << bytes_per_second / 1e12
              << " TB/s of " << ceilings.memory_bytes_per_second / 1e12 << "\n";
    EXPECT_GE(ns, 1e9 * ceilings.launch_seconds * 0.9) << "faster than an empty kernel";
    EXPECT_LT(bytes_per_second, 1.1 * ceilings.memory_bytes_per_second) << "a cache was warm";
    EXPECT_NEAR(middle(baseline) / ns, 1.0, 0.05) << "the same kernel against itself";
  }
}

TEST_F(CudaTestRig, a_kernel_that_leaves_elements_out_is_caught_in_the_timed_round) {
  auto rig = rig_of(kHalf);
  ASSERT_TRUE(rig);
  expect(Verdict::ok,
         run(rig->lay_out(task_, make(64, 64), {1, 2, 3}, Placement::behind, Called::both)));
  for (int i = 0; i < 2; ++i) {  // in both orders
    Round round = run(rig->time_round({1}, exact_));
    ASSERT_EQ(round.outputs.size(), 1U);
    EXPECT_EQ(round.outputs[0].unwritten, 3 * 64 * 64 / 2) << "round " << i;
  }
}

TEST_F(CudaTestRig, ceilings_are_plausible) {
  Ceilings ceilings = run(device().measure_ceilings());
  std::cout << "memory " << ceilings.memory_bytes_per_second / 1e12 << " TB/s, cache "
            << ceilings.cache_bytes_per_second / 1e12 << " TB/s, empty kernel "
            << ceilings.launch_seconds * 1e6 << " us\n";
  for (const auto& [rate, flops] : ceilings.flops_per_second) {
    std::cout << "  " << rate << ": " << flops / 1e12 << " Tflop/s\n";
    EXPECT_GT(flops, 1e11) << rate;
  }
  EXPECT_GT(ceilings.memory_bytes_per_second, 1e11);
  EXPECT_GE(ceilings.cache_bytes_per_second, ceilings.memory_bytes_per_second);
  EXPECT_GT(ceilings.launch_seconds, 0);
  EXPECT_LT(ceilings.launch_seconds, 1e-4);
  if (device().device_facts().major >= 8) {
    EXPECT_GT(ceilings.flops_per_second["f16"], ceilings.flops_per_second["f32"]);
  }
}

TEST_F(CudaTestRig, facts_contain_kernels_and_instructions) {
  Program program = compiled(kLargeShared);
  Json facts = run(device().facts(task_, program, make(1024, 1024)));
  std::cout << pretty_json(facts);
  const Json* kernels = member_at(facts, "kernels");
  ASSERT_TRUE(kernels && kernels->is_array() && kernels->get_array().size() == 1);
  const Json& kernel = kernels->get_array()[0];
  EXPECT_GT(int_at(kernel, "registers"), 0);
  EXPECT_EQ(int_at(kernel, "dynamic_shared_bytes"), 100'000);
  EXPECT_GT(number_at(kernel, "occupancy"), 0);
  EXPECT_GT(number_at(kernel, "waves"), 0);
  EXPECT_NE(text_at(facts, "text").find("registers"), std::string::npos);

  // The same process describes the next program.
  Json next = run(device().facts(task_, compiled(kCopy), make(1024, 1024)));
  EXPECT_EQ(text_at(next.at("kernels").at(0), "name"), "copy");
}

TEST_F(CudaTestRig, counters_are_read_or_the_note_says_why_not) {
  Program program = compiled(kCopy);
  std::string node = SPECGEN_NODE_BINARY;
  if (!std::filesystem::exists(node)) node = (program_folder() / "specgen-node").string();
  Shared& here = shared();
  auto with_counters = here.runtime.loop.run(CudaDevice::find(
      here.runtime.loop, here.runtime.driver, here.processes, {.self = {node}, .counters = true}));
  ASSERT_TRUE(with_counters) << with_counters.error().text();
  Json facts = run((*with_counters)->facts(task_, program, make(1024, 1024)));
  const Json* counters = member_at(facts, "counters");
  ASSERT_TRUE(counters);
  std::cout << pretty_json(*counters);
  EXPECT_TRUE(flag_at(*counters, "available") || !text_at(*counters, "note").empty());
}

TEST_F(CudaTestRig, warm_executors_are_taken_first_and_dead_ones_replaced) {
  ok(device().ready_pool().replenish(1, 3));
  expect(Verdict::ok, judge(kCopy, make(64, 64), Placement::behind));
  ok(device().ready_pool().replenish(3, 3));
  expect_device_works();
}

}  // namespace
}  // namespace specgen
