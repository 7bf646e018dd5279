#include "speculate/criterion.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

Judged confirmed(double speedup) {
  return {.verdict = Verdict::ok, .speedup = {speedup, speedup, speedup}, .profiled = true};
}

TEST(Criterion, every_name_is_read_back_as_it_was_written) {
  for (std::string text :
       {"beats-mean", "beats-best", "target=2.5", "peak-fraction=0.8", "never"}) {
    auto criterion = parse_criterion(text);
    ASSERT_TRUE(criterion) << text;
    EXPECT_EQ(to_string(*criterion), text);
  }
}

TEST(Criterion, what_cannot_be_meant_is_refused_with_a_reason) {
  for (std::string text : {"", "beats", "beats-mean=2", "target", "target=", "target=0", "target=x",
                           "peak-fraction=1.5", "never=1", "target=nan"}) {
    auto criterion = parse_criterion(text);
    ASSERT_FALSE(criterion) << text;
    EXPECT_EQ(criterion.error().code, ErrorCode::bad_usage);
  }
  EXPECT_NE(parse_criterion("beats-meen").error().context.find("beats-mean"), std::string::npos);
}

TEST(Criterion, beats_mean_and_beats_best_ask_for_more_than_what_was_there) {
  SpeedupsSoFar so_far{.mean = 1.5, .best = 2};
  EXPECT_TRUE(is_good_enough({}, confirmed(1.6), 0, so_far));
  EXPECT_FALSE(is_good_enough({}, confirmed(1.5), 0, so_far));
  Criterion best{.kind = Criterion::Kind::beats_best};
  EXPECT_FALSE(is_good_enough(best, confirmed(1.9), 0, so_far));
  EXPECT_TRUE(is_good_enough(best, confirmed(2.1), 0, so_far));
}

TEST(Criterion, nothing_that_is_not_confirmed_ends_the_reasoning) {
  Judged screened = confirmed(5);
  screened.profiled = false;
  EXPECT_FALSE(is_good_enough({}, screened, 1, {}));
  Judged wrong = confirmed(5);
  wrong.verdict = Verdict::wrong;
  EXPECT_FALSE(is_good_enough({}, wrong, 1, {}));
  EXPECT_FALSE(is_good_enough({.kind = Criterion::Kind::never}, confirmed(5), 1, {}));
}

TEST(Criterion, what_may_be_noise_is_not_better) {
  Judged close = confirmed(1.6);
  close.speedup.low = 1.45;
  EXPECT_FALSE(is_good_enough({}, close, 0, {.mean = 1.5, .best = 1.5}));
  EXPECT_FALSE(is_good_enough({.kind = Criterion::Kind::beats_best}, close, 0, {.best = 1.5}));
}

TEST(Criterion, what_repeats_a_known_kernel_ends_nothing) {
  Judged again = confirmed(5);
  again.repeated = true;
  for (const char* text : {"beats-mean", "beats-best", "target=2", "peak-fraction=0.5"}) {
    EXPECT_FALSE(is_good_enough(parse_criterion(text).value(), again, 1, {})) << text;
  }
}

TEST(Criterion, target_and_peak_fraction_look_at_the_candidate_alone) {
  Criterion target{.kind = Criterion::Kind::target, .value = 3};
  EXPECT_FALSE(is_good_enough(target, confirmed(2.9), 0, {}));
  EXPECT_TRUE(is_good_enough(target, confirmed(3), 0, {.mean = 9, .best = 9}));
  Criterion peak{.kind = Criterion::Kind::peak_fraction, .value = 0.8};
  EXPECT_FALSE(is_good_enough(peak, confirmed(9), 0.7, {}));
  EXPECT_TRUE(is_good_enough(peak, confirmed(1.1), 0.8, {}));
}

}  // namespace
}  // namespace specgen
