#include "evaluate/judge/task_check.h"

#include <fmt/core.h>

#include <boost/json.hpp>

namespace specgen {
namespace {

constexpr Duration kCheckLimit = std::chrono::minutes(5);

Backend backend_of(std::string_view device) {
  return device.starts_with("cuda") ? Backend::cuda : Backend::cpu;
}

// Whether the task is refused rather than not tested. A judge that dies does so with the task's code.
bool is_fault_of_task(const Error& error) {
  return error.code == ErrorCode::bad_task || error.code == ErrorCode::bad_expression ||
         error.code == ErrorCode::harness_failed;
}

std::string first_fault(const Json& answer) {
  const Json* faults = member_at(answer, "faults");
  if (!faults || !faults->is_array() || faults->get_array().empty()) return "it is not admitted";
  const Json& fault = faults->get_array()[0];
  return fmt::format("{} {} [{}]", text_at(fault, "variant"), text_at(fault, "text"),
                     text_at(fault, "case"));
}

}  // namespace

std::string to_string(const BaselineCheck& check) {
  switch (check.state) {
    case BaselineCheck::State::admitted:
      return "admitted";
    case BaselineCheck::State::refused:
      return "refused: " + check.reason;
    case BaselineCheck::State::not_checked:
      return "not checked: " + check.reason;
  }
  return "";
}

Task<Result<std::vector<BaselineCheck>>> TaskChecker::check(const KernelTask& task,
                                                            std::string where) {
  std::vector<BaselineCheck> all;
  for (Backend backend : {Backend::cpu, Backend::cuda}) {
    if (!task.has(backend)) continue;
    std::string device = backend == Backend::cuda ? "cuda:0" : "cpu:0";
    if (!device_.empty() && backend_of(device_) != backend) {
      all.push_back({.backend = backend, .reason = "--device " + device_});
      continue;
    }
    if (!device_.empty()) device = device_;
    all.push_back(CO_TRY(co_await check_on(backend, std::move(device), where)));
  }
  co_return all;
}

Task<Result<BaselineCheck>> TaskChecker::check_on(Backend backend, std::string device,
                                                  std::string where) {
  using State = BaselineCheck::State;
  if (has_no_gpu_ && backend == Backend::cuda) {
    co_return BaselineCheck{.backend = backend, .reason = "no GPU"};
  }
  auto answer = co_await ask_(device, std::move(where));
  if (answer && flag_at(*answer, "admitted")) {
    co_return BaselineCheck{
        .backend = backend, .state = State::admitted, .checks = int_at(*answer, "checks")};
  }
  if (answer) {
    co_return BaselineCheck{.backend = backend,
                            .state = State::refused,
                            .reason = first_fault(*answer),
                            .checks = int_at(*answer, "checks")};
  }
  const bool is_named = !device_.empty();  // a device that the user asked for must be there
  if (answer.error().code == ErrorCode::device_missing && backend == Backend::cuda && !is_named) {
    has_no_gpu_ = true;
    co_return BaselineCheck{.backend = backend, .reason = "no GPU"};
  }
  if (!is_fault_of_task(answer.error())) co_return std::unexpected(answer.error());
  co_return BaselineCheck{
      .backend = backend, .state = State::refused, .reason = answer.error().context};
}

TaskChecker::Ask ask_judges(Loop& loop, RealDriver& driver, Processes& processes,
                            JudgeSetup setup) {
  struct Judges {
    Loop& loop;
    RealDriver& driver;
    Processes& processes;
    JudgeSetup setup;
    std::map<std::string, std::unique_ptr<JudgeProcess>> by_device = {};

    // The state outlives the task: it is held by the parameter.
    static Task<Result<Json>> ask(std::shared_ptr<Judges> self, std::string device,
                                  std::string task) {
      auto& judge = self->by_device[device];
      if (!judge || !judge->alive()) {
        JudgeSetup setup = self->setup;
        setup.device = device;
        judge = CO_TRY(JudgeProcess::start(self->loop, self->driver, self->processes,
                                           {"/proc/self/exe"}, std::move(setup)));
      }
      co_return co_await judge->ask("admit", {{"task", task}}, kCheckLimit);
    }
  };
  auto judges = std::make_shared<Judges>(loop, driver, processes, std::move(setup));
  return [judges](std::string device, std::string task) {
    return Judges::ask(judges, std::move(device), std::move(task));
  };
}

}  // namespace specgen
