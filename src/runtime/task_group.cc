#include "runtime/task_group.h"

#include <algorithm>

namespace specgen {

// The promise of the coroutine that stands around each spawned task; it is the child's place in the
// group.
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

  struct TellGroup {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<Child> ended) const noexcept {
      ended.promise().group.finished(ended.promise());
    }
    void await_resume() const noexcept {}
  };
  Coroutine get_return_object() { return {*this}; }
  std::suspend_always initial_suspend() noexcept { return {}; }
  TellGroup final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { detail::exception_left_task(); }
  void return_void() noexcept {}

  std::coroutine_handle<Child> handle() {
    return std::coroutine_handle<Child>::from_promise(*this);
  }

  TaskGroup& group;
  Loop::Yield start;  // its place in the ready list until it first runs
  Child* previous = nullptr;
  Child* next = nullptr;
  bool dead = false;
};

class TaskGroup::Emptied : public Waiter {
 public:
  explicit Emptied(TaskGroup& group) : group_(group) {}
  ~Emptied() {
    if (group_.joiner_ == this) group_.joiner_ = nullptr;
  }
  bool await_ready() const { return !group_.living_.first && !group_.dead_.first; }
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
  // More than once: between the wake-up and our turn somebody may have spawned.
  while (living_.first || dead_.first) co_await Emptied(*this);
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
  if (mourning_) std::erase(loop_.mourning_, this);
  bury();
}

void TaskGroup::spawn(Task<void> task) {
  if (!closed_) adopt(Child::run(*this, std::move(task)).child);
}

void TaskGroup::spawn(Task<Result<void>> task) {
  if (!closed_) adopt(Child::run(*this, std::move(task)).child);
}

void TaskGroup::adopt(Child& child) {
  SG_ASSERT(size_ < limit_, "a task group is over its limit: what feeds it needs a gate");
  ++size_;
  living_.add(child);
  child.start.await_suspend(child.handle());
}

void TaskGroup::finished(Child& child) {
  if (child.dead) return;  // it was cancelled while it ran, and ran to its end all the same
  child.dead = true;
  --size_;
  living_.remove(child);
  dead_.add(child);
  mourn();
}

void TaskGroup::fail_with(Error error) {
  if (closed_) return;
  first_error_ = std::move(error);
  cancel();
}

void TaskGroup::cancel() {
  closed_ = true;
  if (!living_.first) return;
  while (Child* child = living_.first) {
    child->dead = true;
    living_.remove(*child);
    dead_.add(*child);
  }
  size_ = 0;
  mourn();
}

void TaskGroup::mourn() {
  if (mourning_) return;
  mourning_ = true;
  loop_.mourning_.push_back(this);
}

void TaskGroup::bury() {
  mourning_ = false;
  while (Child* child = dead_.first) {
    dead_.remove(*child);
    child->handle().destroy();
  }
  if (joiner_ && !living_.first && !dead_.first) {
    loop_.make_ready(*joiner_);
    joiner_ = nullptr;
  }
}

}  // namespace specgen
