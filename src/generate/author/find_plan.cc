// The author's plans travel inside the program: kernels/BACKEND/TASK.kernel.

#include <map>

#include "base/assert.h"
#include "generate/author/kernel_plan.h"

namespace specgen {

std::span<const std::pair<std::string_view, std::string_view>>
embedded_kernel_plans();  // generated

const KernelPlan* find_plan(std::string_view task, std::string_view backend) {
  static const auto plans = [] {
    std::map<std::string, KernelPlan, std::less<>> all;
    for (const auto& [path, text] : embedded_kernel_plans()) {
      auto plan = KernelPlan::parse(text, std::string(path));
      SG_ASSERT(plan, "a plan of the author's does not parse: its test would have said so");
      all.emplace(path, std::move(*plan));
    }
    return all;
  }();
  std::string_view name = task.substr(0, task.find(':'));
  auto found = plans.find(std::string(backend) + "/" + std::string(name) + ".kernel");
  return found == plans.end() ? nullptr : &found->second;
}

}  // namespace specgen
