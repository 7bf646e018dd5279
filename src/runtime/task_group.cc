#include "runtime/task_group.h"

#include <algorithm>

namespace specgen {

// The promise of the coroutine that wraps each spawned task; links the child into its group.
struct TaskGroup::Child {
  struct Coroutine {
    using promise_type = Child;
    Child& child;
  };
  static Coroutine run(TaskGroup&, Task<void> task) { co_await std::move(task); }
  static Coroutine run(TaskGroup& group, Task<Result<void>> task) {
    Result<void> result = co_await std::move(task);
    if (!result) group.fail_with(std::move(result).error());
  }

  explicit Child(TaskGroup& owner, const auto&) : group(owner), start(owner.loop_) {}

  struct NotifyGroup {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<Child> child) const noexcept {
      child.promise().group.finished(child.promise());
    }
    void await_resume() const noexcept {}
  };
  Coroutine get_return_object() { return {*this}; }
  std::suspend_always initial_suspend() noexcept { return {}; }
  NotifyGroup final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { detail::exception_left_task(); }
  void return_void() noexcept {}

  std::coroutine_handle<Child> handle() {
    return std::coroutine_handle<Child>::from_promise(*this);
  }

  TaskGroup& group;
  Loop::Yield start;  // in the ready list until the child first runs
  Child* previous = nullptr;
  Child* next = nullptr;
  bool ended = false;
};

class TaskGroup::Emptied : public Waiter {
 public:
  explicit Emptied(TaskGroup& group) : group_(group) {}
  ~Emptied() {
    if (group_.joiner_ == this) group_.joiner_ = nullptr;
  }
  bool await_ready() const { return !group_.running_.first && !group_.ended_.first; }
  void await_suspend(std::coroutine_handle<> handle) {
    SG_ASSERT(!group_.joiner_, "two tasks join one group");
    group_.loop_.suspend(*this, handle);
    group_.joiner_ = this;
  }
  void await_resume() const {}

 private:
  TaskGroup& group_;
};

Task<Result<void>> TaskGroup::join() {
  // A loop: another task may spawn between the wake-up and our turn.
  while (running_.first || ended_.first) co_await Emptied(*this);
  if (first_error_) co_return std::unexpected(*first_error_);
  co_return Result<void>();
}

void TaskGroup::ChildList::add(Child& child) {
  child.previous = nullptr;
  child.next = first;
  if (first) first->previous = &child;
  first = &child;
}

void TaskGroup::ChildList::remove(Child& child) {
  (child.previous ? child.previous->next : first) = child.next;
  if (child.next) child.next->previous = child.previous;
}

TaskGroup::~TaskGroup() {
  cancel();
  if (to_clean_) std::erase(loop_.to_clean_, this);
  destroy_ended();
}

void TaskGroup::spawn(Task<void> task) {
  if (!closed_) adopt(Child::run(*this, std::move(task)).child);
}

void TaskGroup::spawn(Task<Result<void>> task) {
  if (!closed_) adopt(Child::run(*this, std::move(task)).child);
}

void TaskGroup::adopt(Child& child) {
  SG_ASSERT(size_ < limit_, "a task group is over its limit: its producer must be bounded");
  ++size_;
  running_.add(child);
  child.start.await_suspend(child.handle());
}

void TaskGroup::finished(Child& child) {
  if (child.ended) return;  // it was cancelled while it executed, and then ran to its end
  child.ended = true;
  --size_;
  running_.remove(child);
  ended_.add(child);
  schedule_cleaning();
}

void TaskGroup::fail_with(Error error) {
  if (closed_) return;
  first_error_ = std::move(error);
  cancel();
}

void TaskGroup::cancel() {
  closed_ = true;
  if (!running_.first) return;
  while (Child* child = running_.first) {
    child->ended = true;
    running_.remove(*child);
    ended_.add(*child);
  }
  size_ = 0;
  schedule_cleaning();
}

void TaskGroup::schedule_cleaning() {
  if (to_clean_) return;
  to_clean_ = true;
  loop_.to_clean_.push_back(this);
}

void TaskGroup::destroy_ended() {
  to_clean_ = false;
  while (Child* child = ended_.first) {
    ended_.remove(*child);
    child->handle().destroy();
  }
  if (joiner_ && !running_.first && !ended_.first) {
    loop_.make_ready(*joiner_);
    joiner_ = nullptr;
  }
}

}  // namespace specgen
