#include "simulate/virtual_trace.h"

#include <gtest/gtest.h>

#include "generate/model.h"
#include "speculate/harvest.h"

namespace specgen {
namespace {

class VirtualTrace : public testing::Test {
 protected:
  VirtualTraceWriter writer(std::int64_t tokens) {
    return {settings, skill, skill.aim(2, false, random), tokens, faults, random.fork("trace")};
  }
  TraceSettings settings;
  Skill skill{SkillSettings{}};
  Random random{7};
  Faults faults{FaultSettings{}, Random(1)};
};

TEST_F(VirtualTrace, has_the_requested_length) {
  VirtualTraceWriter trace = writer(10'000);
  std::int64_t tokens = 0;
  while (!trace.is_done()) tokens += estimate_tokens(trace.next());
  EXPECT_NEAR(static_cast<double>(tokens), 10'000, 1500);
}

TEST_F(VirtualTrace, any_prefix_shows_how_far_it_has_come) {
  VirtualTraceWriter trace = writer(20'000);
  std::string all;
  while (!trace.is_done()) all += trace.next();
  for (double share : {0.1, 0.33, 0.5, 0.9, 1.0}) {
    auto position = read_position(std::string_view(all).substr(
        0, static_cast<std::size_t>(share * static_cast<double>(all.size()))));
    ASSERT_TRUE(position);
    EXPECT_NEAR(position->share, share, 0.05);
    EXPECT_EQ(position->aim.base, 2);
  }
  EXPECT_FALSE(read_position("I think, therefore"));
  EXPECT_FALSE(read_position("(part 3 of 2, 700 bytes, towards 0 1 1 1)\n"));
}

TEST_F(VirtualTrace, has_complete_kernels_that_the_harvester_finds) {
  VirtualTraceWriter trace = writer(50'000);
  Harvester harvester("cpu");
  std::vector<HarvestedKernel> found;
  std::size_t drafts = 0;
  while (!trace.is_done()) {
    std::string part = trace.next();
    drafts += part.contains("```cpp");
    harvester.feed(part, found);
  }
  EXPECT_GT(drafts, 10u);
  EXPECT_GT(found.size(), drafts / 3);  // drafts repeat; equal ones are reported once
  EXPECT_LE(found.size(), drafts);
  for (const HarvestedKernel& kernel : found) EXPECT_TRUE(read_truth(kernel.source));
}

TEST_F(VirtualTrace, later_forks_are_better) {
  double early = 0, late = 0;
  for (int i = 0; i < 4000; ++i) {
    TraceAim aim = skill.aim(2, false, random);
    early += skill.fork(aim, 0.05, random).verdict == Verdict::ok;
    late += skill.fork(aim, 0.95, random).verdict == Verdict::ok;
  }
  EXPECT_GT(late, 1.3 * early);
}

}  // namespace
}  // namespace specgen
