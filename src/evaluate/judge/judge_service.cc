// The judge's side of judge_process.h: a loop of its own, one job after the other.

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <cstring>
#include <map>

#include "base/text.h"
#include "evaluate/cpu/cpu_device.h"
#include "evaluate/cpu/shared_file.h"
#include "evaluate/cuda/boxing.h"
#include "evaluate/cuda/cuda_device.h"
#include "evaluate/cuda/toolchain.h"
#include "evaluate/judge/admission.h"
#include "evaluate/judge/device_lock.h"
#include "evaluate/judge/judge.h"
#include "evaluate/judge/judge_process.h"
#include "runtime/stopwatch.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

constexpr int kAsker = 3;  // descriptor
// A candidate is validated in one process, confirmed in another and looked at in a third.
constexpr std::size_t kRigsOfOne = 3;
// The third looks at one program after the other.
constexpr std::size_t kRigsOfTheNext = 2;
// A screen tells roughly how fast it is; a GPU's own clock is steady enough to tell that sooner.
constexpr Duration kScreenOnGpu = std::chrono::milliseconds(40);

Result<Secret> secret_from(const std::string& digits) {
  Secret secret;
  unsigned long long high = 0, low = 0;
  if (digits.size() != 32 || std::sscanf(digits.c_str(), "%16llx%16llx", &high, &low) != 2) {
    return fail(ErrorCode::bad_message, "a secret is 32 hex digits");
  }
  secret.words = {high, low};
  return secret;
}

Values values_at(const Json& json, std::string_view key) {
  Values values;
  if (const Json* object = member_at(json, key); object && object->is_object()) {
    for (const auto& [name, value] : object->get_object()) {
      if (value.is_int64()) values[std::string(name)] = value.get_int64();
    }
  }
  return values;
}

Json to_json(const Finding& finding) {
  return {{"verdict", to_string(finding.verdict)}, {"evidence", to_json(finding.evidence)}};
}

Json to_json(const Values& values) {
  boost::json::object json;
  for (const auto& [name, value] : values) json[name] = value;
  return json;
}

Json to_json(const Breakdown& breakdown) {
  boost::json::object json;
  for (const auto& [what, time] : breakdown) json[what] = 1e3 * seconds(time);
  return json;
}

Json to_json(const std::vector<CaseResult>& cases) {
  boost::json::array json;
  for (const CaseResult& result : cases) json.push_back(to_json(result));
  return json;
}

Speedup speedup_at(const Json& json, std::string_view key) {
  const Json* speedup = member_at(json, key);
  if (!speedup) return {};
  return {number_at(*speedup, "median"), number_at(*speedup, "low"), number_at(*speedup, "high")};
}

class JudgeService {
 public:
  explicit JudgeService(JudgeSetup setup)
      : setup_(std::move(setup)), driver_(1), loop_(driver_), processes_(loop_, driver_) {}

  int serve(MessageReader& asker) {
    std::optional<Request> next;
    while (true) {
      if (!next && !is_over_) next = receive(asker);
      if (!next) return is_nonsense_ ? 1 : 0;
      Request request = std::exchange(next, std::nullopt).value();
      id_ = request.id;
      attached_ = std::move(request.attached);
      auto result = loop_.run(perform(request.kind, std::move(request.job)));
      boost::json::object answer{{"id", id_}};
      if (result) {
        answer["event"] = "done";
        answer["result"] = std::move(*result);
      } else {
        answer["event"] = "error";
        answer["error"] = to_json(result.error());
      }
      std::vector<int> descriptors;
      for (const SharedFile& file : to_send_) descriptors.push_back(file.fd());
      if (!send_message(kAsker, compact_json(answer), descriptors)) return 1;
      to_send_.clear();
      const bool is_candidate = request.kind == "validate" || request.kind == "evaluate";
      if (is_candidate) ++candidates_;
      next = rest(asker);
    }
  }

 private:
  struct Request {
    std::int64_t id = 0;
    std::string kind;
    Json job;
    std::vector<Fd> attached;
  };
  // Nothing: whoever asks is gone, or talks nonsense. Then it is the end.
  std::optional<Request> receive(MessageReader& asker) {
    is_over_ = true;
    auto message = asker.receive();
    if (!message || !*message) return std::nullopt;
    auto json = parse_json((*message)->body);
    is_nonsense_ = !json;
    if (!json) return std::nullopt;
    is_over_ = false;
    const Json* job = member_at(*json, "job");
    return Request{.id = int_at(*json, "id"),
                   .kind = text_at(*json, "do"),
                   .job = job ? *job : Json(),
                   .attached = std::move((*message)->descriptors)};
  }

  // After a job: what the next ones need is made ready, while the device is still locked, for a new
  // context would disturb whoever times next. A job that is waiting already, which is returned, goes on
  // meanwhile and lets things settle before it times, so for such a one nothing is started while enough
  // is left: for its timing, if that is what comes next, or for a candidate. One that begins with
  // a compiler makes ready what it needs beside that. What cannot be made ready now is made when it is needed.
  std::optional<Request> rest(MessageReader& asker) {
    ask_for_preference(false);
    constexpr int kPatienceMs = 5;
    std::optional<Request> next;
    if (asker.is_waiting(kPatienceMs)) next = receive(asker);
    if (is_over_) return next;
    // Until the next timing the cores that are locked for us are as good as our own.
    const bool is_ours = lock_ && lock_->held() && !locked_cores_.empty();
    if (next && is_ours) (void)pin_to_cores(locked_cores_);
    if (next && (next->kind == "compile" || next->kind == "evaluate")) return next;
    const std::size_t least = !next ? max_rigs() : next->kind == "profile" ? 1 : kRigsOfTheNext;
    if (may_start_rigs()) (void)device_->replenish(least, max_rigs());
    if (next) return next;
    while (device_ && !asker.is_waiting(0) && device_->make_memory_ahead()) {
    }
    if (device_) (void)loop_.run(device_->settle());
    if (lock_) lock_->release();
    return next;
  }

  // What disturbs others is started while the device is ours.
  bool may_start_rigs() const {
    return device_ && (device_->starts_beside_compiling() || lock_->held());
  }

  // One candidate may be all that this judge will ever see.
  std::size_t max_rigs() const {
    if (!device_ || candidates_ <= 1) return kRigsOfOne;
    return std::max(kRigsOfOne, device_->max_ready());
  }

  // While a compiler runs. One rig after the other, because starting one holds the loop, and the compiler waits for
  // its text. What takes longer than a compiler to get ready and disturbs others is started seldom.
  Task<void> make_ready_beside_compiler() {
    if (!may_start_rigs()) co_return;
    const bool is_cheap = device_->starts_beside_compiling();
    if (!is_cheap && device_->ready() >= kRigsOfTheNext) co_return;
    const std::size_t most = is_cheap ? device_->max_ready() : max_rigs();
    for (std::size_t rigs = 1; rigs <= most; ++rigs) {
      co_await loop_.yield();
      if (!device_->replenish(rigs, rigs)) co_return;
    }
    while (device_->make_memory_ahead()) co_await loop_.yield();
  }

  Task<Result<void>> open() {
    if (judge_ || lane_) co_return Result<void>();
    Secret secret = setup_.secret ? CO_TRY(secret_from(*setup_.secret)) : fresh_secret();
    sandbox_ = CO_TRY(co_await Sandbox::open(loop_, processes_,
                                             {.at_least = setup_.require,
                                              .at_most = setup_.sandbox_at_most,
                                              .allow_none = setup_.allow_unsandboxed}));
    context_.emplace(JudgeContext{.loop = loop_,
                                  .driver = driver_,
                                  .processes = processes_,
                                  .sandbox = *sandbox_,
                                  .compiler = setup_.compiler,
                                  .python = setup_.python,
                                  .ncu = setup_.ncu});
    if (is_lane()) co_return co_await open_lane();
    device_ = CO_TRY(co_await open_device());
    // That of a GPU is held already, until those that were started are ready.
    if (!lock_) lock_.emplace(device_->lock_names());
    JudgeLimits limits{.call = setup_.call_limit};
    if (device_->backend() == Backend::cuda) limits.screen.budget = kScreenOnGpu;
    judge_.emplace(*context_, *device_, secret, limits);
    judge_->on_progress = [this](std::string_view text) { tell(text); };
    judge_->before_device = [this] { return lease(); };
    judge_->beside_compiler = [this] { return make_ready_beside_compiler(); };
    co_return Result<void>();
  }

  bool is_lane() const { return setup_.device.find(':') == std::string::npos; }

  // A lane compiles and holds no device: no context is made on a GPU that others time on.
  Task<Result<void>> open_lane() {
    if (setup_.device == "cpu") {
      lane_ = std::make_unique<CpuToolchain>(*context_);
      co_return Result<void>();
    }
    if (setup_.device != "cuda") co_return std::unexpected(no_device());
    CudaDeviceFacts facts = CO_TRY(ask_cuda_device(*CO_TRY(CudaDriver::load()), 0));
    lane_ =
        std::make_unique<CudaToolchain>(CompilePoolSettings{.loop = loop_,
                                                            .driver = driver_,
                                                            .processes = processes_,
                                                            .self = context_->self,
                                                            .wrap = wrap_with(*sandbox_),
                                                            .architecture = facts.architecture(),
                                                            .warm = 1},
                                        setup_.include_folders);
    co_return Result<void>();
  }

  Error no_device() const {
    return {ErrorCode::device_missing, setup_.device, "devices are cpu:0, cuda:0, cuda:1, ..."};
  }

  Task<Result<std::unique_ptr<Device>>> open_device() {
    if (setup_.device.starts_with("cpu:")) co_return CpuDevice::open(*context_, setup_.device);
    int index = -1;
    std::string_view number = setup_.device;
    bool is_cuda = number.starts_with("cuda:");
    if (is_cuda) number.remove_prefix(5);
    auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (!is_cuda || error != std::errc() || end != number.data() + number.size() || index < 0) {
      co_return std::unexpected(no_device());
    }
    // Contexts are made here and in warm executors: not while another process times on it.
    lock_.emplace(std::vector<std::string>{fmt::format("cuda-{}", index)});
    CO_TRY(co_await lock_->acquire(loop_, setup_.lock_wait,
                                   [this](std::string_view text) { tell(text); }));
    auto device = CO_TRY(co_await CudaDevice::find(loop_, driver_, processes_,
                                                   {.index = index,
                                                    .self = context_->self,
                                                    .wrap = wrap_with(*sandbox_),
                                                    .allowed_folders = setup_.include_folders,
                                                    .counters = setup_.counters,
                                                    .ncu = setup_.ncu}));
    // They get ready while the task is prepared; whoever times waits for them.
    CO_TRY(device->replenish(kRigsOfOne, kRigsOfOne));
    co_return std::unique_ptr<Device>(std::move(device));
  }

  Task<Result<void>> lease() {
    CO_TRY(co_await lock_->acquire(loop_, setup_.lock_wait,
                                   [this](std::string_view text) { tell(text); }));
    // The device's cores are the candidate's; everything of ours stays on the others.
    if (locked_cores_.empty()) locked_cores_ = own_and_device_cores();
    (void)pin_to_cores(own_cores());
    ask_for_preference(true);
    co_return Result<void>();
  }

  // Before the first pinning: later nobody remembers what was allowed.
  std::vector<int> own_and_device_cores() const {
    std::vector<int> all = allowed_cores(), others = device_->cores_of_judge(), own = own_cores();
    std::erase_if(all, [&](int core) {
      bool is_others = std::ranges::find(others, core) != others.end();
      return is_others && std::ranges::find(own, core) == own.end();
    });
    return all;
  }

  std::vector<int> own_cores() const {
    std::vector<int> all = device_->cores_of_judge(), free = all;
    std::erase_if(free, [&](int core) {
      return std::ranges::find(setup_.keep_off, core) != setup_.keep_off.end();
    });
    return free.empty() ? all : free;
  }

  Task<Result<Json>> perform(std::string kind, Json job) {
    CO_TRY(co_await open());
    if (kind == "compile" && !text_at(job, "task").ends_with(".py")) {
      KernelTask task = CO_TRY(load_task(text_at(job, "task")));
      co_return co_await compile(task, std::move(job));
    }
    if (lane_) co_return fail(ErrorCode::bad_message, "a lane only compiles native tasks");
    if (kind == "evaluate") co_return co_await evaluate(std::move(job));
    if (kind == "describe") {
      co_return Json{{"description", CO_TRY(co_await judge_->describe_python(
                                         text_at(job, "task"), values_at(job, "shapes")))}};
    }
    PreparedTask& prepared =
        *CO_TRY(co_await judge_->prepare(text_at(job, "task"), values_at(job, "shapes")));
    if (kind == "prepare") {
      if (flag_at(job, "canary") && device_->backend() == Backend::cuda) {
        CO_TRY(co_await lease());
        CO_TRY(co_await device_->canary());
      }
      co_return Json{{"task", prepared.task.title()}};
    }
    if (kind == "admit") co_return co_await admit_task(prepared);
    if (kind == "compile") co_return co_await compile(prepared.task, std::move(job));
    Program program = CO_TRY(attached_program(job));
    if (kind == "validate") co_return co_await validate(prepared, program, job);
    Validation validation{.finding = {}, .cases = {}, .screen = speedup_at(job, "screen")};
    if (!(validation.screen.median > 0)) {
      co_return fail(ErrorCode::bad_message,
                     fmt::format("'{}' needs the screen of validate", kind));
    }
    if (kind == "profile") co_return co_await profile(prepared, program, validation, job);
    if (kind == "tune") {
      Tuned tuned = CO_TRY(co_await judge_->tune(prepared, program, validation));
      CO_TRY(attach(tuned.program));
      co_return Json{{"tunables", to_json(tuned.best)},
                     {"screen", to_json(tuned.screen)},
                     {"tried", tuned.tried},
                     {"combinations", tuned.combinations},
                     {"program", program_json(tuned.program)}};
    }
    co_return fail(ErrorCode::bad_message, fmt::format("there is no job '{}'", kind));
  }

  // What the stages before have told, and what this judge knows of itself.
  Evaluation evaluation_so_far(const Json& job) {
    Evaluation evaluation = judge_->begin_evaluation(text_at(job, "task"));
    const Json* before = member_at(job, "evaluation");
    if (!before) return evaluation;
    Evaluation known = evaluation_from_json(*before);
    evaluation.cases = std::move(known.cases);
    evaluation.tunables = std::move(known.tunables);
    evaluation.marks = std::move(known.marks);
    evaluation.timings = known.timings;
    return evaluation;
  }

  static void add_evaluation(const Evaluation& evaluation, boost::json::object& to) {
    to["evaluation"] = specgen::to_json(evaluation);
    to["feedback"] = feedback_text(evaluation);
  }

  Task<Result<Json>> validate(PreparedTask& prepared, const Program& program, const Json& job) {
    const Time start = loop_.now();
    Evaluation evaluation = evaluation_so_far(job);
    Validation validation = CO_TRY(co_await judge_->validate(prepared, program));
    evaluation.timings.validate = loop_.now() - start;
    evaluation.timings.total += evaluation.timings.validate;
    judge_->add_validation(prepared, program, validation, evaluation);
    boost::json::object json{{"finding", to_json(validation.finding)},
                             {"cases", to_json(validation.cases)},
                             {"screen", to_json(validation.screen)},
                             {"breakdown_ms", to_json(validation.breakdown)}};
    add_evaluation(evaluation, json);
    co_return json;
  }

  Task<Result<Json>> profile(PreparedTask& prepared, const Program& program,
                             const Validation& validation, const Json& job) {
    const Time start = loop_.now();
    Evaluation evaluation = evaluation_so_far(job);
    evaluation.task = prepared.task.title();
    evaluation.tunables = program.tunables;
    Profiled profiled = CO_TRY(co_await judge_->profile(prepared, program, validation));
    evaluation.timings.profile = loop_.now() - start;
    boost::json::object json{{"finding", to_json(profiled.finding)},
                             {"cases", to_json(profiled.cases)},
                             {"speedup", to_json(profiled.speedup)},
                             {"profile", CO_TRY(parse_json(judge_->profile_of(profiled)))}};
    // A search waits for this: what stands beside the result must not hold it up for seconds.
    co_await judge_->add_profile(prepared, std::move(profiled), VendorTime::as_known, evaluation);
    evaluation.timings.total += loop_.now() - start;
    add_evaluation(evaluation, json);
    co_return json;
  }

  Task<Result<Json>> evaluate(Json job) {
    Evaluation evaluation =
        CO_TRY(co_await judge_->evaluate({.task = text_at(job, "task"),
                                          .source = text_at(job, "source"),
                                          .tunables = values_at(job, "tunables"),
                                          .shapes = values_at(job, "shapes"),
                                          .model_new = flag_at(job, "model_new")}));
    boost::json::object json = specgen::to_json(evaluation).get_object();
    json["feedback"] = feedback_text(evaluation);
    co_return json;
  }

  Task<Result<Json>> admit_task(PreparedTask& prepared) {
    Admission admission = CO_TRY(co_await admit(*judge_, prepared));
    boost::json::array faults;
    for (const AdmissionFault& fault : admission.faults) {
      faults.push_back(
          {{"variant", fault.variant}, {"case", fault.case_name}, {"text", fault.text}});
    }
    co_return Json{{"admitted", admission.admitted()},
                   {"checks", admission.checks},
                   {"faults", std::move(faults)}};
  }

  Task<Result<Json>> compile(const KernelTask& task, Json job) {
    Toolchain& toolchain = lane_ ? *lane_ : device_->toolchain();
    TaskGroup beside(loop_);
    beside.spawn(make_ready_beside_compiler());
    Compiled compiled = CO_TRY(
        co_await toolchain.compile(task, text_at(job, "source"), values_at(job, "tunables")));
    beside.cancel();  // rest() does what is left
    boost::json::object json{{"finding", to_json(compiled.finding)},
                             {"took_ms", 1e3 * seconds(compiled.took)}};
    if (compiled.finding.ok()) {
      CO_TRY(attach(compiled.program));
      json["program"] = program_json(compiled.program);
    }
    Evaluation evaluation{.task = task.title(),
                          .device = setup_.device,
                          .device_name = {},
                          .sandbox = std::string(to_string(context_->sandbox.level())),
                          .trust = "full",
                          .verdict = compiled.finding.verdict,
                          .evidence = compiled.finding.evidence,
                          .tunables = compiled.program.tunables,
                          .timings = {.compile = compiled.took, .total = compiled.took}};
    if (task.fixed_shape) evaluation.marks.emplace_back("fixed-shape");
    add_evaluation(evaluation, json);
    if (lane_) {  // which will be the device, nobody knows yet
      auto& known = json["evaluation"].get_object();
      known.erase("device");
      known.erase("device_name");
    }
    co_return json;
  }

  // A program travels as JSON and a descriptor: what is in the source is read from it again.
  Result<void> attach(const Program& program) {
    SharedFile file = TRY(SharedFile::make("program", program.binary.size()));
    std::memcpy(file.bytes().data(), program.binary.data(), program.binary.size());
    TRY(file.seal());
    to_send_.push_back(std::move(file));
    return {};
  }

  static Json program_json(const Program& program) {
    boost::json::object lowered;
    for (const auto& [name, mangled] : program.lowered_names) lowered[name] = mangled;
    return {{"source", program.source},
            {"tunables", to_json(program.tunables)},
            {"lowered_names", std::move(lowered)},
            {"remarks", program.remarks}};
  }

  Result<Program> attached_program(const Json& job) {
    const Json* json = member_at(job, "program");
    if (!json || attached_.size() != 1) {
      return fail(ErrorCode::bad_message, "a program comes with one descriptor");
    }
    Program program{.source = text_at(*json, "source"),
                    .directives = {},
                    .tunables = values_at(*json, "tunables"),
                    .binary = {},
                    .lowered_names = {},
                    .remarks = text_at(*json, "remarks")};
    auto directives = parse_directives(program.source);
    if (!directives) return fail(ErrorCode::bad_message, directives.error().reason);
    program.directives = std::move(*directives);
    if (const Json* lowered = member_at(*json, "lowered_names"); lowered && lowered->is_object()) {
      for (const auto& [name, mangled] : lowered->get_object()) {
        if (mangled.is_string()) {
          program.lowered_names[std::string(name)] = std::string(mangled.get_string());
        }
      }
    }
    program.binary = TRY(read_file(fmt::format("/proc/self/fd/{}", attached_[0].get()), MiB(64)));
    return program;
  }

  void tell(std::string_view text) {
    (void)send_message(kAsker, compact_json({{"id", id_}, {"event", "progress"}, {"text", text}}));
  }

  JudgeSetup setup_;
  RealDriver driver_;
  Loop loop_;
  Processes processes_;
  std::optional<Sandbox> sandbox_;
  std::optional<JudgeContext> context_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Toolchain> lane_;  // instead, where there is no device
  std::optional<DeviceLock> lock_;
  std::optional<Judge> judge_;
  std::int64_t id_ = 0;
  std::vector<int> locked_cores_;  // ours while the device is: its own and the judge's
  std::size_t candidates_ = 0;
  bool is_over_ = false;      // nobody asks any more
  bool is_nonsense_ = false;  // or nobody who makes sense
  std::vector<Fd> attached_;
  std::vector<SharedFile> to_send_;
};

}  // namespace

int run_internal_judge(std::span<const std::string>) {
  MessageReader asker(kAsker);
  auto first = asker.receive();
  if (!first || !*first) return 1;
  auto json = parse_json((*first)->body);
  if (!json) return 1;
  auto setup = judge_setup_from_json(*json);
  if (!setup) return 1;
  JudgeService service(std::move(*setup));
  return service.serve(asker);
}

}  // namespace specgen
