#include "schedule/host_client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <functional>

#include "runtime/race.h"
#include "runtime/sync.h"
#include "runtime/testing.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

// A host inside the loop; the test scripts its answers.

class FakeHost final : public Host {
 public:
  explicit FakeHost(Loop& loop) : loop_(loop) {}

  std::string name() const override { return "fake"; }
  Task<Result<std::unique_ptr<HostLink>>> connect() override {
    ++connections;
    if (unreachable) co_return fail(ErrorCode::device_failed, "fake: unreachable");
    inbox_ = std::make_shared<Channel<Json>>(loop_, 1 << 16);
    if (!hello.is_null()) send_frame(hello);
    co_return std::make_unique<Link>(*this, inbox_);
  }

  // Sends to the client; dropped if there is no connection.
  void send_frame(Json frame) {
    if (inbox_) (void)inbox_->try_send(std::move(frame));
  }
  void hang_up() { inbox_->close(); }

  // Answers a request as a working host would.
  void answer(const Json& request, Json result) {
    send_frame({{"event", "done"},
                {"job", text_at(request, "job")},
                {"epoch", int_at(request, "epoch")},
                {"result", std::move(result)}});
  }
  void refuse(const Json& request, ErrorCode code) {
    send_frame({{"event", "error"},
                {"job", text_at(request, "job")},
                {"epoch", int_at(request, "epoch")},
                {"error",
                 {{"code", static_cast<int>(code)}, {"context", "as scripted"}, {"advice", ""}}}});
  }
  void confirm_cancel(const Json& request) {
    send_frame({{"event", "cancelled"},
                {"job", text_at(request, "job")},
                {"epoch", int_at(request, "epoch")}});
  }

  std::function<void(const Json& request)> on_frame;
  Json hello{{"event", "hello"},
             {"protocol", 1},
             {"specgen_version", "test"},
             {"lanes", 2},
             {"devices", {{{"id", "cpu:0"}, {"name", "fake"}}}}};
  std::vector<Json> received;
  bool unreachable = false;
  bool deaf = false;  // nothing can be sent
  int connections = 0;
  int links = 0;  // alive

 private:
  class Link final : public HostLink {
   public:
    Link(FakeHost& host, std::shared_ptr<Channel<Json>> inbox)
        : host_(host), inbox_(std::move(inbox)) {
      ++host_.links;
    }
    ~Link() override { --host_.links; }
    Result<void> send(Json frame) override {
      if (host_.deaf) return fail(ErrorCode::system_call, "the pipe is broken");
      host_.received.push_back(frame);
      if (host_.on_frame) host_.on_frame(frame);
      return {};
    }
    Task<Result<std::optional<Json>>> receive() override { co_return co_await inbox_->receive(); }

   private:
    FakeHost& host_;
    std::shared_ptr<Channel<Json>> inbox_;
  };

  Loop& loop_;
  std::shared_ptr<Channel<Json>> inbox_;  // of the last link
};

// Results of a healthy host.
Json fake_finding(std::string_view verdict) {
  return {{"verdict", verdict}, {"evidence", {{"text", "as scripted"}}}};
}
Json fake_speedup(double median) {
  return {{"median", median}, {"low", 0.9 * median}, {"high", 1.1 * median}};
}

struct ClientFixture : VirtualRuntime {
  ClientFixture() {
    host.on_frame = [this](const Json& request) { serve(request); };
    candidate.task = "tasks/softmax";
    candidate.backend = "cpu";
    candidate.source = "void softmax() {}";
  }

  void serve(const Json& request) {
    const std::string what = text_at(request, "do");
    if (what == "cancel") return host.confirm_cancel(request);
    if (what == "compile") {
      return host.answer(request, {{"finding", fake_finding("ok")}, {"program", next_program}});
    }
    if (what == "validate") {
      return host.answer(request, {{"finding", fake_finding("ok")},
                                   {"screen", fake_speedup(2)},
                                   {"evaluation", {{"verdict", "ok"}}},
                                   {"feedback", "well done"}});
    }
    if (what == "profile") {
      return host.answer(request, {{"finding", fake_finding("ok")}, {"speedup", fake_speedup(3)}});
    }
    if (what == "prepare") return host.answer(request, {{"task", "softmax"}});
  }

  StageJob job(Stage stage, std::string program = {}) {
    return {.stage = stage,
            .device = stage == Stage::compile ? "" : "cpu:0",
            .candidate = &candidate,
            .program = std::move(program),
            .screen = {2, 1.9, 2.1}};
  }
  Result<StageOutcome> perform(StageJob wanted) { return loop.run(client.perform(wanted)); }
  std::size_t count(std::string_view what) const {
    return static_cast<std::size_t>(std::ranges::count_if(
        host.received, [&](const Json& frame) { return text_at(frame, "do") == what; }));
  }

  FakeHost host{loop};
  HostClient client{loop, host};
  Candidate candidate;
  std::string next_program = "p1";
};

TEST(HostClient, reports_the_devices_of_the_host) {
  ClientFixture fixture;
  HostFacts facts = fixture.loop.run(fixture.client.hello()).value();
  ASSERT_EQ(facts.devices.size(), 1U);
  EXPECT_EQ(facts.devices[0].id, "cpu:0");
  EXPECT_EQ(facts.compile_slots, 2U);
  EXPECT_EQ(facts.version, "test");
}

TEST(HostClient, performs_all_stages_of_a_candidate) {
  ClientFixture fixture;
  StageOutcome compiled = fixture.perform(fixture.job(Stage::compile)).value();
  EXPECT_EQ(compiled.verdict, Verdict::ok);
  EXPECT_EQ(compiled.program, "p1");
  StageOutcome validated = fixture.perform(fixture.job(Stage::validate, "p1")).value();
  EXPECT_EQ(validated.speedup.median, 2);
  EXPECT_EQ(validated.evaluation, R"({"verdict":"ok"})");
  EXPECT_EQ(validated.feedback, "well done");
  StageOutcome profiled = fixture.perform(fixture.job(Stage::profile, "p1")).value();
  EXPECT_EQ(profiled.speedup.median, 3);
  const Json& last = fixture.host.received.back();
  EXPECT_EQ(text_at(last, "program"), "p1");
  EXPECT_EQ(number_at(*member_at(last, "screen"), "median"), 2);
  EXPECT_EQ(fixture.host.connections, 1);
}

TEST(HostClient, compiles_a_program_that_the_host_does_not_have) {
  ClientFixture fixture;
  StageOutcome validated = fixture.perform(fixture.job(Stage::validate, "of another host")).value();
  EXPECT_EQ(validated.program, "p1");
  EXPECT_EQ(fixture.count("compile"), 1U);
  EXPECT_EQ(text_at(fixture.host.received.back(), "program"), "p1");
}

TEST(HostClient, compiles_a_program_again_that_the_host_dropped) {
  ClientFixture fixture;
  ASSERT_TRUE(fixture.perform(fixture.job(Stage::compile)));
  fixture.host.on_frame = [&](const Json& request) {
    if (text_at(request, "program") == "p1") {
      return fixture.host.refuse(request, ErrorCode::unknown_name);
    }
    fixture.next_program = "p2";
    fixture.serve(request);
  };
  StageOutcome validated = fixture.perform(fixture.job(Stage::validate, "p1")).value();
  EXPECT_EQ(validated.program, "p2");
  EXPECT_EQ(fixture.count("compile"), 2U);
}

TEST(HostClient, compiles_a_missing_program_only_once) {
  ClientFixture fixture;
  fixture.host.on_frame = [&](const Json& request) {
    if (text_at(request, "do") == "compile") return fixture.serve(request);
    fixture.host.refuse(request, ErrorCode::unknown_name);
  };
  auto validated = fixture.perform(fixture.job(Stage::validate));
  ASSERT_FALSE(validated);
  EXPECT_EQ(validated.error().code, ErrorCode::unknown_name);
  EXPECT_EQ(fixture.count("compile"), 1U);
}

TEST(HostClient, passes_on_the_error_of_a_job) {
  ClientFixture fixture;
  fixture.host.on_frame = [&](const Json& request) {
    fixture.host.refuse(request, ErrorCode::bad_task);
  };
  auto compiled = fixture.perform(fixture.job(Stage::compile));
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::bad_task);
  EXPECT_EQ(fixture.host.links, 1) << "an error is an answer, the link stays";
}

TEST(HostClient, counts_and_drops_duplicate_late_and_unexpected_answers) {
  ClientFixture fixture;
  fixture.host.on_frame = [&](const Json& request) {
    fixture.serve(request);
    fixture.serve(request);
    fixture.host.send_frame({{"event", "done"}, {"job", "j1"}, {"epoch", 0}, {"result", nullptr}});
    fixture.host.send_frame(
        {{"event", "done"}, {"job", "j999"}, {"epoch", 1}, {"result", nullptr}});
    fixture.host.send_frame({{"event", "progress"}, {"job", "j1"}, {"text", "still here"}});
  };
  ASSERT_TRUE(fixture.perform(fixture.job(Stage::compile)));
  fixture.loop.run(pass(fixture.loop, 20));
  EXPECT_EQ(fixture.client.counters().repeated_answers, 1U);
  EXPECT_EQ(fixture.client.counters().stale_answers, 2U);
  EXPECT_EQ(fixture.client.counters().invalid_messages, 0U);
  EXPECT_EQ(fixture.host.links, 1);
}

TEST(HostClient, reconnects_after_the_host_was_lost) {
  ClientFixture fixture;
  fixture.host.on_frame = [&](const Json&) { fixture.host.hang_up(); };
  auto lost = fixture.perform(fixture.job(Stage::compile));
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::harness_failed);
  EXPECT_EQ(fixture.host.links, 0);
  fixture.host.on_frame = [&](const Json& request) { fixture.serve(request); };
  ASSERT_TRUE(fixture.perform(fixture.job(Stage::compile)));
  EXPECT_EQ(fixture.host.connections, 2);
  EXPECT_EQ(int_at(fixture.host.received[0], "epoch"), 1);
  EXPECT_EQ(int_at(fixture.host.received[1], "epoch"), 2);
  EXPECT_NE(text_at(fixture.host.received[0], "job"), text_at(fixture.host.received[1], "job"));
}

TEST(HostClient, drops_the_known_programs_with_the_link) {
  ClientFixture fixture;
  ASSERT_TRUE(fixture.perform(fixture.job(Stage::compile)));
  fixture.host.hang_up();
  fixture.loop.run(pass(fixture.loop, 5));
  ASSERT_TRUE(fixture.perform(fixture.job(Stage::validate, "p1")));
  EXPECT_EQ(fixture.count("compile"), 2U);
}

TEST(HostClient, reports_an_unreachable_host) {
  ClientFixture fixture;
  fixture.host.unreachable = true;
  EXPECT_EQ(fixture.loop.run(fixture.client.hello()).error().code, ErrorCode::device_failed);
  EXPECT_EQ(fixture.perform(fixture.job(Stage::compile)).error().code, ErrorCode::device_failed);
}

TEST(HostClient, limits_the_wait_for_hello) {
  ClientFixture fixture;
  fixture.host.hello = nullptr;
  EXPECT_EQ(fixture.loop.run(fixture.client.hello()).error().code, ErrorCode::timeout);
  EXPECT_EQ(fixture.host.links, 0);
}

TEST(HostClient, rejects_a_host_whose_first_frame_is_not_hello) {
  ClientFixture fixture;
  fixture.host.hello = {{"event", "progress"}};
  EXPECT_FALSE(fixture.loop.run(fixture.client.hello()));
  EXPECT_EQ(fixture.client.counters().invalid_messages, 1U);
  EXPECT_EQ(fixture.host.links, 0);
}

TEST(HostClient, fails_all_jobs_of_a_link_that_cannot_be_written_to) {
  ClientFixture fixture;
  ASSERT_TRUE(fixture.perform(fixture.job(Stage::compile)));
  fixture.host.deaf = true;
  EXPECT_EQ(fixture.perform(fixture.job(Stage::compile)).error().code, ErrorCode::harness_failed);
  EXPECT_EQ(fixture.host.links, 0);
}

// Every invalid message cuts the link and fails the waiting call with harness_failed.
TEST(HostClient, cuts_a_link_after_an_invalid_message) {
  const std::vector<std::string> frames{
      R"(7)",
      R"({})",
      R"({"event": 3})",
      R"({"event": "done"})",
      R"({"event": "done", "job": "j1", "epoch": 1})",
      R"({"event": "done", "job": "x1", "epoch": 1, "result": {}})",
      R"({"event": "done", "job": "j1x", "epoch": 1, "result": {}})",
      R"({"event": "done", "job": "j1", "epoch": 2, "result": {}})",
      R"({"event": "done", "job": "j1", "epoch": "1", "result": {}})",
      R"({"event": "cancelled", "job": "j1", "epoch": 1})",
      R"({"event": "dances", "job": "j1", "epoch": 1})",
      R"({"event": "error", "job": null, "error": {"code": 502}})",
      R"({"event": "error", "job": "j1", "epoch": 1, "error": {"code": 9999}})",
      R"({"event": "error", "job": "j1", "epoch": 1})",
      R"({"event": "done", "job": "j1", "epoch": 1, "result": null})",
      R"({"event": "done", "job": "j1", "epoch": 1,
          "result": {"finding": {"verdict": "fine", "evidence": {}}}})",
      R"({"event": "done", "job": "j1", "epoch": 1, "result": {"finding": {"verdict": "ok"}}})",
      R"({"event": "done", "job": "j1", "epoch": 1,
          "result": {"finding": {"verdict": "ok", "evidence": {}}}})",
      R"({"event": "done", "job": "j1", "epoch": 1,
          "result": {"finding": {"verdict": "wrong", "evidence": {"text": 1}}}})",
  };
  for (const std::string& text : frames) {
    ClientFixture fixture;
    fixture.host.on_frame = [&](const Json&) { fixture.host.send_frame(parse_json(text).value()); };
    auto compiled = fixture.perform(fixture.job(Stage::compile));
    ASSERT_FALSE(compiled) << text;
    EXPECT_EQ(compiled.error().code, ErrorCode::harness_failed) << text;
    EXPECT_EQ(fixture.client.counters().invalid_messages, 1U) << text;
    EXPECT_EQ(fixture.host.links, 0) << text;
  }
}

TEST(HostClient, rejects_an_impossible_speedup) {
  for (std::string_view screen :
       {"null", "{}", R"({"median": 0, "low": 0, "high": 0})",
        R"({"median": -2, "low": 1, "high": 3})", R"({"median": 2, "low": 3, "high": 1})",
        R"({"median": 1e999, "low": 1, "high": 3})", R"({"median": "2", "low": 1, "high": 3})"}) {
    ClientFixture fixture;
    ASSERT_TRUE(fixture.perform(fixture.job(Stage::compile)));
    fixture.host.on_frame = [&](const Json& request) {
      auto interval = parse_json(screen);
      fixture.host.answer(request, {{"finding", fake_finding("ok")},
                                    {"screen", interval ? std::move(*interval) : Json(nullptr)}});
    };
    EXPECT_FALSE(fixture.perform(fixture.job(Stage::validate, "p1"))) << screen;
    EXPECT_EQ(fixture.client.counters().invalid_messages, 1U) << screen;
  }
}

Task<void> give_up_after(Loop& loop, HostClient& client, StageJob job, Duration patience) {
  co_await race(client.perform(std::move(job)), loop.sleep(patience));
}

TEST(HostClient, cancels_an_abandoned_job_and_waits_for_its_end) {
  ClientFixture fixture;
  ASSERT_TRUE(fixture.perform(fixture.job(Stage::compile)));
  Json cancel;
  fixture.host.on_frame = [&](const Json& request) {
    if (text_at(request, "do") == "cancel") cancel = request;
  };
  fixture.loop.run(
      give_up_after(fixture.loop, fixture.client, fixture.job(Stage::validate, "p1"), 1s));
  ASSERT_TRUE(cancel.is_object());
  EXPECT_EQ(text_at(cancel, "job"), "j2");

  TaskGroup group(fixture.loop);
  std::optional<Time> settled_at;
  struct Waits {
    static Task<void> on(ClientFixture& its, std::optional<Time>& when) {
      EXPECT_TRUE(co_await its.client.settled("cpu:0"));
      when = its.loop.now();
    }
    static Task<void> confirms(ClientFixture& its, const Json& request) {
      co_await its.loop.sleep(2s);
      its.host.confirm_cancel(request);
    }
  };
  group.spawn(Waits::on(fixture, settled_at));
  group.spawn(Waits::confirms(fixture, cancel));
  ASSERT_TRUE(fixture.loop.run(group.join()));
  EXPECT_EQ(settled_at, at(3s));
  EXPECT_EQ(fixture.client.counters().stale_answers, 0U);
  EXPECT_EQ(fixture.client.counters().repeated_answers, 0U);
}

TEST(HostClient, cuts_the_link_when_the_end_of_a_cancelled_job_is_not_confirmed) {
  ClientFixture fixture;
  ASSERT_TRUE(fixture.perform(fixture.job(Stage::compile)));
  fixture.host.on_frame = {};
  fixture.loop.run(
      give_up_after(fixture.loop, fixture.client, fixture.job(Stage::validate, "p1"), 1s));
  auto settled = fixture.loop.run(fixture.client.settled("cpu:0"));
  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().code, ErrorCode::harness_failed);
  EXPECT_EQ(fixture.loop.now(), at(6s));
  EXPECT_EQ(fixture.host.links, 0);
  EXPECT_TRUE(fixture.loop.run(fixture.client.settled("cpu:0"))) << "nothing is left there";
}

TEST(HostClient, settles_at_once_on_an_idle_device) {
  ClientFixture fixture;
  EXPECT_TRUE(fixture.loop.run(fixture.client.settled("cpu:0")));
  EXPECT_EQ(fixture.loop.now(), at(0s));
}

TEST(HostClient, limits_the_wait_for_a_canary) {
  ClientFixture fixture;
  EXPECT_TRUE(fixture.loop.run(fixture.client.prepare("cpu:0", "tasks/softmax", {}, 2min)));
  EXPECT_FALSE(flag_at(fixture.host.received.back(), "canary"));
  EXPECT_TRUE(fixture.loop.run(fixture.client.canary("cpu:0", "tasks/softmax", 2min)));
  EXPECT_EQ(text_at(fixture.host.received.back(), "do"), "prepare");
  EXPECT_TRUE(flag_at(fixture.host.received.back(), "canary"));
  fixture.host.on_frame = [&](const Json& request) {
    if (text_at(request, "do") == "cancel") fixture.host.confirm_cancel(request);
  };
  EXPECT_FALSE(fixture.loop.run(fixture.client.canary("cpu:0", "tasks/softmax", 2min)));
  EXPECT_EQ(fixture.count("cancel"), 1U);
}

TEST(HostClient, parses_all_members_of_a_finding) {
  ClientFixture fixture;
  fixture.host.on_frame = [&](const Json& request) {
    fixture.host.answer(request, parse_json(R"({"verdict": "wrong", "speedup": null,
        "feedback": "try harder",
        "evidence": {"text": "too much", "case": "rows=1", "line": 7,
                     "worst": {"tensor": "y", "index": [1, 2], "expected": 1.5, "got": null}}})")
                                     .value());
  };
  StageOutcome outcome = fixture.perform(fixture.job(Stage::evaluate)).value();
  EXPECT_EQ(outcome.verdict, Verdict::wrong);
  EXPECT_EQ(outcome.evidence.text, "too much");
  EXPECT_EQ(outcome.evidence.case_name, "rows=1");
  EXPECT_EQ(outcome.evidence.line, 7);
  ASSERT_EQ(outcome.evidence.worst.size(), 1U);
  EXPECT_EQ(outcome.evidence.worst[0].index, (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(std::isnan(outcome.evidence.worst[0].got));
  EXPECT_EQ(outcome.feedback, "try harder");
  EXPECT_EQ(text_at(fixture.host.received.back(), "source"), fixture.candidate.source);
}

}  // namespace
}  // namespace specgen
