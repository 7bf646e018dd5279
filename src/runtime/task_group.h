#pragma once
// TaskGroup: structured concurrency. Its children run concurrently on the loop and never outlive it.
//
//   TaskGroup group(loop);
//   group.spawn(follow(stream));
//   group.spawn(watch(results));
//   CO_TRY(co_await group.join());   // the first failure, after its siblings were cancelled
//
// Ownership: the group owns its children. Declare it after the objects they refer to: leaving the
// scope cancels the children first.
// Failure: a child that returns an error cancels its siblings; join() returns that error.
// Cancellation: cancel() may be called from anywhere, also from inside a child. Cancelled children
// are never resumed again and are destroyed before the loop resumes any other task. The group itself
// must not be destroyed from inside one of its children.
// Cost: one allocation per child, freed when the child ends, not at join(). Loop thread only.

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

  // The child starts at its turn on the loop, not inside this call. A group that has failed or was
  // cancelled destroys new tasks unstarted. More than `limit` children is an assertion failure.
  void spawn(Task<void> task);
  void spawn(Task<Result<void>> task);

  void cancel();
  bool closed() const { return closed_; }
  std::size_t size() const { return size_; }  // children that have not ended

  // Waits until there is no child left, including children spawned meanwhile. One task may wait at a time.
  Task<Result<void>> join();

 private:
  friend class Loop;
  class Emptied;  // the awaitable of join()
  struct Child;   // the coroutine around each task, linked into one of the two lists
  struct ChildList {
    Child* first = nullptr;
    void add(Child& child);
    void remove(Child& child);
  };

  void adopt(Child& child);
  void finished(Child& child);
  void fail_with(Error error);
  void schedule_cleaning();
  void destroy_ended();  // frees ended children, wakes join() when no child is left

  Loop& loop_;
  std::size_t limit_;
  std::size_t size_ = 0;
  ChildList running_;
  ChildList ended_;
  bool closed_ = false;
  bool to_clean_ = false;  // in the loop's list
  std::optional<Error> first_error_;
  Waiter* joiner_ = nullptr;
};

}  // namespace specgen
