#pragma once
// Decides whether fetching a KV prefix is faster than computing it again. The KV of a token has a fixed size and a
// prefill produces a number of tokens per second: over a link that carries fewer bytes per second than the prefill
// produces, a fetch loses, however long the prefix is. (A prefill slows down as the prefix grows, so for long
// prefixes the threshold is lower.) Pure.

#include <optional>
#include <string>

namespace specgen {

struct ComputingRate {              // of the LLM server
  double prefill_tokens_per_s = 0;  // 0: unknown
  double bytes_per_token = 0;       // 0: unknown
};

// The link speed above which fetching wins; nothing if the rate is unknown.
std::optional<double> break_even_bytes_per_s(const ComputingRate& rate);

// False if either is unknown: then a value is served.
bool fetching_is_slower(double link_bytes_per_s, const ComputingRate& rate);

// "a fetch wins above 4.30 GB/s (131072 bytes a token, 32800 tokens a second of prefill)"
std::string break_even_text(const ComputingRate& rate);

}  // namespace specgen
