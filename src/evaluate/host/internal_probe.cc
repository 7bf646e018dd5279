#include "evaluate/host/internal_probe.h"

#include <fmt/core.h>

#include <array>
#include <boost/json.hpp>

#include "base/text.h"
#include "evaluate/host/cuda_report.h"
#include "evaluate/host/sandbox_features.h"

namespace specgen {
namespace {

Json cuda_answer(void (*try_library)(CudaReport&)) {
  CudaReport report;
  try_library(report);
  return to_json(report);
}

struct Probe {
  std::string_view what;
  Json (*answer)();
};
const std::array kProbes{
    Probe{"driver", [] { return cuda_answer(try_driver); }},
    Probe{"nvrtc", [] { return cuda_answer(try_nvrtc); }},
    Probe{"nvml", [] { return cuda_answer(try_nvml); }},
    Probe{"cupti", [] { return cuda_answer(try_cupti); }},
    Probe{"confinement", [] { return to_json(try_confinement()); }},
};

std::string_view last_line(std::string_view text) {
  text = trim(text);
  std::size_t start = text.rfind('\n');
  return start == std::string_view::npos ? text : text.substr(start + 1);
}

}  // namespace

Result<std::string> answer_internal_probe(std::string_view what) {
  for (const Probe& probe : kProbes) {
    if (probe.what == what) return boost::json::serialize(probe.answer());
  }
  return fail(ErrorCode::unknown_name, fmt::format("{} {}", kInternalProbe, what));
}

Task<Result<Json>> ask_internal_probe(Processes& processes, std::vector<std::string> self,
                                      std::string what, Duration limit) {
  self.emplace_back(kInternalProbe);
  self.push_back(what);
  auto finished = co_await processes.run({.argv = std::move(self), .time_limit = limit});
  if (!finished && finished.error().code == ErrorCode::timeout) {
    co_return fail(ErrorCode::timeout,
                   fmt::format("hangs: no answer within {}", format_duration(limit)));
  }
  if (!finished) co_return std::unexpected(std::move(finished).error());
  if (finished->exit.signal != 0) {
    co_return fail(ErrorCode::system_call, fmt::format("crashes: {}", to_string(finished->exit)));
  }
  if (!finished->exit.ok()) {
    co_return fail(ErrorCode::system_call,
                   fmt::format("ends the process that calls it: {}", to_string(finished->exit)));
  }
  // A vendor's library may print too; the answer is the last line.
  co_return parse_json(last_line(finished->output));
}

}  // namespace specgen
