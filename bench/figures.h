#pragma once
// Output of `make bench`: one line per figure, with its goal. Figures are measured, never asserted: the machine may be
// busy, and a person has to judge a missed goal.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace specgen {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

void heading(std::string_view text);

// Goals; `text` is the formatted value.
void at_least(std::string_view name, double value, double goal, const std::string& text,
              const std::string& goal_text);
void at_most(std::string_view name, double value, double goal, const std::string& text,
             const std::string& goal_text);
void note(std::string_view name, const std::string& text);  // no goal

double quantile(std::vector<double> values, double q);

// The parts, each in its own file.
void bench_virtual_time();
void bench_real_driver();
void bench_journal();
void bench_sandbox();
void bench_evaluate();
void bench_sse();
void bench_generate();
void bench_schedule();
void bench_role_switch();
void bench_bursts();
void bench_simulate();
void bench_fleet();  // takes minutes and gigabytes
void bench_triggers();
void bench_speculation();
void bench_kvcache();
void bench_kvcache_reclaim();  // minutes
void bench_gpu();              // these three do not run by default
void bench_gpu_evaluate();
void bench_gpu_kernelbench();

}  // namespace specgen
