#include "schedule/role_policy.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

// Five devices each, jobs of four seconds, nothing waits.
RoleQuestion quiet() {
  RoleDemand calm{.service = 4, .erlangs = 3, .devices = 5};
  return {.from = calm, .to = calm, .cost = 10, .aging = 60};
}

TEST(RolePolicy, without_queued_work_there_is_no_switch) {
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

TEST(RolePolicy, upcoming_work_keeps_a_device) {
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

TEST(RolePolicy, a_job_does_not_wait_beside_an_idle_device_forever) {
  RoleQuestion question = quiet();
  question.to.queued = 4;
  question.to.max_wait = patience(question) - 1;
  EXPECT_FALSE(worth_switching(question));
  question.to.max_wait = patience(question);
  EXPECT_TRUE(worth_switching(question));
}

TEST(RolePolicy, a_role_without_devices_is_taken_by_an_idle_device_and_finally_by_a_busy_one) {
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

TEST(RolePolicy, a_role_without_devices_does_not_wait_for_aging_where_switching_is_cheap) {
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

TEST(RolePolicy, the_last_device_of_a_role_stays_while_work_for_it_is_coming) {
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
