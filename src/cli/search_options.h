#pragma once
// What `specgen optimize` and `specgen probe` can be asked for, and the options that both have: the model, the devices,
// the budgets, the run's folder.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"

namespace CLI {
class App;
}

namespace specgen {

struct SearchOptions {
  std::vector<std::string> tasks = {};
  std::string model = "author";
  std::string workflow = "refine";
  bool speculate = true;
  bool harvest = true;
  bool forks = true;
  bool tune = true;
  std::string criterion = "beats-mean";
  // Not given: those of the resumed run, else the defaults. 0: no limit.
  std::optional<std::int64_t> iterations = {};  // of each task
  std::optional<Duration> time_budget = {};
  std::optional<std::int64_t> token_budget = {};
  std::optional<double> cost_budget = {};
  std::int64_t max_tokens = 32'768;
  std::string devices = "auto";
  std::string kv = {};         // SIZE[,device=SIZE]: memory for a KV cache; empty: none
  std::string kv_listen = {};  // empty: the default address
  std::string pool = "elastic";
  std::string start = {};  // a kernel to start from
  double shadow = 0;
  double study_step = 0;  // `specgen probe`: forks at every such share of a stream; 0: no study
  bool study_control = false;
  std::int64_t thinkers = 0;  // concurrent reasoning generations of a task; 0: no limit
  std::string record = {};    // a cassette to record the model's answers into
  std::string out = {};
  std::string resume = {};  // a run folder
  std::uint64_t seed = 0;
  std::map<std::string, std::int64_t> shapes = {};
  bool model_new = false;  // candidates of Python tasks are Python modules
  bool json = false;

  std::set<std::string> given = {};  // the flags on the command line, for --resume

  // `rounds` is the name of their budget, such as "--iterations".
  void add_shared_to(CLI::App& app, const char* rounds, const char* rounds_help);
  // Checks the shared options after parsing; the first invalid one is the error.
  Result<void> validate(const CLI::App& app, const char* rounds);
};

}  // namespace specgen
