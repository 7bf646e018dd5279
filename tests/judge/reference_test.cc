// References in the sandbox: what several compute together is what one call per element computes.

#include <gtest/gtest.h>

#include <algorithm>

#include "evaluate/cpu/native_source.h"
#include "evaluate/task/cases.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

TEST(References, that_share_a_case_compute_what_one_would) {
  RealRuntime runtime;
  Processes processes(runtime.loop, runtime.driver);
  Sandbox sandbox =
      runtime.loop.run(Sandbox::open(runtime.loop, processes, {.self = {SPECGEN_NODE_BINARY}}))
          .value();
  JudgeContext context{.loop = runtime.loop,
                       .driver = runtime.driver,
                       .processes = processes,
                       .sandbox = sandbox,
                       .self = {SPECGEN_NODE_BINARY}};
  KernelTask task = load_task(SPECGEN_SOURCE_DIR "/tasks/matmul_square").value();
  std::vector<Case> cases = public_cases(task, Backend::cuda).value();
  auto large = std::ranges::find_if(cases, [](const Case& at) { return at.axes.at("n") == 1031; });
  ASSERT_NE(large, cases.end());

  auto source = runtime.loop.run(NativeSource::open(context, task)).value();
  Expected all = runtime.loop.run(source->expect(*large, 7, 0)).value().at(0);
  Expected some = runtime.loop.run(source->expect(*large, 7, 64)).value().at(0);
  ASSERT_EQ(some.at.size(), 64U);
  for (std::size_t i = 0; i < some.at.size(); ++i) {
    auto at = static_cast<std::size_t>(some.at[i]);
    EXPECT_EQ(all.value.at(at), some.value[i]) << at;
    EXPECT_EQ(all.scale.at(at), some.scale[i]) << at;
  }
  EXPECT_EQ(std::ranges::count(all.scale, 0.0), 0) << "of elements that were not computed";
}

}  // namespace
}  // namespace specgen
