#include "schedule/host_client.h"

#include <fmt/core.h>

#include <boost/json.hpp>
#include <charconv>
#include <cstdint>
#include <deque>
#include <map>
#include <unordered_set>

#include "runtime/race.h"
#include "runtime/sync.h"
#include "runtime/task_group.h"
#include "schedule/host_answer.h"

namespace specgen {
namespace {

constexpr Duration kHelloLimit = std::chrono::seconds(60);
constexpr Duration kSettlingLimit = std::chrono::seconds(5);
// More than a host keeps: a host reports itself when it no longer has a program.
constexpr std::size_t kMaxPrograms = 4096;

std::string name_of_job(std::uint64_t number) {
  return "j" + std::to_string(number);
}

std::optional<std::uint64_t> number_of_job(const Json& name) {
  if (!name.is_string()) return std::nullopt;
  std::string_view text = name.get_string();
  if (text.size() < 2 || text.front() != 'j') return std::nullopt;
  std::uint64_t number = 0;
  auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::int64_t> integer_in(const Json& value) {
  if (value.is_int64()) return value.get_int64();
  if (value.is_uint64() && value.get_uint64() <= INT64_MAX) {
    return static_cast<std::int64_t>(value.get_uint64());
  }
  return std::nullopt;
}

void add_shapes(boost::json::object& request, const Values& shapes) {
  if (shapes.empty()) return;
  boost::json::object values;
  for (const auto& [name, value] : shapes) values[name] = value;
  request["shapes"] = std::move(values);
}

boost::json::object compile_request(const Candidate& candidate) {
  boost::json::object request{{"do", "compile"},
                              {"backend", candidate.backend},
                              {"task", candidate.task},
                              {"source", candidate.source}};
  add_shapes(request, candidate.shapes);
  return request;
}

boost::json::object device_request(const StageJob& job, const std::string& program) {
  boost::json::object request{
      {"do", to_string(job.stage)}, {"device", job.device}, {"task", job.candidate->task}};
  if (job.stage == Stage::evaluate) {
    request["source"] = job.candidate->source;
    if (job.candidate->model_new) request["model_new"] = true;
  } else {
    request["program"] = program;
  }
  if (job.stage == Stage::profile || job.stage == Stage::tune) {
    request["screen"] = to_json(job.screen);
  }
  add_shapes(request, job.candidate->shapes);
  if (job.evaluation != "null") {
    if (auto known = parse_json(job.evaluation)) request["evaluation"] = std::move(*known);
  }
  return request;
}

// Programs that the host has compiled during this connection; the oldest are dropped first.
class KnownPrograms {
 public:
  bool contains(const std::string& program) const { return known_.contains(program); }
  void add(const std::string& program) {
    if (!known_.insert(program).second) return;
    order_.push_back(program);
    if (order_.size() <= kMaxPrograms) return;
    known_.erase(order_.front());
    order_.pop_front();
  }

 private:
  std::unordered_set<std::string> known_;
  std::deque<std::string> order_;
};

}  // namespace

class HostClient::State {
 public:
  State(Loop& loop, Host& host) : loop_(loop), host_(host), connecting_(loop, 1) {}

  Task<Result<HostFacts>> hello() {
    CO_TRY(co_await connect());
    co_return connection_->facts;
  }
  Task<Result<StageOutcome>> perform(StageJob job);
  enum class Canary : bool { no, yes };
  Task<Result<void>> prepare(std::string device, std::string task, Values shapes, Duration limit,
                             Canary canary);
  Task<Result<void>> settled(std::string device);
  void offer(const std::string& device);

  HostCounters counters;

 private:
  // Our jobs on a device.
  struct DeviceUse {
    explicit DeviceUse(Loop& loop) : idle(loop) { idle.set(); }
    std::size_t unfinished = 0;
    Event idle;  // set while there are none
  };
  class PendingRequest;
  struct Unfinished {
    PendingRequest* pending = nullptr;  // null: cancelled, and its end not yet confirmed
    DeviceUse* device = nullptr;
  };
  // One connection. Its jobs end with it.
  struct Connection {
    Connection(Loop& loop, std::unique_ptr<HostLink> its_link, HostFacts its_facts)
        : facts(std::move(its_facts)), link(std::move(its_link)), reader(loop) {}
    HostFacts facts;
    std::int64_t epoch = 0;
    std::uint64_t first_job = 0;  // lower numbers belong to earlier connections
    std::map<std::uint64_t, Unfinished> unfinished = {};
    KnownPrograms programs = {};
    std::unique_ptr<HostLink> link;  // null: lost
    TaskGroup reader;                // last: it uses the link
  };
  struct Answer {
    Result<Json> result;
    std::int64_t epoch;  // of its connection
  };

  bool is_up() const { return connection_ && connection_->link; }
  bool is_up(std::int64_t epoch) const { return is_up() && connection_->epoch == epoch; }
  Task<Result<void>> connect();
  Task<void> read(Connection& connection);
  Result<void> take(Connection& connection, Json frame);
  void finish(Connection& connection, std::map<std::uint64_t, Unfinished>::iterator job,
              Result<Json> result);
  Task<Answer> ask(boost::json::object request, std::string device);
  Task<Result<StageOutcome>> compile(const Candidate& candidate);
  Result<StageOutcome> parse_outcome(Stage stage, Answer answer);
  void fail_jobs(Connection& connection, const std::string& reason);
  void cut(const std::string& reason);
  DeviceUse& use_of(const std::string& device);

  Loop& loop_;
  Host& host_;
  Semaphore connecting_;
  std::int64_t epoch_ = 0;
  std::uint64_t last_job_ = 0;
  std::map<std::string, DeviceUse> devices_;
  std::unique_ptr<Connection> connection_;
};

// A job that a caller waits for. Destroying it before the answer arrives cancels the job.
class HostClient::State::PendingRequest {
 public:
  PendingRequest(State& state, std::uint64_t job)
      : answered(state.loop_), state_(state), job_(job), epoch_(state.connection_->epoch) {}
  PendingRequest(const PendingRequest&) = delete;
  ~PendingRequest() {
    if (answered.is_set() || !state_.is_up(epoch_)) return;
    auto job = state_.connection_->unfinished.find(job_);
    if (job == state_.connection_->unfinished.end()) return;
    job->second.pending = nullptr;
    auto sent = state_.connection_->link->send(
        {{"job", name_of_job(job_)}, {"epoch", epoch_}, {"do", "cancel"}});
    if (!sent) state_.cut(sent.error().summary());
  }
  void answer(Result<Json> result) {
    result_ = std::move(result);
    answered.set();
  }
  Answer take() { return {.result = std::move(*result_), .epoch = epoch_}; }

  Event answered;

 private:
  State& state_;
  std::uint64_t job_;
  std::int64_t epoch_;
  std::optional<Result<Json>> result_;
};

HostClient::State::DeviceUse& HostClient::State::use_of(const std::string& device) {
  return devices_.try_emplace(device, loop_).first->second;
}

// One caller connects, the others wait for the result.
Task<Result<void>> HostClient::State::connect() {
  if (is_up()) co_return Result<void>();
  auto turn = co_await connecting_.acquire();
  if (is_up()) co_return Result<void>();
  connection_.reset();
  auto link = CO_TRY(co_await host_.connect());
  auto hello = CO_TRY(co_await with_timeout(loop_, kHelloLimit, link->receive(),
                                            host_.name() + ": waiting for hello"));
  if (!hello)
    co_return fail(ErrorCode::harness_failed,
                   host_.name() + ": it closed the connection without a hello");
  auto facts = facts_in(*hello);
  if (!facts) {
    ++counters.invalid_messages;
    co_return fail(ErrorCode::harness_failed, host_.name() + ": " + facts.error().context,
                   facts.error().advice);
  }
  connection_ = std::make_unique<Connection>(loop_, std::move(link), std::move(*facts));
  connection_->epoch = ++epoch_;
  connection_->first_job = last_job_ + 1;
  ++counters.connections;
  connection_->reader.spawn(read(*connection_));
  co_return Result<void>();
}

// Ends with the link, which it may drop: no operation on the link is pending then.
Task<void> HostClient::State::read(Connection& connection) {
  std::string reason = "the host has closed the link";
  while (true) {
    auto frame = co_await connection.link->receive();
    if (frame && !*frame) break;
    auto taken = frame ? take(connection, std::move(**frame))
                       : Result<void>(std::unexpected(std::move(frame.error())));
    if (taken) continue;
    if (taken.error().code == ErrorCode::bad_message || taken.error().code == ErrorCode::bad_json) {
      ++counters.invalid_messages;
    }
    reason = taken.error().context;
    break;
  }
  connection.link.reset();
  fail_jobs(connection, reason);
}

Result<void> HostClient::State::take(Connection& connection, Json frame) {
  const auto* object = frame.if_object();
  if (!object) return fail(ErrorCode::bad_message, "a frame is not an object");
  const Json* event = object->if_contains("event");
  if (!event || !event->is_string()) return fail(ErrorCode::bad_message, "a frame has no event");
  std::string_view what = event->get_string();
  if (what == "progress") return {};
  if (what == "hello") {
    ++counters.repeated_answers;
    return {};
  }
  const Json* name = object->if_contains("job");
  const Json* epoch_json = object->if_contains("epoch");
  auto number = name ? number_of_job(*name) : std::nullopt;
  auto epoch = epoch_json ? integer_in(*epoch_json) : std::nullopt;
  if (!number || !epoch || *epoch > connection.epoch) {
    return fail(ErrorCode::bad_message, fmt::format("'{}' for an invalid job or epoch", what));
  }
  if (*epoch < connection.epoch || *number > last_job_ || *number < connection.first_job) {
    ++counters.stale_answers;
    return {};
  }
  auto job = connection.unfinished.find(*number);
  if (job == connection.unfinished.end()) {
    ++counters.repeated_answers;
    return {};
  }
  if (what == "done") {
    Json* result = frame.get_object().if_contains("result");
    if (!result) return fail(ErrorCode::bad_message, "'done' has no result");
    finish(connection, job, std::move(*result));
  } else if (what == "error") {
    finish(connection, job, std::unexpected(TRY(error_in(frame))));
  } else if (what == "cancelled" && !job->second.pending) {
    finish(connection, job, Json());
  } else {
    return fail(ErrorCode::bad_message, fmt::format("unexpected event '{}' for a job", what));
  }
  return {};
}

void HostClient::State::finish(Connection& connection,
                               std::map<std::uint64_t, Unfinished>::iterator job,
                               Result<Json> result) {
  Unfinished ended = job->second;
  connection.unfinished.erase(job);
  if (ended.device && --ended.device->unfinished == 0) ended.device->idle.set();
  if (ended.pending) ended.pending->answer(std::move(result));
}

void HostClient::State::fail_jobs(Connection& connection, const std::string& reason) {
  while (!connection.unfinished.empty()) {
    finish(connection, connection.unfinished.begin(),
           fail(ErrorCode::harness_failed, host_.name() + ": " + reason));
  }
}

// Not to be called from the reader.
void HostClient::State::cut(const std::string& reason) {
  std::unique_ptr<Connection> lost = std::move(connection_);
  fail_jobs(*lost, reason);
}

Task<HostClient::State::Answer> HostClient::State::ask(boost::json::object request,
                                                       std::string device) {
  if (!is_up()) {
    auto connected = co_await connect();
    if (!connected) co_return Answer{std::unexpected(connected.error()), epoch_};
  }
  const std::uint64_t number = ++last_job_;
  request["job"] = name_of_job(number);
  request["epoch"] = connection_->epoch;
  auto sent = connection_->link->send(std::move(request));
  if (!sent) {
    const std::int64_t epoch = connection_->epoch;
    cut(sent.error().summary());
    co_return Answer{fail(ErrorCode::harness_failed, host_.name() + ": " + sent.error().context),
                     epoch};
  }
  PendingRequest pending(*this, number);
  DeviceUse* use = nullptr;
  if (!device.empty()) {
    use = &use_of(device);
    ++use->unfinished;
    use->idle.reset();
  }
  connection_->unfinished.try_emplace(number, Unfinished{&pending, use});
  co_await pending.answered.wait();
  co_return pending.take();
}

Result<StageOutcome> HostClient::State::parse_outcome(Stage stage, Answer answer) {
  Json result = TRY(std::move(answer.result));
  auto outcome = outcome_in(stage, std::move(result));
  if (outcome) return outcome;
  ++counters.invalid_messages;
  if (is_up(answer.epoch)) cut(outcome.error().context);
  return fail(ErrorCode::harness_failed, host_.name() + ": " + outcome.error().context);
}

Task<Result<StageOutcome>> HostClient::State::compile(const Candidate& candidate) {
  Answer answer = co_await ask(compile_request(candidate), "");
  const std::int64_t epoch = answer.epoch;
  StageOutcome outcome = CO_TRY(parse_outcome(Stage::compile, std::move(answer)));
  if (!outcome.program.empty() && is_up(epoch)) connection_->programs.add(outcome.program);
  co_return outcome;
}

Task<Result<StageOutcome>> HostClient::State::perform(StageJob job) {
  if (job.stage == Stage::compile) co_return co_await compile(*job.candidate);
  if (job.stage == Stage::evaluate) {
    co_return parse_outcome(job.stage, co_await ask(device_request(job, {}), job.device));
  }
  std::string program = job.program;
  bool is_known = is_up() && connection_->programs.contains(program);
  while (true) {
    const bool compiles = !is_known;
    if (compiles) {
      StageOutcome compiled = CO_TRY(co_await compile(*job.candidate));
      if (compiled.verdict != Verdict::ok) co_return compiled;
      program = std::move(compiled.program);
    }
    Answer answer = co_await ask(device_request(job, program), job.device);
    is_known = answer.result || answer.result.error().code != ErrorCode::unknown_name;
    if (!is_known && !compiles) continue;  // the host no longer has it
    const std::int64_t epoch = answer.epoch;
    StageOutcome outcome = CO_TRY(parse_outcome(job.stage, std::move(answer)));
    if (job.stage == Stage::tune && is_up(epoch)) connection_->programs.add(outcome.program);
    if (outcome.program.empty()) outcome.program = std::move(program);
    co_return outcome;
  }
}

Task<Result<void>> HostClient::State::prepare(std::string device, std::string task, Values shapes,
                                              Duration limit, Canary canary) {
  boost::json::object request{{"do", "prepare"}, {"device", device}, {"task", std::move(task)}};
  if (canary == Canary::yes) request["canary"] = true;
  add_shapes(request, shapes);
  Answer answer = CO_TRY(co_await with_timeout(loop_, limit, ask(std::move(request), device),
                                               device + ": preparing a task"));
  Json result = CO_TRY(std::move(answer.result));
  if (result.is_object()) co_return Result<void>();
  ++counters.invalid_messages;
  if (is_up(answer.epoch)) cut("invalid answer to prepare");
  co_return fail(ErrorCode::harness_failed, host_.name() + ": invalid answer to prepare");
}

Task<Result<void>> HostClient::State::settled(std::string device) {
  DeviceUse& use = use_of(device);
  if (use.idle.is_set()) co_return Result<void>();
  auto waited = co_await race(use.idle.wait(), loop_.sleep(kSettlingLimit));
  if (waited.first() || use.idle.is_set()) co_return Result<void>();
  std::string reason = fmt::format("it did not confirm that {} is free", device);
  if (is_up()) cut(reason);
  co_return fail(ErrorCode::harness_failed, host_.name() + ": " + reason);
}

void HostClient::State::offer(const std::string& device) {
  if (!is_up()) return;  // after a reconnect it shares all devices anyway
  auto sent =
      connection_->link->send({{"epoch", connection_->epoch}, {"do", "lend"}, {"device", device}});
  if (!sent) cut(sent.error().summary());
}

HostClient::HostClient(Loop& loop, Host& host) : state_(std::make_unique<State>(loop, host)) {}
HostClient::~HostClient() = default;

Task<Result<HostFacts>> HostClient::hello() {
  return state_->hello();
}
Task<Result<StageOutcome>> HostClient::perform(StageJob job) {
  return state_->perform(std::move(job));
}
Task<Result<void>> HostClient::prepare(std::string device, std::string task, Values shapes,
                                       Duration limit) {
  return state_->prepare(std::move(device), std::move(task), std::move(shapes), limit,
                         State::Canary::no);
}
Task<Result<void>> HostClient::canary(std::string device, std::string task, Duration limit) {
  return state_->prepare(std::move(device), std::move(task), {}, limit, State::Canary::yes);
}
Task<Result<void>> HostClient::settled(std::string device) {
  return state_->settled(std::move(device));
}
void HostClient::offer(const std::string& device) {
  state_->offer(device);
}
const HostCounters& HostClient::counters() const {
  return state_->counters;
}

}  // namespace specgen
