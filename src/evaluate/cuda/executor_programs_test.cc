#include "evaluate/cuda/executor_programs.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/json.h"

namespace specgen {
namespace {

// A fake driver that has every module and kernel, all without parameters.
CudaDriver agreeable_driver() {
  CudaDriver driver;
  driver.module_load_data = [](CuModule* module, const void* image) {
    *module = reinterpret_cast<CuModule>(const_cast<void*>(image));
    return kCudaOk;
  };
  driver.module_unload = [](CuModule) { return kCudaOk; };
  driver.module_get_function = [](CuFunction* function, CuModule module, const char*) {
    *function = reinterpret_cast<CuFunction>(module);
    return kCudaOk;
  };
  driver.func_get_attribute = [](int* value, CuFunctionAttribute, CuFunction) {
    *value = 0;
    return kCudaOk;
  };
  driver.func_get_param_info = [](CuFunction, std::size_t, std::size_t*, std::size_t*) {
    return kCudaInvalidValue;
  };
  driver.occupancy = [](int* blocks, CuFunction, int, std::size_t) {
    *blocks = 2;
    return kCudaOk;
  };
  return driver;
}

class ExecutorProgramsTest : public testing::Test {
 protected:
  static std::string machine_code() {
    return "\x7f"
           "ELF" +
           std::string(100, 'x');
  }
  static LayOutRequest::Program one_launch() {
    LaunchPlan plan;
    plan.launches.emplace_back().name_expression = "k";
    return {.plan = compact_json(to_json(plan)), .functions = {"_Z1kv"}, .scratch = {{}, {}}};
  }
  static LayOutRequest two_sets(std::optional<LayOutRequest::Program> baseline) {
    LayOutRequest request;
    request.tensors = {{}, {}};
    request.programs = {std::move(baseline), one_launch()};
    return request;
  }

  const CudaDriver driver_ = agreeable_driver();
  const CudaDeviceFacts device_{.granularity = 2 << 20};
  const ExecutorMemory memory_{driver_, device_};
  ExecutorPrograms programs_{driver_};
};

TEST_F(ExecutorProgramsTest, prepares_a_call_for_every_set_of_both_programs) {
  ASSERT_TRUE(programs_.load({machine_code(), machine_code(), machine_code()}).ok);
  auto answer = programs_.lay_out(two_sets(one_launch()), memory_, nullptr);
  ASSERT_TRUE(answer.ok) << answer.problem();
  for (Who who : {Who::baseline, Who::candidate}) {
    ASSERT_TRUE(programs_.call(who, 1));
    EXPECT_EQ(programs_.call(who, 1)->launches.size(), 1U);
    EXPECT_FALSE(programs_.call(who, 2));
  }
}

TEST_F(ExecutorProgramsTest, works_without_a_baseline_that_runs_elsewhere) {
  ASSERT_TRUE(programs_.load({machine_code(), "", machine_code()}).ok);
  auto answer = programs_.lay_out(two_sets(std::nullopt), memory_, nullptr);
  ASSERT_TRUE(answer.ok) << answer.problem();
  EXPECT_TRUE(programs_.call(Who::candidate, 1));
  EXPECT_FALSE(programs_.call(Who::baseline, 0));
}

TEST_F(ExecutorProgramsTest, refuses_a_plan_for_a_baseline_that_was_not_loaded) {
  ASSERT_TRUE(programs_.load({machine_code(), "", machine_code()}).ok);
  EXPECT_FALSE(programs_.lay_out(two_sets(one_launch()), memory_, nullptr).ok);
}

TEST_F(ExecutorProgramsTest, describes_one_program_after_the_other_and_runs_only_one) {
  const LayOutRequest::Program program = one_launch();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(programs_.load({machine_code(), "", machine_code()}).ok);
    auto answer = programs_.describe({.plan = program.plan, .functions = program.functions});
    ASSERT_TRUE(answer.ok) << answer.problem();
    EXPECT_EQ(answer.kernels.at(0).blocks_per_multiprocessor, 2);
  }
  ASSERT_TRUE(programs_.lay_out(two_sets(std::nullopt), memory_, nullptr).ok);
  EXPECT_FALSE(programs_.load({machine_code(), "", machine_code()}).ok);
}

TEST_F(ExecutorProgramsTest, refuses_to_load_an_empty_candidate) {
  EXPECT_FALSE(programs_.load({machine_code(), machine_code(), ""}).ok);
}

}  // namespace
}  // namespace specgen
