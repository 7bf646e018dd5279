#include "kvcache/break_even.h"

#include <fmt/core.h>

namespace specgen {

std::optional<double> break_even_bytes_per_s(const ComputingRate& rate) {
  double line = rate.prefill_tokens_per_s * rate.bytes_per_token;
  if (!(line > 0)) return std::nullopt;
  return line;
}

bool fetching_is_slower(double link_bytes_per_s, const ComputingRate& rate) {
  auto line = break_even_bytes_per_s(rate);
  return line && link_bytes_per_s > 0 && link_bytes_per_s < *line;
}

std::string break_even_text(const ComputingRate& rate) {
  auto line = break_even_bytes_per_s(rate);
  if (!line) return "the break-even is unknown: it needs the prefill rate and the bytes per token";
  constexpr double kGigabyte = 1e9;
  return fmt::format(
      "a fetch wins above {:.2f} GB/s ({:.0f} bytes a token, {:.0f} tokens a second of prefill)",
      *line / kGigabyte, rate.bytes_per_token, rate.prefill_tokens_per_s);
}

}  // namespace specgen
