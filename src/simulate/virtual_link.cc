#include "simulate/virtual_link.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <utility>

#include "runtime/race.h"

namespace specgen {
namespace {

constexpr std::size_t kOutbox = 65'536;
constexpr std::size_t kMaxPrograms = 4096;

Json error_json(const Error& error) {
  return {
      {"code", static_cast<int>(error.code)}, {"context", error.context}, {"advice", error.advice}};
}

Json finding_json(Verdict verdict, std::string_view text) {
  return {{"verdict", to_string(verdict)}, {"evidence", {{"text", text}}}};
}

// Verdicts of the compiler and of static checks, which running does not find.
bool fails_to_compile(Verdict verdict) {
  return verdict == Verdict::compile_error || verdict == Verdict::rejected;
}

std::string evidence_of(Verdict verdict) {
  return verdict == Verdict::ok ? std::string() : fmt::format("virtual: {}", to_string(verdict));
}

std::unexpected<Error> executor_died() {
  return fail(ErrorCode::harness_failed, "the judge died during this job");
}

}  // namespace

// Reserves the device for a job. A second holder is a violation.
class VirtualLink::Hold {
 public:
  Hold(VirtualHost& host, VirtualHost::Device& device, Loop& loop)
      : device_(device), loop_(loop), since_(loop.now()) {
    if (++device_.holders > 1) {
      host.violation_(fmt::format("{} of {} holds two jobs", device_.name, host.name_));
    }
  }
  ~Hold() {
    --device_.holders;
    device_.busy += loop_.now() - since_;
  }
  Hold(const Hold&) = delete;

 private:
  VirtualHost::Device& device_;
  Loop& loop_;
  Time since_;
};

struct VirtualLink::Job {
  explicit Job(Loop& loop) : cancelled(loop) {}
  Event cancelled;
  std::optional<Hold> hold = std::nullopt;  // until the end of the job was reported
};

VirtualLink::VirtualLink(VirtualHost& host)
    : host_(host),
      loop_(host.loop_),
      compile_slots_(host.loop_, static_cast<std::size_t>(host.settings_.compile_slots)),
      outbox_(host.loop_, kOutbox),
      work_(host.loop_) {
  host.links_.push_back(this);
  boost::json::array devices;
  for (const VirtualHost::Device& device : host.devices_) {
    devices.push_back({{"id", device.name}, {"name", "virtual core"}});
  }
  // A new node process has not prepared any task.
  for (VirtualHost::Device& device : host.devices_) device.prepared.clear();
  send_frame({{"event", "hello"},
              {"protocol", 1},
              {"specgen_version", "virtual"},
              {"lanes", host.settings_.compile_slots},
              {"devices", std::move(devices)}});
}

VirtualLink::~VirtualLink() {
  std::erase(host_.links_, this);
}

void VirtualLink::crash() {
  broken_ = true;
  work_.cancel();
  outbox_.close();
}

void VirtualLink::send_frame(Json frame) {
  if (!broken_ && !outbox_.try_send(std::move(frame))) crash();
}

// Transport faults affect answers.
void VirtualLink::answer(Json frame) {
  Faults& faults = host_.faults_;
  if (faults.occurs(Fault::lost_result)) return;
  if (faults.occurs(Fault::nonsense_answer)) {
    // An invalid answer, sometimes in a valid envelope.
    bool sane_envelope = faults.chance(Fault::nonsense_answer).chance(0.5);
    auto& object = frame.get_object();
    if (sane_envelope && object.contains("result")) {
      object["result"] = {{"finding", {{"verdict", "splendid"}}}, {"screen", -1}};
    } else {
      frame = Json{{"event", "done"}, {"job", 17}, {"result", nullptr}};
    }
  }
  bool twice = faults.occurs(Fault::duplicated_result);
  if (twice) send_frame(frame);
  send_frame(std::move(frame));
}

Task<Result<std::optional<Json>>> VirtualLink::receive() {
  co_return co_await outbox_.receive();
}

Result<void> VirtualLink::send(Json frame) {
  if (broken_) return fail(ErrorCode::device_failed, "the virtual host is gone");
  std::string id = text_at(frame, "job");
  std::int64_t epoch = int_at(frame, "epoch");
  auto refuse = [&](std::string why) {
    send_frame({{"event", "error"},
                {"job", id},
                {"epoch", epoch_},
                {"error", error_json({ErrorCode::bad_message, std::move(why), {}})}});
  };
  if (epoch < epoch_) {
    refuse(fmt::format("epoch {} is over; this is {}", epoch, epoch_));
    return {};
  }
  epoch_ = epoch;
  auto known = jobs_.find(id);
  if (text_at(frame, "do") == "cancel") {
    if (known != jobs_.end()) known->second->cancelled.set();
    return {};
  }
  if (id.empty() || known != jobs_.end()) {
    refuse("a job needs an id of its own");
    return {};
  }
  auto job = std::make_shared<Job>(loop_);
  if (VirtualHost::Device* device = host_.find(text_at(frame, "device"))) {
    job->hold.emplace(host_, *device, loop_);
  }
  jobs_[id] = job;
  work_.spawn(run_job(std::move(frame), std::move(id), std::move(job)));
  return {};
}

Task<void> VirtualLink::run_job(Json request, std::string id, std::shared_ptr<Job> job) {
  boost::json::object frame{{"job", id}, {"epoch", int_at(request, "epoch")}};
  {
    auto outcome = co_await race(perform(request), job->cancelled.wait());
    if (auto* result = outcome.first(); !result) {
      co_await loop_.sleep(host_.settings_.cancel);
      frame["event"] = "cancelled";
    } else if (*result) {
      frame["event"] = "done";
      frame["result"] = std::move(**result);
    } else {
      frame["event"] = "error";
      frame["error"] = error_json(result->error());
    }
  }
  job->hold.reset();
  jobs_.erase(id);
  answer(std::move(frame));
}

Task<Result<Json>> VirtualLink::perform(const Json& request) {
  std::string kind = text_at(request, "do");
  if (kind == "compile") co_return co_await compile(request);
  co_return co_await on_device(std::move(kind), request);
}

Task<Result<Json>> VirtualLink::compile(const Json& request) {
  auto slot = co_await compile_slots_.acquire();
  VirtualHost& host = host_;
  co_await loop_.sleep(host.settings_.compile.draw(host.random_));
  if (host.faults_.occurs(Fault::executor_crash)) co_return executor_died();
  auto truth = read_truth(text_at(request, "source"));
  if (!truth) {
    co_return Json{{"finding", finding_json(Verdict::compile_error, "virtual: no such kernel")}};
  }
  if (fails_to_compile(truth->verdict)) {
    co_return Json{{"finding", finding_json(truth->verdict, evidence_of(truth->verdict))}};
  }
  std::string program = truth_token(*truth);
  store(program);
  co_return Json{{"finding", finding_json(Verdict::ok, {})},
                 {"program", std::move(program)},
                 {"took_ms", 1e3 * seconds(host.settings_.compile.median)}};
}

Task<Result<Json>> VirtualLink::on_device(std::string kind, const Json& request) {
  VirtualHost& host = host_;
  VirtualHost::Device* device = host.find(text_at(request, "device"));
  if (!device) co_return fail(ErrorCode::unknown_name, "unknown virtual device");
  std::string task = text_at(request, "task");
  const HostSettings& settings = host.settings_;
  double factor = loop_.now() < device->slow_until ? device->slow_factor : 1;
  auto work = [&](const ServiceTime& service) {
    return loop_.sleep(from_seconds(seconds(service.draw(host.random_)) * factor));
  };
  if (device->prepared.insert(task).second) co_await work(settings.prepare);
  if (kind == "prepare") co_return Json{{"task", task}};

  std::string program = text_at(request, "program");
  auto truth =
      kind == "evaluate" ? read_truth(text_at(request, "source")) : read_truth_token(program);
  if (kind != "evaluate" && !programs_.contains(program)) {
    co_return fail(ErrorCode::unknown_name, "the program is not known here (any more)",
                   "compile it again on this node");
  }
  if (!truth) co_return fail(ErrorCode::bad_message, "virtual: not a virtual kernel");
  if (host.faults_.occurs(Fault::executor_hang)) co_await loop_.sleep(Duration::max());
  if (kind == "evaluate") {
    co_await work(settings.compile);
    if (!fails_to_compile(truth->verdict)) co_await work(settings.validate);
    if (truth->verdict == Verdict::ok) co_await work(settings.profile);
  } else {
    co_await work(kind == "validate"  ? settings.validate
                  : kind == "profile" ? settings.profile
                                      : settings.tune);
  }
  if (truth->poison || host.faults_.occurs(Fault::executor_crash)) {
    device->prepared.clear();  // a new judge has not prepared any task
    co_return executor_died();
  }
  co_return judged(kind, *truth);
}

Result<Json> VirtualLink::judged(const std::string& kind, KernelTruth truth) {
  Random& chance = host_.faults_.chance(Fault::flaky_verdict);
  if (host_.faults_.occurs(Fault::flaky_verdict)) {
    // Mostly a correct kernel that fails; sometimes a wrong timing.
    bool fails = truth.verdict != Verdict::ok || chance.chance(0.7);
    if (fails) truth.verdict = kind == "profile" ? Verdict::unstable_timing : Verdict::wrong;
    truth.speedup *= chance.uniform(0.7, 1.3);
  }
  if (kind == "tune") return found_ok(kind, tuned(truth));
  if (truth.verdict == Verdict::ok) return found_ok(kind, truth);
  Json finding = finding_json(truth.verdict, evidence_of(truth.verdict));
  if (kind == "evaluate") return finding;
  return Json{{"finding", std::move(finding)}, {"cases", boost::json::array()}};
}

Json VirtualLink::found_ok(const std::string& kind, const KernelTruth& truth) {
  const HostSettings& settings = host_.settings_;
  bool screens = kind == "validate" || kind == "tune";
  double noise = screens ? settings.screen_noise : settings.profile_noise;
  double median = truth.speedup * std::exp(host_.random_.normal(0, noise));
  constexpr double kDeviations = 2;
  Json speedup = to_json(Speedup{.median = median,
                                 .low = median * std::exp(-kDeviations * noise),
                                 .high = median * std::exp(kDeviations * noise)});
  if (kind == "tune") {
    store(truth_token(truth));
    return {{"tunables", {{"W", 2}}},
            {"screen", std::move(speedup)},
            {"tried", 1},
            {"program", truth_token(truth)}};
  }
  Json finding = finding_json(Verdict::ok, {});
  if (kind == "validate") {
    return {{"finding", std::move(finding)},
            {"cases", boost::json::array()},
            {"screen", std::move(speedup)}};
  }
  double peak_fraction = std::min(1.0, median / host_.ceiling_);
  Json profile{{"limit", "memory"}, {"peak_fraction", peak_fraction}};
  if (kind == "evaluate") {
    boost::json::object evaluation = finding.get_object();
    evaluation["speedup"] = std::move(speedup);
    evaluation["peak_fraction"] = peak_fraction;
    evaluation["profile"] = std::move(profile);
    evaluation["feedback"] = fmt::format("{:.3f} times as fast as the baseline", median);
    return evaluation;
  }
  return {{"finding", std::move(finding)},
          {"cases", boost::json::array()},
          {"speedup", std::move(speedup)},
          {"profile", std::move(profile)}};
}

void VirtualLink::store(const std::string& program) {
  if (!programs_.insert(program).second) return;
  program_order_.push_back(program);
  if (program_order_.size() <= kMaxPrograms) return;
  programs_.erase(program_order_.front());
  program_order_.pop_front();
}

}  // namespace specgen
