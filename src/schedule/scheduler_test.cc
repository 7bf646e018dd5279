#include "schedule/scheduler.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

using namespace std::chrono_literals;

Time at(Duration since) {
  return Time(since);
}

// A scheduler with shortcuts for submitting and serving jobs.
struct SchedulerFixture {
  explicit SchedulerFixture(SchedulerSettings settings = {}) : scheduler(settings) {}

  void add_devices(std::uint64_t count, std::uint32_t backend = 0) {
    for (std::uint64_t i = 0; i < count; ++i)
      scheduler.add_device(DeviceId{++last_device}, backend, 1);
  }
  JobId submit(Stage stage, Urgency urgency = Urgency::main, std::uint32_t task = 1,
               Duration when = {}) {
    JobId id{++last_job};
    scheduler.submit({.id = id, .stage = stage, .urgency = urgency, .task = task}, at(when));
    return id;
  }
  // Serves all jobs, one after another; returns their order.
  std::vector<JobId> serve_all(Duration when = {}) {
    std::vector<JobId> order;
    while (auto start = scheduler.next(at(when))) {
      order.push_back(start->job);
      scheduler.ended(start->job, at(when));
    }
    return order;
  }

  Scheduler scheduler;
  std::uint64_t last_device = 0;
  std::uint64_t last_job = 0;
};

TEST(Scheduler, jobs_nearest_to_feedback_start_first_and_tune_last) {
  SchedulerFixture fixture;
  JobId tune = fixture.submit(Stage::tune);
  JobId demoted = fixture.submit(Stage::profile, Urgency::demoted);
  JobId guess = fixture.submit(Stage::validate, Urgency::speculative);
  JobId evaluate = fixture.submit(Stage::evaluate);
  JobId validate = fixture.submit(Stage::validate);
  JobId guessed_profile = fixture.submit(Stage::profile, Urgency::speculative);
  JobId profile = fixture.submit(Stage::profile);
  fixture.add_devices(1);
  EXPECT_EQ(fixture.serve_all(),
            (std::vector{profile, guessed_profile, evaluate, validate, guess, demoted, tune}));
}

TEST(Scheduler, an_old_job_starts_before_a_more_urgent_new_one) {
  SchedulerFixture fixture({.aging = 10s});
  JobId old_tune = fixture.submit(Stage::tune, Urgency::main, 1, 0s);
  JobId fresh = fixture.submit(Stage::profile, Urgency::main, 1, 59s);
  JobId fresher = fixture.submit(Stage::profile, Urgency::main, 1, 61s);
  fixture.add_devices(1);
  EXPECT_EQ(fixture.serve_all(61s), (std::vector{fresh, old_tune, fresher}));
}

TEST(Scheduler, a_device_has_one_job_at_a_time) {
  SchedulerFixture fixture;
  fixture.add_devices(2);
  for (int i = 0; i < 3; ++i) fixture.submit(Stage::validate);
  auto first = fixture.scheduler.next(at(0s));
  auto second = fixture.scheduler.next(at(0s));
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->device, second->device);
  EXPECT_FALSE(fixture.scheduler.next(at(0s)));
  fixture.scheduler.ended(first->job, at(1s));
  auto third = fixture.scheduler.next(at(1s));
  ASSERT_TRUE(third);
  EXPECT_EQ(third->device, first->device);
}

TEST(Scheduler, only_compiling_uses_compile_slots) {
  SchedulerFixture fixture;
  fixture.add_devices(1);
  JobId compile = fixture.submit(Stage::compile);
  EXPECT_FALSE(fixture.scheduler.next(at(0s)));
  fixture.scheduler.add_compile_slot(DeviceId{9}, 1);
  JobId validate = fixture.submit(Stage::validate);
  EXPECT_EQ(fixture.serve_all(), (std::vector{compile, validate}));
  EXPECT_EQ(fixture.scheduler.load(at(0s)).devices, 1u);
}

TEST(Scheduler, a_job_goes_to_its_own_backend) {
  SchedulerFixture fixture;
  fixture.add_devices(1, 1);
  fixture.submit(Stage::validate);
  EXPECT_FALSE(fixture.scheduler.next(at(0s)));
  fixture.add_devices(1, 0);
  auto start = fixture.scheduler.next(at(0s));
  ASSERT_TRUE(start);
  EXPECT_EQ(start->device, DeviceId{2});
}

TEST(Scheduler,
     of_idle_devices_the_one_that_prepared_the_task_is_best_and_then_the_host_of_the_program) {
  Scheduler scheduler({});
  for (std::uint64_t i = 1; i <= 4; ++i) scheduler.add_device(DeviceId{i}, 0, i <= 2 ? 1 : 2);
  scheduler.submit({.id = JobId{1}, .stage = Stage::validate, .task = 7, .host = 2}, at(0s));
  DeviceId prepared = scheduler.next(at(0s))->device;
  EXPECT_GE(prepared.value, 3u);
  scheduler.ended(JobId{1}, at(1s));
  scheduler.submit({.id = JobId{2}, .stage = Stage::validate, .task = 8, .host = 1}, at(1s));
  EXPECT_LE(scheduler.next(at(1s))->device.value, 2u);
  scheduler.submit({.id = JobId{3}, .stage = Stage::profile, .task = 7, .host = 1}, at(1s));
  EXPECT_EQ(scheduler.next(at(1s))->device, prepared);
}

TEST(Scheduler, a_withdrawn_job_does_not_start_and_a_started_one_cannot_be_withdrawn) {
  SchedulerFixture fixture;
  fixture.add_devices(1);
  JobId runs = fixture.submit(Stage::validate);
  JobId waits = fixture.submit(Stage::validate);
  ASSERT_EQ(fixture.scheduler.next(at(0s))->job, runs);
  EXPECT_FALSE(fixture.scheduler.withdraw(runs));
  EXPECT_TRUE(fixture.scheduler.withdraw(waits));
  EXPECT_FALSE(fixture.scheduler.withdraw(waits));
  fixture.scheduler.ended(runs, at(1s));
  EXPECT_FALSE(fixture.scheduler.next(at(1s)));
  EXPECT_EQ(fixture.scheduler.queued(), 0u);
}

TEST(Scheduler, urgency_changes_the_place_in_the_queue_but_not_the_time_waited) {
  SchedulerFixture fixture({.aging = 100s});
  JobId first = fixture.submit(Stage::validate, Urgency::speculative, 1, 0s);
  JobId second = fixture.submit(Stage::validate, Urgency::main, 1, 1s);
  JobId third = fixture.submit(Stage::validate, Urgency::main, 1, 2s);
  fixture.scheduler.set_urgency(first, Urgency::main);
  fixture.scheduler.set_urgency(second, Urgency::demoted);
  fixture.add_devices(1);
  EXPECT_EQ(fixture.serve_all(2s), (std::vector{first, third, second}));
}

TEST(Scheduler, a_device_that_was_taken_out_serves_no_job_until_it_is_back) {
  SchedulerFixture fixture;
  fixture.add_devices(1);
  fixture.scheduler.take_out(DeviceId{1});
  fixture.submit(Stage::validate);
  EXPECT_FALSE(fixture.scheduler.next(at(0s)));
  EXPECT_EQ(fixture.scheduler.load(at(0s)).devices, 0u);
  fixture.scheduler.put_back(DeviceId{1}, at(1s));
  EXPECT_TRUE(fixture.scheduler.next(at(1s)));
}

TEST(Scheduler, in_a_per_task_pool_a_task_uses_only_its_own_device) {
  SchedulerFixture fixture({.form = PoolForm::per_task});
  fixture.add_devices(2);
  fixture.submit(Stage::validate, Urgency::main, 1);
  fixture.submit(Stage::validate, Urgency::main, 2);
  JobId waits = fixture.submit(Stage::validate, Urgency::main, 1);
  auto of_first = fixture.scheduler.next(at(0s));
  auto of_second = fixture.scheduler.next(at(0s));
  ASSERT_TRUE(of_first && of_second);
  fixture.scheduler.ended(of_second->job, at(1s));
  EXPECT_FALSE(fixture.scheduler.next(at(1s)));  // its own is busy, the other is not its own
  fixture.scheduler.ended(of_first->job, at(2s));
  EXPECT_EQ(fixture.scheduler.next(at(2s))->job, waits);
}

TEST(Scheduler, with_more_devices_than_tasks_a_task_has_several_and_with_fewer_tasks_share) {
  SchedulerFixture fixture({.form = PoolForm::per_task});
  fixture.add_devices(2);
  fixture.submit(Stage::validate, Urgency::main, 1);
  fixture.submit(Stage::validate, Urgency::main, 1);
  EXPECT_EQ(fixture.serve_all().size(), 2u);
  for (std::uint32_t task = 1; task <= 4; ++task)
    fixture.submit(Stage::validate, Urgency::main, task);
  EXPECT_EQ(fixture.serve_all().size(), 4u);
}

TEST(Scheduler, a_task_whose_device_is_taken_out_moves_to_another) {
  SchedulerFixture fixture({.form = PoolForm::per_task});
  fixture.add_devices(2);
  fixture.submit(Stage::validate, Urgency::main, 1);
  fixture.submit(Stage::validate, Urgency::main, 2);
  EXPECT_EQ(fixture.serve_all().size(), 2u);
  fixture.scheduler.take_out(DeviceId{2});
  fixture.submit(Stage::validate, Urgency::main, 2);
  EXPECT_EQ(fixture.serve_all().size(), 1u);
}

TEST(Scheduler, in_a_split_pool_validators_do_not_profile) {
  SchedulerFixture fixture({.form = PoolForm::split, .validating_share = 0.5});
  fixture.add_devices(2);
  EXPECT_EQ(fixture.scheduler.role_of(DeviceId{1}), Role::validating);
  EXPECT_EQ(fixture.scheduler.role_of(DeviceId{2}), Role::profiling);
  fixture.submit(Stage::validate);
  JobId second = fixture.submit(Stage::validate);
  ASSERT_TRUE(fixture.scheduler.next(at(0s)));
  EXPECT_FALSE(fixture.scheduler.next(at(0s)));
  JobId profile = fixture.submit(Stage::profile);
  EXPECT_EQ(fixture.scheduler.next(at(0s))->job, profile);
  fixture.scheduler.ended(profile, at(1s));
  EXPECT_FALSE(fixture.scheduler.next(at(1s)));
  EXPECT_TRUE(fixture.scheduler.withdraw(second));
  fixture.submit(Stage::evaluate);  // any idle device may serve it
  EXPECT_TRUE(fixture.scheduler.next(at(1s)));
}

TEST(Scheduler, the_last_device_of_a_split_pool_does_everything) {
  SchedulerFixture fixture({.form = PoolForm::split});
  fixture.add_devices(2);
  fixture.scheduler.take_out(DeviceId{2});
  fixture.submit(Stage::profile);
  fixture.submit(Stage::validate);
  EXPECT_EQ(fixture.serve_all().size(), 2u);
}

TEST(Scheduler, where_switching_is_free_devices_have_no_roles) {
  SchedulerFixture fixture;
  fixture.add_devices(1);
  fixture.submit(Stage::validate);
  fixture.submit(Stage::profile);
  EXPECT_EQ(fixture.serve_all().size(), 2u);
  EXPECT_EQ(fixture.scheduler.role_of(DeviceId{1}), Role::any);
  EXPECT_EQ(fixture.scheduler.load(at(0s)).idle_devices, 1u);
}

TEST(Scheduler, where_switching_costs_a_single_device_still_serves_both_stages) {
  SchedulerFixture fixture({.switching_cost = 10s});
  fixture.add_devices(1);
  JobId validate = fixture.submit(Stage::validate);
  auto first = fixture.scheduler.next(at(0s));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->switching, 0s);  // the first role costs nothing
  fixture.scheduler.ended(validate, at(1s));
  fixture.submit(Stage::profile, Urgency::main, 1, 1s);
  auto second = fixture.scheduler.next(at(1s));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->switching, 10s);
  EXPECT_EQ(fixture.scheduler.role_of(DeviceId{1}), Role::profiling);
  EXPECT_EQ(fixture.scheduler.role_switches(), 1u);
}

TEST(Scheduler, an_idle_device_of_the_other_role_finally_serves_a_waiting_job) {
  SchedulerFixture fixture({.switching_cost = 10s});
  fixture.add_devices(2);
  JobId validate = fixture.submit(Stage::validate);
  fixture.submit(Stage::profile);
  ASSERT_TRUE(fixture.scheduler.next(at(0s)));
  ASSERT_TRUE(fixture.scheduler.next(at(0s)));
  fixture.scheduler.ended(validate, at(1s));
  JobId waits =
      fixture.submit(Stage::profile, Urgency::main, 1, 1s);  // the profile before it hangs
  EXPECT_FALSE(fixture.scheduler.next(at(1s)));
  auto review = fixture.scheduler.review_at();
  ASSERT_TRUE(review);
  EXPECT_LT(*review, at(60s));
  auto start = fixture.scheduler.next(*review);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->job, waits);
  EXPECT_EQ(start->switching, 10s);
  EXPECT_FALSE(fixture.scheduler.review_at());
}

TEST(Scheduler, roles_follow_the_load_and_stay_where_nothing_is_gained) {
  SchedulerFixture fixture({.switching_cost = 1s});
  fixture.add_devices(4);
  auto start_all = [&](Duration when) {
    std::vector<JobId> running;
    while (auto start = fixture.scheduler.next(at(when))) running.push_back(start->job);
    return running;
  };
  for (int i = 0; i < 4; ++i) fixture.submit(Stage::validate);
  for (JobId job : start_all(0s)) fixture.scheduler.ended(job, at(4s));
  EXPECT_EQ(fixture.scheduler.role_of(DeviceId{4}), Role::validating);
  for (int i = 0; i < 40; ++i) fixture.submit(Stage::profile, Urgency::main, 1, 4s);
  std::vector<JobId> profiles = start_all(4s);
  EXPECT_GE(fixture.scheduler.role_switches(), 3u);
  std::uint64_t switches = fixture.scheduler.role_switches();
  for (JobId job : profiles) fixture.scheduler.ended(job, at(8s));
  EXPECT_EQ(start_all(8s).size(), profiles.size());
  EXPECT_EQ(fixture.scheduler.role_switches(), switches);
}

TEST(Scheduler, load_reports_queued_and_running_jobs_and_the_expected_wait) {
  SchedulerFixture fixture;
  fixture.add_devices(1);
  fixture.scheduler.add_compile_slot(DeviceId{9}, 1);
  JobId validate = fixture.submit(Stage::validate, Urgency::main, 1, 0s);
  fixture.scheduler.next(at(0s));
  fixture.scheduler.ended(validate, at(4s));
  PoolLoad idle = fixture.scheduler.load(at(4s));
  EXPECT_EQ(idle.idle_devices, 1u);
  EXPECT_TRUE(idle.has_capacity());
  for (int i = 0; i < 3; ++i) fixture.submit(Stage::validate, Urgency::main, 1, 4s);
  fixture.scheduler.next(at(4s));
  PoolLoad busy = fixture.scheduler.load(at(4s));
  EXPECT_EQ(busy.queued[1], 2u);
  EXPECT_EQ(busy.running[1], 1u);
  EXPECT_FALSE(busy.has_capacity());
  EXPECT_EQ(busy.expected_wait - idle.expected_wait, 8s);
  EXPECT_GT(busy.offered, idle.offered);
}

TEST(PoolForm, is_parsed_and_a_wrong_name_gets_a_suggestion) {
  for (PoolForm form : {PoolForm::per_task, PoolForm::split, PoolForm::elastic}) {
    EXPECT_EQ(parse_pool_form(to_string(form)).value(), form);
  }
  auto wrong = parse_pool_form("elastik");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::unknown_name);
  EXPECT_NE(wrong.error().context.find("elastic"), std::string::npos);
}

}  // namespace
}  // namespace specgen
