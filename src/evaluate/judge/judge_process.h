#pragma once
// A judge as a process: this program as `internal-judge`, started by `specgen eval` and by specgen-node, one per device
// and one without a device per compile slot. A judge that hangs or dies is a harness_error and is replaced; no
// other job
// is affected. Messages (judge_messages.h) go over descriptor 3; an answer has the id of its request.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "evaluate/judge/judge_messages.h"
#include "runtime/message_socket.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

// The client's side. Dropping it ends the process.
class JudgeProcess {
 public:
  using Progress = std::function<void(std::string_view)>;

  static Result<std::unique_ptr<JudgeProcess>> start(Loop& loop, RealDriver& driver,
                                                     Processes& processes,
                                                     std::vector<std::string> self,
                                                     JudgeSetup setup);

  // One job at a time. Returns the answer's `result`, or the error that ended the job. If the process
  // dies or does not answer within `limit`: harness_failed, and alive() is false.
  Task<Result<Json>> ask(std::string kind, Json job, Duration limit, Progress on_progress = {});
  bool alive() const { return alive_; }
  pid_t pid() const { return process_.pid(); }
  std::vector<Fd> descriptors;  // received with the last answer
  std::vector<int> attach;      // sent with the next job

 private:
  JudgeProcess(Loop& loop, Process process, MessageSocket socket, std::string setup);
  Task<Result<Json>> converse(std::string body, std::int64_t id, Progress on_progress);
  Task<std::string> exit_message();

  Loop& loop_;
  Process process_;
  MessageSocket socket_;
  std::string setup_;  // the first message, until it is sent
  bool alive_ = true;
  std::int64_t last_id_ = 0;
};

// The judge's side: `internal-judge`.
int run_internal_judge(std::span<const std::string> arguments);

}  // namespace specgen
