#include "evaluate/judge/judge_process.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "evaluate/host/fake_tools.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

TEST(JudgeSetup, comes_back_from_json) {
  JudgeSetup setup{.device = "cuda:1",
                   .compiler = "clang++-19",
                   .python = "python3.11",
                   .ncu = "/opt/ncu",
                   .require = SandboxLevel::full,
                   .allow_unsandboxed = true,
                   .counters = true,
                   .secret = std::string(32, 'a'),
                   .call_limit = 1500ms,
                   .lock_wait = 3s,
                   .include_folders = {"/usr/include/cutlass", "with \"quotes\""},
                   .keep_off = {1, 2}};
  auto back = judge_setup_from_json(to_json(setup));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(to_json(*back), to_json(setup));
  EXPECT_EQ(back->require, SandboxLevel::full);
  EXPECT_EQ(back->call_limit, 1500ms);
  EXPECT_EQ(back->secret, setup.secret);
  EXPECT_EQ(back->include_folders, setup.include_folders);
  EXPECT_EQ(back->keep_off, setup.keep_off);
}

TEST(JudgeSetup, without_a_secret_has_none_on_the_other_side) {
  auto back = judge_setup_from_json(to_json(JudgeSetup{.device = "cpu:0"}));
  ASSERT_TRUE(back.has_value());
  EXPECT_FALSE(back->secret.has_value());
  EXPECT_EQ(back->compiler, "g++");
}

TEST(JudgeSetup, without_a_device_is_refused) {
  for (const char* text : {"null", "[]", "{}", R"({"device": 3})", R"({"device": ""})"}) {
    EXPECT_FALSE(judge_setup_from_json(parse_json(text).value()).has_value()) << text;
  }
}

TEST(JudgeSetup, never_asks_for_a_sandbox_level_that_does_not_exist) {
  for (const char* level : {"-1", "99", "\"L3\""}) {
    auto json = parse_json(std::string(R"({"device": "cpu:0", "require": )") + level + "}");
    auto setup = judge_setup_from_json(json.value());
    ASSERT_TRUE(setup.has_value());
    EXPECT_GE(setup->require, SandboxLevel::none);
    EXPECT_LE(setup->require, SandboxLevel::full);
  }
}

TEST(JudgeError, every_kind_comes_back_with_its_text) {
  for (const ErrorKind& kind : error_table()) {
    Error error = error_from_json(to_json(Error{kind.code, "at \"x\"\n", "do this"}));
    EXPECT_EQ(error.code, kind.code);
    EXPECT_EQ(error.context, "at \"x\"\n");
    EXPECT_EQ(error.advice, "do this");
  }
}

TEST(JudgeError, an_unknown_number_is_a_fault_of_the_harness) {
  for (const char* text : {"null", "{}", R"({"code": 999999})", R"({"code": -1})",
                           R"({"code": 65637})", R"({"code": "601"})"}) {
    EXPECT_EQ(error_from_json(parse_json(text).value()).code, ErrorCode::harness_failed) << text;
  }
}

// A program that is not a judge: its job ends with harness_failed, whatever it does.
class BrokenJudge : public testing::Test {
 protected:
  Error ask(std::string_view script, Duration limit = 20s) {
    std::string program = tools_.add("judge", script);
    auto judge = JudgeProcess::start(fixture_.loop, fixture_.driver, fixture_.processes, {program},
                                     {.device = "cpu:0"});
    EXPECT_TRUE(judge.has_value());
    auto answer = fixture_.run((*judge)->ask("prepare", {{"task", "t"}}, limit));
    EXPECT_FALSE(answer.has_value());
    alive_ = (*judge)->alive();
    return answer ? Error{} : answer.error();
  }
  FakeTools tools_;
  ToolFixture fixture_;
  bool alive_ = true;
};

TEST_F(BrokenJudge, that_ends_at_once_costs_its_job) {
  Error error = ask("echo 'no such thing' >&2; exit 1");
  EXPECT_EQ(error.code, ErrorCode::harness_failed) << error.text();
  EXPECT_FALSE(alive_);
}

TEST_F(BrokenJudge, that_closes_its_socket_before_a_request_fails_the_job) {
  const std::string mark = (tools_.path() / "closed").string();
  std::string program = tools_.add("judge", "exec 3>&-; touch " + mark + "; sleep 1000");
  auto judge = JudgeProcess::start(fixture_.loop, fixture_.driver, fixture_.processes, {program},
                                   {.device = "cpu:0"});
  ASSERT_TRUE(judge.has_value());
  while (!std::filesystem::exists(mark)) {
    fixture_.run([](Loop& loop) -> Task<void> { co_await loop.sleep(5ms); }(fixture_.loop));
  }
  auto answer = fixture_.run((*judge)->ask("prepare", {{"task", "t"}}, 20s));
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::harness_failed) << answer.error().text();
  EXPECT_FALSE((*judge)->alive()) << "it would be asked again";
}

TEST_F(BrokenJudge, that_says_nothing_is_ended) {
  Error error = ask("sleep 1000", 100ms);
  EXPECT_EQ(error.code, ErrorCode::harness_failed) << error.text();
  EXPECT_FALSE(alive_);
}

TEST_F(BrokenJudge, that_talks_nonsense_costs_its_job) {
  Error error = ask("printf 'this is no message at all' >&3; sleep 1000");
  EXPECT_TRUE(error.code == ErrorCode::harness_failed || error.code == ErrorCode::bad_message)
      << error.text();
  EXPECT_FALSE(alive_);
}

TEST_F(BrokenJudge, that_is_not_a_program_is_reported) {
  auto judge = JudgeProcess::start(fixture_.loop, fixture_.driver, fixture_.processes,
                                   {(tools_.path() / "nothing").string()}, {.device = "cpu:0"});
  EXPECT_FALSE(judge.has_value());
}

}  // namespace
}  // namespace specgen
