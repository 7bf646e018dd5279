// The judge's flow on a fake device: what it calls, what it concludes, and what it reports about each case.

#include "evaluate/judge/judge.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "evaluate/judge/admission.h"
#include "evaluate/pytorch/python_process.h"
#include "runtime/subprocess.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

constexpr std::int64_t kElements = 1000;

Expected expected_for(std::uint64_t seed) {
  Random random(seed);
  Expected expected;
  for (std::int64_t i = 0; i < kElements; ++i) {
    expected.value.push_back(random.uniform(-20, 20));
    expected.scale.push_back(80);
  }
  return expected;
}

// How the fake programs behave.
struct Behaviour {
  std::string crashes_in;  // title of the case in which the candidate crashes
  std::string wrong_in;    // title of the case in which the baseline computes something else
};

class FakeSource final : public InputSource {
 public:
  Task<Result<std::vector<std::vector<std::byte>>>> draw(const Case& at, std::uint64_t) override {
    co_return std::vector<std::vector<std::byte>>{std::vector<std::byte>(at.inputs[0].bytes())};
  }
  Task<Result<std::vector<Expected>>> expect(const Case&, std::uint64_t seed,
                                             std::size_t) override {
    co_return std::vector<Expected>{expected_for(seed)};
  }
  Tolerance tolerance(const Case& at, const Tensor& output) const override {
    return tolerance_of({}, at, output.dtype);
  }
  bool is_generated() const override { return true; }
  bool is_baseline() const override { return false; }
  Task<Result<EagerRun>> run_baseline(const Case&, std::uint64_t) override { co_return EagerRun{}; }
};

// Programs that compute what is expected up to rounding, but for the given behaviour.
class FakeRig final : public TestRig {
 public:
  explicit FakeRig(const Behaviour& behaviour) : behaviour_(behaviour) {}

  Task<Result<Finding>> lay_out(const KernelTask&, Case at, std::vector<SetInput> sets, Placement,
                                Called) override {
    at_ = std::move(at);
    sets_ = std::move(sets);
    co_return Finding{};
  }
  Task<Result<void>> refresh(std::vector<SetInput> sets) override {
    sets_ = std::move(sets);
    co_return Result<void>();
  }
  Task<Result<Finding>> call(Who who, std::size_t set) override {
    const std::string title = with_draw(at_, sets_[set]).title();
    if (who == Who::candidate && title == behaviour_.crashes_in) {
      co_return finding(Verdict::crash, "it divided by zero");
    }
    is_wrong_ = who == Who::baseline && title == behaviour_.wrong_in;
    co_return Finding{};
  }
  Task<Result<std::vector<OutputReport>>> compare_outputs(
      std::size_t, const std::vector<Expected>& expected,
      const std::vector<Tolerance>& tolerances) override {
    std::vector<double> values = expected[0].value;
    for (double& value : values) value = is_wrong_ ? -value : value + 80 * 0x1p-24;
    std::vector<std::byte> bytes(at_.outputs[0].bytes());
    from_doubles(at_.outputs[0].dtype, values, bytes);
    co_return std::vector<OutputReport>{
        compare(at_.outputs[0], bytes, expected[0], tolerances[0], Poison{1})};
  }
  Task<Result<std::uint64_t>> digest(std::size_t) override { co_return 1; }
  Task<Result<Round>> time_round(const std::vector<double>&,
                                 const std::vector<Tolerance>&) override {
    Round round{.finding = {},
                .baseline_ns = std::vector<double>(sets_.size(), 2e6),
                .candidate_ns = std::vector<double>(sets_.size(), 1e6),
                .outputs = std::vector<OutputReport>(1)};
    round.outputs[0].elements = kElements;
    co_return round;
  }

 private:
  const Behaviour& behaviour_;
  Case at_;
  std::vector<SetInput> sets_;
  bool is_wrong_ = false;  // the last call
};

class FakeDevice final : public Device, private ReadyPool {
 public:
  explicit FakeDevice(Backend backend) {
    info_ = {
        .id = "fake:0", .name = "fake", .backend = backend, .lock_names = {}, .judge_cores = {}};
  }
  const DeviceInfo& info() const override { return info_; }
  Toolchain& toolchain() override { std::abort(); }
  Task<Result<std::unique_ptr<TestRig>>> open_rig(const KernelTask&, const Program&, const Program&,
                                                  InputSource&, TestRigLimits) override {
    co_return std::make_unique<FakeRig>(behaviour);
  }
  Task<Result<Ceilings>> measure_ceilings() override { co_return Ceilings{}; }
  std::size_t sets_for(Bytes) const override { return 4; }
  Task<Result<Json>> facts(const KernelTask&, const Program&, const Case&) override {
    co_return fail(ErrorCode::device_missing, "fake");
  }
  Task<Result<void>> check_health() override { co_return Result<void>(); }
  ReadyPool& ready_pool() override { return *this; }

  Behaviour behaviour;

 private:
  std::size_t capacity() const override { return 0; }
  std::size_t size() const override { return 0; }
  Result<void> replenish(std::size_t, std::size_t) override { return {}; }
  Task<Result<void>> settle() override { co_return Result<void>(); }

  DeviceInfo info_;
};

Case case_of(std::int64_t rows) {
  Case at;
  at.axes = {{"rows", rows}};
  at.axis_order = {"rows"};
  at.reduction = 100;
  at.inputs = {{"x", Dtype::f32, {kElements}, kElements}};
  at.outputs = {{"y", Dtype::f32, {kElements}, kElements}};
  return at;
}

// A task of three cases, of which the last is timed.
struct JudgeFixture : testing::Test {
  explicit JudgeFixture(Backend backend = Backend::cpu) : device(backend) {
    prepared.task.name = "fake";
    prepared.source = std::make_unique<FakeSource>();
    for (std::int64_t rows : {1, 2, 3}) {
      CheckPoint point{.at = case_of(rows), .seed = static_cast<std::uint64_t>(rows)};
      if (rows == 3) {
        point.at.weight = 1;
        prepared.timed = {point.at};
      }
      point.expected = {expected_for(point.seed)};
      point.tolerances = tolerances_of(*prepared.source, point.at);
      prepared.checks.push_back(std::move(point));
    }
  }
  Validation validate() { return runtime.loop.run(judge.validate(prepared, Program{})).value(); }
  std::vector<std::string> statuses(const Validation& validation) {
    std::vector<std::string> all;
    for (const CaseResult& result : validation.cases) {
      all.push_back(result.name + " " + std::string(to_string(result.status)));
    }
    return all;
  }

  RealRuntime runtime;
  Processes processes{runtime.loop, runtime.driver};
  Sandbox sandbox;
  JudgeContext context{
      .loop = runtime.loop, .driver = runtime.driver, .processes = processes, .sandbox = sandbox};
  FakeDevice device;
  Judge judge{context, device, Secret{}, JudgeLimits{}};
  PreparedTask prepared;
};

TEST_F(JudgeFixture, every_case_of_a_correct_candidate_has_passed) {
  Validation validation = validate();
  EXPECT_TRUE(validation.finding.ok()) << validation.finding.evidence.text;
  EXPECT_EQ(statuses(validation),
            (std::vector<std::string>{"rows=1 passed", "rows=2 passed", "rows=3 passed"}));
  EXPECT_NEAR(validation.screen.median, 2, 0.01);
}

TEST_F(JudgeFixture, cases_after_a_crash_are_not_run) {
  device.behaviour.crashes_in = "rows=2";
  Validation validation = validate();
  EXPECT_EQ(validation.finding.verdict, Verdict::crash);
  EXPECT_EQ(validation.finding.evidence.case_name, "rows=2");
  EXPECT_EQ(statuses(validation),
            (std::vector<std::string>{"rows=1 passed", "rows=2 failed", "rows=3 not run"}));
}

TEST_F(JudgeFixture, cases_of_the_same_shape_after_a_crash_are_not_run_either) {
  // Several distributions of one shape are laid out together.
  for (std::size_t i = 0; i < prepared.checks.size(); ++i) {
    prepared.checks[i].at = case_of(1);
    prepared.checks[i].at.draw = i;
  }
  prepared.timed = {case_of(7)};
  device.behaviour.crashes_in = prepared.checks[0].at.title();
  const Validation validation = validate();
  ASSERT_GE(validation.cases.size(), 2U);
  EXPECT_EQ(validation.cases.front().status, CaseStatus::failed);
  for (std::size_t i = 1; i < validation.cases.size(); ++i) {
    EXPECT_EQ(validation.cases[i].status, CaseStatus::not_run) << validation.cases[i].name;
  }
  EXPECT_EQ(validation.cases.back().name, "rows=7");
}

TEST_F(JudgeFixture, a_task_whose_baseline_is_correct_is_admitted) {
  auto admission = runtime.loop.run(admit(judge, prepared));
  ASSERT_TRUE(admission) << admission.error().text();
  EXPECT_TRUE(admission->admitted())
      << admission->faults.front().variant << ' ' << admission->faults.front().text;
}

struct CudaJudgeFixture : JudgeFixture {
  CudaJudgeFixture() : JudgeFixture(Backend::cuda) {}
};

TEST_F(CudaJudgeFixture, a_task_whose_cuda_baseline_computes_something_else_is_not_admitted) {
  device.behaviour.wrong_in = "rows=2";
  auto admission = runtime.loop.run(admit(judge, prepared));
  ASSERT_FALSE(admission);
  EXPECT_EQ(admission.error().code, ErrorCode::bad_task);
  EXPECT_NE(admission.error().context.find("the cuda baseline is judged wrong on rows=2"),
            std::string::npos)
      << admission.error().context;
}

}  // namespace
}  // namespace specgen
