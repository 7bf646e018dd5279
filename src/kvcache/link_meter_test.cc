#include "kvcache/link_meter.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

using namespace std::chrono_literals;

Time at(Duration since_start) {
  return Time(since_start);
}

constexpr ComputingRate kRate{.prefill_tokens_per_s = 10000, .bytes_per_token = 100000};  // 1 GB/s

TEST(LinkMeter, connections_of_one_client_are_measured_together) {
  LinkMeter meter;
  meter.begin(at(0s));
  meter.begin(at(0s));
  EXPECT_EQ(meter.bytes_per_s(), 0);
  meter.end(at(1s), 50'000'000);
  meter.end(at(1s), 50'000'000);
  EXPECT_NEAR(meter.bytes_per_s(), 50e6,
              20e6);     // the bytes of the second half of the first second follow
  meter.begin(at(10s));  // idle time does not count
  meter.end(at(11s), 100'000'000);
  EXPECT_GT(meter.bytes_per_s(), 60e6);
}

TEST(LinkMeter, a_slow_link_declines_except_for_a_run_that_measures_again) {
  LinkMeter meter;
  EXPECT_FALSE(meter.declines(kRate));  // unknown
  meter.begin(at(0s));
  meter.end(at(1s), 100'000'000);
  int declined = 0, max_run = 0, run = 0;
  for (int i = 0; i < 4096; ++i) {
    bool says_no = meter.declines(kRate);
    declined += says_no ? 1 : 0;
    run = says_no ? 0 : run + 1;
    max_run = std::max(max_run, run);
  }
  EXPECT_EQ(declined, 4096 - 64);
  EXPECT_EQ(max_run, 64);
  EXPECT_FALSE(meter.declines({}));  // without the rate of the server every value is served
}

TEST(LinkMeter, a_link_that_has_become_faster_is_used_again) {
  LinkMeter meter;
  meter.begin(at(0s));
  meter.end(at(1s), 500'000'000);
  EXPECT_TRUE(meter.declines(kRate));
  for (int i = 2; i < 10; ++i) {
    meter.begin(at(std::chrono::seconds(2 * i)));
    meter.end(at(std::chrono::seconds(2 * i + 1)), 5'000'000'000);
  }
  EXPECT_FALSE(meter.declines(kRate));
}

TEST(LinkTable, an_address_has_one_meter) {
  LinkTable table;
  auto first = table.of("10.0.0.1");
  EXPECT_EQ(first, table.of("10.0.0.1"));
  EXPECT_NE(first, table.of("10.0.0.2"));
  for (int i = 0; i < 5000; ++i) table.of("client " + std::to_string(i));
  EXPECT_EQ(first, table.of("10.0.0.1"));  // in use: not dropped
}

}  // namespace
}  // namespace specgen
