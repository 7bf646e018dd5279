#include "evaluate/cuda/compile_pool.h"

#include <fmt/core.h>

#include "base/text.h"
#include "evaluate/cuda/child_process.h"
#include "evaluate/cuda/nvrtc_process.h"
#include "runtime/race.h"

namespace specgen {

struct CompilePool::Worker {
  SandboxedCommand sandboxed;  // first: its resources must outlive the process
  Process process;
  MessageSocket socket;
  bool ready = false;
};

namespace {

struct Received {
  std::optional<SocketMessage> message = {};  // nothing: the process has ended or is late
  bool late = false;
};

Task<Result<Received>> receive_until(Loop& loop, MessageSocket& socket, Time deadline) {
  auto first = co_await race(socket.receive(), loop.sleep_until(deadline));
  if (auto* message = first.first()) {
    if (!*message) co_return std::unexpected(std::move(*message).error());
    co_return Received{.message = std::move(**message)};
  }
  co_return Received{.late = true};
}

}  // namespace

CompilePool::CompilePool(CompilePoolSettings settings) : settings_(std::move(settings)) {}
CompilePool::~CompilePool() = default;

Result<std::unique_ptr<CompilePool::Worker>> CompilePool::start() {
  auto [ours, theirs] = TRY(MessageSocket::make_pair(settings_.loop, settings_.driver));
  Command command{
      .argv = settings_.self, .environment = cuda_environment(), .descriptors = {theirs.get()}};
  for (const std::string& entry : settings_.environment) {
    // Of two with the same name only the first would count.
    std::string name = entry.substr(0, entry.find('=') + 1);
    std::erase_if(*command.environment, [&](auto& other) { return other.starts_with(name); });
    command.environment->push_back(entry);
  }
  command.argv.emplace_back(kInternalNvrtc);
  command.argv.push_back(settings_.architecture);
  SandboxedCommand sandboxed = TRY(settings_.wrap(std::move(command), SandboxLimits{},
                                                  SandboxView{.read_only = settings_.visible}));
  Process process = TRY(settings_.processes.spawn(sandboxed.command));
  return std::make_unique<Worker>(std::move(sandboxed), std::move(process), std::move(ours));
}

// A process that cannot be started now is started when it is needed.
void CompilePool::replenish() {
  while (waiting_.size() < settings_.warm) {
    auto worker = start();
    if (!worker) return;
    waiting_.push_back(std::move(*worker));
  }
}

Task<Result<Compilation>> CompilePool::compile(CompileRequest request) {
  std::unique_ptr<Worker> worker;
  bool was_waiting = !waiting_.empty();
  if (was_waiting) {
    worker = std::move(waiting_.front());
    waiting_.pop_front();
  } else {
    worker = CO_TRY(start());
  }
  Loop& loop = settings_.loop;
  Received hello =
      CO_TRY(co_await receive_until(loop, worker->socket, loop.now() + settings_.start_limit));
  if (!hello.message) {
    if (hello.late) worker->process.kill();
    std::string report = co_await exit_report(loop, worker->process);
    co_return fail(ErrorCode::harness_failed,
                   (hello.late ? "the CUDA compiler did not start in time: "
                               : "the CUDA compiler ended at its start: ") +
                       report);
  }
  CompileAnswer ready = CO_TRY(parse_compile_answer(hello.message->body));
  if (!ready.ok) {
    co_return fail(ErrorCode::tool_missing,
                   "NVRTC does not compile: " + std::string(trim(first_line(ready.log))),
                   "install the CUDA toolkit (libnvrtc) for this GPU; see `specgen doctor`");
  }

  Time started = loop.now();
  Time deadline = started + settings_.time_limit;
  auto sent = co_await worker->socket.send(encode(request));
  // A process that ended while it waited says nothing about this source.
  if (!sent && was_waiting) co_return co_await compile(std::move(request));
  replenish();
  Compilation done;
  auto lost = [&](bool late) {
    done.end = late                                              ? Compilation::End::too_slow
               : worker->sandboxed.resources.killed_for_memory() ? Compilation::End::out_of_memory
                                                                 : Compilation::End::crashed;
  };
  Received first;
  if (sent) first = CO_TRY(co_await receive_until(loop, worker->socket, deadline));
  if (first.message) {
    done.answer = CO_TRY(parse_compile_answer(first.message->body));
    if (done.answer.ok) {
      Received second = CO_TRY(co_await receive_until(loop, worker->socket, deadline));
      if (second.message) {
        done.answer.cubin = std::move(second.message->body);
      } else {
        lost(second.late);
      }
    }
  } else {
    lost(first.late);
  }
  if (done.end == Compilation::End::crashed) {
    done.report = first_line(co_await exit_report(loop, worker->process));
  } else {
    worker->process.kill();
    co_await worker->process.wait();
  }
  done.took = loop.now() - started;
  co_return done;
}

}  // namespace specgen
