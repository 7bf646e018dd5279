#include "generate/openai/attempt_failure.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kNow{784'111'770'000};  // Sun, 06 Nov 1994 08:49:30 GMT

AttemptFailure answered(int status, std::string_view body, HttpHeaders headers = {}) {
  return failure_of_answer({.status = status, .headers = std::move(headers)}, body, kNow, "");
}

TEST(RequestedWait, reads_every_form) {
  EXPECT_EQ(requested_wait({{"Retry-After", "7"}}, kNow), 7s);
  EXPECT_EQ(requested_wait({{"retry-after", " 0.5 "}}, kNow), 500ms);
  EXPECT_EQ(requested_wait({{"Retry-After-Ms", "250"}, {"Retry-After", "9"}}, kNow), 250ms);
  EXPECT_EQ(requested_wait({{"Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT"}}, kNow), 7s);
}

TEST(RequestedWait, ignores_invalid_values) {
  EXPECT_EQ(requested_wait({}, kNow), std::nullopt);
  EXPECT_EQ(requested_wait({{"Retry-After", "soon"}}, kNow), std::nullopt);
  EXPECT_EQ(requested_wait({{"Retry-After", "Sun, 66 Nov 1994 08:49:37 GMT"}}, kNow), std::nullopt);
  EXPECT_EQ(requested_wait({{"Retry-After", "-5"}}, kNow), Duration::zero());
  EXPECT_EQ(requested_wait({{"Retry-After", "nan"}}, kNow), Duration::zero());
  EXPECT_EQ(requested_wait({{"Retry-After", "Sun, 06 Nov 1994 08:49:00 GMT"}}, kNow),
            Duration::zero());
  EXPECT_EQ(requested_wait({{"Retry-After", "1e300"}}, kNow), 1h);
  EXPECT_EQ(requested_wait({{"Retry-After", "Sun, 06 Nov 2394 08:49:37 GMT"}}, kNow), 1h);
}

TEST(AttemptFailure, a_transient_failure_is_worth_retrying) {
  for (int status : {408, 429, 500, 502, 503, 504, 529}) {
    EXPECT_TRUE(answered(status, "").worth_retrying) << status;
  }
  for (int status : {301, 400, 401, 403, 404, 413, 422}) {
    EXPECT_FALSE(answered(status, "").worth_retrying) << status;
  }
}

TEST(AttemptFailure, a_429_throttles_and_does_not_count_as_a_failure) {
  AttemptFailure failure = answered(429, "", {{"Retry-After", "3"}});
  EXPECT_TRUE(failure.throttled);
  EXPECT_FALSE(failure.server_is_ill);
  EXPECT_EQ(failure.wait, 3s);
  EXPECT_TRUE(answered(503, "").server_is_ill);
}

TEST(AttemptFailure, a_refused_form_differs_from_a_refused_key) {
  EXPECT_TRUE(answered(400, "").form_refused);
  EXPECT_TRUE(answered(404, "").form_refused);
  EXPECT_FALSE(answered(401, "").form_refused);
  EXPECT_FALSE(answered(429, "").form_refused);
}

TEST(AttemptFailure, has_the_server_s_message_and_never_the_key) {
  std::string key = "sk-0123456789";
  AttemptFailure failure = failure_of_answer(
      {.status = 400}, R"({"error":{"message":"bad key sk-0123456789 sk-0123456789!"}})", kNow,
      key);
  EXPECT_EQ(failure.error.context, "HTTP 400: bad key [key] [key]!");
  failure = failure_of_connection(Error{ErrorCode::endpoint_unreachable, "sent " + key, key}, key);
  EXPECT_FALSE(failure.error.text().contains(key));
  failure = failure_of_event({.message = key, .type = "", .code = key}, key);
  EXPECT_FALSE(failure.error.text().contains(key)) << failure.error.text();
  failure = failure_of_stream("got " + key, key);
  EXPECT_FALSE(failure.error.text().contains(key));
}

TEST(AttemptFailure, the_message_is_short_and_on_one_line) {
  AttemptFailure failure = answered(500, "a\nb\x1b[31m" + std::string(10'000, 'x'));
  EXPECT_LT(failure.error.context.size(), 400U);
  EXPECT_FALSE(failure.error.context.contains('\n'));
  EXPECT_FALSE(failure.error.context.contains('\x1b'));
}

TEST(RetryPolicy, waits_longer_each_time_with_random_variation) {
  RetryPolicy policy{.attempts = 9, .first_wait = 1s, .max_wait = 10s};
  Random random(1);
  for (int failed = 1; failed < 8; ++failed) {
    Duration full = std::min<Duration>(1s * (1 << (failed - 1)), 10s);
    Duration first = policy.wait_after(failed, random), second = policy.wait_after(failed, random);
    EXPECT_GE(first, full / 2);
    EXPECT_LE(first, full);
    EXPECT_NE(first, second);
  }
}

}  // namespace
}  // namespace specgen
