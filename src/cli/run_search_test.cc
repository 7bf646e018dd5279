#include "cli/run_search.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

TEST(NextSteps, name_the_best_kernel_and_the_commands_to_use_it_with) {
  RunState state;
  state.run.tasks = {{"softmax", "/tasks/softmax", "cpu"}};
  state.tasks.resize(1);
  state.tasks[0].best = CandidateId{3};
  EXPECT_EQ(next_steps(state, "runs/a", false),
            "best kernel: runs/a/best/softmax.cc\n"
            "next:\n"
            "  specgen verify runs/a\n"
            "  specgen export runs/a --as cpp\n"
            "  specgen report runs/a\n");
}

TEST(NextSteps, of_several_tasks_name_each_that_has_a_kernel) {
  RunState state;
  state.run.tasks = {{"gelu:f16", "/tasks/gelu:f16", "cuda"},
                     {"relu", "/p/relu.py", "cuda"},
                     {"softmax", "/tasks/softmax", "cuda"}};
  state.tasks.resize(3);
  state.tasks[0].best = CandidateId{3};
  state.tasks[1].best = CandidateId{4};
  EXPECT_EQ(next_steps(state, "r", false),
            "best kernel: r/best/gelu_f16.cu\n"
            "best kernel: r/best/relu.cu\n"
            "next:\n"
            "  specgen verify r --task gelu:f16\n"
            "  specgen export r --task gelu:f16 --as cuda\n"
            "  specgen verify r --task relu\n"
            "  specgen export r --task relu --as torch\n"
            "  specgen report r\n");
}

}  // namespace
}  // namespace specgen
