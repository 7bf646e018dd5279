#include "evaluate/judge/profile_facts.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cmath>
#include <limits>

namespace specgen {
namespace {

Ceilings no_flops() {
  return {.memory_bytes_per_second = 10e9,
          .cache_bytes_per_second = 40e9,
          .cache_bytes = 8e6,
          .near_cache_bytes_per_second = 100e9,
          .near_cache_bytes = 1e6,
          .flops_per_second = {},
          .launch_seconds = 1e-9};
}
Ceilings ceilings() {
  Ceilings all = no_flops();
  all.flops_per_second = {{"f32", 100e9}, {"f64", 50e9}};
  return all;
}

// One input and one output of so many floats each.
Case of_elements(std::int64_t elements, double flops = 0) {
  Case at;
  at.inputs = {{"x", Dtype::f32, {elements}, elements}};
  at.outputs = {{"y", Dtype::f32, {elements}, elements}};
  at.min_bytes = 8.0 * static_cast<double>(elements);
  at.min_flops = flops;
  at.rate = "f32";
  return at;
}

CaseResult timed(std::string name, double weight, double seconds, double peak_fraction) {
  CaseResult result{.name = std::move(name), .timed = true, .weight = weight};
  result.candidate_seconds = seconds;
  result.baseline_seconds = 2 * seconds;
  result.speedup = {2, 1.9, 2.1};
  result.peak_fraction = peak_fraction;
  result.limit = "memory";
  result.bytes_per_second = 3e9;
  result.flops_per_second = 4e9;
  return result;
}

std::string text_with_facts(const char* facts) {
  Json profile =
      profile_json({timed("c", 1, 1e-3, 0.5)}, ceilings(), parse_json(facts).value(), Backend::cpu);
  return text_at(profile, "text");
}

TEST(Floor, data_comes_from_where_a_whole_rotation_fits) {
  struct Row {
    std::int64_t elements;
    std::size_t sets;
    double bandwidth;
    const char* limit;
  };
  // 8 bytes for each element: 0.8 MB near, 8 MB in the cache, 80 MB in memory.
  for (const Row& row : {Row{25'000, 4, 100e9, "cache"}, Row{250'000, 4, 40e9, "cache"},
                         Row{2'500'000, 4, 10e9, "memory"}, Row{250'000, 16, 10e9, "memory"}}) {
    Floor floor = floor_of(of_elements(row.elements), row.sets, ceilings());
    EXPECT_EQ(floor.limit, row.limit) << row.elements << " x " << row.sets;
    EXPECT_DOUBLE_EQ(floor.seconds, 8.0 * static_cast<double>(row.elements) / row.bandwidth);
  }
}

TEST(Floor, arithmetic_binds_where_it_takes_longer_than_the_data) {
  Floor floor = floor_of(of_elements(25'000, 1e9), 4, ceilings());
  EXPECT_EQ(floor.limit, "compute");
  EXPECT_DOUBLE_EQ(floor.seconds, 1e9 / 100e9);
}

TEST(Floor, a_rate_that_was_not_measured_limits_nothing) {
  Case at = of_elements(25'000, 1e12);
  at.rate = "bf16";
  EXPECT_EQ(floor_of(at, 4, ceilings()).limit, "cache");
}

TEST(Floor, nothing_is_faster_than_a_launch) {
  Ceilings slow_launch = ceilings();
  slow_launch.launch_seconds = 1e-3;
  Floor floor = floor_of(of_elements(25'000, 1e3), 4, slow_launch);
  EXPECT_EQ(floor.limit, "launch");
  EXPECT_DOUBLE_EQ(floor.seconds, 1e-3);
}

TEST(Floor, a_task_that_needs_no_bytes_and_no_flops_has_only_the_launch) {
  Case at = of_elements(10);
  at.min_bytes = 0;
  EXPECT_DOUBLE_EQ(floor_of(at, 4, ceilings()).seconds, 1e-9);
}

TEST(PeakFraction, is_a_geometric_mean_by_weight_of_what_was_timed) {
  std::vector<CaseResult> cases{timed("a", 1, 1e-3, 0.1), timed("b", 3, 1e-3, 0.8)};
  cases.push_back({.name = "only checked"});
  EXPECT_NEAR(mean_peak_fraction(cases), std::pow(0.1 * 0.8 * 0.8 * 0.8, 0.25), 1e-12);
  EXPECT_EQ(mean_peak_fraction({}), 0);
  EXPECT_EQ(mean_peak_fraction({{.name = "only checked"}}), 0);
}

TEST(Profile, is_about_the_case_that_takes_longest) {
  std::vector<CaseResult> cases{timed("small", 1, 1e-6, 0.9), timed("large", 1, 1e-3, 0.25)};
  Json facts = {{"vectorization", boost::json::array()}, {"hot_loop", nullptr}};
  Json profile = profile_json(cases, ceilings(), facts, Backend::cpu);
  EXPECT_EQ(text_at(profile, "backend"), "cpu");
  EXPECT_EQ(text_at(profile, "limit"), "memory");
  EXPECT_EQ(number_at(profile, "peak_fraction"), 0.25);
  EXPECT_EQ(number_at(profile, "bytes_per_second"), 3e9);
  EXPECT_EQ(number_at(profile, "flops_per_second"), 4e9);
  EXPECT_EQ(profile.at("facts"), facts);
  std::string text = text_at(profile, "text");
  EXPECT_TRUE(text.starts_with("On large it takes 1.00 ms (2x the baseline's speed): 25 %"))
      << text;
  EXPECT_NE(text.find("Memory should bind: touch each byte once"), std::string::npos) << text;
}

TEST(Profile, advice_follows_the_limit_and_the_backend) {
  auto advice = [](std::string limit, double fraction, Backend backend) {
    CaseResult result = timed("c", 1, 1e-3, fraction);
    result.limit = std::move(limit);
    return text_at(profile_json({result}, ceilings(), Json(), backend), "text");
  };
  EXPECT_NE(advice("compute", 0.1, Backend::cpu).find("block for the caches"), std::string::npos);
  EXPECT_NE(advice("compute", 0.1, Backend::cuda).find("warps"), std::string::npos);
  EXPECT_NE(advice("memory", 0.1, Backend::cuda).find("coalesced"), std::string::npos);
  EXPECT_NE(advice("launch", 0.1, Backend::cuda).find("launching it is most"), std::string::npos);
  EXPECT_NE(advice("memory", 0.9, Backend::cpu).find("near what the hardware can do"),
            std::string::npos);
}

TEST(Profile, has_the_counters_in_one_sentence) {
  std::string text = text_with_facts(R"({"counters": {"instructions_per_cycle": 1.834,
      "cache_misses": 12345, "l1d_misses": null, "branch_misses": 210.5}})");
  EXPECT_TRUE(
      text.ends_with(" The processor counted 1.83 instructions per cycle and per call 12.3 k "
                     "cache misses, 211 branch misses."))
      << text;
  text = text_with_facts(R"({"counters": {"instructions_per_cycle": 2.0}})");
  EXPECT_TRUE(text.ends_with(" The processor counted 2 instructions per cycle.")) << text;
}

TEST(Profile, says_nothing_about_counters_if_there_are_none) {
  const std::string plain = text_with_facts("null");
  EXPECT_EQ(text_with_facts(R"({"counters": null, "counters_note": "not permitted"})"), plain);
  EXPECT_EQ(text_with_facts(R"({"counters": {"instructions_per_cycle": null}})"), plain);
  EXPECT_EQ(text_with_facts(R"({"counters": {"available": false, "note": "of a GPU"}})"), plain);
}

TEST(Profile, the_text_of_the_device_comes_last) {
  std::string text = text_at(profile_json({timed("c", 1, 1e-3, 0.5)}, ceilings(),
                                          {{"text", "32 registers"}}, Backend::cuda),
                             "text");
  EXPECT_TRUE(text.ends_with("\n32 registers")) << text;
}

TEST(Profile, a_number_that_json_does_not_know_is_null) {
  CaseResult result = timed("c", 1, 1e-3, std::numeric_limits<double>::infinity());
  result.flops_per_second = std::nan("");
  Json profile = profile_json({result}, ceilings(), Json(), Backend::cpu);
  EXPECT_TRUE(profile.at("peak_fraction").is_null());
  EXPECT_TRUE(profile.at("flops_per_second").is_null());
  EXPECT_TRUE(parse_json(compact_json(profile)).has_value());
}

TEST(Ceilings, come_back_from_json) {
  auto back = ceilings_from_json(to_json(ceilings()));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(to_json(*back), to_json(ceilings()));
}

TEST(Ceilings, that_measure_nothing_are_refused) {
  Ceilings no_memory = ceilings();
  no_memory.memory_bytes_per_second = 0;
  EXPECT_FALSE(ceilings_from_json(to_json(no_memory)).has_value());
  EXPECT_FALSE(ceilings_from_json(to_json(no_flops())).has_value());
  for (const char* text : {"null", "[]", "{}", R"({"memory_bytes_per_second": "much"})",
                           R"({"memory_bytes_per_second": 1e9, "flops_per_second": {"f32": "x"}})",
                           R"({"memory_bytes_per_second": 1e9, "flops_per_second": [1]})"}) {
    EXPECT_FALSE(ceilings_from_json(parse_json(text).value()).has_value()) << text;
  }
}

}  // namespace
}  // namespace specgen
