#pragma once
// Whether a KV prefix is fetched sooner than it is computed again. A token's KV has a fixed size and a prefill makes
// so many tokens a second: over a link that carries fewer bytes a second than the prefill makes, a fetch loses, however
// long the prefix is. (A prefill slows down as the prefix grows, so for long prefixes the line lies lower.) Pure.

#include <optional>
#include <string>

namespace specgen {

struct ComputingRate {              // of the engine that would compute it again
  double prefill_tokens_per_s = 0;  // 0: not known
  double bytes_per_token = 0;       // 0: not known
};

// The link's bytes a second above which fetching wins; nothing where the rate is not known.
std::optional<double> break_even_bytes_per_s(const ComputingRate& rate);

// False where either is not known: then a value is served.
bool fetching_is_slower(double link_bytes_per_s, const ComputingRate& rate);

// "a fetch wins above 4.30 GB/s (131072 bytes a token, 32800 tokens a second of prefill)"
std::string break_even_text(const ComputingRate& rate);

}  // namespace specgen
