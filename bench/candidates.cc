#include "candidates.h"

#include <boost/json.hpp>
#include <filesystem>

#include "base/file.h"
#include "figures.h"

namespace specgen {
namespace {

constexpr Duration kLimit = std::chrono::minutes(5);

std::string verdict_in(const Json& result) {
  const Json* finding = member_at(result, "finding");
  return finding ? text_at(*finding, "verdict") : "";
}

std::string evidence_in(const Json& result) {
  const Json* finding = member_at(result, "finding");
  const Json* evidence = finding ? member_at(*finding, "evidence") : nullptr;
  return evidence ? text_at(*evidence, "text") : "";
}

}  // namespace

std::filesystem::path source_folder(std::string_view name) {
  return program_folder() / ".." / ".." / ".." / name;
}

WarmJudge::WarmJudge(Loop& loop, RealDriver& driver, Processes& processes, std::string device)
    : loop_(loop) {
  JudgeSetup setup{.device = std::move(device)};
  auto judge = JudgeProcess::start(loop, driver, processes,
                                   {(program_folder() / "specgen-node").string()}, setup);
  if (judge) judge_ = std::move(*judge);
}

Result<Json> WarmJudge::ask(const std::string& kind, Json job) {
  if (!judge_) return fail(ErrorCode::harness_failed, "no judge");
  return loop_.run(judge_->ask(kind, std::move(job), kLimit));
}

Result<double> WarmJudge::prepare(const std::string& task) {
  Stopwatch watch;
  TRY(ask("prepare", {{"task", task}}));
  return watch.seconds();
}

Result<Json> WarmJudge::evaluate(const std::string& task, const std::string& source) {
  return ask("evaluate", {{"task", task}, {"source", source}});
}

Result<Passage> WarmJudge::pass(const std::string& task, const std::string& source, bool profile) {
  Passage passage;
  Stopwatch compiling;
  Json compiled = TRY(ask("compile", {{"task", task}, {"source", source}}));
  passage.compile_s = compiling.seconds();
  passage.verdict = verdict_in(compiled);
  passage.evidence = evidence_in(compiled);
  if (passage.verdict != "ok") return passage;
  passage.breakdown_ms["compiler"] = number_at(compiled, "took_ms");
  const Json program = *member_at(compiled, "program");
  std::vector<Fd> binary = std::move(judge_->descriptors);

  Stopwatch validating;
  judge_->attach = {binary.front().get()};
  Json validated = TRY(ask("validate", {{"task", task}, {"program", program}}));
  passage.validate_s = validating.seconds();
  passage.verdict = verdict_in(validated);
  passage.evidence = evidence_in(validated);
  if (const Json* breakdown = member_at(validated, "breakdown_ms")) {
    for (const auto& [what, time] : breakdown->as_object()) {
      passage.breakdown_ms[std::string(what)] = time.to_number<double>();
    }
  }
  passage.breakdown_ms["compile: not the compiler"] =
      1e3 * passage.compile_s - passage.breakdown_ms["compiler"];
  passage.breakdown_ms["validate: not the judge"] =
      1e3 * passage.validate_s - passage.breakdown_ms["in all"];
  const Json* screen = member_at(validated, "screen");
  if (passage.verdict != "ok" || !screen) return passage;
  passage.speedup = number_at(*screen, "median");
  if (!profile) return passage;

  Stopwatch profiling;
  judge_->attach = {binary.front().get()};
  Json profiled = TRY(ask("profile", {{"task", task}, {"program", program}, {"screen", *screen}}));
  passage.profile_s = profiling.seconds();
  passage.verdict = verdict_in(profiled);
  passage.evidence = evidence_in(profiled);
  if (const Json* speedup = member_at(profiled, "speedup")) {
    passage.speedup = number_at(*speedup, "median");
  }
  return passage;
}

}  // namespace specgen
