#include "simulate/virtual_host.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "runtime/testing.h"
#include "schedule/host_client.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

struct HostFixture : VirtualRuntime {
  explicit HostFixture(FaultSettings fault_settings = {})
      : faults(fault_settings, Random(3)),
        host(loop, "host0", {.devices = 2}, 8, faults, Random(5),
             [this](std::string what) { violations.push_back(std::move(what)); }) {}

  Candidate candidate(KernelTruth truth) {
    return {.id = {1},
            .task = "t",
            .backend = "cpu",
            .source = virtual_kernel(truth),
            .iteration = {1}};
  }

  std::vector<std::string> violations;
  Faults faults;
  VirtualHost host;
};

Task<Result<StageOutcome>> judge(HostClient& client, const Candidate& candidate) {
  StageOutcome compiled = CO_TRY(
      co_await client.perform({.stage = Stage::compile, .device = {}, .candidate = &candidate}));
  if (compiled.verdict != Verdict::ok) co_return compiled;
  StageOutcome valid = CO_TRY(co_await client.perform({.stage = Stage::validate,
                                                       .device = "cpu:0",
                                                       .candidate = &candidate,
                                                       .program = compiled.program}));
  if (valid.verdict != Verdict::ok) co_return valid;
  co_return co_await client.perform({.stage = Stage::profile,
                                     .device = "cpu:0",
                                     .candidate = &candidate,
                                     .program = compiled.program,
                                     .screen = valid.speedup});
}

TEST(VirtualHost, returns_the_truth_about_a_kernel_after_the_service_time) {
  HostFixture fixture;
  HostClient client(fixture.loop, fixture.host);
  Candidate good = fixture.candidate({.speedup = 2.5, .number = 1});
  auto outcome = fixture.loop.run(judge(client, good));
  ASSERT_TRUE(outcome) << outcome.error().text();
  EXPECT_EQ(outcome->verdict, Verdict::ok);
  EXPECT_NEAR(outcome->speedup.median, 2.5, 0.2);
  EXPECT_GT(fixture.loop.now(), at(5s));
  EXPECT_GT(fixture.host.busy(), Duration(5s));
  for (Verdict verdict : {Verdict::compile_error, Verdict::wrong, Verdict::crash}) {
    Candidate bad = fixture.candidate({.verdict = verdict, .number = 2});
    auto found = fixture.loop.run(judge(client, bad));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->verdict, verdict);
  }
  EXPECT_TRUE(fixture.violations.empty());
}

TEST(VirtualHost, a_poisonous_kernel_kills_every_executor) {
  HostFixture fixture;
  HostClient client(fixture.loop, fixture.host);
  Candidate poison = fixture.candidate({.poison = true, .number = 1});
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(fixture.loop.run(judge(client, poison)));
}

TEST(VirtualHost, a_crashed_host_comes_back) {
  HostFixture fixture;
  HostClient client(fixture.loop, fixture.host);
  ASSERT_TRUE(fixture.loop.run(client.hello()));
  fixture.host.crash_until(fixture.loop.now() + 10s);
  Candidate good = fixture.candidate({.number = 1});
  EXPECT_FALSE(fixture.loop.run(judge(client, good)));
  fixture.loop.run(nap(fixture.loop, 11s));
  auto outcome = fixture.loop.run(judge(client, good));
  EXPECT_TRUE(outcome) << outcome.error().text();
}

// Sends requests without a HostClient, which would not do this.
Task<void> give_two_jobs(VirtualHost& host) {
  auto link = co_await host.connect();
  for (const char* job : {"j1", "j2"}) {
    (void)(*link)->send(
        {{"job", job}, {"epoch", 1}, {"do", "prepare"}, {"device", "cpu:1"}, {"task", "t"}});
  }
}

TEST(VirtualHost, reports_two_jobs_on_one_device) {
  HostFixture fixture;
  fixture.loop.run(give_two_jobs(fixture.host));
  ASSERT_EQ(fixture.violations.size(), 1u);
  EXPECT_EQ(fixture.violations[0], "cpu:1 of host0 holds two jobs");
}

}  // namespace
}  // namespace specgen
