#include "schedule/scheduler.h"

#include <gtest/gtest.h>

namespace specgen {
namespace {

using namespace std::chrono_literals;

Time at(Duration since) {
  return Time(since);
}

// A scheduler and the few words that tests need.
struct Yard {
  explicit Yard(SchedulerSettings settings = {}) : scheduler(settings) {}

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
  // The jobs in the order in which one device after another serves them.
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

TEST(Scheduler, what_is_nearest_to_feedback_goes_first_and_tune_last) {
  Yard yard;
  JobId tune = yard.submit(Stage::tune);
  JobId demoted = yard.submit(Stage::profile, Urgency::demoted);
  JobId guess = yard.submit(Stage::validate, Urgency::speculative);
  JobId evaluate = yard.submit(Stage::evaluate);
  JobId validate = yard.submit(Stage::validate);
  JobId guessed_profile = yard.submit(Stage::profile, Urgency::speculative);
  JobId profile = yard.submit(Stage::profile);
  yard.add_devices(1);
  EXPECT_EQ(yard.serve_all(),
            (std::vector{profile, guessed_profile, evaluate, validate, guess, demoted, tune}));
}

TEST(Scheduler, what_waits_for_long_overtakes_what_is_more_urgent) {
  Yard yard({.aging = 10s});
  JobId old_tune = yard.submit(Stage::tune, Urgency::main, 1, 0s);
  JobId fresh = yard.submit(Stage::profile, Urgency::main, 1, 59s);
  JobId fresher = yard.submit(Stage::profile, Urgency::main, 1, 61s);
  yard.add_devices(1);
  EXPECT_EQ(yard.serve_all(61s), (std::vector{fresh, old_tune, fresher}));
}

TEST(Scheduler, a_device_has_one_job_at_a_time) {
  Yard yard;
  yard.add_devices(2);
  for (int i = 0; i < 3; ++i) yard.submit(Stage::validate);
  auto first = yard.scheduler.next(at(0s));
  auto second = yard.scheduler.next(at(0s));
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->device, second->device);
  EXPECT_FALSE(yard.scheduler.next(at(0s)));
  yard.scheduler.ended(first->job, at(1s));
  auto third = yard.scheduler.next(at(1s));
  ASSERT_TRUE(third);
  EXPECT_EQ(third->device, first->device);
}

TEST(Scheduler, compiling_needs_a_lane_and_nothing_else_does) {
  Yard yard;
  yard.add_devices(1);
  JobId compile = yard.submit(Stage::compile);
  EXPECT_FALSE(yard.scheduler.next(at(0s)));
  yard.scheduler.add_lane(DeviceId{9}, 1);
  JobId validate = yard.submit(Stage::validate);
  EXPECT_EQ(yard.serve_all(), (std::vector{compile, validate}));
  EXPECT_EQ(yard.scheduler.load(at(0s)).devices, 1u);
}

TEST(Scheduler, a_job_goes_to_its_own_backend) {
  Yard yard;
  yard.add_devices(1, 1);
  yard.submit(Stage::validate);
  EXPECT_FALSE(yard.scheduler.next(at(0s)));
  yard.add_devices(1, 0);
  auto start = yard.scheduler.next(at(0s));
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

TEST(Scheduler, what_was_withdrawn_does_not_start_and_what_has_started_cannot_be_withdrawn) {
  Yard yard;
  yard.add_devices(1);
  JobId runs = yard.submit(Stage::validate);
  JobId waits = yard.submit(Stage::validate);
  ASSERT_EQ(yard.scheduler.next(at(0s))->job, runs);
  EXPECT_FALSE(yard.scheduler.withdraw(runs));
  EXPECT_TRUE(yard.scheduler.withdraw(waits));
  EXPECT_FALSE(yard.scheduler.withdraw(waits));
  yard.scheduler.ended(runs, at(1s));
  EXPECT_FALSE(yard.scheduler.next(at(1s)));
  EXPECT_EQ(yard.scheduler.queued(), 0u);
}

TEST(Scheduler, urgency_changes_the_place_in_the_queue_but_not_the_time_waited) {
  Yard yard({.aging = 100s});
  JobId first = yard.submit(Stage::validate, Urgency::speculative, 1, 0s);
  JobId second = yard.submit(Stage::validate, Urgency::main, 1, 1s);
  JobId third = yard.submit(Stage::validate, Urgency::main, 1, 2s);
  yard.scheduler.set_urgency(first, Urgency::main);
  yard.scheduler.set_urgency(second, Urgency::demoted);
  yard.add_devices(1);
  EXPECT_EQ(yard.serve_all(2s), (std::vector{first, third, second}));
}

TEST(Scheduler, a_device_that_is_out_serves_nothing_until_it_is_back) {
  Yard yard;
  yard.add_devices(1);
  yard.scheduler.take_out(DeviceId{1});
  yard.submit(Stage::validate);
  EXPECT_FALSE(yard.scheduler.next(at(0s)));
  EXPECT_EQ(yard.scheduler.load(at(0s)).devices, 0u);
  yard.scheduler.put_back(DeviceId{1}, at(1s));
  EXPECT_TRUE(yard.scheduler.next(at(1s)));
}

TEST(Scheduler, with_a_device_per_task_nobody_uses_the_neighbours_device) {
  Yard yard({.form = PoolForm::per_task});
  yard.add_devices(2);
  yard.submit(Stage::validate, Urgency::main, 1);
  yard.submit(Stage::validate, Urgency::main, 2);
  JobId waits = yard.submit(Stage::validate, Urgency::main, 1);
  auto of_first = yard.scheduler.next(at(0s));
  auto of_second = yard.scheduler.next(at(0s));
  ASSERT_TRUE(of_first && of_second);
  yard.scheduler.ended(of_second->job, at(1s));
  EXPECT_FALSE(yard.scheduler.next(at(1s)));  // its own is busy, the other is not its own
  yard.scheduler.ended(of_first->job, at(2s));
  EXPECT_EQ(yard.scheduler.next(at(2s))->job, waits);
}

TEST(Scheduler, with_more_devices_than_tasks_a_task_has_several_and_with_fewer_tasks_share) {
  Yard yard({.form = PoolForm::per_task});
  yard.add_devices(2);
  yard.submit(Stage::validate, Urgency::main, 1);
  yard.submit(Stage::validate, Urgency::main, 1);
  EXPECT_EQ(yard.serve_all().size(), 2u);
  for (std::uint32_t task = 1; task <= 4; ++task) yard.submit(Stage::validate, Urgency::main, task);
  EXPECT_EQ(yard.serve_all().size(), 4u);
}

TEST(Scheduler, a_task_whose_device_is_taken_out_moves_to_another) {
  Yard yard({.form = PoolForm::per_task});
  yard.add_devices(2);
  yard.submit(Stage::validate, Urgency::main, 1);
  yard.submit(Stage::validate, Urgency::main, 2);
  EXPECT_EQ(yard.serve_all().size(), 2u);
  yard.scheduler.take_out(DeviceId{2});
  yard.submit(Stage::validate, Urgency::main, 2);
  EXPECT_EQ(yard.serve_all().size(), 1u);
}

TEST(Scheduler, in_a_split_pool_validators_do_not_profile) {
  Yard yard({.form = PoolForm::split, .validating_share = 0.5});
  yard.add_devices(2);
  EXPECT_EQ(yard.scheduler.role_of(DeviceId{1}), Role::validating);
  EXPECT_EQ(yard.scheduler.role_of(DeviceId{2}), Role::profiling);
  yard.submit(Stage::validate);
  JobId second = yard.submit(Stage::validate);
  ASSERT_TRUE(yard.scheduler.next(at(0s)));
  EXPECT_FALSE(yard.scheduler.next(at(0s)));
  JobId profile = yard.submit(Stage::profile);
  EXPECT_EQ(yard.scheduler.next(at(0s))->job, profile);
  yard.scheduler.ended(profile, at(1s));
  EXPECT_FALSE(yard.scheduler.next(at(1s)));
  EXPECT_TRUE(yard.scheduler.withdraw(second));
  yard.submit(Stage::evaluate);  // whoever is idle may do it all
  EXPECT_TRUE(yard.scheduler.next(at(1s)));
}

TEST(Scheduler, the_last_device_of_a_split_pool_does_everything) {
  Yard yard({.form = PoolForm::split});
  yard.add_devices(2);
  yard.scheduler.take_out(DeviceId{2});
  yard.submit(Stage::profile);
  yard.submit(Stage::validate);
  EXPECT_EQ(yard.serve_all().size(), 2u);
}

TEST(Scheduler, where_switching_is_free_devices_have_no_roles) {
  Yard yard;
  yard.add_devices(1);
  yard.submit(Stage::validate);
  yard.submit(Stage::profile);
  EXPECT_EQ(yard.serve_all().size(), 2u);
  EXPECT_EQ(yard.scheduler.role_of(DeviceId{1}), Role::any);
  EXPECT_EQ(yard.scheduler.load(at(0s)).idle_devices, 1u);
}

TEST(Scheduler, where_switching_costs_a_single_device_still_serves_both_stages) {
  Yard yard({.switching_cost = 10s});
  yard.add_devices(1);
  JobId validate = yard.submit(Stage::validate);
  auto first = yard.scheduler.next(at(0s));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->switching, 0s);  // the first role costs nothing
  yard.scheduler.ended(validate, at(1s));
  yard.submit(Stage::profile, Urgency::main, 1, 1s);
  auto second = yard.scheduler.next(at(1s));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->switching, 10s);
  EXPECT_EQ(yard.scheduler.role_of(DeviceId{1}), Role::profiling);
  EXPECT_EQ(yard.scheduler.role_switches(), 1u);
}

TEST(Scheduler, what_waits_beside_an_idle_device_of_the_other_role_is_served_in_the_end) {
  Yard yard({.switching_cost = 10s});
  yard.add_devices(2);
  JobId validate = yard.submit(Stage::validate);
  yard.submit(Stage::profile);
  ASSERT_TRUE(yard.scheduler.next(at(0s)));
  ASSERT_TRUE(yard.scheduler.next(at(0s)));
  yard.scheduler.ended(validate, at(1s));
  JobId waits = yard.submit(Stage::profile, Urgency::main, 1, 1s);  // the profile before it hangs
  EXPECT_FALSE(yard.scheduler.next(at(1s)));
  auto review = yard.scheduler.review_at();
  ASSERT_TRUE(review);
  EXPECT_LT(*review, at(60s));
  auto start = yard.scheduler.next(*review);
  ASSERT_TRUE(start);
  EXPECT_EQ(start->job, waits);
  EXPECT_EQ(start->switching, 10s);
  EXPECT_FALSE(yard.scheduler.review_at());
}

TEST(Scheduler, roles_follow_the_load_and_stay_where_nothing_is_gained) {
  Yard yard({.switching_cost = 1s});
  yard.add_devices(4);
  auto start_all = [&](Duration when) {
    std::vector<JobId> running;
    while (auto start = yard.scheduler.next(at(when))) running.push_back(start->job);
    return running;
  };
  for (int i = 0; i < 4; ++i) yard.submit(Stage::validate);
  for (JobId job : start_all(0s)) yard.scheduler.ended(job, at(4s));
  EXPECT_EQ(yard.scheduler.role_of(DeviceId{4}), Role::validating);
  for (int i = 0; i < 40; ++i) yard.submit(Stage::profile, Urgency::main, 1, 4s);
  std::vector<JobId> profiles = start_all(4s);
  EXPECT_GE(yard.scheduler.role_switches(), 3u);
  std::uint64_t switches = yard.scheduler.role_switches();
  for (JobId job : profiles) yard.scheduler.ended(job, at(8s));
  EXPECT_EQ(start_all(8s).size(), profiles.size());
  EXPECT_EQ(yard.scheduler.role_switches(), switches);
}

TEST(Scheduler, load_tells_what_waits_what_runs_and_how_long_it_will_take) {
  Yard yard;
  yard.add_devices(1);
  yard.scheduler.add_lane(DeviceId{9}, 1);
  JobId validate = yard.submit(Stage::validate, Urgency::main, 1, 0s);
  yard.scheduler.next(at(0s));
  yard.scheduler.ended(validate, at(4s));
  PoolLoad idle = yard.scheduler.load(at(4s));
  EXPECT_EQ(idle.idle_devices, 1u);
  EXPECT_TRUE(idle.has_room());
  for (int i = 0; i < 3; ++i) yard.submit(Stage::validate, Urgency::main, 1, 4s);
  yard.scheduler.next(at(4s));
  PoolLoad busy = yard.scheduler.load(at(4s));
  EXPECT_EQ(busy.queued[1], 2u);
  EXPECT_EQ(busy.running[1], 1u);
  EXPECT_FALSE(busy.has_room());
  EXPECT_EQ(busy.expected_wait - idle.expected_wait, 8s);
  EXPECT_GT(busy.offered, idle.offered);
}

TEST(PoolForm, is_known_by_name_and_a_wrong_name_gets_the_nearest) {
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
