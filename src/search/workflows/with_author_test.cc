// Each workflow with its shipped prompts and the built-in author: that the author understands every prompt, that its
// diffs fit the parents that they are asked for, and that what is fed back makes kernels faster. What is "fast" is made
// up here: bolder choices are, by a fixed factor each.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "generate/answer/extract.h"
#include "generate/author/author_kernel.h"
#include "generate/author/author_model.h"
#include "search/workflows/scripted_context.h"

namespace specgen {
namespace {

class AuthorContext final : public WorkflowContext {
 public:
  AuthorContext(Loop& loop, std::string backend, std::int64_t iterations)
      : loop_(loop),
        model_(loop, author_at_pace("instant").value()),
        plan_(*find_plan("softmax", backend)),
        task_{"softmax", "tasks/softmax", std::move(backend)},
        most_(iterations) {}

  const RunTask& task() const override { return task_; }
  std::uint32_t task_number() const override { return 0; }
  const std::vector<KnownKernel>& history() const override { return history_; }
  std::int64_t iterations_begun() const override { return begun_; }
  bool may_continue() const override { return begun_ < most_; }
  Random& random() override { return random_; }

  Task<Result<IterationOutcome>> write_kernel(Prompt prompt) override {
    std::uint64_t iteration = static_cast<std::uint64_t>(++begun_);
    ++asked[prompt.context.role];
    Answer answer = CO_TRY(co_await ask_author(prompt));
    IterationOutcome outcome;
    outcome.id = {iteration};
    auto kernel = extract_kernel({.text = answer.content,
                                  .finish = answer.reason,
                                  .backend = task_.backend,
                                  .parent = prompt.context.parent_source,
                                  .answer_start = {}});
    if (!kernel) {
      ++without_kernel;
      outcome.end = IterationEnd::no_kernel;
      co_return outcome;
    }
    diffs += kernel->form == KernelForm::diff ? 1 : 0;
    outcome.kernels.push_back(judged(std::move(kernel->source), iteration, prompt.parent));
    history_.push_back(outcome.kernels.back());
    co_return outcome;
  }
  Task<Result<std::string>> advise(Prompt prompt) override {
    ++asked[prompt.context.role];
    Answer answer = CO_TRY(co_await ask_author(prompt));
    if (!answer.content.contains('{')) ++without_advice;
    co_return answer.content;
  }
  Task<Result<std::vector<IterationOutcome>>> write_kernels(std::vector<Prompt> prompts,
                                                            bool first_pass_wins) override {
    std::vector<IterationOutcome> outcomes(prompts.size());
    for (std::size_t i = 0; i < prompts.size() && may_continue(); ++i) {
      outcomes[i] = CO_TRY(co_await write_kernel(std::move(prompts[i])));
      if (first_pass_wins && outcomes[i].best()) break;
    }
    co_return outcomes;
  }
  void repair_with(RepairPrompter) override {}
  Task<Result<void>> side_by_side(std::vector<Task<Result<void>>> workers) override {
    TaskGroup group(loop_);
    for (auto& worker : workers) group.spawn(std::move(worker));
    co_return co_await group.join();
  }

  std::map<std::string, int> asked;  // by role
  int without_kernel = 0;
  int without_advice = 0;
  int diffs = 0;

 private:
  Task<Result<Answer>> ask_author(const Prompt& prompt) {
    Request request;
    request.messages = prompt.messages;
    return ask(model_, std::move(request));
  }

  KnownKernel judged(std::string source, std::uint64_t iteration, CandidateId parent) {
    std::optional<std::string> mistake = mistake_in(plan_, source);
    bool right = mistake && mistake->empty();
    KnownKernel kernel =
        scripted_kernel(++last_, iteration, right ? speedup_of(source) : 0, parent);
    kernel.source = std::move(source);
    return kernel;
  }
  double speedup_of(const std::string& source) const {
    double speedup = 1;
    Decisions made = decisions_in(source);
    for (const Decision& decision : plan_.decisions()) {
      for (std::size_t i = 0; i < decision.choices.size(); ++i) {
        auto found = made.find(decision.name);
        if (found != made.end() && found->second == decision.choices[i].value) {
          speedup *= std::pow(1.2, static_cast<double>(i));
        }
      }
    }
    return speedup;
  }

  Loop& loop_;
  AuthorModel model_;
  const KernelPlan& plan_;
  RunTask task_;
  std::int64_t most_;
  std::int64_t begun_ = 0;
  std::uint64_t last_ = 0;
  std::vector<KnownKernel> history_;
  Random random_{5};
};

using Case = std::tuple<std::string, std::string>;  // workflow, backend
class WithAuthor : public testing::TestWithParam<Case>, protected WorkflowFixture {};

TEST_P(WithAuthor, every_prompt_is_understood_and_kernels_become_faster) {
  auto& [name, backend] = GetParam();
  KernelTask task = load_task(SPECGEN_SOURCE_DIR "/tasks/softmax").value();
  briefs = {brief_of(task, backend == "cpu" ? Backend::cpu : Backend::cuda, "a machine")};
  AuthorContext context(fixture.loop, backend, 40);
  auto workflow = find_workflow(name, {.prompts = prompts, .briefs = briefs});
  ASSERT_TRUE(fixture.loop.run((*workflow)(context)).has_value());

  EXPECT_EQ(context.iterations_begun(), 40);
  EXPECT_EQ(context.without_kernel, 0)
      << "an answer that cannot be read, or a diff that does not fit";
  EXPECT_EQ(context.without_advice, 0);
  std::vector<KnownKernel> best = fastest(context.history(), 1);
  ASSERT_FALSE(best.empty());
  auto first = std::ranges::find_if(context.history(), is_confirmed);
  RecordProperty("first", std::to_string(first->speedup.median));
  RecordProperty("best", std::to_string(best[0].speedup.median));
  EXPECT_GT(best[0].speedup.median, first->speedup.median);
  EXPECT_GT(best[0].speedup.median, 1.5);

  std::vector<std::string> roles;
  for (auto& [role, _] : context.asked) roles.push_back(role);
  // Of the others chance decides whether anything needs a repair.
  std::map<std::string, std::vector<std::string>> expected{
      {"cudaforge", {"judge", "repair", "writer"}},
      {"alphaevolve", {"diff"}},
      {"kernelagent", {"bottleneck", "reflexion", "repair", "writer"}}};
  if (expected.contains(name)) EXPECT_EQ(roles, expected[name]);
  if (name == "alphaevolve") EXPECT_GT(context.diffs, 20);
}

INSTANTIATE_TEST_SUITE_P(Workflows, WithAuthor,
                         testing::Combine(testing::ValuesIn(workflow_names()),
                                          testing::Values("cpu", "cuda")),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" + std::get<1>(info.param);
                         });

}  // namespace
}  // namespace specgen
