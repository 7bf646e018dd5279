#pragma once
// The supervisor of one evaluation host: a judge process per device, compile slots, and the framed protocol of
// docs/reference/node.md with its controller. Jobs for one device run in the order in which they arrive. A judge that
// dies or hangs fails its job and is replaced. Cancelling a job ends its judge; the next job starts a new one.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "evaluate/judge/judge_process.h"
#include "evaluate/node/frames.h"
#include "evaluate/node/memory_provider.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"

namespace specgen {

struct NodeDevice {
  std::string id;    // "cpu:0"
  std::string name;  // the model
};

struct NodeSetup {
  std::vector<NodeDevice> devices;
  std::size_t compile_slots = 1;
  bool pause_compiling = false;  // while a device is timing, on hosts with few cores
  JudgeSetup judge;              // for all judges, but for the device
  std::vector<std::string> self = {"/proc/self/exe"};
  std::string version;
  MemoryProvider* memory = nullptr;  // asked before a job; null: there is none. Outlives the node
};

class Node {
 public:
  Node(Loop& loop, RealDriver& driver, Processes& processes, NodeSetup setup);

  // Serves requests from `input` with frames on `output` until the controller closes its end; then
  // every judge is ended.
  Task<Result<void>> serve(AsyncFd& input, AsyncFd& output);

 private:
  struct Worker {  // a judge for one job at a time
    Worker(Loop& loop, std::string for_device) : turn(loop, 1), device(std::move(for_device)) {}
    Semaphore turn;
    std::string device;
    std::unique_ptr<JudgeProcess> judge;
    // Kept after a job until the controller shares the device's memory: usually the next job follows at once, and the
    // cache would be filled and emptied between the two.
    std::shared_ptr<MemoryProvider::Hold> memory;
  };
  struct StoredProgram;
  struct RunningJob {
    explicit RunningJob(Loop& loop) : cancelled(loop) {}
    Event cancelled;
  };

  Task<Result<void>> handle(std::string frame);
  Task<void> run_job(Json request, std::string id, std::shared_ptr<RunningJob> job);
  Task<Result<Json>> perform(const Json& request, const std::string& id);
  Task<Result<Json>> ask(Worker& worker, std::string kind, Json job, const std::string& id,
                         std::shared_ptr<const StoredProgram> program);
  Task<Result<Json>> compile(const Json& request, const std::string& id);
  Task<Result<Json>> on_device(std::string kind, const Json& request, const std::string& id);
  Result<std::string> store(Json program, std::vector<Fd>& descriptors);
  Json hello() const;
  Task<void> send(Json frame);
  Task<Result<void>> write_frames(AsyncFd& output);

  Loop& loop_;
  RealDriver& driver_;
  Processes& processes_;
  NodeSetup setup_;
  std::map<std::string, std::unique_ptr<Worker>> devices_;
  std::vector<std::unique_ptr<Worker>> idle_slots_;  // that have compiled before
  Semaphore free_slots_;
  std::map<std::string, std::shared_ptr<const StoredProgram>> programs_;
  std::deque<std::string> program_order_;  // oldest first
  std::map<std::string, std::shared_ptr<RunningJob>> jobs_;
  std::int64_t epoch_ = 0;
  std::size_t timing_ = 0;  // jobs that time
  Event quiet_;             // set while there are none
  Channel<std::string> outbox_;
  TaskGroup work_;
};

}  // namespace specgen
