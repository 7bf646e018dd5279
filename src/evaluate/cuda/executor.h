#pragma once
// The judge's handle on a CUDA executor process (cuda_executor_process.h), which serves one
// candidate. Every request has a time limit. Dropping the handle kills the process.
//
// ExecutorPool keeps some of them warm, because one takes half a second to start. It starts new
// ones only in replenish(), so that no context is made on a device that is timing; settle() waits
// for them before a timing. The sandbox is tried first. If the driver does not work inside,
// executors run outside (they run no host code of a candidate), and note() says why.

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "evaluate/cuda/executor_protocol.h"
#include "evaluate/sandbox/sandbox.h"
#include "runtime/message_socket.h"
#include "runtime/subprocess.h"
#include "runtime/task.h"

namespace specgen {

struct ExecutorSettings {
  Loop& loop;
  RealDriver& driver;
  Processes& processes;
  std::vector<std::string> self = {"/proc/self/exe"};
  WrapCommand wrap = unsandboxed();
  int device = 0;
  Duration start_limit = std::chrono::seconds(30);
};

class Executor {
 public:
  static Result<std::unique_ptr<Executor>> start(const ExecutorSettings& settings, bool sandboxed);

  // The result of a request.
  struct Reply {
    enum class Kind { answered, late, gone } kind = Kind::answered;
    ExecutorAnswer answer = {};
    std::string report = {};  // gone: exit status and end of stderr
  };

  // An Error is a fault of ours or of the host: the request could not be sent, the answer is
  // malformed. After `late` the process has been killed.
  Task<Result<Reply>> ask(ExecutorRequest request, Duration limit,
                          std::vector<int> descriptors = {});
  // The two halves of ask(), to prepare the next request while the executor works on the last.
  Task<Result<void>> send(ExecutorRequest request, std::vector<int> descriptors = {});
  Task<Result<Reply>> receive(Duration limit);
  // Tools, baseline and candidate.
  Task<Result<Reply>> load(std::string tools, std::string baseline, std::string candidate);
  // An Error if it does not answer or the answer is not ok.
  Task<Result<void>> wait_until_ready(Duration limit);
  // Runs one of our own kernels, whose result is known. An Error: the device does not work.
  Task<Result<void>> canary();

  // The number of imported pieces of memory, and so the number of the next one.
  std::size_t imported() const { return imported_; }
  pid_t pid() const { return process_.pid(); }
  void kill() { process_.kill(); }
  bool sandboxed() const { return sandboxed_; }

 private:
  Executor(Loop& loop, SandboxedCommand command, Process process, MessageSocket socket,
           bool sandboxed)
      : loop_(loop),
        command_(std::move(command)),
        process_(std::move(process)),
        socket_(std::move(socket)),
        sandboxed_(sandboxed) {}

  Loop& loop_;
  SandboxedCommand command_;  // its resources must outlive the process
  Process process_;
  MessageSocket socket_;
  bool sandboxed_;
  bool ready_ = false;
  std::size_t imported_ = 0;
};

class ExecutorPool {
 public:
  explicit ExecutorPool(ExecutorSettings settings) : settings_(std::move(settings)) {}

  // A warm executor or a new one; it is ready.
  Task<Result<std::unique_ptr<Executor>>> take();
  Result<void> replenish(std::size_t min, std::size_t target);  // see ReadyPool
  Task<Result<void>> settle();  // waits until all have made their contexts
  // A candidate has crashed an executor: the device is in doubt until a canary has run.
  void doubt_device() { is_device_in_doubt_ = true; }
  void trust_device() { is_device_in_doubt_ = false; }
  bool is_device_in_doubt() const { return is_device_in_doubt_; }
  std::size_t warm() const { return waiting_.size(); }
  const std::string& note() const {
    return note_;
  }  // why executors run outside the sandbox; usually empty

 private:
  ExecutorSettings settings_;
  std::deque<std::unique_ptr<Executor>> waiting_;
  bool sandbox_works_ = true;
  bool is_device_in_doubt_ = false;
  std::string note_;
};

}  // namespace specgen
