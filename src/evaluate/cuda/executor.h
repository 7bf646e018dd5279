#pragma once
// The judge's hold on an executor process: asks, waits no longer than it is told to, and kills.
// An executor serves one candidate. Dropping the handle kills the process.
//
// ExecutorPool keeps some of them warm, for one takes half a second to start. It grows only when it is
// asked to (replenish), so that no context is made on a device that is timing; whoever times lets
// those that were started get ready first (settle), so it is better to start many and seldom. The sandbox is tried
// first; where the driver does not work inside it, executors run outside (they run no host code of
// a candidate), and note() says so.

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

  // What came of a request: an answer, or none.
  struct Reply {
    enum class Kind { answered, late, gone } kind = Kind::answered;
    ExecutorAnswer answer = {};
    std::string words = {};  // gone: how it ended, and its last words
  };

  // An Error is ours or the host's: the request could not be sent, the answer made no sense. After
  // `late` the process has been killed.
  Task<Result<Reply>> ask(ExecutorRequest request, Duration limit,
                          std::vector<int> descriptors = {});
  // The two halves of it, for requests that it works on while the next is made.
  Task<Result<void>> send(ExecutorRequest request, std::vector<int> descriptors = {});
  Task<Result<Reply>> receive(Duration limit);
  // Tools, baseline and candidate.
  Task<Result<Reply>> load(std::string tools, std::string baseline, std::string candidate);
  // Answered and ok, or an Error with what is wrong.
  Task<Result<void>> wait_until_ready(Duration limit);
  // Runs a kernel of ours, one of the tools that are loaded, whose answer is known. An Error: the device does not work.
  Task<Result<void>> canary();

  // How many pieces of memory it was asked to import: the number of the next.
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

  // A warm one, or a new one; it is ready.
  Task<Result<std::unique_ptr<Executor>>> take();
  Result<void> replenish(std::size_t least, std::size_t full);  // see Device
  Task<Result<void>> settle();  // until those that were started have made their contexts
  // A candidate has brought one down: until somebody's canary has answered, nobody knows what else it did.
  void doubt_device() { is_device_in_doubt_ = true; }
  void trust_device() { is_device_in_doubt_ = false; }
  bool is_device_in_doubt() const { return is_device_in_doubt_; }
  std::size_t warm() const { return waiting_.size(); }
  const std::string& note() const { return note_; }  // why there is no sandbox; usually empty

 private:
  ExecutorSettings settings_;
  std::deque<std::unique_ptr<Executor>> waiting_;
  bool sandbox_works_ = true;  // until it has not
  bool is_device_in_doubt_ = false;
  std::string note_;
};

}  // namespace specgen
