// Every prompt improves one kernel, mostly the fastest, and shows what was learned: several kernels with their
// profiles, the fastest and the latest, and the latest failures. When nothing has been gained for a while it looks
// elsewhere: from another good kernel, or from the baseline again.

#include "search/workflows/refine_policy.h"

#include <algorithm>
#include <ranges>

#include "search/workflows/kernel_queries.h"

namespace specgen {
namespace {

// In a prompt. More would cost more tokens, twenty times over where twenty forks are made, than they are worth.
constexpr std::size_t kFastest = 3;
constexpr std::size_t kLatest = 2;  // beside those
constexpr std::size_t kFailures = 3;

constexpr std::size_t kPatience = 3;  // iterations without a gain
constexpr std::size_t kParents = 5;   // of which another than the fastest is drawn

using History = std::vector<KnownKernel>;

// The fastest and the latest, the parent left out: it is shown apart.
History worth_showing(const History& history, const KnownKernel* parent) {
  History chosen = fastest(history, kFastest);
  std::size_t left = kLatest;
  for (const KnownKernel& kernel : std::views::reverse(history)) {
    bool known = std::ranges::any_of(chosen, [&](const KnownKernel& other) {
      return other.source == kernel.source || other.id == kernel.id;
    });
    if (left == 0) break;
    if (!is_confirmed(kernel) || known) continue;
    chosen.push_back(kernel);
    --left;
  }
  if (parent)
    std::erase_if(chosen, [&](const KnownKernel& kernel) { return kernel.id == parent->id; });
  return fastest(chosen, chosen.size());
}

}  // namespace

Prompt RefinePolicy::next() {
  History best = fastest(context_.history(), 1);
  if (best.empty()) return until_one_works();
  std::size_t without_gain = iterations_after(context_.history(), best[0].iteration);
  if (without_gain < kPatience) return make("refine", "writer", &best[0]);
  switch ((without_gain - kPatience) % 3) {
    case 0:
      return from_another();
    case 1:
      return make("refine", "writer", &best[0]);
    default:
      return make("refine_start", "writer", nullptr);
  }
}

// Repairs the last failure, or starts over, in turns: a design may be beyond repair.
Prompt RefinePolicy::until_one_works() {
  History failures = latest_failures(context_.history(), 1);
  bool repairs = iterations_after(context_.history(), IterationId{}) % 2 == 1;
  if (failures.empty() || !repairs) return make("refine_start", "writer", nullptr);
  return make("refine_repair", "repair", &failures[0]);
}

Prompt RefinePolicy::from_another() {
  History good = fastest(context_.history(), kParents);
  if (good.size() < 2) return make("refine_start", "writer", nullptr);
  return make("refine", "writer", &good[1 + context_.random().below(good.size() - 1)]);
}

Prompt RefinePolicy::make(std::string_view name, std::string role, const KnownKernel* parent) {
  PromptRequest request = new_request(context_, std::move(role), parent);
  History failures = latest_failures(context_.history(), kFailures);
  if (parent)
    std::erase_if(failures, [&](const KnownKernel& kernel) { return kernel.id == parent->id; });
  request.lists = {{.name = "good", .kernels = worth_showing(context_.history(), parent)},
                   {.name = "failed", .kernels = std::move(failures)}};
  return prompts_.make(name, brief_, request);
}

}  // namespace specgen
