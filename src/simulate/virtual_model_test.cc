#include "simulate/virtual_model.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/json.h"
#include "generate/answer/extract.h"
#include "generate/prompt_context.h"
#include "runtime/race.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

struct ModelFixture : VirtualRuntime {
  explicit ModelFixture(FaultSettings fault_settings = {})
      : endpoint(loop, settings.endpoint),
        faults(fault_settings, Random(3)),
        model(loop, settings, endpoint, faults, ledger, Random(5)) {
    settings.writing.no_kernel = 0;
  }
  Request request(std::string role = "writer") {
    PromptContext context;
    context.role = std::move(role);
    context.task = "t";
    context.backend = "cpu";
    context.feedback = {{.verdict = "ok", .speedup = 3}};
    Request asked;
    asked.messages = {{Speaker::user, to_prompt_block(context)}};
    asked.max_tokens = 1'000'000;
    asked.affinity = "i1";
    return asked;
  }
  Request fork_of(const Answer& main, double share) {
    Request fork = request();
    fork.mode = Mode::answer;
    fork.prefix.emplace().text = main.reasoning.substr(
        0, static_cast<std::size_t>(share * static_cast<double>(main.reasoning.size())));
    fork.answer_start = "```cpp\n";
    return fork;
  }

  ModelSettings settings;
  VirtualEndpoint endpoint;
  Faults faults;
  CallLedger ledger;
  VirtualModel model;
};

TEST(VirtualModel, reasons_for_the_time_of_its_tokens_and_answers_with_a_kernel) {
  ModelFixture fixture;
  auto answer = fixture.loop.run(ask(fixture.model, fixture.request()));
  ASSERT_TRUE(answer) << answer.error().text();
  double took = seconds(fixture.loop.now().time_since_epoch());
  double tokens = static_cast<double>(answer->usage.completion_tokens);
  EXPECT_NEAR(took, tokens / fixture.settings.endpoint.tokens_per_second, 2);
  EXPECT_GT(answer->usage.reasoning_tokens, 1000);
  auto kernel = extract_kernel({.text = answer->content, .parent = {}, .answer_start = {}});
  ASSERT_TRUE(kernel);
  EXPECT_TRUE(read_truth(kernel->source));
  ASSERT_EQ(fixture.ledger.records().size(), 1u);
  EXPECT_EQ(fixture.ledger.records()[0].outcome, CallOutcome::ended);
}

TEST(VirtualModel, answers_a_fork_without_reasoning_and_reads_only_uncached_tokens) {
  ModelFixture fixture;
  auto main = fixture.loop.run(ask(fixture.model, fixture.request()));
  ASSERT_TRUE(main);
  auto warm = fixture.loop.run(ask(fixture.model, fixture.fork_of(*main, 0.5)));
  ASSERT_TRUE(warm);
  EXPECT_EQ(warm->usage.reasoning_tokens, 0);
  EXPECT_EQ(warm->usage.cached_tokens, warm->usage.prompt_tokens);
  fixture.endpoint.drop_prefixes();
  auto cold = fixture.loop.run(ask(fixture.model, fixture.fork_of(*main, 0.5)));
  ASSERT_TRUE(cold);
  EXPECT_EQ(cold->usage.cached_tokens, 0);
}

TEST(VirtualModel, gives_short_advice) {
  ModelFixture fixture;
  auto advice = fixture.loop.run(ask(fixture.model, fixture.request("judge")));
  ASSERT_TRUE(advice);
  EXPECT_TRUE(advice->reasoning.empty());
  EXPECT_TRUE(parse_json(advice->content));
}

TEST(VirtualModel, retries_during_an_overload_and_records_every_attempt) {
  ModelFixture fixture;
  fixture.endpoint.overload_until(at(1s));
  auto answer = fixture.loop.run(ask(fixture.model, fixture.request()));
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_GE(fixture.ledger.records().size(), 2u);
  EXPECT_EQ(fixture.ledger.records().front().outcome, CallOutcome::failed);
  EXPECT_EQ(fixture.ledger.records().front().usage.prompt_tokens, 0);
}

TEST(VirtualModel, fails_as_the_real_client_does) {
  struct Case {
    Fault fault;
    ErrorCode code;
  };
  for (Case each : {Case{Fault::stream_stall, ErrorCode::model_silent},
                    Case{Fault::stream_cut, ErrorCode::stream_broken},
                    Case{Fault::stream_garbage, ErrorCode::stream_broken}}) {
    FaultSettings settings;
    settings.rates[static_cast<std::size_t>(each.fault)] = 1;
    ModelFixture fixture(settings);
    int broken = 0;
    for (int i = 0; i < 10; ++i) {
      auto answer = fixture.loop.run(ask(fixture.model, fixture.request()));
      if (answer) continue;
      ++broken;
      EXPECT_EQ(answer.error().code, each.code);
    }
    EXPECT_GT(broken, 3) << to_string(each.fault);
    EXPECT_EQ(fixture.faults.counts()[static_cast<std::size_t>(each.fault)], 10u);
  }
}

TEST(VirtualModel, a_destroyed_call_records_its_usage) {
  ModelFixture fixture;
  auto outcome =
      fixture.loop.run(with_timeout(fixture.loop, 30s, ask(fixture.model, fixture.request())));
  ASSERT_FALSE(outcome);
  ASSERT_EQ(fixture.ledger.records().size(), 1u);
  EXPECT_EQ(fixture.ledger.records()[0].outcome, CallOutcome::cancelled);
  EXPECT_GT(fixture.ledger.records()[0].usage.completion_tokens, 0);
  EXPECT_EQ(fixture.endpoint.streams(), 0);
}

}  // namespace
}  // namespace specgen
