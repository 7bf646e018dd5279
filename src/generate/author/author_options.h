#pragma once
// Options of the author. It is deterministic: the same options, prompt and seed give the same text.

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace specgen {

struct AuthorOptions {
  double tokens_per_second = 2000;  // 0: no delay
  Duration first_token{};           // delay of the first token
  // The length of a trace is drawn from a log-normal distribution; it is longer if its decisions need more.
  double trace_median = 3000;
  double trace_sigma = 0.4;
  // The mean share of a trace after its last decision; drawn per trace. In six public traces of a reasoning model the
  // first correct kernel appeared after 6, 7, 16, 35, 70 and 78 % of the text: one third on average.
  double slack = 2.0 / 3;
  double mistake_rate = 0.575;  // of answers and of drafts in the reasoning
  std::uint64_t seed = 0;
};

// Values of --pace: "fast" (the default), "instant" (no delay) and "paper" (trace lengths and rates of a large
// reasoning
// model: minutes per iteration). A number means tokens per second, the rest as in fast. Other options may follow:
// "150,slack=0.3,mistakes=0.5,tokens=6000".
Result<AuthorOptions> author_at_pace(std::string_view pace);

}  // namespace specgen
