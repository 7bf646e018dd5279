// The judge's side of judge_process.h: reads requests and performs one after the other on a loop of its own.

#include <fmt/core.h>

#include <boost/json.hpp>
#include <charconv>

#include "evaluate/cpu/cpu_device.h"
#include "evaluate/cpu/shared_file.h"
#include "evaluate/cuda/cuda_device.h"
#include "evaluate/cuda/toolchain.h"
#include "evaluate/judge/admission.h"
#include "evaluate/judge/device_lease.h"
#include "evaluate/judge/judge.h"
#include "evaluate/judge/judge_process.h"
#include "evaluate/judge/warm_up.h"
#include "runtime/message_socket.h"
#include "runtime/task_group.h"

namespace specgen {
namespace {

constexpr int kClient = 3;  // descriptor
// A screen only estimates the speed. A GPU's own clock is steady enough to do that sooner.
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

Json cases_json(const std::vector<CaseResult>& cases) {
  boost::json::array json;
  for (const CaseResult& result : cases) json.push_back(to_json(result));
  return json;
}

void add_evaluation(const Evaluation& evaluation, boost::json::object& to) {
  to["evaluation"] = to_json(evaluation);
  to["feedback"] = feedback_text(evaluation);
}

struct JudgeRequest {
  std::int64_t id = 0;
  std::string kind;  // prepare, compile, validate, tune, profile, evaluate, admit, describe
  Json job;
  std::vector<Fd> descriptors;
};

class JudgeService {
 public:
  explicit JudgeService(JudgeSetup setup)
      : setup_(std::move(setup)), driver_(1), loop_(driver_), processes_(loop_, driver_) {}

  // The exit code: 0 when the client has closed its end, 1 when it sent something unreadable.
  int serve(MessageReader& client) {
    auto next = receive(client);
    while (next && *next) {
      const JudgeRequest request = std::move(**next);
      request_ = &request;
      if (!answer(loop_.run(perform(request)))) return 1;
      if (request.kind == "validate" || request.kind == "evaluate") {
        if (warm_up_) warm_up_->count_candidate();
      }
      next = between_jobs(client);
    }
    return next ? 0 : 1;
  }

 private:
  using Next = Result<std::optional<JudgeRequest>>;  // nothing: the client has closed its end

  // Requests.

  static Next receive(MessageReader& client) {
    auto message = client.receive();
    if (!message || !*message) return std::optional<JudgeRequest>();
    Json json = TRY(parse_json((*message)->body));
    const Json* job = member_at(json, "job");
    return JudgeRequest{.id = int_at(json, "id"),
                        .kind = text_at(json, "do"),
                        .job = job ? *job : Json(),
                        .descriptors = std::move((*message)->descriptors)};
  }

  bool answer(Result<Json> result) {
    boost::json::object answer{{"id", request_->id}};
    if (result) {
      answer["event"] = "done";
      answer["result"] = std::move(*result);
    } else {
      answer["event"] = "error";
      answer["error"] = to_json(result.error());
    }
    std::vector<int> descriptors;
    for (const SharedFile& file : to_send_) descriptors.push_back(file.fd());
    const bool is_sent = send_message(kClient, compact_json(answer), descriptors).has_value();
    to_send_.clear();
    return is_sent;
  }

  void report_progress(std::string_view text) {
    (void)send_message(kClient,
                       compact_json({{"id", request_->id}, {"event", "progress"}, {"text", text}}));
  }

  // Prepares what the next jobs need while the device is still locked, because a new context on a GPU would disturb
  // another process that times on it. A request that is waiting already is not kept waiting.
  Next between_jobs(MessageReader& client) {
    constexpr int kPatienceMs = 5;
    if (lease_) lease_->end_timing();
    if (client.is_waiting(kPatienceMs)) {
      Next next = receive(client);
      if (!next || !*next || !warm_up_) return next;
      lease_->use_device_cores();
      warm_up_->before((*next)->kind);
      return next;
    }
    if (warm_up_) loop_.run(warm_up_->while_idle([&client] { return client.is_waiting(0); }));
    if (lease_) lease_->release();
    return receive(client);
  }

  // Opening what this judge works with, at the first request.

  Task<Result<void>> open() {
    if (judge_ || compile_slot_) co_return Result<void>();
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
    if (setup_.is_compile_slot()) co_return co_await open_compile_slot();
    CO_TRY(co_await open_device());
    lease_->set_judge_cores(device_->info().judge_cores);
    warm_up_.emplace(loop_, device_->ready_pool(), *lease_);
    JudgeLimits limits{.call = setup_.call_limit};
    if (device_->info().backend == Backend::cuda) limits.screen.budget = kScreenOnGpu;
    judge_.emplace(*context_, *device_, secret, limits);
    judge_->on_progress = [this](std::string_view text) { report_progress(text); };
    judge_->before_device = [this] { return lease_->acquire(); };
    judge_->while_compiling = [this] { return warm_up_->while_compiling(); };
    co_return Result<void>();
  }

  // Makes no context on a GPU, on which other processes may be timing.
  Task<Result<void>> open_compile_slot() {
    if (setup_.device == "cpu") {
      compile_slot_ = std::make_unique<CpuToolchain>(*context_);
      co_return Result<void>();
    }
    if (setup_.device != "cuda") co_return std::unexpected(no_device());
    CudaDeviceFacts facts = CO_TRY(ask_cuda_device(*CO_TRY(CudaDriver::load()), 0));
    compile_slot_ =
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

  Task<Result<void>> open_device() {
    LeaseOptions options{.lock_wait = setup_.lock_wait,
                         .keep_off = setup_.keep_off,
                         .on_waiting = [this](std::string_view text) { report_progress(text); }};
    if (setup_.device.starts_with("cpu:")) {
      device_ = CO_TRY(CpuDevice::open(*context_, setup_.device));
      lease_.emplace(loop_, device_->info().lock_names, std::move(options));
      co_return Result<void>();
    }
    int index = -1;
    std::string_view number = setup_.device;
    bool is_cuda = number.starts_with("cuda:");
    if (is_cuda) number.remove_prefix(5);
    auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
    if (!is_cuda || error != std::errc() || end != number.data() + number.size() || index < 0) {
      co_return std::unexpected(no_device());
    }
    // Locked first: opening makes contexts, which must not happen while another process times.
    lease_.emplace(loop_, std::vector{fmt::format("cuda-{}", index)}, std::move(options));
    CO_TRY(co_await lease_->lock());
    device_ = CO_TRY(co_await CudaDevice::find(loop_, driver_, processes_,
                                               {.index = index,
                                                .self = context_->self,
                                                .wrap = wrap_with(*sandbox_),
                                                .allowed_folders = setup_.include_folders,
                                                .counters = setup_.counters,
                                                .ncu = setup_.ncu}));
    // They get ready while the task is prepared; a timing waits until they are.
    co_return device_->ready_pool().replenish(kRigsPerCandidate, kRigsPerCandidate);
  }

  // Jobs.

  Task<Result<Json>> perform(const JudgeRequest& request) {
    CO_TRY(co_await open());
    const std::string& kind = request.kind;
    const Json& job = request.job;
    const std::string where = text_at(job, "task");
    if (kind == "compile" && !where.ends_with(".py")) {
      co_return co_await compile(CO_TRY(load_task(where)), job);
    }
    if (compile_slot_) {
      co_return fail(ErrorCode::bad_message, "a compile slot only compiles native tasks");
    }
    if (kind == "evaluate") co_return co_await evaluate(job);
    if (kind == "describe") {
      co_return Json{{"description",
                      CO_TRY(co_await judge_->describe_python(where, values_at(job, "shapes")))}};
    }
    PreparedTask& prepared = *CO_TRY(co_await judge_->prepare(where, values_at(job, "shapes")));
    if (kind == "prepare") co_return co_await prepare(prepared, job);
    if (kind == "admit") co_return co_await admit_task(prepared);
    if (kind == "compile") co_return co_await compile(prepared.task, job);
    Program program = CO_TRY(program_at(job, request.descriptors));
    if (kind == "validate") co_return co_await validate(prepared, program, job);
    Validation validation{.finding = {}, .cases = {}, .screen = speedup_at(job, "screen")};
    if (!(validation.screen.median > 0)) {
      co_return fail(ErrorCode::bad_message,
                     fmt::format("'{}' needs the screen of validate", kind));
    }
    if (kind == "profile") co_return co_await profile(prepared, program, validation, job);
    if (kind == "tune") co_return co_await tune(prepared, program, validation);
    co_return fail(ErrorCode::bad_message, fmt::format("unknown job '{}'", kind));
  }

  Task<Result<Json>> compile(const KernelTask& task, const Json& job) {
    Toolchain& toolchain = compile_slot_ ? *compile_slot_ : device_->toolchain();
    TaskGroup beside(loop_);
    if (warm_up_) beside.spawn(warm_up_->while_compiling());
    Compiled compiled = CO_TRY(
        co_await toolchain.compile(task, text_at(job, "source"), values_at(job, "tunables")));
    beside.cancel();  // between_jobs() does the rest
    boost::json::object json{{"finding", to_json(compiled.finding)},
                             {"took_ms", 1e3 * seconds(compiled.took)}};
    if (compiled.finding.ok()) {
      to_send_.push_back(CO_TRY(shared_binary(compiled.program)));
      json["program"] = to_json(compiled.program);
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
    if (compile_slot_) {  // the device is chosen later
      auto& known = json["evaluation"].get_object();
      known.erase("device");
      known.erase("device_name");
    }
    co_return json;
  }

  Task<Result<Json>> prepare(const PreparedTask& prepared, const Json& job) {
    if (flag_at(job, "canary") && device_->info().backend == Backend::cuda) {
      CO_TRY(co_await lease_->acquire());
      CO_TRY(co_await device_->check_health());
    }
    co_return Json{{"task", prepared.task.title()}};
  }

  // The evaluation after the stages before this one, on this device.
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

  Task<Result<Json>> validate(PreparedTask& prepared, const Program& program, const Json& job) {
    const Time start = loop_.now();
    Evaluation evaluation = evaluation_so_far(job);
    Validation validation = CO_TRY(co_await judge_->validate(prepared, program));
    evaluation.timings.validate = loop_.now() - start;
    evaluation.timings.total += evaluation.timings.validate;
    judge_->add_validation(prepared, program, validation, evaluation);
    boost::json::object json{{"finding", to_json(validation.finding)},
                             {"cases", cases_json(validation.cases)},
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
                             {"cases", cases_json(profiled.cases)},
                             {"speedup", to_json(profiled.speedup)},
                             {"profile", CO_TRY(parse_json(judge_->profile_of(profiled)))}};
    // A search waits for this result: timing the vendor's library would delay it by seconds.
    co_await judge_->add_profile(prepared, std::move(profiled), VendorTime::as_known, evaluation);
    evaluation.timings.total += loop_.now() - start;
    add_evaluation(evaluation, json);
    co_return json;
  }

  Task<Result<Json>> tune(PreparedTask& prepared, const Program& program,
                          const Validation& validation) {
    Tuned tuned = CO_TRY(co_await judge_->tune(prepared, program, validation));
    to_send_.push_back(CO_TRY(shared_binary(tuned.program)));
    co_return Json{{"tunables", to_json(tuned.best)},
                   {"screen", to_json(tuned.screen)},
                   {"tried", tuned.tried},
                   {"combinations", tuned.combinations},
                   {"program", to_json(tuned.program)}};
  }

  Task<Result<Json>> evaluate(const Json& job) {
    Evaluation evaluation =
        CO_TRY(co_await judge_->evaluate({.task = text_at(job, "task"),
                                          .source = text_at(job, "source"),
                                          .tunables = values_at(job, "tunables"),
                                          .shapes = values_at(job, "shapes"),
                                          .model_new = flag_at(job, "model_new")}));
    boost::json::object json = to_json(evaluation).get_object();
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

  JudgeSetup setup_;
  RealDriver driver_;
  Loop loop_;
  Processes processes_;
  std::optional<Sandbox> sandbox_;
  std::optional<JudgeContext> context_;
  std::unique_ptr<Toolchain> compile_slot_;  // instead of everything below
  std::unique_ptr<Device> device_;
  std::optional<DeviceLease> lease_;
  std::optional<WarmUp> warm_up_;
  std::optional<Judge> judge_;
  const JudgeRequest* request_ = nullptr;  // the one that is performed
  std::vector<SharedFile> to_send_;        // with its answer
};

}  // namespace

int run_internal_judge(std::span<const std::string>) {
  MessageReader client(kClient);
  auto first = client.receive();
  if (!first || !*first) return 1;
  auto json = parse_json((*first)->body);
  if (!json) return 1;
  auto setup = judge_setup_from_json(*json);
  if (!setup) return 1;
  JudgeService service(std::move(*setup));
  return service.serve(client);
}

}  // namespace specgen
