#include "evaluate/cuda/counters.h"

#include <fmt/core.h>

#include <array>
#include <boost/json.hpp>
#include <cstdlib>

#include "base/temporary_folder.h"
#include "base/text.h"
#include "evaluate/cuda/once_process.h"
#include "evaluate/host/tools.h"

namespace specgen {
namespace {

namespace json = boost::json;

struct Metric {
  std::string_view name;
  std::string_view as;
};
constexpr std::array kMetrics{
    Metric{"gpu__time_duration.sum", "time_ns"},
    Metric{"sm__throughput.avg.pct_of_peak_sustained_elapsed", "multiprocessors_percent"},
    Metric{"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed", "memory_percent"},
    Metric{"dram__throughput.avg.pct_of_peak_sustained_elapsed", "dram_percent"},
    Metric{"dram__bytes_read.sum", "dram_bytes_read"},
    Metric{"dram__bytes_write.sum", "dram_bytes_written"},
    Metric{"sm__warps_active.avg.pct_of_peak_sustained_active", "warps_active_percent"},
    Metric{"l1tex__t_sector_hit_rate.pct", "l1_hit_percent"},
    Metric{"lts__t_sector_hit_rate.pct", "l2_hit_percent"},
    // All kinds of matrix instructions: Hopper counts mma and wgmma separately.
    Metric{"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "matrix_percent"},
    Metric{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "shared_bank_conflicts"},
};

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  std::string field;
  bool quoted = false;
  for (char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.push_back(std::exchange(field, {}));
    } else if (c != '\r') {
      field += c;
    }
  }
  fields.push_back(std::move(field));
  return fields;
}

// ncu scales values: "1.5" in a column whose unit is "Kbyte".
double unit_factor(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double factor;
  };
  constexpr std::array kUnits{
      Unit{"Kbyte", 1e3},   Unit{"Mbyte", 1e6},   Unit{"Gbyte", 1e9},
      Unit{"us", 1e3},      Unit{"usecond", 1e3}, Unit{"ms", 1e6},
      Unit{"msecond", 1e6}, Unit{"s", 1e9},       Unit{"second", 1e9},
  };
  for (const Unit& known : kUnits) {
    if (unit == known.name) return known.factor;
  }
  return 1;
}

Json unavailable(std::string note) {
  return {{"available", false}, {"note", std::move(note)}};
}

}  // namespace

Json read_counters(std::string_view csv) {
  std::vector<std::string> names, units;
  json::array kernels;
  for (std::string_view line : split(csv, '\n')) {
    if (!line.starts_with('"')) continue;  // ncu's own messages begin with ==
    std::vector<std::string> fields = fields_of(line);
    if (names.empty()) {
      names = std::move(fields);
      continue;
    }
    if (units.empty()) {
      units = std::move(fields);
      continue;
    }
    json::object kernel;
    for (std::size_t i = 0; i < std::min({names.size(), units.size(), fields.size()}); ++i) {
      if (names[i] == "Kernel Name") kernel["name"] = fields[i];
      for (const Metric& metric : kMetrics) {
        if (names[i] != metric.name) continue;
        std::string digits = fields[i];
        std::erase(digits, ',');
        char* end = nullptr;
        double value = std::strtod(digits.c_str(), &end);
        if (end != digits.c_str()) {
          kernel[metric.as] = finite_or_null(value * unit_factor(units[i]));
        }
      }
    }
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

Task<Json> take_counters(Processes& processes, std::vector<std::string> self, std::string ncu,
                         OnceJob job) {
  std::filesystem::path tool = ncu.contains('/') ? std::filesystem::path(ncu) : find_cuda_tool(ncu);
  if (tool.empty()) co_return unavailable("NVIDIA's profiler (ncu) is not installed");
  Component permission{.name = "counters"};
  look_at_counters(permission);
  if (!permission.works) co_return unavailable(permission.problem);
  auto folder = TemporaryFolder::make();
  if (!folder) co_return unavailable(folder.error().summary());
  if (auto written = write_once_job(folder->path(), job); !written) {
    co_return unavailable(written.error().summary());
  }
  std::string metrics;
  for (const Metric& metric : kMetrics) {
    metrics += fmt::format("{}{}", metrics.empty() ? "" : ",", metric.name);
  }
  // The kernels that fill the inputs come first, one per input.
  Command command{
      .argv = {tool.string(), "--csv", "--page", "raw", "--metrics", metrics, "--clock-control",
               "none", "--launch-skip", std::to_string(job.at.inputs.size()), "--launch-count",
               std::to_string(job.plan.launches.size())},
      .time_limit = std::chrono::seconds(60)};
  // /proc/self/exe in the profiler's process would be the profiler.
  std::error_code ignored;
  if (auto program = std::filesystem::read_symlink(self.front(), ignored); !ignored) {
    self.front() = program.string();
  }
  command.argv.insert(command.argv.end(), self.begin(), self.end());
  command.argv.emplace_back(kInternalCudaOnce);
  command.argv.push_back(folder->path().string());
  auto finished = co_await processes.run(std::move(command));
  if (!finished) co_return unavailable("ncu: " + finished.error().summary());
  Json kernels = read_counters(finished->output);
  if (kernels.get_array().empty()) {
    std::string message(
        trim(finished->error_output.empty() ? finished->output : finished->error_output));
    if (message.size() > 400) message = message.substr(message.size() - 400);
    co_return unavailable(
        fmt::format("ncu gave no numbers ({}): {}", to_string(finished->exit), message));
  }
  co_return Json{{"available", true}, {"note", nullptr}, {"kernels", std::move(kernels)}};
}

}  // namespace specgen
