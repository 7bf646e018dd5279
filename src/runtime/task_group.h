#pragma once
// TaskGroup: tasks that run side by side and end together.
//
//   TaskGroup group(loop);
//   group.spawn(follow(stream));
//   group.spawn(watch(results));
//   CO_TRY(co_await group.join());   // the first failure, after the siblings have been cancelled
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

  // Waits until no child is left, counting those that are spawned meanwhile. One waits at a time.
  Task<Result<void>> join();

 private:
  friend class Loop;
  class Emptied;  // what join() waits for
  struct Child;   // the coroutine around each task, linked into one of the two lists
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

}  // namespace specgen
