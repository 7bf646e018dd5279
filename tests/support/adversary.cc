#include "support/adversary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "base/environment.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"

namespace specgen {
namespace fs = std::filesystem;
namespace {

Adversary read_header(const fs::path& file) {
  Adversary adversary{.file = file, .name = file.stem().string()};
  std::string text = read_file(file).value_or("");
  for (std::string_view line : split(text, '\n')) {
    const std::string_view comment = file.extension() == ".py" ? "# " : "// ";
    if (!line.starts_with(comment)) break;
    std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) break;
    std::string_view key = line.substr(comment.size(), colon - comment.size());
    std::string value(trim(line.substr(colon + 2)));
    if (key == "hack") {
      adversary.what = value;
    } else if (key == "task") {
      adversary.task = value;
    } else if (key == "verdict") {
      for (std::string_view verdict : split(value, '|'))
        adversary.verdicts.emplace_back(trim(verdict));
    } else if (key == "flags") {
      for (std::string_view word : split(value, ' ')) adversary.flags.emplace_back(word);
    } else if (key == "speedup" && value.starts_with("below ")) {
      adversary.max_speedup = std::stod(value.substr(6));
    } else if (key == "found") {
      adversary.found_by_device = value == "by the device";
    } else {
      break;
    }
  }
  if (adversary.what.empty() || adversary.task.empty() || adversary.verdicts.empty()) {
    adversary.problem = "its first lines must be hack:, task: and verdict:";
  }
  return adversary;
}

}  // namespace

bool Adversary::may_get(std::string_view verdict) const {
  return std::ranges::find(verdicts, verdict) != verdicts.end();
}

void PrintTo(const Adversary& adversary, std::ostream* out) {
  *out << adversary.file.filename().string() << " (" << adversary.what << ")";
}

std::vector<Adversary> adversaries(const std::string& folder, std::string_view ending) {
  std::vector<Adversary> all;
  std::error_code trouble;
  for (const auto& entry :
       fs::directory_iterator(fs::path(SPECGEN_SOURCE_DIR) / "tests" / folder, trouble)) {
    if (entry.path().extension() == ending) all.push_back(read_header(entry.path()));
  }
  std::ranges::sort(all, {}, &Adversary::name);
  return all;
}

Judged judge(ToolFixture& fixture, const Adversary& adversary, const std::string& device,
             std::vector<std::string> flags, const std::vector<std::string>& more) {
  std::vector<std::string> environment = whole_environment();
  auto set = [&](const std::string& variable) {
    std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(environment, [&](const std::string& each) { return each.starts_with(name); });
    environment.push_back(variable);
  };
  // One home for all tests of a build, which caches ceilings and compiled references.
  const fs::path home(SPECGEN_TEST_HOME);
  std::error_code trouble;
  fs::create_directories(home, trouble);
  set("HOME=" + home.string());
  set("XDG_CONFIG_HOME=" + (home / "config").string());
  set("XDG_CACHE_HOME=" + (home / "cache").string());
  for (const std::string& variable : more) set(variable);

  std::vector<std::string> argv{
      SPECGEN_BINARY, "eval",   (fs::path(SPECGEN_SOURCE_DIR) / adversary.task).string(),
      adversary.file, "--json", "--device",
      device};
  argv.insert(argv.end(), adversary.flags.begin(), adversary.flags.end());
  argv.insert(argv.end(), flags.begin(), flags.end());
  Judged judged;
  Time start = fixture.loop.now();
  auto finished = fixture.run(fixture.processes.run({.argv = std::move(argv),
                                                     .environment = std::move(environment),
                                                     .folder = home,
                                                     .time_limit = std::chrono::seconds(200)}));
  judged.seconds = seconds(fixture.loop.now() - start);
  judged.evaluation = boost::json::object{{"verdict", ""}, {"evidence", boost::json::object()}};
  if (!finished) {
    ADD_FAILURE() << finished.error().text();
    return judged;
  }
  judged.exit_code = finished->exit.code;
  judged.output = finished->output + finished->error_output;
  auto json = parse_json(finished->output);
  if (!json || !json->is_object()) {
    ADD_FAILURE() << "no JSON: " << judged.output;
    return judged;
  }
  judged.evaluation = std::move(*json);
  return judged;
}

void expect_well_formed(const Judged& judged) {
  const bool ok = judged.verdict() == "ok";
  EXPECT_EQ(judged.exit_code, ok ? 0 : 1) << judged.output;
  EXPECT_EQ(text_at(judged.evidence(), "text").empty(), ok) << judged.output;
  if (const Json* cases = member_at(judged.evaluation, "cases"); cases && cases->is_array()) {
    for (const Json& one : cases->get_array()) {
      if (!flag_at(one, "hidden")) continue;
      EXPECT_EQ(text_at(one, "name").find_first_of("=0123456789"), std::string::npos)
          << "the name reveals a hidden shape: " << text_at(one, "name");
    }
  }
  if (text_at(judged.evidence(), "case").starts_with("hidden")) {
    EXPECT_TRUE(judged.evidence().at("worst").is_null()) << judged.output;
    EXPECT_EQ(text_at(judged.evidence(), "text").find_first_of("[]="), std::string::npos)
        << "the evidence reveals a hidden shape: " << judged.output;
  }
}

void expect_allowed(const Judged& judged, const Adversary& adversary) {
  EXPECT_TRUE(adversary.may_get(judged.verdict())) << judged.output;
  if (judged.verdict() != "unstable_timing") return;
  for (const Json& one : judged.evaluation.at("cases").as_array()) {
    EXPECT_EQ(text_at(one, "status"), "passed") << judged.output;
  }
}

void expect_in_time(const Judged& judged, const Adversary& adversary, std::string_view device) {
  auto flag = std::ranges::find(adversary.flags, "--call-limit");
  if (flag == adversary.flags.end() || flag + 1 == adversary.flags.end()) return;
  const bool do_calls_end = text_at(judged.evidence(), "text").contains("together");
  const double limit_ms =
      (do_calls_end ? 7 : 1) * 1e3 * seconds(parse_duration(*(flag + 1)).value());
  const double late_ms = device.starts_with("cuda") ? 5000 : 500;
  const Json* timings = member_at(judged.evaluation, "timings_ms");
  ASSERT_NE(timings, nullptr) << judged.output;
  EXPECT_LT(number_at(*timings, "validate"), limit_ms + late_ms) << judged.output;
}

}  // namespace specgen
