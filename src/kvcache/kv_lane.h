#pragma once
// One thread of a KV node's server: the connections that were handed to it, each a task of its loop. Lives on that
// thread's stack of tasks; other threads reach it by letters to the thread alone.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/file.h"
#include "kvcache/kv_service.h"
#include "kvcache/kv_session.h"
#include "kvcache/kv_socket.h"
#include "kvcache/kv_tls.h"
#include "runtime/loop.h"
#include "runtime/real_driver.h"
#include "runtime/task_group.h"

namespace specgen {

class KvLane {
 public:
  // A command that takes a while, and what to do with its reply on this thread.
  using Slow = std::move_only_function<std::string()>;
  using Done = std::move_only_function<void(std::string)>;
  using RunElsewhere = std::function<void(Slow, Done)>;

  KvLane(Loop& loop, RealDriver& driver, KvService& service, const KvTls* tls,
         RunElsewhere run_elsewhere);
  ~KvLane();

  void admit(Fd accepted);
  Task<void> watch();  // ends connections that do not move; for as long as the lane lives

 private:
  struct Connection;

  Task<void> serve(std::unique_ptr<Connection> connection);
  void run_slow(Connection& connection);

  Loop& loop_;
  RealDriver& driver_;
  KvService& service_;
  const KvTls* tls_;
  RunElsewhere run_elsewhere_;
  BufferShelf shelf_;
  std::map<std::uint64_t, Connection*> connections_;
  TaskGroup tasks_;
};

}  // namespace specgen
