#pragma once
// Sends candidates through a warm judge, as a controller does, to measure what users experience.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "evaluate/judge/judge_process.h"
#include "runtime/subprocess.h"

namespace specgen {

// One candidate from source to feedback.
struct Passage {
  std::string verdict;  // of the last step
  std::string evidence;
  double compile_s = 0;
  double validate_s = 0;
  double profile_s = 0;
  double speedup = 0;
  std::map<std::string, double> breakdown_ms = {};  // of the validation, as measured by the judge
  double validated_s() const { return compile_s + validate_s; }
  double profiled_s() const { return compile_s + validate_s + profile_s; }
};

class WarmJudge {
 public:
  // Uses the specgen-node in the folder of this program.
  WarmJudge(Loop& loop, RealDriver& driver, Processes& processes, std::string device);

  Result<double> prepare(const std::string& task);  // seconds
  Result<Json> evaluate(const std::string& task,
                        const std::string& source);  // docs/reference/json.md
  Result<Passage> pass(const std::string& task, const std::string& source, bool profile);

 private:
  Result<Json> ask(const std::string& kind, Json job);

  Loop& loop_;
  std::unique_ptr<JudgeProcess> judge_;
};

std::filesystem::path source_folder(std::string_view name);  // tasks/, bench/ of the source tree

}  // namespace specgen
