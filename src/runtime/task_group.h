#pragma once
// TaskGroup: tasks that run side by side and end together.
//
//   TaskGroup group(loop);
//   group.spawn(follow(stream));
//   group.spawn(watch(results));
//   CO_TRY(co_await group.join());        // the first failure, after the siblings have been
//   cancelled
//
// A group is owned by the scope whose objects its children use; leaving the scope cancels them.
// A child that fails cancels its siblings. cancel() may be called from anywhere, also from inside a
// child: cancelled children never run again and are destroyed before the loop resumes anything
// else. The group itself must not be destroyed from inside one of its children. A finished child's
// frame is freed at once, not at join().

#include <cstddef>
#include <optional>

#include "base/error.h"
#include "runtime/loop.h"
#include "runtime/task.h"

namespace specgen {

class TaskGroup {
 public:
  class Join;

  explicit TaskGroup(Loop& loop, std::size_t limit = 1 << 20) : loop_(loop), limit_(limit) {}
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Starts in its turn, not inside this call. A group that has failed or been cancelled drops new
  // tasks.
  void spawn(Task<void> task);
  void spawn(Task<Result<void>> task);

  void cancel();
  bool closed() const { return closed_; }
  std::size_t size() const { return size_; }  // children that have not ended

  // Waits until no child is left. One waits at a time; more may be spawned afterwards.
  Join join();

 private:
  friend class Loop;
  struct Child;  // the coroutine around each task, linked into one of the two lists
  struct ChildList {
    Child* first = nullptr;
    void add(Child& child);
    void remove(Child& child);
  };

  void adopt(Child& child);
  void finished(Child& child);
  void fail_with(Error error);
  void mourn();
  void bury();  // destroys dead children, wakes join() when none is left

  Loop& loop_;
  std::size_t limit_;
  std::size_t size_ = 0;
  ChildList living_;
  ChildList dead_;
  bool closed_ = false;
  bool mourning_ = false;  // in the loop's list
  std::optional<Error> first_error_;
  Waiter* joiner_ = nullptr;
};

class TaskGroup::Join : public Waiter {
 public:
  explicit Join(TaskGroup& group) : group_(group) {}
  Join(Join&&) = default;
  ~Join() {
    if (group_.joiner_ == this) group_.joiner_ = nullptr;
  }
  bool await_ready() const { return !group_.living_.first && !group_.dead_.first; }
  void await_suspend(std::coroutine_handle<> handle) {
    SG_ASSERT(!group_.joiner_, "two tasks join one group");
    group_.loop_.suspend(*this, handle);
    group_.joiner_ = this;
  }
  Result<void> await_resume() {
    if (group_.first_error_) return std::unexpected(*group_.first_error_);
    return {};
  }

 private:
  TaskGroup& group_;
};

inline TaskGroup::Join TaskGroup::join() {
  return Join(*this);
}

}  // namespace specgen
