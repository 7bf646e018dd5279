#pragma once
// Threads that start a function together and end it together: what a CPU candidate is called on.
// They are started once, before the process gives up its right to start any, wait by spinning while
// a call is near and sleep in the kernel otherwise. Used by a process that has nothing else to do.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace specgen {

class ThreadTeam {
 public:
  // The calling thread is number 0; `cores[i]` is where thread i is pinned to, if there is one. All
  // have done what they need the system for when this returns.
  ThreadTeam(int size, const std::vector<int>& cores);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;

  int size() const { return size_; }

  void wake();  // the others begin to spin: call it shortly before run()
  void run(const std::function<void(int)>& work);  // on all of them; returns when all are done
  void rest();                                     // the others sleep again

  // All threads of a running call meet here.
  void barrier();

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
