// Following reasoning streams on one core: triggers and harvest.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>

#include "base/file.h"
#include "base/random.h"
#include "base/units.h"
#include "figures.h"
#include "generate/author/kernel_plan.h"
#include "generate/author/reasoning.h"
#include "speculate/harvest.h"
#include "speculate/triggers.h"

namespace specgen {
namespace {

constexpr std::size_t kStreams = 100;
constexpr std::size_t kTraceBytes = 20'000;  // of each stream
constexpr std::size_t kDeltaBytes = 16;      // a few tokens
constexpr std::size_t kStretchBytes = 100 * kDeltaBytes;
constexpr int kRounds = 20;
constexpr double kNeededDeltasPerSecond =
    kStreams * 200.0;  // 200 tokens/s per stream, one delta each

// Reasoning of the author: drafts of kernels, doubts and decisions.
std::string reasoning(std::uint64_t seed) {
  const KernelPlan* plan = find_plan("softmax", "cpu");
  if (!plan) std::abort();
  PromptContext context{.task = "softmax", .backend = "cpu", .seed = seed};
  std::string text;
  for (std::uint64_t draw = seed; text.size() < kTraceBytes; ++draw) {
    text += reason_about_kernel({context, *plan, 0.2, draw}, AuthorOptions()) + "\n\n";
  }
  return text;
}

// Millions of deltas per second, with all streams open and their deltas in turn, as they come from a server. The best
// time of every short stretch of text counts, as the machine may be busy.
double scan(Triggers& triggers, const std::vector<std::string>& traces) {
  std::vector<double> best_s(kTraceBytes / kStretchBytes, 1e9);
  std::vector<Trigger> found;
  std::size_t fired = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<TriggerScanner> scanners;
    for (std::size_t i = 0; i < kStreams; ++i) scanners.emplace_back(triggers);
    for (std::size_t stretch = 0; stretch < best_s.size(); ++stretch) {
      const std::size_t from = stretch * kStretchBytes;
      Stopwatch watch;
      for (std::size_t at = from; at < from + kStretchBytes; at += kDeltaBytes) {
        for (std::size_t i = 0; i < kStreams; ++i) {
          scanners[i].feed(std::string_view(traces[i]).substr(at, kDeltaBytes), found);
        }
      }
      best_s[stretch] = std::min(best_s[stretch], watch.seconds());
      fired += found.size();
      found.clear();
    }
  }
  if (fired == 0) std::abort();
  double deltas = static_cast<double>(kStreams * best_s.size() * kStretchBytes / kDeltaBytes);
  return deltas / 1e6 / std::accumulate(best_s.begin(), best_s.end(), 0.0);
}

// Megabytes per second.
double harvest(const std::vector<std::string>& traces) {
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<HarvestedKernel> found;
    std::size_t bytes = 0;
    Stopwatch watch;
    for (const std::string& trace : traces) {
      Harvester harvester("cpu");
      for (std::size_t at = 0; at < trace.size(); at += kDeltaBytes) {
        harvester.feed(std::string_view(trace).substr(at, kDeltaBytes), found);
      }
      harvester.finish(found);
      bytes += trace.size();
    }
    best = std::max(best, static_cast<double>(bytes) / 1e6 / watch.seconds());
    if (found.empty()) std::abort();
  }
  return best;
}

void bench_set(const std::filesystem::path& folder, std::string_view model,
               const std::vector<std::string>& traces) {
  auto set = find_trigger_set({folder}, model);
  if (!set) return note(fmt::format("triggers of {}", model), set.error().summary());
  Stopwatch watch;
  auto triggers = Triggers::compile(*set);
  const double compiled_s = watch.seconds();
  if (!triggers) return note(fmt::format("triggers of {}", model), triggers.error().summary());
  const double deltas_per_s = 1e6 * scan(**triggers, traces);
  const double ratio = deltas_per_s / kNeededDeltasPerSecond;
  const std::string what = fmt::format("{} ({} patterns)", set->family, set->patterns.size());
  at_least(what + ", deltas", ratio, 10,
           fmt::format("{:.2f} M/s, {:.0f}x the need", deltas_per_s / 1e6, ratio), "10x the need");
  note(what + ", compiled once in", format_duration(from_seconds(compiled_s)));
}

}  // namespace

void bench_triggers() {
  heading(fmt::format(
      "Triggers: {} streams, deltas of {} bytes in turn, one core; need: {:.0f} deltas/s", kStreams,
      kDeltaBytes, kNeededDeltasPerSecond));
  std::vector<std::string> traces;
  for (std::size_t i = 0; i < kStreams; ++i) traces.push_back(reasoning(i));
  const std::filesystem::path folder = program_folder() / "../../../triggers";
  for (std::string_view model : {"any", "glm", "deepseek", "author"}) {
    bench_set(folder, model, traces);
  }
  note("state of a stream", fmt::format("{} B", Triggers::state_bytes()));
  heading("Harvest: complete kernels in reasoning, the same streams, one core");
  note("reasoning of the author", fmt::format("{:.0f} MB/s", harvest(traces)));
}

}  // namespace specgen
