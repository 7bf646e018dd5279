#pragma once
// How the author is to behave. All of it is repeatable: the same options, prompt and seed give the same
// text.

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/units.h"

namespace specgen {

struct AuthorOptions {
  double tokens_per_second = 2000;  // 0: at once
  Duration first_token{};           // before the first token of an answer
  // Tokens of a trace are drawn from a log-normal distribution; what must be said is said even if the
  // draw is shorter.
  double trace_median = 3000;
  double trace_sigma = 0.4;
  // The part of a trace that comes after its last decision, on average; drawn for every trace. In six public traces
  // of a reasoning model the first right kernel stood after 6, 7, 16, 35, 70 and 78 % of the text: the mean is a
  // third, and the rest of the reasoning turned it over.
  double slack = 2.0 / 3;
  double mistake_rate = 0.575;  // of kernels that are not right, and of drafts in the reasoning
  std::uint64_t seed = 0;
};

// The names that --pace knows: "fast" (the default), "instant" (no waiting) and "paper" (traces and rates
// of a large reasoning model: minutes per iteration). A number is tokens per second, all else as in fast. What is to be
// different may follow: "150,slack=0.3,mistakes=0.5,tokens=6000".
Result<AuthorOptions> author_at_pace(std::string_view pace);

}  // namespace specgen
