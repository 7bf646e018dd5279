#pragma once
// For tests of the author's plans: a node that judges what they write, one candidate after the other.
// A task's references are computed once for all of them, and nothing is timed for longer than a screen
// takes.

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/json.h"
#include "base/random.h"
#include "evaluate/node/frames.h"
#include "evaluate/task/kernel_task.h"
#include "generate/author/kernel_plan.h"
#include "runtime/race.h"
#include "support/program_fixture.h"

namespace specgen {

class PlanJudge {
 public:
  struct Ruling {
    std::string verdict;
    std::string text;  // why
  };

  PlanJudge() : process_(started(host_)), frames_(*process_.output) { next(); }  // its greeting

  // `task` is a title. What is right must be found right, but a machine that others use may be too
  // unsteady to time, or too busy to be had at once.
  Ruling judge(const std::string& task, const std::string& source) {
    constexpr int kTries = 8;
    Ruling ruling;
    for (int i = 0; i < kTries; ++i) {
      ruling = judge_once(task, source);
      if (ruling.verdict != "unstable_timing" && ruling.verdict != "error") break;
    }
    return ruling;
  }

 private:
  using Object = boost::json::object;

  static Process started(ProgramFixture& host) {
    Command command = host.command({SPECGEN_NODE_BINARY, "--devices", "cpu:0"});
    command.time_limit = std::chrono::hours(1);
    auto process = host.fixture.processes.spawn(std::move(command));
    SG_ASSERT(process.has_value(), "the node does not start");
    return std::move(*process);
  }

  Json next() {
    auto frame = host_.fixture.run(
        with_timeout(host_.fixture.loop, std::chrono::minutes(3), frames_.next(), "a frame"));
    if (!frame || !*frame) return Object{{"event", "error"}, {"error", "the node has gone"}};
    return parse_json(**frame).value();
  }

  Json ask(std::string_view kind, const std::string& task, Object more) {
    more["job"] = "j" + std::to_string(++jobs_);
    more["epoch"] = 1;
    more["do"] = kind;
    more["backend"] = "cpu";
    more["device"] = "cpu:0";
    more["task"] = std::string(SPECGEN_SOURCE_DIR "/tasks/") + task;
    auto write = [](AsyncFd& pipe, std::string all) -> Task<Result<void>> {
      co_return co_await pipe.write_all(all);
    };
    if (!host_.fixture.run(write(*process_.input, framed(more)))) {
      return Object{{"event", "error"}, {"error", "the node does not listen"}};
    }
    while (true) {
      Json answer = next();
      if (text_at(answer, "event") != "progress") return answer;
    }
  }

  static Ruling ruling_of(const Json& answer) {
    const Json* result = member_at(answer, "result");
    const Json* finding = result ? member_at(*result, "finding") : nullptr;
    if (!finding) return {"error", compact_json(answer)};
    return {text_at(*finding, "verdict"), text_at(finding->at("evidence"), "text")};
  }

  Ruling judge_once(const std::string& task, const std::string& source) {
    Json compiled = ask("compile", task, {{"source", source}});
    Ruling ruling = ruling_of(compiled);
    if (ruling.verdict != "ok") return ruling;
    return ruling_of(
        ask("validate", task, {{"program", text_at(compiled.at("result"), "program")}}));
  }

  ProgramFixture host_{SPECGEN_TEST_CACHE};
  Process process_;
  FrameReader frames_;
  int jobs_ = 0;
};

inline std::vector<KernelTask> shipped_tasks() {
  std::vector<KernelTask> tasks;
  auto listed = list_tasks(SPECGEN_SOURCE_DIR "/tasks");
  SG_ASSERT(listed.has_value(), "there are no tasks");
  for (ListedTask& each : *listed) {
    SG_ASSERT(each.task.has_value(), "a task that ships does not load");
    tasks.push_back(std::move(*each.task));
  }
  return tasks;
}

inline std::string test_name(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::ranges::replace(name, ':', '_');
  return name;
}

inline Decisions boldest(const KernelPlan& plan) {
  Decisions made;
  for (const Decision& each : plan.decisions()) made[each.name] = each.choices.back().value;
  return made;
}

inline Decisions any_choices(const KernelPlan& plan, Random& chance) {
  Decisions made;
  for (const Decision& each : plan.decisions()) {
    made[each.name] = each.choices[chance.below(each.choices.size())].value;
  }
  return made;
}

}  // namespace specgen
