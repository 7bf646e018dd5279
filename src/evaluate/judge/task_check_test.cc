#include "evaluate/judge/task_check.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/text.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

// Judges whose answers are given by device.
struct FakeJudges {
  std::map<std::string, Result<Json>> answers;
  std::vector<std::string> asked;

  TaskChecker::Ask ask() {
    return [this](std::string device, std::string) -> Task<Result<Json>> {
      return answer(*this, std::move(device));
    };
  }
  static Task<Result<Json>> answer(FakeJudges& self, std::string device) {
    self.asked.push_back(device);
    co_return self.answers.at(device);
  }
};

const Json kAdmitted{{"admitted", true}, {"checks", 40}, {"faults", boost::json::array()}};

KernelTask task_for_both() {
  KernelTask task;
  task.name = "softmax";
  task.baseline_cc = "x";
  task.baseline_cu = "x";
  return task;
}

std::vector<std::string> results(TaskChecker& checker, const KernelTask& task) {
  RealRuntime runtime;
  auto checks = runtime.loop.run(checker.check(task, "tasks/softmax"));
  if (!checks) return {"error: " + checks.error().context};
  std::vector<std::string> all;
  for (const BaselineCheck& each : *checks) {
    all.push_back(std::string(to_string(each.backend)) + " " + to_string(each));
  }
  return all;
}
using Results = std::vector<std::string>;

TEST(TaskChecker, tests_the_baseline_of_every_backend_on_a_device_of_its_own) {
  FakeJudges judges{{{"cpu:0", kAdmitted}, {"cuda:0", kAdmitted}}, {}};
  TaskChecker checker(judges.ask(), "");
  EXPECT_EQ(results(checker, task_for_both()), (Results{"cpu admitted", "cuda admitted"}));
  EXPECT_EQ(judges.asked, (Results{"cpu:0", "cuda:0"}));
}

TEST(TaskChecker, a_cuda_baseline_is_not_admitted_where_there_is_no_gpu) {
  FakeJudges judges{{{"cpu:0", kAdmitted}, {"cuda:0", fail(ErrorCode::device_missing, "cuda:0")}},
                    {}};
  TaskChecker checker(judges.ask(), "");
  const Results expected{"cpu admitted", "cuda not checked: no GPU"};
  EXPECT_EQ(results(checker, task_for_both()), expected);
  EXPECT_EQ(results(checker, task_for_both()), expected);
  EXPECT_EQ(judges.asked, (Results{"cpu:0", "cuda:0", "cpu:0"})) << "one attempt is enough";
}

TEST(TaskChecker, a_cuda_baseline_that_computes_something_else_is_refused) {
  FakeJudges judges{
      {{"cpu:0", kAdmitted},
       {"cuda:0", fail(ErrorCode::bad_task, "softmax: the cuda baseline is judged wrong")}},
      {}};
  TaskChecker checker(judges.ask(), "");
  EXPECT_EQ(results(checker, task_for_both()),
            (Results{"cpu admitted", "cuda refused: softmax: the cuda baseline is judged wrong"}));
}

TEST(TaskChecker, a_cheat_that_passes_is_named) {
  Json loose{{"admitted", false},
             {"checks", 7},
             {"faults", {{{"variant", "zeros"}, {"case", "n=4"}, {"text", "is accepted"}}}}};
  FakeJudges judges{{{"cpu:0", loose}}, {}};
  TaskChecker checker(judges.ask(), "");
  KernelTask task = task_for_both();
  task.baseline_cu.clear();
  EXPECT_EQ(results(checker, task), (Results{"cpu refused: zeros is accepted [n=4]"}));
}

TEST(TaskChecker, a_device_that_was_named_is_the_only_one_and_must_exist) {
  FakeJudges judges{{{"cuda:3", fail(ErrorCode::device_missing, "cuda:3")}, {"cpu:1-2", kAdmitted}},
                    {}};
  TaskChecker cuda(judges.ask(), "cuda:3");
  EXPECT_EQ(results(cuda, task_for_both()), (Results{"error: cuda:3"}));
  TaskChecker cpu(judges.ask(), "cpu:1-2");
  EXPECT_EQ(results(cpu, task_for_both()),
            (Results{"cpu admitted", "cuda not checked: --device cpu:1-2"}));
}

}  // namespace
}  // namespace specgen
