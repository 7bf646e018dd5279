// The author's plans travel inside the program: kernels/BACKEND/TASK.kernel.

#include <map>
#include <set>

#include "base/assert.h"
#include "generate/author/kernel_plan.h"

namespace specgen {

std::span<const std::pair<std::string_view, std::string_view>>
embedded_kernel_plans();  // generated

namespace {

using Plans = std::map<std::string, KernelPlan, std::less<>>;  // by "cpu/softmax.kernel"

const Plans& all_plans() {
  static const Plans plans = [] {
    Plans all;
    for (const auto& [path, text] : embedded_kernel_plans()) {
      auto plan = KernelPlan::parse(text, std::string(path));
      SG_ASSERT(plan, "a plan of the author's does not parse: its test would have said so");
      all.emplace(path, std::move(*plan));
    }
    return all;
  }();
  return plans;
}

}  // namespace

const KernelPlan* find_plan(std::string_view task, std::string_view backend) {
  const Plans& plans = all_plans();
  std::string_view name = task.substr(0, task.find(':'));
  auto found = plans.find(std::string(backend) + "/" + std::string(name) + ".kernel");
  return found == plans.end() ? nullptr : &found->second;
}

std::vector<std::string> author_tasks(std::string_view backend) {
  std::set<std::string> tasks;
  for (const auto& [path, plan] : all_plans()) {
    std::size_t slash = path.find('/');
    if (!backend.empty() && path.substr(0, slash) != backend) continue;
    tasks.insert(path.substr(slash + 1, path.rfind('.') - slash - 1));
  }
  return {tasks.begin(), tasks.end()};
}

}  // namespace specgen
