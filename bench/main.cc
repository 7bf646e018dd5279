// specgen_bench [PART...]: all but those of a GPU by default; scripts/gpu runs those.

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>

#include "base/text.h"
#include "figures.h"

namespace specgen {

void heading(std::string_view text) {
  fmt::print("\n{}\n", text);
}

void at_least(std::string_view name, double value, double goal, const std::string& text,
              const std::string& goal_text) {
  fmt::print("  {:<58} {:>14}   goal >= {:<10} {}\n", name, text, goal_text,
             value >= goal ? "ok" : "MISSED");
}

void at_most(std::string_view name, double value, double goal, const std::string& text,
             const std::string& goal_text) {
  fmt::print("  {:<58} {:>14}   goal <= {:<10} {}\n", name, text, goal_text,
             value <= goal ? "ok" : "MISSED");
}

void note(std::string_view name, const std::string& text) {
  fmt::print("  {:<58} {:>14}\n", name, text);
}

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))];
}

}  // namespace specgen

int main(int argc, char** argv) {
  using namespace specgen;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // prints results as they come
  struct Part {
    std::string name;
    void (*measure)();
  };
  // In the order of measurement. Those that need a GPU run only if named.
  const std::vector<Part> parts{{"virtual", bench_virtual_time},
                                {"real", bench_real_driver},
                                {"journal", bench_journal},
                                {"sandbox", bench_sandbox},
                                {"evaluate", bench_evaluate},
                                {"sse", bench_sse},
                                {"generate", bench_generate},
                                {"schedule", bench_schedule},
                                {"role-switch", bench_role_switch},
                                {"bursts", bench_bursts},
                                {"simulate", bench_simulate},
                                {"fleet", bench_fleet},
                                {"triggers", bench_triggers},
                                {"speculation", bench_speculation},
                                {"kvcache", bench_kvcache},
                                {"kvcache-reclaim", bench_kvcache_reclaim},
                                {"gpu", bench_gpu},
                                {"gpu-evaluate", bench_gpu_evaluate},
                                {"gpu-kernelbench", bench_gpu_kernelbench}};
  std::vector<std::string> names, chosen(argv + 1, argv + argc);
  for (const Part& part : parts) names.push_back(part.name);
  if (chosen.empty()) {
    std::ranges::remove_copy_if(names, std::back_inserter(chosen),
                                [](const std::string& name) { return name.starts_with("gpu"); });
  }
  for (const std::string& name : chosen) {
    if (std::ranges::find(names, name) != names.end()) continue;
    fmt::print(stderr, "error: there is no part '{}'{}\n  what to do: choose from {}\n", name,
               did_you_mean(name, names), join(names, ", "));
    return 2;
  }
  for (const std::string& name : chosen) std::ranges::find(parts, name, &Part::name)->measure();
}
