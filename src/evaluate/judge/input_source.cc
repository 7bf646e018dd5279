#include "evaluate/judge/input_source.h"

#include "evaluate/judge/bench.h"

namespace specgen {

std::uint64_t tensor_seed(std::uint64_t seed, std::size_t index) {
  std::uint64_t x = seed + 0x9e3779b97f4a7c15 * (static_cast<std::uint64_t>(index) + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

const Distribution& distribution_of(const KernelTask& task, const Case& at, std::size_t input) {
  const std::vector<Distribution>& all = task.inputs[input].data;
  return all[at.draw % all.size()];
}

Case with_draw(Case at, const SetInput& input) {
  at.draw += input.draw;
  return at;
}

}  // namespace specgen
