// Any bytes as a candidate: directives, their plan for a case, and both gates of the source refuse
// or accept, never crash. A plan that is made comes back from its JSON.

#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>

#include "evaluate/candidate/cpu_gate.h"
#include "evaluate/candidate/cuda_gate.h"
#include "evaluate/candidate/directives.h"
#include "evaluate/candidate/launch_plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view source(reinterpret_cast<const char*>(data), size);
  (void)specgen::check_cpu_source(source);
  (void)specgen::check_cuda_source(source, {});
  auto directives = specgen::parse_directives(source);
  if (!directives) return 0;
  auto tunables = specgen::tunable_values(*directives, {});
  if (!tunables) std::abort();
  specgen::KernelTask task;
  task.scalars = {{"eps", 1e-5}};
  specgen::Case at;
  at.axes = {{"rows", 7}, {"cols", 64}};
  at.inputs = {{"x", specgen::Dtype::f32, {7, 64}, 448}};
  at.outputs = {{"y", specgen::Dtype::f32, {7, 64}, 448}};
  (void)specgen::name_expressions(*directives, *tunables);
  (void)specgen::resolve_scratch(*directives, at, *tunables);
  auto plan = specgen::resolve(*directives, task, at, *tunables, {});
  if (!plan) return 0;
  specgen::Json json = specgen::to_json(*plan);
  auto back = specgen::launch_plan_from_json(json);
  if (!back || specgen::to_json(*back) != json) std::abort();
  return 0;
}
