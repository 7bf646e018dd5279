// A sample of the kernels of the author's CPU plans: for every task and dtype, kernels of random
// choices are correct; for every task, kernels with a mistake of the plan are refused. Takes minutes.

#include "support/author_plans.h"

namespace specgen {
namespace {

std::vector<std::string> task_titles() {
  std::vector<std::string> titles;
  for (const KernelTask& task : shipped_tasks()) {
    for (Dtype dtype : task.elements) {
      bool is_first = dtype == task.elements.front();
      titles.push_back(is_first ? task.name : task.name + ":" + std::string(to_string(dtype)));
    }
  }
  return titles;
}

class CpuPlanSample : public testing::TestWithParam<std::string> {
 protected:
  const KernelPlan& plan() const {
    const KernelPlan* found = find_plan(GetParam(), "cpu");
    SG_ASSERT(found, "the author has no plan for a task that ships");
    return *found;
  }
  std::vector<Decisions> sample(std::size_t by_chance) {
    std::vector<Decisions> made{{}, boldest(plan())};
    while (made.size() < 2 + by_chance) made.push_back(any_choices(plan(), chance_));
    return made;
  }
  Random chance_{2026};
  PlanJudge judge_;
};

TEST_P(CpuPlanSample, is_correct_in_any_combination_of_choices) {
  for (const Decisions& made : sample(3)) {
    std::string kernel = plan().write(made);
    PlanJudge::Ruling ruling = judge_.judge(GetParam(), kernel);
    EXPECT_EQ(ruling.verdict, "ok") << ruling.text << "\n" << kernel;
  }
}

TEST_P(CpuPlanSample, is_refused_with_any_mistake) {
  if (GetParam().contains(':')) GTEST_SKIP() << "a mistake is the same in every dtype";
  for (const Mistake& mistake : plan().mistakes()) {
    for (const Decisions& made : sample(0)) {
      std::string kernel = plan().write(made, mistake.name);
      PlanJudge::Ruling ruling = judge_.judge(GetParam(), kernel);
      EXPECT_NE(ruling.verdict, "ok") << mistake.name << "\n" << kernel;
      EXPECT_NE(ruling.verdict, "error") << ruling.text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, CpuPlanSample, testing::ValuesIn(task_titles()), test_name);

}  // namespace
}  // namespace specgen
