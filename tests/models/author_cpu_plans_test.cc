// The author's CPU plans, as far as a minute allows: each task has a plan with decisions
// and mistakes, and its first and last choices give correct kernels.

#include "base/text.h"
#include "support/author_plans.h"

namespace specgen {
namespace {

std::vector<std::string> task_names() {
  std::vector<std::string> names;
  for (const KernelTask& task : shipped_tasks()) names.push_back(task.name);
  return names;
}

// Without the first line, which lists the decisions.
std::string body_of(const std::string& kernel) {
  return kernel.substr(kernel.find('\n'));
}

class CpuPlan : public testing::TestWithParam<std::string> {
 protected:
  const KernelPlan& plan() const {
    const KernelPlan* found = find_plan(GetParam(), "cpu");
    SG_ASSERT(found, "the author has no plan for a task that ships");
    return *found;
  }
};

TEST_P(CpuPlan, has_decisions_with_reasons_and_mistakes_with_beliefs) {
  EXPECT_GE(plan().decisions().size(), 4U);
  EXPECT_LE(plan().decisions().size(), 8U);
  for (const Decision& decision : plan().decisions()) {
    EXPECT_GE(decision.choices.size(), 2U) << decision.name;
    for (const Choice& choice : decision.choices) {
      EXPECT_TRUE(choice.reason.ends_with('.')) << choice.reason;
    }
  }
  EXPECT_GE(plan().mistakes().size(), 3U);
  EXPECT_LE(plan().mistakes().size(), 6U);
  for (const Mistake& mistake : plan().mistakes()) {
    EXPECT_TRUE(mistake.belief.ends_with('.')) << mistake.belief;
  }
}

TEST_P(CpuPlan, every_choice_and_every_mistake_changes_the_kernel) {
  Random chance(7);
  std::vector<Decisions> bases{{}, boldest(plan())};
  for (int i = 0; i < 100; ++i) bases.push_back(any_choices(plan(), chance));
  for (const Decision& decision : plan().decisions()) {
    for (std::size_t i = 1; i < decision.choices.size(); ++i) {
      bool differs = std::ranges::any_of(bases, [&](Decisions made) {
        made[decision.name] = decision.choices[i - 1].value;
        std::string before = body_of(plan().write(made));
        made[decision.name] = decision.choices[i].value;
        return body_of(plan().write(made)) != before;
      });
      EXPECT_TRUE(differs) << decision.name << " = " << decision.choices[i].value;
    }
  }
  for (const Mistake& mistake : plan().mistakes()) {
    for (const Decisions& made : bases) {
      std::string right = plan().write(made);
      EXPECT_NE(plan().write(made, mistake.name), right) << mistake.name << "\n" << right;
    }
  }
}

TEST_P(CpuPlan, its_kernels_have_no_marks_and_short_lines) {
  Random chance(8);
  for (int i = 0; i < 20; ++i) {
    std::string kernel = body_of(plan().write(any_choices(plan(), chance)));
    EXPECT_EQ(kernel.find("//?"), std::string::npos);
    EXPECT_EQ(kernel.find('@'), std::string::npos);
    EXPECT_EQ(kernel.find("\n\n\n"), std::string::npos) << kernel;
    for (std::string_view line : split(kernel, '\n')) {
      if (line.find("specgen:") == std::string_view::npos) EXPECT_LE(line.size(), 100U) << line;
    }
  }
}

TEST_P(CpuPlan, its_first_and_last_choices_are_correct_and_a_mistake_is_refused) {
  PlanJudge judge;
  for (const Decisions& made : {Decisions(), boldest(plan())}) {
    std::string kernel = plan().write(made);
    PlanJudge::Ruling ruling = judge.judge(GetParam(), kernel);
    EXPECT_EQ(ruling.verdict, "ok") << ruling.text << "\n" << kernel;
  }
  std::string kernel = plan().write(boldest(plan()), plan().mistakes()[0].name);
  PlanJudge::Ruling ruling = judge.judge(GetParam(), kernel);
  EXPECT_NE(ruling.verdict, "ok") << kernel;
  EXPECT_NE(ruling.verdict, "error") << ruling.text;
}

INSTANTIATE_TEST_SUITE_P(Tasks, CpuPlan, testing::ValuesIn(task_names()), test_name);

}  // namespace
}  // namespace specgen
