#pragma once
// A fixed team of threads that enter and leave a function together: the threads a CPU candidate runs on.
// All are started in the constructor (the sandbox then forbids new ones). Between wake() and rest() they
// spin, so that a call starts within microseconds; otherwise they sleep in the kernel. For a dedicated
// process: one thread owns the team and makes all calls except barrier().

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace specgen {

class ThreadTeam {
 public:
  // The calling thread is number 0. Thread i is pinned to `cores[i]` if there is one. When this returns all
  // threads have started and need no more system calls than futex and sched_yield.
  ThreadTeam(int size, const std::vector<int>& cores);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;

  int size() const { return size_; }

  void wake();  // the other threads begin to spin: call it shortly before run()
  void run(const std::function<void(int)>& work);  // on all threads; returns when all are done
  void rest();                                     // the other threads sleep again

  void barrier();  // from inside run(): waits for all threads of the team

 private:
  void serve(int number, int core);

  int size_;
  std::atomic<std::uint32_t> awake_ = 0;  // odd: spin; even: sleep
  std::atomic<std::uint32_t> generation_ = 0;
  std::atomic<int> running_ = 0;
  std::atomic<int> started_ = 0;
  std::atomic<bool> stopping_ = false;
  const std::function<void(int)>* work_ = nullptr;
  std::atomic<int> arrived_ = 0;
  std::atomic<std::uint32_t> phase_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace specgen
