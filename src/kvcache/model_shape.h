#pragma once
// Bytes of KV per token, from the shape of a model, and the chunk length at which the values of a client have a good
// size. Pure.

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
  int latent = 0;         // multi-head latent attention: one vector of this length instead of heads
  int element_bytes = 2;  // bf16 and fp16; 1: fp8
};

std::span<const ModelShape> known_models();
// By name; ignores case and a publisher before a slash.
Result<ModelShape> find_model(std::string_view name);

double bytes_per_token(const ModelShape& shape);
Result<int> element_bytes(std::string_view dtype);

// Tokens per chunk, a power of two, so that the value of one rank is nearest to 4 MiB: smaller values suffer from round
// trips, larger ones are slower with servers that copy them as one.
int chunk_tokens(double bytes_per_token, int ranks);

// Tokens per second that a fetch over a link brings. Fetching pays while that is more than the LLM server computes.
double fetched_tokens_per_s(double link_bytes_per_s, double bytes_per_token);

}  // namespace specgen
