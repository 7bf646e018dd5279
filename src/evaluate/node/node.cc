#include "evaluate/node/node.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "runtime/race.h"

namespace specgen {
namespace {

constexpr std::size_t kMaxPrograms = 512;
constexpr std::size_t kMaxJobs = 4096;
constexpr std::size_t kMaxUnsent = 1024;  // frames; beyond half of it progress is dropped
constexpr Duration kJobLimit = std::chrono::minutes(10);

Error unknown(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  return {
      ErrorCode::unknown_name, fmt::format("{} '{}'{}", what, name, did_you_mean(name, known)), {}};
}

}  // namespace

// A binary, and the JSON for the judge.
struct Node::StoredProgram {
  Json program;
  Fd binary;
};

Node::Node(Loop& loop, RealDriver& driver, Processes& processes, NodeSetup setup)
    : loop_(loop),
      driver_(driver),
      processes_(processes),
      setup_(std::move(setup)),
      free_slots_(loop, setup_.compile_slots),
      quiet_(loop),
      outbox_(loop, kMaxUnsent),
      work_(loop, kMaxJobs) {
  for (const NodeDevice& device : setup_.devices) {
    devices_[device.id] = std::make_unique<Worker>(loop, device.id);
  }
  quiet_.set();
}

Task<Result<void>> Node::serve(AsyncFd& input, AsyncFd& output) {
  TaskGroup writing(loop_);
  writing.spawn(write_frames(output));
  co_await send(hello());
  FrameReader frames(input);
  Result<std::optional<std::string>> frame = co_await frames.next();
  while (frame && *frame) {
    CO_TRY(co_await handle(std::move(**frame)));
    frame = co_await frames.next();
  }
  work_.cancel();
  outbox_.close();
  auto written = co_await writing.join();
  if (!frame) co_return std::unexpected(frame.error());
  co_return written;
}

Task<Result<void>> Node::write_frames(AsyncFd& output) {
  Result<void> written;
  while (auto frame = co_await outbox_.receive()) {
    written = co_await output.write_all(*frame);
    if (!written) break;
  }
  outbox_.close();  // senders must not wait for a reader that is gone
  co_return written;
}

// Waits for a slow controller: no answer is dropped.
Task<void> Node::send(Json frame) {
  co_await outbox_.send(framed(frame));
}

Json Node::hello() const {
  boost::json::array devices;
  for (const NodeDevice& device : setup_.devices) {
    devices.push_back({{"id", device.id}, {"name", device.name}});
  }
  return {{"event", "hello"},
          {"protocol", 1},
          {"specgen_version", setup_.version},
          {"compile_slots", setup_.compile_slots},
          {"shares_memory", setup_.memory != nullptr},
          {"lanes", setup_.compile_slots},      // a retired name, for older controllers
          {"lends", setup_.memory != nullptr},  // a retired name, for older controllers
          {"devices", std::move(devices)}};
}

Task<Result<void>> Node::handle(std::string frame) {
  auto request = parse_json(frame);
  if (!request) {
    co_await send({{"event", "error"}, {"job", nullptr}, {"error", to_json(request.error())}});
    co_return Result<void>();
  }
  std::string id = text_at(*request, "job");
  auto refuse = [&](Error error) {
    return send({{"event", "error"}, {"job", id}, {"epoch", epoch_}, {"error", to_json(error)}});
  };
  std::int64_t epoch = int_at(*request, "epoch");
  if (epoch < epoch_) {
    co_await refuse(
        {ErrorCode::bad_message, fmt::format("epoch {} is over; this is {}", epoch, epoch_), {}});
    co_return Result<void>();
  }
  epoch_ = epoch;
  const std::string kind = text_at(*request, "do");
  if (kind == "cancel") {
    if (auto known = jobs_.find(id); known != jobs_.end()) known->second->cancelled.set();
    co_return Result<void>();
  }
  if (kind == "share_memory" || kind == "lend") {  // the second is a retired name
    auto device = devices_.find(text_at(*request, "device"));
    if (device != devices_.end()) device->second->memory.reset();  // a running job holds it too
    co_return Result<void>();
  }
  if (id.empty() || jobs_.contains(id) || jobs_.size() >= kMaxJobs) {
    co_await refuse(
        {ErrorCode::bad_message,
         fmt::format("a job needs a unique id, and at most {} jobs may be open", kMaxJobs),
         {}});
    co_return Result<void>();
  }
  auto job = std::make_shared<RunningJob>(loop_);
  jobs_[id] = job;
  work_.spawn(run_job(std::move(*request), id, job));
  co_return Result<void>();
}

Task<void> Node::run_job(Json request, std::string id, std::shared_ptr<RunningJob> job) {
  auto outcome = co_await race(perform(request, id), job->cancelled.wait());
  boost::json::object answer{{"job", id}, {"epoch", int_at(request, "epoch")}};
  if (auto* result = outcome.first(); !result) {
    answer["event"] = "cancelled";
  } else if (*result) {
    answer["event"] = "done";
    answer["result"] = std::move(**result);
  } else {
    answer["event"] = "error";
    answer["error"] = to_json(result->error());
  }
  co_await send(std::move(answer));
  jobs_.erase(id);  // after sending: a job counts until it is answered
}

Task<Result<Json>> Node::perform(const Json& request, const std::string& id) {
  std::string kind = text_at(request, "do");
  if (kind == "compile") co_return co_await compile(request, id);
  const std::vector<std::string> kinds{"compile",  "validate", "profile", "tune",
                                       "evaluate", "prepare",  "cancel"};
  if (std::ranges::find(kinds, kind) == kinds.end()) {
    co_return std::unexpected(unknown("job", kind, kinds));
  }
  co_return co_await on_device(std::move(kind), request, id);
}

Task<Result<Json>> Node::ask(Worker& worker, std::string kind, Json job, const std::string& id,
                             std::shared_ptr<const StoredProgram> program) {
  if (!worker.judge || !worker.judge->alive()) {
    JudgeSetup setup = setup_.judge;
    setup.device = worker.device;
    worker.judge =
        CO_TRY(JudgeProcess::start(loop_, driver_, processes_, setup_.self, std::move(setup)));
  }
  if (program) worker.judge->attach = {program->binary.get()};
  auto on_progress = [this, id](std::string_view text) {
    if (outbox_.size() > kMaxUnsent / 2)
      return;  // a controller that does not read gets no progress
    (void)outbox_.try_send(framed({{"event", "progress"}, {"job", id}, {"text", text}}));
  };
  co_return co_await worker.judge->ask(std::move(kind), std::move(job), kJobLimit, on_progress);
}

Task<Result<Json>> Node::compile(const Json& request, const std::string& id) {
  auto permit = co_await free_slots_.acquire();
  if (setup_.pause_compiling) co_await quiet_.wait();
  std::string backend = text_at(request, "backend");
  if (backend.empty()) backend = "cpu";
  // A slot that has compiled for this backend before has its tools warm.
  std::unique_ptr<Worker> slot;
  auto warm =
      std::ranges::find(idle_slots_, backend, [](const auto& idle) { return idle->device; });
  if (warm != idle_slots_.end()) {
    slot = std::move(*warm);
    idle_slots_.erase(warm);
  } else {
    slot = std::make_unique<Worker>(loop_, backend);
  }
  Json result = CO_TRY(co_await ask(*slot, "compile", request, id, nullptr));
  if (const Json* program = member_at(result, "program")) {
    std::string stored = CO_TRY(store(*program, slot->judge->descriptors));
    result.get_object()["program"] = stored;
  }
  idle_slots_.push_back(std::move(slot));
  co_return result;
}

Task<Result<Json>> Node::on_device(std::string kind, const Json& request, const std::string& id) {
  std::string name = text_at(request, "device");
  auto device = devices_.find(name);
  if (device == devices_.end()) {
    std::vector<std::string> known;
    for (const auto& [device_id, _] : devices_) known.push_back(device_id);
    co_return std::unexpected(unknown("device", name, known));
  }
  Worker& worker = *device->second;
  auto permit = co_await worker.turn.acquire();
  boost::json::object job = request.get_object();
  std::shared_ptr<const StoredProgram> program;
  if (kind != "evaluate" && kind != "prepare") {
    auto stored = programs_.find(text_at(request, "program"));
    if (stored == programs_.end()) {
      co_return fail(ErrorCode::unknown_name, "this node does not have the program (any more)",
                     "compile it again on this node");
    }
    program = stored->second;
    job["program"] = program->program;
  }
  struct Timing {  // counts the job until it ends or is cancelled
    explicit Timing(Node& its_node) : node(its_node) {
      ++node.timing_;
      node.quiet_.reset();
    }
    ~Timing() {
      if (--node.timing_ == 0) node.quiet_.set();
    }
    Node& node;
  };
  std::optional<Timing> timing;
  std::shared_ptr<MemoryProvider::Hold> memory;
  std::unique_ptr<MemoryProvider::Hold> paused;
  if (setup_.memory) {
    worker.memory.reset();  // reserved again: the host may have less free memory than before
    memory = worker.memory = co_await setup_.memory->reserve(name);
  }
  if (kind == "profile" || kind == "evaluate" || kind == "tune") {
    timing.emplace(*this);
    if (setup_.memory) paused = co_await setup_.memory->pause_copies(name);
  }
  Json result = CO_TRY(co_await ask(worker, std::move(kind), std::move(job), id, program));
  if (const Json* tuned = member_at(result, "program")) {
    std::string stored = CO_TRY(store(*tuned, worker.judge->descriptors));
    result.get_object()["program"] = stored;
  }
  co_return result;
}

Result<std::string> Node::store(Json program, std::vector<Fd>& descriptors) {
  if (descriptors.size() != 1)
    return fail(ErrorCode::bad_message, "the program came without its binary");
  // With the binary: the same source compiles to different programs for other dtypes or flags.
  std::string binary =
      TRY(read_file(fmt::format("/proc/self/fd/{}", descriptors.front().get()), MiB(64)));
  std::string id = sha256_hex(compact_json(program) + binary).substr(0, 24);
  if (!programs_.contains(id)) program_order_.push_back(id);
  programs_[id] = std::make_shared<const StoredProgram>(
      StoredProgram{std::move(program), std::move(descriptors.front())});
  descriptors.clear();
  if (program_order_.size() > kMaxPrograms) {
    programs_.erase(program_order_.front());
    program_order_.pop_front();
  }
  return id;
}

}  // namespace specgen
