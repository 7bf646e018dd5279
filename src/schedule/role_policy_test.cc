#include "schedule/role_policy.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

// Five devices each, jobs of four seconds, nothing waits.
RoleQuestion quiet() {
  RoleDemand calm{.service = 4, .erlangs = 3, .devices = 5};
  return {.from = calm, .to = calm, .cost = 10, .aging = 60};
}

TEST(RolePolicy, nobody_switches_for_nothing) {
  EXPECT_FALSE(worth_switching(quiet()));
}

TEST(RolePolicy, a_short_queue_is_not_worth_a_switch_and_a_long_one_is) {
  RoleQuestion question = quiet();
  question.to.queued = 8;
  EXPECT_FALSE(worth_switching(question));
  question.to.queued = 400;
  EXPECT_TRUE(worth_switching(question));
}

TEST(RolePolicy, the_cheaper_a_switch_the_sooner_it_is_made) {
  RoleQuestion question = quiet();
  question.to.queued = 40;
  EXPECT_FALSE(worth_switching(question));
  question.cost = 1;
  EXPECT_TRUE(worth_switching(question));
}

TEST(RolePolicy, a_device_with_work_of_its_own_is_harder_to_move) {
  RoleQuestion question = quiet();
  question.cost = 1;
  question.to.queued = 24;
  EXPECT_TRUE(worth_switching(question));
  question.from.queued = 8;
  EXPECT_FALSE(worth_switching(question));
}

TEST(RolePolicy, work_that_is_on_its_way_keeps_a_device) {
  RoleQuestion question = quiet();
  question.to.queued = 160;
  EXPECT_TRUE(worth_switching(question));
  question.from.upcoming = 320;
  EXPECT_FALSE(worth_switching(question));
}

TEST(RolePolicy, after_a_switch_the_way_back_is_not_worth_it) {
  for (double queued = 10; queued < 1'000; queued += 10) {
    RoleQuestion question = quiet();
    question.to.queued = queued;
    if (!worth_switching(question)) continue;
    RoleQuestion back{.from = question.to, .to = question.from, .cost = 10, .aging = 60};
    ++back.from.devices;
    --back.to.devices;
    back.to.queued = 4;  // one job has come
    EXPECT_FALSE(worth_switching(back)) << queued;
  }
}

TEST(RolePolicy, what_waits_beside_an_idle_device_is_not_left_there) {
  RoleQuestion question = quiet();
  question.to.queued = 4;
  question.to.max_wait = patience(question) - 1;
  EXPECT_FALSE(worth_switching(question));
  question.to.max_wait = patience(question);
  EXPECT_TRUE(worth_switching(question));
}

TEST(RolePolicy, a_role_that_nobody_has_is_taken_by_the_idle_and_in_the_end_by_the_busy) {
  RoleQuestion question = quiet();
  question.from.devices = 1;
  question.to.devices = 0;
  question.to.queued = 4;
  EXPECT_TRUE(worth_switching(question));
  question.from.queued = 100;
  EXPECT_FALSE(worth_switching(question));
  question.to.max_wait = 60;
  EXPECT_TRUE(worth_switching(question));
}

TEST(RolePolicy, where_switching_is_cheap_a_role_that_nobody_has_does_not_wait_for_the_aging) {
  RoleQuestion question = quiet();
  question.cost = 1;
  question.to.devices = 0;
  question.to.queued = 4;
  question.from.queued = 1'000;
  question.to.max_wait = patience(question) - 1;
  EXPECT_FALSE(worth_switching(question));
  question.to.max_wait = patience(question);
  EXPECT_TRUE(worth_switching(question));
}

TEST(RolePolicy, the_last_of_a_role_stays_while_work_for_it_is_on_its_way) {
  RoleQuestion question = quiet();
  question.from.devices = 1;
  question.from.erlangs = 0;
  question.to.queued = 4'000;
  EXPECT_TRUE(worth_switching(question));
  question.from.upcoming = 2;
  EXPECT_FALSE(worth_switching(question));
}

}  // namespace
}  // namespace specgen
