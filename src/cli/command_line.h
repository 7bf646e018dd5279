#pragma once
// From words to what is to be done, for both programs. The parser behind it stays in
// command_line.cc; what it complains about comes out as an Error in our own words.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "cli/kv_command.h"
#include "cli/node_kv_words.h"
#include "cli/optimize_command.h"
#include "evaluate/host/sandbox_features.h"

namespace specgen {

struct ShowText {  // help or version
  std::string text;
  bool asked_for = true;  // else it is an answer to bad usage: standard error, exit code 2
};

struct CheckHost {  // `specgen doctor`, `specgen-node --check`
  bool json = false;
  Duration time_limit = std::chrono::seconds(20);
};

struct ProbeModel {  // `specgen doctor --model`
  std::string spec;
  bool json = false;
  Duration time_limit = std::chrono::seconds(60);
};

struct EvaluateCandidate {  // `specgen eval`
  std::string task;
  std::string candidate;
  std::string device = "cpu:0";
  bool json = false;
  std::map<std::string, std::int64_t> tunables;  // --set NAME=N
  std::map<std::string, std::int64_t> shapes;    // --shape NAME=N, of a PyTorch task
  bool model_new = false;                        // the candidate is a Python module
  bool counters = false;                         // hardware counters, which take seconds
  SandboxLevel require_sandbox = SandboxLevel::lsm;
  SandboxLevel sandbox_at_most = SandboxLevel::full;  // --sandbox-at-most, which help does not show
  bool allow_unsandboxed = false;
  std::optional<std::string> secret;  // 32 hex digits, to repeat an evaluation
  std::vector<std::string> include_folders;
  Duration call_limit = std::chrono::seconds(10);
  Duration time_limit = std::chrono::minutes(10);
};

struct ListTasks {     // `specgen tasks`
  std::string folder;  // empty: the ones that ship
  bool check = false;
  bool json = false;
  std::string device = "cpu:0";
};

struct NewTask {  // `specgen new`
  std::string name;
};

struct ServeAuthor {  // `specgen author`
  std::string listen;
  std::string pace;
  std::uint64_t seed = 0;
  std::optional<double> mistakes;  // the rate; the author's own if not given
};

struct RecordCassette {  // `specgen record`
  std::string listen;
  std::string upstream;
  std::string out;
  bool append = false;
};

struct ReplayCassette {  // `specgen replay`
  std::string file;
  std::string listen;
  std::string pace = "original";
};

struct ShowTriggers {  // `specgen triggers`
  std::string file;    // a text, a cassette, or - for standard input
  std::string model;   // whose patterns; empty: as the cassette says, else any
  std::string backend = "cuda";
  std::string set;  // a file instead of those that ship
  bool json = false;
};

struct ReportRun {  // `specgen report`
  std::string run;
  std::string html;  // empty: into the run's folder
  bool json = false;
};

struct ListRuns {      // `specgen runs`
  std::string folder;  // empty: where the settings say
  bool clean = false;
  bool json = false;
};

struct VerifyRun {  // `specgen verify`
  std::string run;
  std::string task;    // empty: the only one
  std::string device;  // empty: where the winner was judged
  bool json = false;
};

struct ExportRun {  // `specgen export`
  std::string run;
  std::string as;
  std::string task;
  std::string out;
};

struct SimulateScenario {  // `specgen simulate`
  std::string scenario;
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  std::string pictures;  // a folder; empty: none
  bool json = false;
};

struct CompareSystems {  // `specgen compare`
  bool is_virtual = false;
  std::vector<std::string> scenarios;  // empty: those of the paper
  std::string systems;                 // with commas; empty: all, or for real the peers and specgen
  std::string tasks;                   // with commas; for real; empty: the usual ones
  std::string pace;                    // of the author; for real; empty: the usual one
  std::string devices;                 // for real; empty: all
  bool over_http = false;              // for real
  std::uint64_t seeds = 0;             // 0: the usual number
  std::int64_t iterations = 0;         // 0: as the scenario says, or for real the usual number
  bool sweep = false;
  std::string html;
  std::string out;
  bool json = false;
};

struct ServeNode {  // `specgen-node`
  std::vector<std::string> devices;
  std::string compiler;  // programs to use instead of those found; empty: those
  std::string python;
  std::string ncu;
  std::optional<ServeKv> kv;
};

struct InternalProbe {  // our own child, see evaluate/internal_probe.h
  std::string what;
};

struct Invocation {
  std::optional<std::filesystem::path> config;
  std::variant<ShowText, CheckHost, InternalProbe, EvaluateCandidate, ListTasks, NewTask, ServeNode,
               ProbeModel, ServeAuthor, RecordCassette, ReplayCassette, ShowTriggers, ReportRun,
               ListRuns, VerifyRun, ExportRun, Optimize, SimulateScenario, CompareSystems,
               ConfigureKv, ShowKvStats, ServeKvGateway>
      what;
};

// Without the program's name.
Result<Invocation> parse_specgen(std::span<const std::string> words);
Result<Invocation> parse_node(std::span<const std::string> words);

}  // namespace specgen
