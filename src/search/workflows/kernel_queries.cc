#include "search/workflows/kernel_queries.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

namespace specgen {

bool is_failure(const KnownKernel& kernel) {
  return is_candidate_fault(kernel.verdict);
}

std::vector<KnownKernel> latest_failures(const std::vector<KnownKernel>& kernels,
                                         std::size_t most) {
  std::vector<KnownKernel> chosen;
  std::set<std::string_view> sources;
  for (const KnownKernel& kernel : std::views::reverse(kernels)) {
    if (chosen.size() == most) break;
    if (is_failure(kernel) && sources.insert(kernel.source).second) chosen.push_back(kernel);
  }
  std::ranges::reverse(chosen);
  return chosen;
}

const KnownKernel* result_of(const std::vector<KnownKernel>& kernels) {
  if (kernels.empty()) return nullptr;
  const KnownKernel* chosen = nullptr;
  for (const KnownKernel& kernel : kernels) {
    if (!is_confirmed(kernel)) continue;
    if (!chosen || kernel.speedup.median > chosen->speedup.median) chosen = &kernel;
  }
  if (chosen) return chosen;
  auto main = std::ranges::find(kernels, Origin::main, &KnownKernel::origin);
  return main != kernels.end() ? &*main : &kernels.back();
}

std::vector<KnownKernel> newest_iteration(const std::vector<KnownKernel>& history) {
  std::vector<KnownKernel> kernels;
  auto newest = std::ranges::max_element(history, {}, &KnownKernel::iteration);
  for (const KnownKernel& kernel : history) {
    if (kernel.iteration == newest->iteration) kernels.push_back(kernel);
  }
  return kernels;
}

std::size_t iterations_after(const std::vector<KnownKernel>& history, IterationId iteration) {
  std::vector<IterationId> later;
  for (const KnownKernel& kernel : history) {
    if (kernel.iteration > iteration) later.push_back(kernel.iteration);
  }
  std::ranges::sort(later);
  return later.size() - std::ranges::unique(later).size();
}

PromptRequest new_request(WorkflowContext& context, std::string role, const KnownKernel* parent) {
  return {.role = std::move(role),
          .iteration = context.iterations_begun(),
          .seed = context.random().next(),
          .parent = parent};
}

}  // namespace specgen
