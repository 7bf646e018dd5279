#pragma once
// Sources that try to cheat or to do harm, each with the verdict that it must get. The first lines of such a
// file are (in
// Python with #):
//
//   // hack: what it tries
//   // task: tasks/softmax
//   // verdict: wrong                 (or all that are allowed: "ok | unstable_timing")
//   // flags: --call-limit 1s         (optional: more options for `specgen eval`)
//   // speedup: below 1.6             (optional: if the verdict is ok, it must not have gained)
//   // found: by the device           (optional, CUDA: the static checks cannot find it)
//
// "ok | unstable_timing" is for correct kernels: on a machine that other processes use a timing can be
// unsteady. Then all
// cases must have passed.

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
  std::vector<std::string> verdicts = {};  // that are allowed
  std::vector<std::string> flags = {};
  double max_speedup = 0;  // 0: any
  bool found_by_device = false;
  std::string problem = {};  // with its header; empty if there is none

  bool may_get(std::string_view verdict) const;
};

void PrintTo(const Adversary& adversary, std::ostream* out);  // for GoogleTest

// All files of a folder below tests/ with this ending, by name.
std::vector<Adversary> adversaries(const std::string& folder, std::string_view ending);

struct Judged {
  Json evaluation;
  int exit_code = -1;
  std::string output;  // of both streams
  double seconds = 0;

  std::string verdict() const { return text_at(evaluation, "verdict"); }
  const Json& evidence() const { return evaluation.at("evidence"); }
};

// Runs `specgen eval` on it, with `more` in the environment and without the settings of the user who runs the test.
Judged judge(ToolFixture& fixture, const Adversary& adversary, const std::string& device,
             std::vector<std::string> flags = {}, const std::vector<std::string>& more = {});

// What holds for every evaluation: exit code 0 only for ok, a reason for everything else, and no shape of a
// hidden case.
void expect_well_formed(const Judged& judged);
// The verdict is an allowed one, and every case of an unstable timing has passed.
void expect_allowed(const Judged& judged, const Adversary& adversary);
// A call whose time is limited by the adversary's flags is stopped soon after: half a second on a CPU, five on a GPU.
// Calls that end may take six times that together.
void expect_in_time(const Judged& judged, const Adversary& adversary, std::string_view device);

}  // namespace specgen
