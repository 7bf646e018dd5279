#pragma once
// A listening socket and the threads that serve its clients: each client is a task on the thread with the fewest.
// Destroying this cancels the tasks of all clients, each on its own thread, and joins the threads.

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/file.h"
#include "runtime/loop_thread.h"
#include "runtime/task_group.h"

namespace specgen {

class ClientThreads;

// One of the threads, as seen by its tasks.
struct ClientThread {
  ClientThreads& all;
  std::size_t number;
  Loop& loop;
  RealDriver& driver;
};

class ClientThreads {
 public:
  using Serve = std::function<Task<void>(ClientThread, Fd)>;

  // Pinned to these cores; not pinned if empty.
  ClientThreads(Fd listener, std::size_t threads, std::size_t max_clients, std::vector<int> cores,
                Serve serve);
  ~ClientThreads();

  // Called on one of the threads: runs `help` on another one, beside its clients. Dropped if the threads end before.
  using Help = std::move_only_function<Task<void>(ClientThread)>;
  void run_on(std::size_t thread, Help help);

 private:
  struct Worker {
    ClientThread here(ClientThreads& all) const { return {all, number, *loop, *driver}; }

    std::size_t number = 0;
    std::atomic<std::size_t> clients = 0;
    // Used on the worker's thread only:
    Loop* loop = nullptr;
    RealDriver* driver = nullptr;
    TaskGroup* group = nullptr;  // null before it has begun and after it has ended
    std::vector<Fd> early;       // clients accepted before that
    std::unique_ptr<LoopThread> thread;
  };

  Task<void> work(Worker& mine, Loop& loop, RealDriver& driver);
  Task<void> serve_one(Worker& mine, Fd fd);
  Task<void> accept_clients(Loop& loop, RealDriver& driver, Fd listener);
  void admit(Worker& worker, Fd fd);  // on the worker's thread

  void pin_thread() const;

  const std::size_t max_clients_;
  const std::vector<int> cores_;
  const Serve serve_;
  std::vector<Worker> workers_;
  std::unique_ptr<LoopThread> acceptor_;
};

}  // namespace specgen
