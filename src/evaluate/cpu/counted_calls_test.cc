#include "evaluate/cpu/counted_calls.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/json.hpp>
#include <cerrno>

namespace specgen {
namespace {

CounterValues call(double cycles, std::optional<double> l1d_misses) {
  return {.cycles = cycles,
          .instructions = 2 * cycles,
          .cache_misses = 5,
          .l1d_misses = l1d_misses,
          .branch_misses = {}};
}

TEST(CountedCalls, are_summarised_by_medians) {
  const std::array calls{call(100, 7), call(9000, 9), call(200, 8)};
  CounterValues values = median_of(calls);
  EXPECT_EQ(values.cycles, 200);
  EXPECT_EQ(values.instructions, 400);
  EXPECT_EQ(values.cache_misses, 5);
  EXPECT_EQ(values.l1d_misses, 8);
}

TEST(CountedCalls, without_an_event_do_not_change_its_median) {
  const std::array calls{call(100, std::nullopt), call(200, 9), call(300, std::nullopt)};
  CounterValues values = median_of(calls);
  EXPECT_EQ(values.cycles, 200);
  EXPECT_EQ(values.l1d_misses, 9);
  EXPECT_FALSE(values.branch_misses);
}

TEST(CountedCalls, json_has_counters_and_no_note) {
  Json json = counters_json(call(100, 7));
  EXPECT_EQ(json.at("counters"), to_json(call(100, 7)));
  EXPECT_EQ(number_at(json.at("counters"), "instructions_per_cycle"), 2);
  EXPECT_EQ(text_at(json, "counters_note"), "");
  EXPECT_TRUE(json.at("counters_note").is_string());
}

TEST(CountedCalls, json_without_counters_has_the_reason_and_what_to_do) {
  auto note = [](int error_number, std::string_view paranoid) {
    Json json = counters_json(std::unexpected(counters_refused(error_number, paranoid)));
    EXPECT_TRUE(json.at("counters").is_null());
    return text_at(json, "counters_note");
  };
  EXPECT_EQ(note(ENOENT, "2"), "this machine has no hardware counters (a virtual machine)");
  EXPECT_EQ(note(ENOSYS, "2"), "this kernel was built without perf events");
  EXPECT_EQ(note(EACCES, "3"),
            "perf_event_paranoid is 3: users may not count anything; what to do: sysctl "
            "kernel.perf_event_paranoid=2, as root");
  EXPECT_TRUE(note(EPERM, "2").contains("run as root"));
}

}  // namespace
}  // namespace specgen
