#include "evaluate/judge/evaluation.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>

namespace specgen {
namespace {

using namespace std::chrono_literals;

Evaluation correct() {
  Evaluation evaluation{.task = "softmax",
                        .device = "cpu:0",
                        .device_name = "fake",
                        .sandbox = "L3",
                        .trust = "full",
                        .verdict = Verdict::ok};
  evaluation.speedup = Speedup{1.5, 1.4, 1.6};
  evaluation.peak_fraction = 0.25;
  evaluation.tunables = {{"UNROLL", 4}};
  evaluation.profile = R"({"text": "Memory should bind."})";
  evaluation.timings = {.compile = 120ms, .validate = 3s, .profile = 1500us, .total = 4s};
  return evaluation;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.get_object()) keys.emplace_back(key);
  return keys;
}

TEST(Evaluation, has_every_key_whatever_the_verdict) {
  Evaluation refused{.task = "t", .device = "d", .device_name = "n", .sandbox = "L1", .trust = "x"};
  EXPECT_EQ(keys_of(to_json(refused)), keys_of(to_json(correct())));
  Json json = to_json(refused);
  EXPECT_EQ(text_at(json, "verdict"), "harness_error");
  for (const char* key : {"speedup", "vendor_ratio", "peak_fraction", "profile"}) {
    EXPECT_TRUE(json.at(key).is_null()) << key;
  }
  for (const char* key : {"text", "case", "line", "worst"}) {
    EXPECT_TRUE(member_at(json.at("evidence"), key)) << key;
  }
}

TEST(Evaluation, comes_back_from_json_for_the_stages_that_add_to_it) {
  Evaluation before = correct();
  before.marks = {"fixed-shape"};
  before.cases = {{.name = "n=4",
                   .hidden = true,
                   .timed = true,
                   .status = CaseStatus::failed,
                   .rms_error_ratio = 1.25,
                   .weight = 2,
                   .baseline_seconds = 3e-6,
                   .candidate_seconds = 2e-6,
                   .disturbed = 0.25,
                   .speedup = {1.5, 1.25, 1.75},
                   .peak_fraction = 0.5,
                   .limit = "memory"},
                  {.name = "n=1"}};
  Evaluation after = evaluation_from_json(to_json(before));
  after.verdict = before.verdict;
  after.speedup = before.speedup;
  after.peak_fraction = before.peak_fraction;
  after.profile = before.profile;
  EXPECT_EQ(compact_json(to_json(after)), compact_json(to_json(before)));
  EXPECT_EQ(evaluation_from_json(Json("nonsense")).cases.size(), 0U);
}

TEST(Evaluation, that_is_right_but_not_timed_yet_says_so) {
  Evaluation half{.task = "t",
                  .device = "d",
                  .device_name = "n",
                  .sandbox = "L1",
                  .trust = "full",
                  .verdict = Verdict::ok};
  EXPECT_NE(feedback_text(half).find("correct"), std::string::npos);
}

TEST(Evaluation, times_are_in_milliseconds) {
  const Json timings = to_json(correct()).at("timings_ms");
  EXPECT_DOUBLE_EQ(number_at(timings, "compile"), 120);
  EXPECT_DOUBLE_EQ(number_at(timings, "validate"), 3000);
  EXPECT_DOUBLE_EQ(number_at(timings, "profile"), 1.5);
  EXPECT_DOUBLE_EQ(number_at(timings, "total"), 4000);
}

TEST(Evaluation, a_speedup_is_the_same_three_numbers_everywhere) {
  Json json = to_json(correct());
  EXPECT_EQ(keys_of(json.at("speedup")), (std::vector<std::string>{"median", "low", "high"}));
  CaseResult timed{.name = "n=4", .timed = true, .weight = 1, .candidate_seconds = 2e-6};
  timed.baseline_seconds = 3e-6;
  EXPECT_EQ(keys_of(to_json(timed).at("speedup")), keys_of(json.at("speedup")));
  EXPECT_DOUBLE_EQ(number_at(to_json(timed), "candidate_us"), 2);
  EXPECT_DOUBLE_EQ(number_at(to_json(timed), "baseline_us"), 3);
}

TEST(Evaluation, a_case_that_was_only_checked_has_no_times) {
  Json json = to_json(CaseResult{.name = "hidden (odd)", .hidden = true});
  for (const char* key : {"rms_error_ratio", "baseline_us", "candidate_us", "disturbed", "speedup",
                          "peak_fraction", "limit"}) {
    EXPECT_TRUE(json.at(key).is_null()) << key;
  }
  EXPECT_TRUE(flag_at(json, "hidden"));
}

TEST(Evaluation, what_json_has_no_number_for_is_null) {
  Evaluation evaluation = correct();
  evaluation.vendor_ratio = std::nan("");
  evaluation.evidence.worst = {{"y", {3, 4}, INFINITY, std::nan("")}};
  CaseResult result{.name = "c", .rms_error_ratio = INFINITY, .candidate_seconds = 1};
  result.peak_fraction = std::nan("");
  evaluation.cases = {result};
  auto back = parse_json(compact_json(to_json(evaluation)));
  ASSERT_TRUE(back.has_value()) << back.error().text();
  EXPECT_TRUE(back->at("vendor_ratio").is_null());
  EXPECT_TRUE(back->at("evidence").at("worst").at("got").is_null());
  EXPECT_EQ(back->at("evidence").at("worst").at("index").at(1), 4);
  EXPECT_TRUE(back->at("cases").at(0).at("rms_error_ratio").is_null());
}

TEST(Evaluation, a_profile_that_is_no_json_is_null_and_not_a_broken_document) {
  Evaluation evaluation = correct();
  evaluation.profile = R"({"text": )";
  EXPECT_TRUE(to_json(evaluation).at("profile").is_null());
}

TEST(Feedback, of_what_is_right_has_the_speed_and_the_profile) {
  EXPECT_EQ(feedback_text(correct()),
            "correct, 1.5 times as fast as the baseline (1.4 to 1.6). Memory should bind.");
}

TEST(Feedback, of_what_is_wrong_says_why_and_where) {
  Evaluation evaluation = correct();
  evaluation.verdict = Verdict::rejected;
  evaluation.speedup.reset();
  evaluation.evidence = {.text = "writable globals", .case_name = "hidden (odd)", .line = 7};
  EXPECT_EQ(feedback_text(evaluation), "rejected: writable globals [hidden (odd)] (line 7)");
}

}  // namespace
}  // namespace specgen
