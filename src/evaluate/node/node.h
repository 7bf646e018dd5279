#pragma once
// The supervisor of one evaluation host: a judge process per device, some lanes that compile, and the
// framed protocol of docs/reference/node.md with its controller. It decides nothing about order: jobs for one
// device are done as they come. A judge that dies or hangs costs its job and is replaced; a job that
// is cancelled takes its judge with it, and the next job finds a fresh one.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "evaluate/judge/judge_process.h"
#include "evaluate/node/frames.h"
#include "evaluate/node/memory_lender.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"

namespace specgen {

struct NodeDevice {
  std::string id;    // "cpu:0"
  std::string name;  // the model
};

struct NodeSetup {
  std::vector<NodeDevice> devices;
  std::size_t lanes = 1;         // that compile
  bool pause_compiling = false;  // while a device is timing: where cores are few
  JudgeSetup judge;              // for every one of them; the device is put in
  std::vector<std::string> self = {"/proc/self/exe"};
  std::string version;
  MemoryLender* lender =
      nullptr;  // who has to make room before a job; null: nobody. Outlives the node
};

class Node {
 public:
  Node(Loop& loop, RealDriver& driver, Processes& processes, NodeSetup setup);

  // Until the controller closes its end; then every judge is ended. What it says is answered on
  // `output` in whole frames.
  Task<Result<void>> serve(AsyncFd& input, AsyncFd& output);

 private:
  struct Worker {  // a judge and whose turn it is
    Worker(Loop& loop, std::string for_device) : turn(loop, 1), device(std::move(for_device)) {}
    Semaphore turn;
    std::string device;
    std::unique_ptr<JudgeProcess> judge;
    // From a job until the controller offers the device: mostly the next job follows at once, and the cache would be
    // filled and emptied between the two.
    std::shared_ptr<MemoryLender::Hold> room;
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
  Task<void> say(Json frame);
  Task<Result<void>> speak(AsyncFd& output);

  Loop& loop_;
  RealDriver& driver_;
  Processes& processes_;
  NodeSetup setup_;
  std::map<std::string, std::unique_ptr<Worker>> devices_;
  std::vector<std::unique_ptr<Worker>> lanes_;
  Semaphore free_lanes_;
  std::map<std::string, std::shared_ptr<const StoredProgram>> programs_;
  std::deque<std::string> program_order_;  // oldest first
  std::map<std::string, std::shared_ptr<RunningJob>> jobs_;
  std::int64_t epoch_ = 0;
  std::size_t timing_ = 0;  // profiles under way
  Event quiet_;             // set while there is none
  Channel<std::string> outbox_;
  TaskGroup work_;
};

}  // namespace specgen
