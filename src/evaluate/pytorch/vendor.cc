#include "evaluate/pytorch/vendor.h"

#include <fmt/core.h>

#include <boost/json.hpp>

#include "base/cache_folder.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "evaluate/judge/input_source.h"
#include "evaluate/pytorch/python_process.h"

namespace specgen {

std::string_view embedded_vendor();  // python/vendor.py

namespace {

std::string_view torch_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return "float64";
    case Dtype::f32:
      return "float32";
    case Dtype::f16:
      return "float16";
    case Dtype::bf16:
      return "bfloat16";
    case Dtype::i64:
      return "int64";
    case Dtype::i32:
      return "int32";
    case Dtype::u8:
      break;
  }
  return "uint8";
}

Json question(const KernelTask& task, const Case& at, const VendorPlace& place) {
  boost::json::array inputs;
  for (std::size_t i = 0; i < at.inputs.size(); ++i) {
    const Distribution& data = distribution_of(task, at, i);
    std::string kind = data.text().substr(0, data.text().find('('));
    const auto& shape = at.inputs[i].shape;
    inputs.push_back({{"name", at.inputs[i].name},
                      {"dtype", torch_name(at.inputs[i].dtype)},
                      {"shape", boost::json::array(shape.begin(), shape.end())},
                      {"kind", kind},
                      {"a", data.a},
                      {"b", data.b}});
  }
  boost::json::object values;
  for (const auto& [name, value] : at.axes) values[name] = value;
  for (const ScalarSpec& scalar : task.scalars) values[scalar.name] = scalar.value;
  return {{"expression", task.vendor},
          {"device", place.device},
          {"threads", place.threads},
          {"inputs", std::move(inputs)},
          {"values", std::move(values)}};
}

}  // namespace

Task<Result<double>> time_vendor(JudgeContext& context, const Python& python,
                                 const KernelTask& task, const Case& at, VendorPlace place,
                                 VendorTime how) {
  std::string asked = compact_json(question(task, at, place));
  std::optional<std::filesystem::path> kept;
  if (auto folder = cache_folder("vendor")) {
    kept = *folder / (sha256_hex(asked + python.executable.string() + place.name) + ".json");
    if (auto text = read_file(*kept)) {
      if (auto known = parse_json(*text)) {
        if (double seconds = number_at(*known, "seconds"); seconds > 0) co_return seconds;
      }
    }
  }
  if (how == VendorTime::as_known) {
    co_return fail(ErrorCode::unknown_name, task.title() + ": the vendor was not timed yet");
  }
  Command command{.argv = {python.executable.string(), "-I", "-c", std::string(embedded_vendor())},
                  .input = std::move(asked),
                  .time_limit = std::chrono::minutes(2)};
  SandboxLimits limits{.memory = GiB(16), .processes = 512, .cpu_time = std::chrono::minutes(10)};
  SandboxView view{.read_only = python.folders, .gpu = place.device != "cpu"};
  SandboxedCommand sandboxed =
      CO_TRY(context.sandbox.wrap(std::move(command), limits, std::move(view)));
  Finished finished = CO_TRY(co_await context.processes.run(sandboxed.command));
  auto answer = parse_json(finished.output);
  double seconds = answer ? number_at(*answer, "seconds") : 0;
  if (!finished.exit.ok() || seconds <= 0) {
    std::vector<std::string_view> lines = split(trim(finished.error_output), '\n');
    co_return fail(ErrorCode::harness_failed,
                   fmt::format("{}: torch cannot time '{}': {}", task.title(), task.vendor,
                               lines.empty() ? "" : lines.back()));
  }
  if (kept) (void)write_file_durably(*kept, finished.output);
  co_return seconds;
}

}  // namespace specgen
