#include "schedule/scripted_host.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/text.h"

namespace specgen {
namespace {

using namespace std::chrono_literals;

Json finding_of(std::string_view verdict) {
  return {{"verdict", verdict}, {"evidence", {{"text", "as scripted"}}}};
}
Json speedup_of(double median) {
  return {{"median", median}, {"low", median}, {"high", median}};
}

}  // namespace

struct ScriptedHost::Connection {
  explicit Connection(Loop& loop) : outbox(loop, 1 << 16), jobs(loop) {}
  Channel<Json> outbox;
  std::map<std::string, std::string> devices = {};  // of jobs that run
  TaskGroup jobs;

  void send_frame(Json frame) { (void)outbox.try_send(std::move(frame)); }
};

class ScriptedHost::Link final : public HostLink {
 public:
  Link(ScriptedHost& host, std::shared_ptr<Connection> connection)
      : host_(host), connection_(std::move(connection)) {}
  ~Link() override {
    if (host_.connection_ == connection_) host_.running_.clear();
    connection_->jobs.cancel();
  }

  Result<void> send(Json frame) override {
    connection_->jobs.spawn(host_.serve(*connection_, compact_json(frame)));
    return {};
  }
  Task<Result<std::optional<Json>>> receive() override {
    co_return co_await connection_->outbox.receive();
  }

 private:
  ScriptedHost& host_;
  std::shared_ptr<Connection> connection_;
};

ScriptedHost::ScriptedHost(Loop& loop, std::string name, std::vector<std::string> devices,
                           std::size_t compile_slots)
    : loop_(loop),
      name_(std::move(name)),
      devices_(std::move(devices)),
      compile_slots_(compile_slots) {}
ScriptedHost::~ScriptedHost() = default;

Task<Result<std::unique_ptr<HostLink>>> ScriptedHost::connect() {
  if (!is_reachable) co_return fail(ErrorCode::device_failed, name_ + ": unreachable");
  connection_ = std::make_shared<Connection>(loop_);
  running_.clear();
  boost::json::array devices;
  for (const std::string& device : devices_) {
    devices.push_back({{"id", device}, {"name", "model of " + name_}});
  }
  connection_->send_frame({{"event", "hello"},
                           {"protocol", 1},
                           {"specgen_version", "test"},
                           {"lanes", static_cast<std::int64_t>(compile_slots_)},
                           {"lends", shares_memory},
                           {"devices", std::move(devices)}});
  co_return std::make_unique<Link>(*this, connection_);
}

void ScriptedHost::hang_up() {
  if (!connection_) return;
  connection_->jobs.cancel();
  connection_->outbox.close();
  running_.clear();
}

std::size_t ScriptedHost::count(std::string_view what) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(log, [&](const std::string& line) { return line.starts_with(what); }));
}

Task<void> ScriptedHost::serve(Connection& connection, std::string text) {
  Json request = *parse_json(text);
  const std::string job = text_at(request, "job");
  const std::string what = text_at(request, "do");
  const std::string device = text_at(request, "device");
  std::string source = text_at(request, "source");
  if (source.empty()) source = text_at(request, "program");  // programs are named after it
  boost::json::object answer{{"job", job}, {"epoch", request.at("epoch")}};
  if (what == "cancel") {
    auto cancelled = connection.devices.extract(job);
    if (cancelled.empty()) co_return;
    if (!cancelled.mapped().empty()) --running_[cancelled.mapped()];
    answer["event"] = "cancelled";
    co_return connection.send_frame(std::move(answer));
  }
  log.push_back(what + " " + device + " " + source);
  if (what == "lend") co_return;
  connection.devices[job] = device;
  if (!device.empty()) max_at_once = std::max(max_at_once, ++running_[device]);

  Duration takes = what == "compile"    ? compile_time
                   : what == "validate" ? validate_time
                   : what == "profile"  ? profile_time
                                        : validate_time;
  if (source.contains("slow") && what != "compile") takes = 60s;
  if (source.contains("hang") && what == "validate") takes = 24h;
  co_await loop_.sleep(takes);
  if (connection.devices.erase(job) == 0) co_return;  // cancelled meanwhile
  if (!device.empty()) --running_[device];

  auto refuse = [&](ErrorCode code) {
    answer["event"] = "error";
    answer["error"] = {
        {"code", static_cast<int>(code)}, {"context", "as scripted"}, {"advice", ""}};
  };
  answer["event"] = "done";
  if (broken.contains(device) || (source.contains("poison") && what == "validate")) {
    refuse(ErrorCode::harness_failed);
  } else if (source.contains("bad_task")) {
    refuse(ErrorCode::bad_task);
  } else if (what == "compile") {
    answer["result"] = {{"finding", finding_of("ok")}, {"program", source}};
  } else if (what == "validate") {
    answer["result"] = {{"finding", finding_of(source.contains("wrong") ? "wrong" : "ok")},
                        {"screen", speedup_of(2)}};
  } else if (what == "profile") {
    answer["result"] = {{"finding", finding_of("ok")},
                        {"speedup", speedup_of(source.contains("tuned") ? 5 : 3)}};
  } else if (what == "tune") {
    answer["result"] = {
        {"program", source + " tuned"}, {"tunables", {{"B", 2}}}, {"screen", speedup_of(5)}};
  } else if (what == "evaluate") {
    answer["result"] = {{"verdict", "ok"},
                        {"evidence", {{"text", ""}}},
                        {"speedup", speedup_of(4)},
                        {"trust", "weaker"}};
  } else {
    answer["result"] = boost::json::object();
  }
  connection.send_frame(std::move(answer));
}

}  // namespace specgen
