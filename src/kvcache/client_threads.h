#pragma once
// A listening socket and the threads that serve who connects: each client is a task on the thread that has the fewest.
// Destroying this cancels every client's task, on its own thread, and joins the threads.

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/file.h"
#include "runtime/loop_thread.h"
#include "runtime/task_group.h"

namespace specgen {

class ClientThreads;

// One of the threads, for what runs on it.
struct ClientThread {
  ClientThreads& all;
  std::size_t number;
  Loop& loop;
  RealDriver& driver;
};

class ClientThreads {
 public:
  using Serve = std::function<Task<void>(ClientThread, Fd)>;

  // They keep to these cores; to none in particular if there are none.
  ClientThreads(Fd listener, std::size_t threads, std::size_t max_clients, std::vector<int> cores,
                Serve serve);
  ~ClientThreads();

  // From one of the threads: on another one, beside its clients. Dropped if they end before.
  using Help = std::move_only_function<Task<void>(ClientThread)>;
  void run_on(std::size_t thread, Help help);

 private:
  struct Worker {
    ClientThread here(ClientThreads& all) const { return {all, number, *loop, *driver}; }

    std::size_t number = 0;
    std::atomic<std::size_t> clients = 0;
    // Of the worker's own thread:
    Loop* loop = nullptr;
    RealDriver* driver = nullptr;
    TaskGroup* group = nullptr;  // null until it has begun, and when it has ended
    std::vector<Fd> early;       // who came before that
    std::unique_ptr<LoopThread> thread;
  };

  Task<void> work(Worker& mine, Loop& loop, RealDriver& driver);
  Task<void> serve_one(Worker& mine, Fd fd);
  Task<void> keep_door(Loop& loop, RealDriver& driver, Fd listener);
  void admit(Worker& worker, Fd fd);  // on the worker's thread

  void keep_to_cores() const;

  const std::size_t max_clients_;
  const std::vector<int> cores_;
  const Serve serve_;
  std::vector<Worker> workers_;
  std::unique_ptr<LoopThread> door_;
};

}  // namespace specgen
