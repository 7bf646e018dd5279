#include "evaluate/cuda/executor.h"

#include <fmt/core.h>

#include "evaluate/cuda/child_process.h"
#include "evaluate/cuda/cuda_executor_process.h"
#include "runtime/race.h"

namespace specgen {
namespace {

constexpr Duration kLoadLimit = std::chrono::seconds(60);
constexpr Duration kCanaryLimit = std::chrono::seconds(10);

std::vector<std::string> executor_environment() {
  std::vector<std::string> environment = cuda_environment();
  environment.emplace_back("CUDA_MODULE_LOADING=EAGER");
  environment.emplace_back("CUDA_CACHE_DISABLE=1");
  return environment;
}

}  // namespace

Result<std::unique_ptr<Executor>> Executor::start(const ExecutorSettings& settings,
                                                  bool sandboxed) {
  auto [ours, theirs] = TRY(MessageSocket::make_pair(settings.loop, settings.driver));
  Command command{
      .argv = settings.self, .environment = executor_environment(), .descriptors = {theirs.get()}};
  command.argv.emplace_back(kInternalCudaExecutor);
  command.argv.push_back(std::to_string(settings.device));
  WrapCommand wrap = sandboxed ? settings.wrap : unsandboxed();
  // The judge limits the time of each request; this only ends a process that was left behind.
  SandboxLimits limits{.cpu_time = std::chrono::hours(1)};
  SandboxedCommand ready = TRY(wrap(std::move(command), limits, SandboxView{.gpu = true}));
  Process process = TRY(settings.processes.spawn(ready.command));
  process.input.reset();
  return std::unique_ptr<Executor>(new Executor(settings.loop, std::move(ready), std::move(process),
                                                std::move(ours), sandboxed));
}

Task<Result<Executor::Reply>> Executor::receive(Duration limit) {
  auto first = co_await race(socket_.receive(), loop_.sleep(limit));
  auto* received = first.first();
  if (!received) {
    kill();
    co_return Reply{.kind = Reply::Kind::late};
  }
  auto message = CO_TRY(std::move(*received));
  if (!message) {
    co_return Reply{.kind = Reply::Kind::gone, .report = co_await exit_report(loop_, process_)};
  }
  co_return Reply{.answer = CO_TRY(parse_executor_answer(message->body))};
}

Task<Result<Executor::Reply>> Executor::ask(ExecutorRequest request, Duration limit,
                                            std::vector<int> descriptors) {
  auto sent = co_await send(std::move(request), std::move(descriptors));
  if (!sent)
    co_return Reply{.kind = Reply::Kind::gone, .report = co_await exit_report(loop_, process_)};
  co_return co_await receive(limit);
}

Task<Result<void>> Executor::send(ExecutorRequest request, std::vector<int> descriptors) {
  if (auto* import = std::get_if<ImportRequest>(&request)) imported_ += import->pieces.size();
  return socket_.send(encode(request), std::move(descriptors));
}

Task<Result<Executor::Reply>> Executor::load(std::string tools, std::string baseline,
                                             std::string candidate) {
  CO_TRY(co_await socket_.send(encode(ExecutorRequest{LoadRequest{}})));
  CO_TRY(co_await socket_.send(std::move(tools)));
  CO_TRY(co_await socket_.send(std::move(baseline)));
  CO_TRY(co_await socket_.send(std::move(candidate)));
  co_return co_await receive(kLoadLimit);
}

Task<Result<void>> Executor::wait_until_ready(Duration limit) {
  if (ready_) co_return Result<void>();
  Reply reply = CO_TRY(co_await receive(limit));
  if (reply.kind == Reply::Kind::late) {
    co_return fail(ErrorCode::device_failed,
                   fmt::format("the executor did not start within {}", format_duration(limit)));
  }
  if (reply.kind == Reply::Kind::gone) {
    co_return fail(ErrorCode::device_failed, "the executor ended at its start: " + reply.report);
  }
  if (!reply.answer.ok) {
    co_return fail(ErrorCode::device_failed, "the executor: " + reply.answer.problem());
  }
  ready_ = true;
  co_return Result<void>();
}

Task<Result<void>> Executor::canary() {
  constexpr unsigned kNumbers = 1000;
  constexpr std::uint64_t kSum = 332'833'500;  // of the squares of 0 to 999
  Reply reply = CO_TRY(co_await ask(CanaryRequest{.numbers = kNumbers}, kCanaryLimit));
  if (reply.kind != Reply::Kind::answered || !reply.answer.ok) {
    co_return fail(
        ErrorCode::device_failed,
        "no kernel runs after a crash: " + (reply.kind == Reply::Kind::late ? "no answer in time"
                                            : reply.report.empty()          ? reply.answer.problem()
                                                                            : reply.report));
  }
  if (reply.answer.sum != kSum) {
    co_return fail(ErrorCode::device_failed,
                   fmt::format("the sum of {} squares is {} on this device, not {}", kNumbers,
                               reply.answer.sum, kSum));
  }
  co_return Result<void>();
}

Task<Result<std::unique_ptr<Executor>>> ExecutorPool::take() {
  while (true) {
    bool was_waiting = !waiting_.empty();
    std::unique_ptr<Executor> executor;
    if (was_waiting) {
      executor = std::move(waiting_.front());
      waiting_.pop_front();
    } else {
      executor = CO_TRY(Executor::start(settings_, sandbox_works_));
    }
    auto ready = co_await executor->wait_until_ready(settings_.start_limit);
    if (ready) co_return executor;
    // A waiting executor may have ended; a new one shows whether this host is at fault.
    if (was_waiting) continue;
    if (!executor->sandboxed()) co_return std::unexpected(std::move(ready).error());
    executor.reset();
    sandbox_works_ = false;
    waiting_.clear();
    executor = CO_TRY(Executor::start(settings_, false));
    if (auto outside = co_await executor->wait_until_ready(settings_.start_limit); !outside) {
      sandbox_works_ = true;  // the sandbox is not the cause
      co_return std::unexpected(std::move(outside).error());
    }
    // The failure may have been temporary: try once more inside.
    auto sandboxed = Executor::start(settings_, true);
    if (sandboxed && co_await (*sandboxed)->wait_until_ready(settings_.start_limit)) {
      sandbox_works_ = true;
      co_return sandboxed;
    }
    note_ = "executors run outside the sandbox, because inside " + ready.error().context;
    co_return executor;
  }
}

Task<Result<void>> ExecutorPool::settle() {
  // take() replaces one that does not get ready.
  for (auto& executor : waiting_) (void)co_await executor->wait_until_ready(settings_.start_limit);
  co_return Result<void>();
}

Result<void> ExecutorPool::replenish(std::size_t min, std::size_t target) {
  if (waiting_.size() >= min) return {};
  while (waiting_.size() < target) {
    waiting_.push_back(TRY(Executor::start(settings_, sandbox_works_)));
  }
  return {};
}

}  // namespace specgen
