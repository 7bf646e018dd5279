#include "evaluate/judge/input_source.h"

#include <algorithm>
#include <set>

#include "base/assert.h"
#include "base/random.h"
#include "evaluate/judge/test_rig.h"

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

// The ends, where kernels go wrong, and random others.
std::vector<std::int64_t> sample_of(std::int64_t elements, std::size_t count, std::uint64_t seed) {
  std::set<std::int64_t> chosen{0, elements - 1};
  Random random(seed);
  while (chosen.size() < std::min<std::size_t>(count, static_cast<std::size_t>(elements))) {
    chosen.insert(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(elements))));
  }
  return {chosen.begin(), chosen.end()};
}

Task<Result<void>> InputSource::draw_to(const Case& at, std::uint64_t seed,
                                        std::vector<std::span<std::byte>> into) {
  auto contents = CO_TRY(co_await draw(at, seed));
  SG_ASSERT(contents.size() == into.size(), "one buffer per input");
  for (std::size_t i = 0; i < into.size(); ++i) std::ranges::copy(contents[i], into[i].begin());
  co_return Result<void>();
}

Task<Result<void>> InputSource::draw_into(const Case&, std::uint64_t, std::vector<ExportedTensor>) {
  co_return fail(ErrorCode::harness_failed, "this input source does not run on a device");
}

Task<Result<double>> InputSource::run_baseline_into(const Case&, std::uint64_t,
                                                    std::vector<ExportedTensor>, std::size_t) {
  co_return fail(ErrorCode::harness_failed, "this input source does not run on a device");
}

std::vector<Tolerance> tolerances_of(const InputSource& source, const Case& at) {
  std::vector<Tolerance> all;
  for (const Tensor& output : at.outputs) all.push_back(source.tolerance(at, output));
  return all;
}

Case with_draw(Case at, const SetInput& input) {
  at.draw += input.draw;
  return at;
}

}  // namespace specgen
