#pragma once
// What `specgen optimize` was asked to do.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"

namespace specgen {

struct Optimize {
  std::vector<std::string> tasks;
  std::string model = "author";
  std::string workflow = "refine";
  bool speculate = true;
  bool harvest = true;
  bool forks = true;
  bool tune = true;
  std::string criterion = "beats-mean";
  // Not given: as the resumed run has them, else the usual. 0: no limit.
  std::optional<std::int64_t> iterations = {};  // of each task
  std::optional<Duration> time_budget = {};
  std::optional<std::int64_t> token_budget = {};
  std::optional<double> cost_budget = {};
  std::int64_t max_tokens = 32'768;
  std::string devices = "auto";
  std::string kv;         // SIZE[,device=SIZE]: memory that is lent to the LLM server; empty: none
  std::string kv_listen;  // where; empty: the usual address
  std::string pool = "elastic";
  std::string start;  // a kernel to begin from
  double shadow = 0;
  double study_step = 0;  // `specgen probe`: a fork at every such share of a stream; 0: no study
  bool study_control = false;
  std::int64_t thinkers = 0;  // generations that think at once, of a task; 0: no limit
  std::string record;         // a cassette to record the model's answers into
  std::string out;
  std::string resume;  // a run folder
  std::uint64_t seed = 0;
  std::map<std::string, std::int64_t> shapes;
  bool model_new = false;  // candidates of Python tasks are Python modules
  bool json = false;
};

}  // namespace specgen
