#include "evaluate/judge/judge_process.h"

#include <fmt/core.h>

#include <array>
#include <boost/json.hpp>

#include "base/text.h"
#include "runtime/race.h"

namespace specgen {

JudgeProcess::JudgeProcess(Loop& loop, Process process, MessageSocket socket, std::string setup)
    : loop_(loop),
      process_(std::move(process)),
      socket_(std::move(socket)),
      setup_(std::move(setup)) {}

Result<std::unique_ptr<JudgeProcess>> JudgeProcess::start(Loop& loop, RealDriver& driver,
                                                          Processes& processes,
                                                          std::vector<std::string> self,
                                                          JudgeSetup setup) {
  if (setup.device.empty())
    return fail(ErrorCode::device_missing, "the judge's setup has no device");
  auto [socket, theirs] = TRY(MessageSocket::make_pair(loop, driver));
  self.emplace_back("internal-judge");
  Process process = TRY(processes.spawn({.argv = std::move(self), .descriptors = {theirs.get()}}));
  return std::unique_ptr<JudgeProcess>(
      new JudgeProcess(loop, std::move(process), std::move(socket), compact_json(to_json(setup))));
}

Task<Result<Json>> JudgeProcess::ask(std::string kind, Json job, Duration limit,
                                     Progress on_progress) {
  const std::int64_t id = ++last_id_;
  std::string body = compact_json({{"id", id}, {"do", kind}, {"job", std::move(job)}});
  alive_ = false;  // until it has answered; so also when this task is cancelled
  auto answer = co_await with_timeout(loop_, limit, converse(std::move(body), id, on_progress),
                                      "the judge's answer");
  if (answer || answer.error().code != ErrorCode::timeout) co_return answer;
  process_.kill();
  co_return fail(ErrorCode::harness_failed, answer.error().context);
}

Task<Result<Json>> JudgeProcess::converse(std::string body, std::int64_t id, Progress on_progress) {
  auto sent = setup_.empty() ? Result<void>() : co_await socket_.send(std::exchange(setup_, {}));
  if (sent) sent = co_await socket_.send(std::move(body), std::exchange(attach, {}));
  if (!sent && sent.error().code == ErrorCode::bad_message) co_return std::unexpected(sent.error());
  if (!sent)
    co_return fail(ErrorCode::harness_failed, "the judge has ended" + co_await exit_message());
  while (true) {
    auto message = co_await socket_.receive();
    if (!message || !*message) {
      co_return fail(ErrorCode::harness_failed, "the judge has ended" + co_await exit_message());
    }
    Json answer = CO_TRY(parse_json((*message)->body));
    if (int_at(answer, "id") != id) continue;
    std::string event = text_at(answer, "event");
    if (event == "progress") {
      if (on_progress) on_progress(text_at(answer, "text"));
      continue;
    }
    alive_ = true;
    descriptors = std::move((*message)->descriptors);
    if (event == "done") co_return *member_at(answer, "result");
    const Json* error = member_at(answer, "error");
    if (!error)
      co_return fail(ErrorCode::bad_message,
                     "the judge's answer has neither a result nor an error");
    co_return std::unexpected(error_from_json(*error));
  }
}

// The first line that it wrote to stderr: of a panic, usually.
Task<std::string> JudgeProcess::exit_message() {
  std::array<char, 2000> text;
  auto read = co_await race(process_.error_output->read_some(text),
                            loop_.sleep(std::chrono::milliseconds(200)));
  auto* n = read.first();
  if (!n || !*n || **n == 0) co_return std::string();
  co_return ": " + std::string(first_line(trim(std::string_view(text.data(), **n))));
}

}  // namespace specgen
