#include "speculate/speculation_settings.h"

#include <gtest/gtest.h>

#include <string>

namespace specgen {
namespace {

Result<SpeculationSettings> read(const std::string& keys) {
  TomlFile file = TRY(TomlFile::parse("[speculation]\n" + keys, "specgen.toml"));
  SpeculationSettings settings;
  read_speculation_keys(file.root().table("speculation"), settings);
  TRY(file.finish());
  return settings;
}

TEST(SpeculationSettings, have_a_key_for_every_setting_of_the_gate_and_the_stopping_policy) {
  SpeculationSettings settings =
      read(
          "first_after_tokens = 1\ngap_tokens = 2\nmax_in_flight = 3\nmax_per_iteration = 4\n"
          "min_new_bytes = 5\nmin_weight = 0.6\nmin_weight_when_busy = 0.7\ntoken_share = 0.8\n"
          "free_tokens = 9\nmax_wait = \"10s\"\nmax_waiting = 0.11\nforgiven_failures = 12\n"
          "probe_every = 13\nabandon_after_failures = 14\nsettle_after = 1.5\nmax_restarts = 16\n"
          "max_repairs = 17\n")
          .value();
  const GateSettings& gate = settings.gate;
  EXPECT_EQ(gate.first_after_tokens, 1);
  EXPECT_EQ(gate.gap_tokens, 2);
  EXPECT_EQ(gate.max_in_flight, 3);
  EXPECT_EQ(gate.max_per_iteration, 4);
  EXPECT_EQ(gate.min_new_bytes, 5u);
  EXPECT_EQ(gate.min_weight, 0.6);
  EXPECT_EQ(gate.min_weight_when_busy, 0.7);
  EXPECT_EQ(gate.token_share, 0.8);
  EXPECT_EQ(gate.free_tokens, 9);
  EXPECT_EQ(gate.max_wait, std::chrono::seconds(10));
  EXPECT_EQ(gate.max_waiting, 0.11);
  EXPECT_EQ(gate.forgiven_failures, 12);
  EXPECT_EQ(gate.probe_every, 13);
  EXPECT_EQ(settings.stopping.abandon_after_failures, 14);
  EXPECT_EQ(settings.stopping.settle_after, 1.5);
  EXPECT_EQ(settings.stopping.max_restarts, 16);
  EXPECT_EQ(settings.max_repairs, 17);
}

TEST(SpeculationSettings, are_read_by_the_former_names_of_the_keys) {
  SpeculationSettings settings =
      read(
          "most_in_flight = 3\nmost_per_iteration = 4\nleast_new_bytes = 5\nleast_weight = 0.6\n"
          "least_weight_when_busy = 0.7\nlongest_wait = \"10s\"\nmost_waiting = 0.11\n"
          "give_up_after = 14\nbegin_again = 16\nmost_mended = 17\n")
          .value();
  EXPECT_EQ(settings.gate.max_in_flight, 3);
  EXPECT_EQ(settings.gate.max_per_iteration, 4);
  EXPECT_EQ(settings.gate.min_new_bytes, 5u);
  EXPECT_EQ(settings.gate.min_weight, 0.6);
  EXPECT_EQ(settings.gate.min_weight_when_busy, 0.7);
  EXPECT_EQ(settings.gate.max_wait, std::chrono::seconds(10));
  EXPECT_EQ(settings.gate.max_waiting, 0.11);
  EXPECT_EQ(settings.stopping.abandon_after_failures, 14);
  EXPECT_EQ(settings.stopping.max_restarts, 16);
  EXPECT_EQ(settings.max_repairs, 17);
}

TEST(SpeculationSettings, keep_their_values_where_a_key_is_missing) {
  SpeculationSettings settings = read("").value();
  EXPECT_EQ(settings.gate.max_in_flight, GateSettings().max_in_flight);
  EXPECT_EQ(settings.gate.max_wait, GateSettings().max_wait);
  EXPECT_EQ(settings.stopping.max_restarts, StoppingSettings().max_restarts);
}

TEST(SpeculationSettings, refuse_wrong_values_with_their_line) {
  for (const char* wrong : {"gap_tokens = -1", "token_share = -0.5", "max_wait = \"soon\"",
                            "longest_wait = \"soon\"", "begin_again = -1", "gap = 3"}) {
    auto refused = read(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_TRUE(refused.error().context.contains("specgen.toml:2")) << refused.error().context;
  }
}

TEST(SpeculationSettings, refuse_a_key_that_is_given_by_both_of_its_names) {
  auto refused = read("max_restarts = 1\nbegin_again = 2\n");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().context.contains("max_restarts")) << refused.error().context;
  EXPECT_TRUE(refused.error().context.contains("specgen.toml:3")) << refused.error().context;
}

}  // namespace
}  // namespace specgen
