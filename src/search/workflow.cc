#include "search/workflow.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace specgen {

bool is_confirmed(const KnownKernel& kernel) {
  return kernel.profiled && kernel.verdict == Verdict::ok;
}

std::vector<KnownKernel> fastest(const std::vector<KnownKernel>& kernels, std::size_t most) {
  std::vector<const KnownKernel*> confirmed;
  for (const KnownKernel& kernel : kernels) {
    if (is_confirmed(kernel)) confirmed.push_back(&kernel);
  }
  auto rank = [](const KnownKernel* kernel) {
    return std::pair(-kernel->speedup.median, kernel->id);
  };
  // A heap, for few of many are wanted.
  std::ranges::make_heap(confirmed, std::greater(), rank);
  std::vector<KnownKernel> chosen;
  std::set<std::string_view> sources;
  std::set<CandidateId> ids;
  while (!confirmed.empty() && chosen.size() < most) {
    std::ranges::pop_heap(confirmed, std::greater(), rank);
    const KnownKernel* kernel = confirmed.back();
    confirmed.pop_back();
    if (!sources.insert(kernel->source).second) continue;
    bool is_new = kernel->id == CandidateId{} || ids.insert(kernel->id).second;
    if (is_new) chosen.push_back(*kernel);
  }
  return chosen;
}

const KnownKernel* IterationOutcome::best() const {
  const KnownKernel* best = nullptr;
  for (const KnownKernel& kernel : kernels) {
    if (!is_confirmed(kernel)) continue;
    if (!best || kernel.speedup.median > best->speedup.median) best = &kernel;
  }
  return best;
}

}  // namespace specgen
