#include "runtime/loop.h"

#include <fmt/core.h>

#include "runtime/task_group.h"

namespace specgen {

Loop::~Loop() {
  SG_ASSERT(timers_.empty() && ready_.empty(), "a loop is destroyed before the tasks that use it");
}

void Loop::drive(std::coroutine_handle<> task) {
  SG_ASSERT(!running_, "a loop is run from inside itself: await the task instead");
  running_ = true;
  Yield start(*this);
  start.await_suspend(task);
  while (true) {
    run_ready();
    if (task.done()) break;
    if (!ready_.empty()) {
      driver_.poll();
    } else {
      std::optional<Time> deadline;
      if (!timers_.empty()) deadline = timers_.front().deadline;
      bool can_continue = driver_.wait(deadline);
      SG_ASSERT(can_continue, "deadlock: the main task waits for an event that cannot happen");
    }
    fire_due_timers();
  }
  running_ = false;
}

// One turn: everything that was ready when it began. What becomes ready meanwhile waits for the next
// turn, so that two busy tasks cannot starve timers and descriptors.
void Loop::run_ready() {
  Yield end_of_turn(*this);
  ready_.push_back(end_of_turn);
  while (true) {
    if (!to_clean_.empty()) destroy_ended_children();
    Waiter& waiter = ready_.pop_front();
    if (&waiter == &end_of_turn) return;
    ++events_;
    trace_.mix(static_cast<std::uint64_t>(now().time_since_epoch().count()));
    trace_.mix(waiter.sequence_);
    waiter.handle_.resume();
  }
}

void Loop::destroy_ended_children() {
  while (!to_clean_.empty()) {
    TaskGroup* group = to_clean_.back();
    to_clean_.pop_back();
    group->destroy_ended();
  }
}

void Loop::fire_due_timers() {
  if (timers_.empty()) return;
  Time time = now();
  while (!timers_.empty() && timers_.front().deadline <= time) {
    Sleep& due = *timers_.front().sleep;
    remove_timer(0);
    make_ready(due);
  }
}

void Loop::add_timer(Sleep& sleep) {
  timers_.push_back({sleep.deadline_, sleep.sequence_, &sleep});
  sleep.position_ = timers_.size() - 1;
  sift_up(timers_.size() - 1);
  SG_INVARIANT(timers_are_a_heap(), "the timer heap is out of order after an insertion");
}

void Loop::remove_timer(std::size_t position) {
  timers_[position].sleep->position_ = Sleep::kNoTimer;
  Timer last = timers_.back();
  timers_.pop_back();
  if (position < timers_.size()) {
    timers_[position] = last;
    last.sleep->position_ = position;
    sift_up(position);
    sift_down(last.sleep->position_);
  }
  SG_INVARIANT(timers_are_a_heap(), "the timer heap is out of order after a removal");
}

void Loop::sift_up(std::size_t position) {
  Timer moving = timers_[position];
  while (position > 0) {
    std::size_t parent = (position - 1) / 4;
    if (!moving.before(timers_[parent])) break;
    timers_[position] = timers_[parent];
    timers_[position].sleep->position_ = position;
    position = parent;
  }
  timers_[position] = moving;
  moving.sleep->position_ = position;
}

void Loop::sift_down(std::size_t position) {
  Timer moving = timers_[position];
  while (true) {
    std::size_t first = 4 * position + 1;
    if (first >= timers_.size()) break;
    std::size_t last = std::min(first + 4, timers_.size());
    std::size_t earliest = first;
    for (std::size_t child = first + 1; child < last; ++child) {
      if (timers_[child].before(timers_[earliest])) earliest = child;
    }
    if (!timers_[earliest].before(moving)) break;
    timers_[position] = timers_[earliest];
    timers_[position].sleep->position_ = position;
    position = earliest;
  }
  timers_[position] = moving;
  moving.sleep->position_ = position;
}

bool Loop::timers_are_a_heap() const {
  // A prefix only: checking all of a large heap on every change would be quadratic.
  constexpr std::size_t kChecked = 64;
  for (std::size_t i = 0; i < std::min(timers_.size(), kChecked); ++i) {
    if (timers_[i].sleep->position_ != i) return false;
    if (i > 0 && timers_[i].before(timers_[(i - 1) / 4])) return false;
  }
  return true;
}

}  // namespace specgen
