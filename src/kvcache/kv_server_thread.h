#pragma once
// One thread of the RESP server: the connections that were assigned to it, each a task of its loop. A local of the
// task that runs on that thread; other threads reach it only by posting to the thread.

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

class KvServerThread {
 public:
  // A slow command, and the handler of its reply on this thread.
  using Slow = std::move_only_function<std::string()>;
  using Done = std::move_only_function<void(std::string)>;
  using RunElsewhere = std::function<void(Slow, Done)>;

  KvServerThread(Loop& loop, RealDriver& driver, KvService& service, const KvTls* tls,
                 RunElsewhere run_elsewhere);
  ~KvServerThread();

  void admit(Fd accepted);
  Task<void> watch();  // ends stalled connections; never returns

 private:
  struct Connection;

  Task<void> serve(std::unique_ptr<Connection> connection);
  void run_slow(Connection& connection);

  Loop& loop_;
  RealDriver& driver_;
  KvService& service_;
  const KvTls* tls_;
  RunElsewhere run_elsewhere_;
  BufferPool buffers_;
  std::map<std::uint64_t, Connection*> connections_;
  TaskGroup tasks_;
};

}  // namespace specgen
