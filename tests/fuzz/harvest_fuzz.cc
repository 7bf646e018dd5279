// Any reasoning, cut anywhere: deltas change nothing, a kernel is whole and stands where it is said to,
// and none comes twice.

#include <cstdint>
#include <cstdlib>
#include <set>

#include "generate/answer/kernel_shape.h"
#include "pieces.h"
#include "speculate/harvest.h"

namespace {

using specgen::HarvestedKernel;
using specgen::Harvester;
using specgen::HarvestKind;

void check(bool holds) {
  if (!holds) std::abort();
}

std::vector<HarvestedKernel> all_of(const std::vector<std::string>& pieces, const char* backend) {
  Harvester harvester(backend, Harvester::Foreign::take);
  std::vector<HarvestedKernel> found;
  for (const std::string& piece : pieces) harvester.feed(piece, found);
  harvester.finish(found);
  return found;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  specgen::FuzzInput input = specgen::cut_into_pieces(data, size);
  for (const char* backend : {"cpu", "cuda"}) {
    auto whole = all_of({input.text}, backend);
    auto in_pieces = all_of(input.pieces, backend);
    check(whole.size() == in_pieces.size());
    std::set<std::string> sources;
    std::size_t last_end = 0;
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const HarvestedKernel& kernel = whole[i];
      check(kernel.source == in_pieces[i].source && kernel.begin == in_pieces[i].begin &&
            kernel.end == in_pieces[i].end);
      check(last_end <= kernel.begin && kernel.begin < kernel.end &&
            kernel.end <= input.text.size());
      last_end = kernel.end;
      check(kernel.kind == HarvestKind::foreign ||
            specgen::shape_of(kernel.source, backend).is_kernel());
      check(sources.insert(kernel.source).second);
    }
  }
  return 0;
}
