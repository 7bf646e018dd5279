// What does not end is stopped soon after its time is up. Alone on the machine: else it waits for the device, too.

#include <gtest/gtest.h>

#include "support/adversary.h"

namespace specgen {
namespace {

std::vector<Adversary> all_with_a_limit() {
  std::vector<Adversary> all;
  for (const char* folder : {"poison", "hacks/cpu"}) {
    for (Adversary& each : adversaries(folder, ".cc")) {
      if (!each.flags.empty() && each.flags[0] == "--call-limit") all.push_back(std::move(each));
    }
  }
  return all;
}

class WithALimit : public testing::TestWithParam<Adversary> {};
TEST_P(WithALimit, is_stopped_in_time) {
  ToolFixture fixture;
  Judged judged = judge(fixture, GetParam(), "cpu:0");
  expect_allowed(judged, GetParam());
  expect_in_time(judged, GetParam(), "cpu:0");
  const bool is_of_all_calls = text_at(judged.evidence(), "text").contains("together");
  EXPECT_EQ(is_of_all_calls, GetParam().name == "slow_everywhere") << judged.output;
}
INSTANTIATE_TEST_SUITE_P(Files, WithALimit, testing::ValuesIn(all_with_a_limit()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace specgen
