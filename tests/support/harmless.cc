#include "support/harmless.h"

#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <map>

#include "base/file.h"
#include "base/text.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

// A compiler is stopped by its limit on memory or time, and filling memory takes a while.
double max_seconds(const Adversary& adversary) {
  return adversary.may_get("compile_error") ? 90 : 30;
}

std::string unique_marker() {
  static int count = 0;
  return "SPECGEN_POISON_MARKER=" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

std::vector<std::string> numbered_processes() {
  std::vector<std::string> numbers;
  std::error_code trouble;
  for (const auto& entry : fs::directory_iterator("/proc", trouble)) {
    std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos) numbers.push_back(name);
  }
  return numbers;
}

// Processes that have the marker in their environment or descend from this test. In the sandbox the environment is
// another one, but its pid namespace ends with its first process, so what survives a sandbox is a descendant of ours.
std::vector<std::string> survivors(const std::string& marker) {
  std::vector<std::string> found;
  std::map<std::string, std::string> parents;
  for (const std::string& number : numbered_processes()) {
    const std::string folder = "/proc/" + number;
    std::string stat = read_file(folder + "/stat").value_or("");
    std::size_t end_of_name = stat.rfind(')');
    if (end_of_name == std::string::npos) continue;  // it has just ended
    auto fields = split(std::string_view(stat).substr(end_of_name + 2), ' ');
    if (fields.size() < 2 || fields[0] == "Z") continue;
    parents[number] = std::string(fields[1]);
    if (read_file(folder + "/environ").value_or("").contains(marker)) found.push_back(stat);
  }
  const std::string self = std::to_string(::getpid());
  for (const auto& [number, parent] : parents) {
    std::string at = parent;
    for (int steps = 0; steps < 64 && at != self && parents.contains(at); ++steps) at = parents[at];
    if (at == self) found.push_back("process " + number);
  }
  return found;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

}  // namespace

void expect_harmless(ToolFixture& fixture, const Adversary& adversary,
                     const std::vector<std::string>& flags) {
  ASSERT_EQ(adversary.problem, "");
  const std::string marker = unique_marker();
  Judged judged = judge(fixture, adversary, "cpu:0", flags, {marker});
  expect_allowed(judged, adversary);
  expect_well_formed(judged);
  const Json* timings = member_at(judged.evaluation, "timings_ms");
  ASSERT_NE(timings, nullptr) << judged.output;
  EXPECT_LT(number_at(*timings, "total"), 1e3 * max_seconds(adversary)) << judged.output;
  EXPECT_EQ(joined(survivors(marker)), "");
}

}  // namespace specgen
