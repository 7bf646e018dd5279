#include "evaluate/pytorch/python_task.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstring>

#include "base/assert.h"
#include "evaluate/host/tool_run.h"
#include "evaluate/pytorch/shared_tensors.h"

namespace specgen {
namespace {

namespace fs = std::filesystem;

constexpr double kRmsFactor = 8;
constexpr double kMinTolerance = 32;  // in units of correct rounding
constexpr double kMaxTolerance = 4096;
constexpr double kEagerMargin = 16;  // a candidate's worst element against the eager module's worst
constexpr std::size_t kDescriptorsPerMessage = 200;
constexpr std::size_t kCalibrationSamples = 65'536;  // of each output

std::vector<std::size_t> sizes_of(const std::vector<Tensor>& tensors) {
  std::vector<std::size_t> sizes;
  for (const Tensor& tensor : tensors) sizes.push_back(tensor.bytes());
  return sizes;
}

Error from_answer(const Json& answer) {
  std::string kind = text_at(answer, "error");
  ErrorCode code = kind == "tool_missing"                          ? ErrorCode::tool_missing
                   : kind == "bad_task" || kind == "out_of_memory" ? ErrorCode::bad_task
                                                                   : ErrorCode::harness_failed;
  std::string advice;
  if (code == ErrorCode::tool_missing) {
    advice = "install what is named, or name another Python in specgen.toml [tools] python";
  }
  if (code == ErrorCode::bad_task) {
    advice = "correct the problem file at the line named, or make it smaller with --shape NAME=N";
  }
  return Error{code, text_at(answer, "text"), std::move(advice)};
}

Error from_end(const PythonAnswer& answer, const fs::path& file) {
  std::string text =
      fmt::format("{}: the reference process: {}", file.filename().string(), printable(answer.how));
  if (answer.ended == Verdict::timeout) {
    return {ErrorCode::timeout, std::move(text), "make it smaller with --shape NAME=N"};
  }
  if (answer.ended == Verdict::out_of_memory) {
    return {ErrorCode::bad_task, std::move(text), "make it smaller with --shape NAME=N"};
  }
  return {ErrorCode::harness_failed, std::move(text), {}};
}

std::vector<int> descriptors_of(std::span<const ExportedTensor> tensors) {
  std::vector<int> all;
  for (const ExportedTensor& tensor : tensors) all.push_back(tensor.descriptor);
  return all;
}

boost::json::array places_json(std::span<const ExportedTensor> tensors) {
  boost::json::array all;
  for (const ExportedTensor& tensor : tensors) {
    all.push_back({{"bytes", tensor.allocation_bytes}, {"offset", tensor.offset}});
  }
  return all;
}

Result<double> nanoseconds_in(const Json& answer) {
  double ns = number_at(answer, "ns");
  if (!(ns > 0)) return fail(ErrorCode::bad_message, "a call of the module took no time");
  return ns;
}

TensorSpec spec_of(const Tensor& tensor) {
  TensorSpec spec{.name = tensor.name, .dtype = tensor.dtype, .shape = {}, .data = {}};
  for (std::int64_t length : tensor.shape) spec.shape.push_back(Expression::constant(length));
  return spec;
}

double elements_of(const Tensor& tensor) {
  return static_cast<double>(tensor.elements);
}

// The longest sum in common operators with these shapes: along the longest axis (matrix
// products, norms), over a filter of a convolution, or of all inputs into few outputs.
double max_terms(const Description& description) {
  double terms = 1;
  auto add_axes = [&](const Tensor& tensor) {
    for (std::int64_t length : tensor.shape) terms = std::max(terms, static_cast<double>(length));
  };
  for (const Tensor& parameter : description.parameters) {
    add_axes(parameter);
    if (parameter.shape.size() > 1) {
      double rows = static_cast<double>(parameter.shape.front());
      terms = std::max(terms, elements_of(parameter) / rows);
    }
  }
  double min_output = elements_of(description.outputs.front());
  for (const Tensor& output : description.outputs) {
    min_output = std::min(min_output, elements_of(output));
  }
  for (const Tensor& input : description.inputs) {
    add_axes(input);
    terms = std::max(terms, elements_of(input) / min_output);
  }
  return terms;
}

// The coarsest float among the tensors decides what correct rounding is.
double roundoff_of(const Description& description) {
  double roundoff = unit_roundoff(Dtype::f64);
  for (const auto* tensors : {&description.inputs, &description.parameters, &description.outputs}) {
    for (const Tensor& tensor : *tensors) {
      if (is_float(tensor.dtype)) roundoff = std::max(roundoff, unit_roundoff(tensor.dtype));
    }
  }
  return roundoff;
}

Values axes_of(const Description& description) {
  Values axes;
  for (const Tensor& input : description.inputs) {
    for (std::size_t i = 0; i < input.shape.size(); ++i) {
      axes[fmt::format("{}.{}", input.name, i)] = input.shape[i];
    }
    axes[input.name + ".n"] = input.elements;
  }
  return axes;
}

int level_of(const fs::path& file) {
  std::string folder = file.parent_path().filename().string();
  bool named = folder.size() == 6 && folder.starts_with("level");
  return named && folder[5] >= '1' && folder[5] <= '9' ? folder[5] - '0' : 1;
}

}  // namespace

double rms_of(const std::vector<double>& values) {
  double squares = 0;
  double finite = 0;
  for (double value : values) {
    if (!std::isfinite(value)) continue;
    squares += value * value;
    finite += 1;
  }
  return finite > 0 ? std::sqrt(squares / finite) : 0;
}

std::vector<double> scales_of(const std::vector<double>& values, double rms) {
  std::vector<double> scales(values.size());
  std::ranges::transform(values, scales.begin(), [&](double value) {
    return std::isfinite(value) ? std::max(std::abs(value), rms) : rms;
  });
  return scales;
}

KernelTask kernel_task_of(const Description& description, const fs::path& file) {
  KernelTask task;
  task.folder = file.parent_path();
  task.name = entry_name(file);
  task.summary = file.stem().string() + ", a PyTorch module";
  task.level = level_of(file);
  task.element = description.outputs.front().dtype;
  task.variant = to_string(task.element);
  task.elements = {task.element};
  // In the order of the arguments; a map of values is sorted by name.
  for (const Tensor& input : description.inputs) {
    for (std::size_t i = 0; i < input.shape.size(); ++i) {
      task.axes.push_back({fmt::format("{}.{}", input.name, i), input.shape[i], input.shape[i], 1});
    }
    task.axes.push_back({input.name + ".n", input.elements, input.elements, 1});
  }
  std::size_t bytes = 0;
  for (const auto* tensors : {&description.inputs, &description.parameters}) {
    for (const Tensor& tensor : *tensors) {
      task.inputs.push_back(spec_of(tensor));
      bytes += tensor.bytes();
    }
  }
  for (const Tensor& output : description.outputs) {
    task.outputs.push_back(spec_of(output));
    bytes += output.bytes();
  }
  for (const ForwardArgument& argument : description.arguments) {
    if (argument.number) task.scalars.push_back({argument.name, *argument.number});
  }
  task.cases = {{axes_of(description), 1.0, {Backend::cpu, Backend::cuda}}};
  task.hidden_cases = 0;
  task.fixed_shape = true;
  task.bytes = Expression::constant(static_cast<std::int64_t>(bytes));
  task.flops = Expression::constant(0);
  task.check.reduction = Expression::constant(static_cast<std::int64_t>(max_terms(description)));
  task.check.tolerance = kMinTolerance;
  return task;
}

Task<Result<SocketMessage>> PythonTask::ask(std::string question, std::vector<int> descriptors) {
  auto answer = CO_TRY(
      co_await process_->ask(std::move(question), std::move(descriptors), host_->time_limit));
  if (answer.ended != Verdict::ok) co_return std::unexpected(from_end(answer, request_.file));
  Json json = CO_TRY(parse_json(answer.message.body));
  if (member_at(json, "error") != nullptr) co_return std::unexpected(from_answer(json));
  co_return std::move(answer.message);
}

Task<Result<std::vector<std::vector<std::byte>>>> PythonTask::draw(const Case& of,
                                                                   std::uint64_t seed) {
  SocketMessage answer = CO_TRY(co_await ask(compact_json({{"do", "draw"}, {"seed", seed}})));
  if (answer.descriptors.size() != 1)
    co_return fail(ErrorCode::bad_message, "the reference process sent no inputs");
  co_return read_tensors(answer.descriptors[0], sizes_of(of.inputs));
}

Task<Result<void>> PythonTask::draw_into(const Case& of, std::uint64_t seed,
                                         std::vector<ExportedTensor> inputs) {
  SG_ASSERT(inputs.size() == of.inputs.size(), "one buffer per input");
  for (std::size_t first = 0; first < inputs.size(); first += kDescriptorsPerMessage) {
    auto some = std::span(inputs).subspan(first);
    some = some.first(std::min(some.size(), kDescriptorsPerMessage));
    boost::json::object question{{"do", "draw"}, {"seed", seed}, {"first", first}};
    question["into"] = places_json(some);
    CO_TRY(co_await ask(compact_json(question), descriptors_of(some)));
  }
  co_return Result<void>();
}

Task<Result<double>> PythonTask::run_baseline_into(const Case& of, std::uint64_t seed,
                                                   std::vector<ExportedTensor> outputs,
                                                   std::size_t cold_bytes) {
  SG_ASSERT(outputs.size() == of.outputs.size(), "one buffer per output");
  if (outputs.size() > kDescriptorsPerMessage) {
    co_return fail(ErrorCode::bad_task, "the module has too many outputs");
  }
  boost::json::object question{{"do", "time"}, {"seed", seed}, {"cold_bytes", cold_bytes}};
  question["into"] = places_json(outputs);
  SocketMessage answer = CO_TRY(co_await ask(compact_json(question), descriptors_of(outputs)));
  co_return nanoseconds_in(CO_TRY(parse_json(answer.body)));
}

Task<Result<ExpectedOutputs>> PythonTask::expect_outputs(std::uint64_t seed, std::size_t samples) {
  std::vector<std::vector<std::int64_t>> asked(case_.outputs.size());
  std::vector<std::size_t> double_sizes, own_sizes;
  boost::json::object question{{"do", "expect"}, {"seed", seed}};
  boost::json::array places;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const Tensor& output = case_.outputs[i];
    auto elements = static_cast<std::size_t>(output.elements);
    if (samples > 0 && elements > samples) {
      asked[i] = sample_of(output.elements, samples, tensor_seed(seed, 1000 + i));
      elements = asked[i].size();
    }
    places.emplace_back(boost::json::array(asked[i].begin(), asked[i].end()));
    double_sizes.push_back(elements * sizeof(double));
    own_sizes.push_back(elements * size_of(output.dtype));
  }
  question["at"] = std::move(places);
  SocketMessage answer = CO_TRY(co_await ask(compact_json(question)));
  if (answer.descriptors.size() != 2)
    co_return fail(ErrorCode::bad_message, "the reference process sent no outputs");
  Json json = CO_TRY(parse_json(answer.body));
  const Json* rms = member_at(json, "rms");
  if (!rms || !rms->is_array() || rms->get_array().size() != asked.size()) {
    co_return fail(ErrorCode::bad_message, "the reference process sent no RMS of the outputs");
  }
  ExpectedOutputs outputs;
  outputs.exact = flag_at(json, "double");
  auto doubles = CO_TRY(read_tensors(answer.descriptors[0], double_sizes));
  outputs.eager = CO_TRY(read_tensors(answer.descriptors[1], own_sizes));
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Expected expected;
    expected.at = std::move(asked[i]);
    expected.value.resize(doubles[i].size() / sizeof(double));
    std::memcpy(expected.value.data(), doubles[i].data(), doubles[i].size());
    const Json& size = rms->get_array()[i];
    expected.scale = scales_of(expected.value, size.is_double() ? size.get_double() : 0);
    outputs.expected.push_back(std::move(expected));
  }
  co_return outputs;
}

Task<Result<std::vector<Expected>>> PythonTask::expect(const Case&, std::uint64_t seed,
                                                       std::size_t samples) {
  co_return CO_TRY(co_await expect_outputs(seed, samples)).expected;
}

Task<Result<EagerRun>> PythonTask::time_eager(std::uint64_t seed, bool with_outputs) {
  SocketMessage answer = CO_TRY(
      co_await ask(compact_json({{"do", "time"}, {"seed", seed}, {"outputs", with_outputs}})));
  EagerRun run{.ns = CO_TRY(nanoseconds_in(CO_TRY(parse_json(answer.body)))), .outputs = {}};
  if (!with_outputs) co_return run;
  if (answer.descriptors.size() != 1)
    co_return fail(ErrorCode::bad_message, "the reference process sent no outputs");
  run.outputs = CO_TRY(read_tensors(answer.descriptors[0], sizes_of(case_.outputs)));
  co_return run;
}

Task<Result<double>> PythonTask::round_trip_ns() {
  Time start = host_->loop.now();
  CO_TRY(co_await ask(R"({"do":"echo"})"));
  co_return static_cast<double>((host_->loop.now() - start).count());
}

Task<Result<EagerRun>> PythonTask::run_baseline(const Case&, std::uint64_t seed) {
  return time_eager(seed, true);
}

Tolerance PythonTask::tolerance(const Case&, const Tensor& output) const {
  if (!is_float(output.dtype)) return {.rms_factor = kRmsFactor};  // integers are exact
  double roundoff = roundoff_of(description_);
  double output_roundoff = unit_roundoff(output.dtype);
  return {.scale_factor = task_.check.tolerance * roundoff * (2 + std::sqrt(terms_)),
          .value_factor = output_roundoff,
          .rms_factor = kRmsFactor};
}

// A deep network loses more precision than one sum: the eager module shows how much, on one draw.
Task<Result<void>> PythonTask::calibrate() {
  terms_ = max_terms(description_);
  ExpectedOutputs outputs = CO_TRY(co_await expect_outputs(request_.seed, kCalibrationSamples));
  double worst = 0;
  for (std::size_t i = 0; i < case_.outputs.size(); ++i) {
    if (!is_float(case_.outputs[i].dtype)) continue;
    const Expected& expected = outputs.expected[i];
    std::vector<double> eager(expected.value.size());
    to_doubles(case_.outputs[i].dtype, outputs.eager[i], eager);
    for (std::size_t k = 0; k < eager.size(); ++k) {
      if (!std::isfinite(expected.value[k]) || !(expected.scale[k] > 0)) continue;
      worst = std::max(worst, std::abs(eager[k] - expected.value[k]) / expected.scale[k]);
    }
  }
  double unit = roundoff_of(description_) * (2 + std::sqrt(terms_));
  task_.check.tolerance = std::clamp(kEagerMargin * worst / unit, kMinTolerance, kMaxTolerance);
  co_return Result<void>();
}

// Starts the reference process and has it load the problem.
Task<Result<void>> PythonTask::load() {
  std::error_code ignored;
  request_.file = fs::absolute(request_.file, ignored);
  const fs::path& file = request_.file;
  if (!fs::is_regular_file(file, ignored)) {
    co_return fail(ErrorCode::file_not_found, file.string());
  }
  process_ = CO_TRY(PythonProcess::start(*host_, PythonProgram::reference, {file.parent_path()}));
  boost::json::object overrides;
  for (const auto& [name, value] : request_.overrides) overrides[name] = value;
  SocketMessage answer = CO_TRY(co_await ask(compact_json({{"do", "describe"},
                                                           {"file", file.string()},
                                                           {"overrides", overrides},
                                                           {"seed", request_.seed},
                                                           {"device", host_->device},
                                                           {"threads", host_->threads}})));
  description_ = CO_TRY(parse_description(answer.body));
  task_ = kernel_task_of(description_, file);
  case_ = CO_TRY(make_case(task_, task_.cases.front().axes));
  case_.weight = 1;
  co_return Result<void>();
}

Task<Result<Description>> describe_python_task(const PythonHost& host, PythonTaskRequest request) {
  PythonTask task(host, std::move(request));
  CO_TRY(co_await task.load());
  co_return std::move(task.description_);
}

Task<Result<std::unique_ptr<PythonTask>>> open_python_task(const PythonHost& host,
                                                           PythonTaskRequest request) {
  std::unique_ptr<PythonTask> task(new PythonTask(host, std::move(request)));
  CO_TRY(co_await task->load());
  CO_TRY(co_await task->calibrate());
  co_return task;
}

}  // namespace specgen
