#pragma once
// The asking side of one evaluation host. Keeps the link up, numbers jobs and epochs, and gives each answer to
// the one that asked for it: an answer that comes twice, late, or for a job nobody asked for is counted and dropped;
// one that cannot be understood is the host's failure, not the candidate's.
//
// Owned by the pool. Destroying a perform() that runs cancels the job on the host, which kills its process tree;
// settled() tells when that is over and the device may be given to somebody else.

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
  std::size_t lanes = 1;
  std::string version;
  bool lends = false;  // memory of its devices, while they are offered
};

struct StageJob {
  Stage stage = Stage::compile;
  std::string device;                    // not for compile
  const Candidate* candidate = nullptr;  // outlives the call
  std::string program = {};              // from compile; validate, profile, tune
  Speedup screen = {};                   // from validate; profile, tune
  std::string evaluation = "null";       // what the stage before told; this one adds to it
};

struct StageOutcome {
  Verdict verdict = Verdict::harness_error;
  Evidence evidence = {};
  std::string program =
      {};                // compile, tune, and where it was compiled again: its name on that host
  Speedup speedup = {};  // of what is ok: validate, tune: the screen; profile, evaluate: confirmed
  Values tunables = {};  // tune: the best
  std::string evaluation = "null";  // JSON, schema specgen.evaluation, as far as it is known
  std::string feedback = {};        // text for a prompt
  std::string result = "null";      // JSON: all else that the host told
};

struct HostCounters {
  std::uint64_t connections = 0;
  std::uint64_t stale_answers = 0;     // of a former epoch, or for no job
  std::uint64_t repeated_answers = 0;  // a second one for the same job
  std::uint64_t nonsense = 0;
};

class HostClient {
 public:
  HostClient(Loop& loop, Host& host);
  ~HostClient();

  // Connects if need be. device_failed or harness_failed: the host cannot be reached.
  Task<Result<HostFacts>> hello();
  // Errors are never the candidate's fault: the executor died, answered nonsense, the host was lost. A program that
  // the host does not know (any more) is compiled there again first.
  Task<Result<StageOutcome>> perform(StageJob job);
  // The device reads the task and computes what is expected of its candidates.
  Task<Result<void>> prepare(std::string device, std::string task, Values shapes, Duration limit);
  // The same, and a fresh executor is asked something with a known answer.
  Task<Result<void>> canary(std::string device, std::string task, Duration limit);
  // Until nothing of ours runs on the device. An error: the host does not say; the link was cut, and with it all
  // that ran there.
  Task<Result<void>> settled(std::string device);

  // Nothing of ours will run there for now: until the next job the host may lend the device's memory.
  void offer(const std::string& device);

  const HostCounters& counters() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace specgen
