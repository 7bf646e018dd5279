#include "search/workflow.h"

#include <algorithm>
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
  std::ranges::sort(confirmed, {}, [](const KnownKernel* kernel) {
    return std::pair(-kernel->speedup.median, kernel->id);
  });
  std::vector<KnownKernel> chosen;
  std::set<std::string_view> sources;
  std::set<CandidateId> ids;
  for (const KnownKernel* kernel : confirmed) {
    if (chosen.size() == most) break;
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
