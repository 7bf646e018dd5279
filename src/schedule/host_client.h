#pragma once
// The client of one evaluation host. Keeps the link up, numbers jobs and epochs, and passes each answer to the
// call that
// waits for it. A duplicate, late or unexpected answer is counted and dropped; an invalid one is the host's
// failure, not
// the candidate's.
//
// Owned by the pool. Destroying a running perform() cancels the job on the host, which kills its process tree;
// settled()
// waits until that is done and the device can be used again.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/loop.h"
#include "schedule/host_link.h"
#include "schedule/job.h"

namespace specgen {

struct HostDevice {
  std::string id;    // "cpu:0"
  std::string name;  // the model
};

struct HostFacts {
  std::vector<HostDevice> devices;
  std::size_t compile_slots = 1;
  std::string version;
  bool shares_memory = false;  // of its devices with an LLM server, while they are offered
};

struct StageJob {
  Stage stage = Stage::compile;
  std::string device;                    // not for compile
  const Candidate* candidate = nullptr;  // outlives the call
  std::string program = {};              // from compile; validate, profile, tune
  Speedup screen = {};                   // from validate; profile, tune
  std::string evaluation = "null";       // from the stage before; this one adds to it
};

struct StageOutcome {
  Verdict verdict = Verdict::harness_error;
  Evidence evidence = {};
  std::string program = {};  // its name on that host: after compile, tune, and a repeated compile
  Speedup speedup = {};      // if ok. validate, tune: the screen; profile, evaluate: confirmed
  Values tunables = {};      // tune: the best
  std::string evaluation = "null";  // JSON, schema specgen.evaluation, as far as known
  std::string feedback = {};        // text for a prompt
  std::string result = "null";      // JSON: the other members of the answer
};

struct HostCounters {
  std::uint64_t connections = 0;
  std::uint64_t stale_answers = 0;     // of an earlier epoch, or for no job
  std::uint64_t repeated_answers = 0;  // a second one for the same job
  std::uint64_t invalid_messages = 0;
};

class HostClient {
 public:
  HostClient(Loop& loop, Host& host);
  ~HostClient();

  // Connects if necessary. device_failed or harness_failed: the host cannot be reached.
  Task<Result<HostFacts>> hello();
  // Errors are never the candidate's fault: the executor died, sent an invalid answer, or the host was lost. A program
  // that the host does not have (any more) is compiled there first.
  Task<Result<StageOutcome>> perform(StageJob job);
  // The device reads the task and computes the expected outputs.
  Task<Result<void>> prepare(std::string device, std::string task, Values shapes, Duration limit);
  // The same, and a new executor runs a test with a known answer.
  Task<Result<void>> canary(std::string device, std::string task, Duration limit);
  // Waits until no job of ours runs on the device. An error: the host did not confirm it, so the link was cut, which
  // ends everything that ran there.
  Task<Result<void>> settled(std::string device);

  // The device is idle: until its next job the host may share its memory.
  void offer(const std::string& device);

  const HostCounters& counters() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace specgen
