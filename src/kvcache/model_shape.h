#pragma once
// How many bytes of KV a token of a model has, from the model's shape, and how long the chunks of an engine's client
// should be so that its values are of a good size. Pure.

#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"

namespace specgen {

struct ModelShape {
  std::string_view name;
  int layers = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int latent =
      0;  // of multi-head latent attention, which keeps one vector of this length instead of heads
  int element_bytes = 2;  // bf16 and fp16; 1: fp8
};

std::span<const ModelShape> known_models();
// By name; a publisher before a slash and the case of letters do not matter.
Result<ModelShape> find_model(std::string_view name);

double bytes_per_token(const ModelShape& shape);
Result<int> element_bytes(std::string_view dtype);

// Tokens in a chunk, a power of two, so that what one rank stores of it is nearest to 4 MiB: smaller values pay for
// their round trips, larger ones are slower with servers that copy them whole.
int chunk_tokens(double bytes_per_token, int ranks);

// What a link is good for: a fetch over it brings this many tokens a second. It pays while that is more than the
// engine computes.
double fetched_tokens_per_s(double link_bytes_per_s, double bytes_per_token);

}  // namespace specgen
