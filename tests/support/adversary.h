#pragma once
// Sources that try to cheat or to do harm, each with the verdict that it must get. The first lines
// of such a file are (in Python with #):
//
//   // hack: what it tries
//   // task: tasks/softmax
//   // verdict: wrong
//   // flags: --call-limit 1s         (optional: more words for `specgen eval`)
//   // speedup: below 1.6             (optional, of an ok: it must not gain by what it tries)
//   // found: by the device           (optional, CUDA: nothing static can tell)

#include <boost/json.hpp>
#include <filesystem>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "evaluate/host/fake_tools.h"

namespace specgen {

struct Adversary {
  std::filesystem::path file = {};
  std::string name = {};  // of the file, without its ending
  std::string what = {};
  std::string task = {};
  std::string verdict = {};
  std::vector<std::string> flags = {};
  double max_speedup = 0;  // 0: any
  bool found_by_device = false;
  std::string problem = {};  // with its header; empty if there is none
};

void PrintTo(const Adversary& adversary, std::ostream* out);  // for GoogleTest

// All files of a folder below tests/ with this ending, by name.
std::vector<Adversary> adversaries(const std::string& folder, std::string_view ending);

struct Judged {
  Json evaluation;
  int exit_code = -1;
  std::string said;  // on both streams
  double seconds = 0;

  std::string verdict() const { return text_at(evaluation, "verdict"); }
  const Json& evidence() const { return evaluation.at("evidence"); }
};

// Runs `specgen eval` on it. The environment gets `more`; settings of whoever runs this are not
// seen.
Judged judge(ToolFixture& fixture, const Adversary& adversary, const std::string& device,
             std::vector<std::string> flags = {}, const std::vector<std::string>& more = {});

// What every evaluation keeps to: exit code 0 for ok alone, a reason for all else, and no number
// of a hidden case.
void expect_well_told(const Judged& judged);
// A call whose time is limited by the adversary's flags is stopped soon after: half a second on a CPU, five on a GPU.
// Calls that end may take six times that together.
void expect_in_time(const Judged& judged, const Adversary& adversary, std::string_view device);

}  // namespace specgen
