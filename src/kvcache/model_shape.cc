#include "kvcache/model_shape.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace specgen {
namespace {

constexpr std::array kModels{
    ModelShape{"Llama-3.1-8B", 32, 8, 128},   ModelShape{"Llama-3.3-70B", 80, 8, 128},
    ModelShape{"Qwen3-8B", 36, 8, 128},       ModelShape{"Qwen3-14B", 40, 8, 128},
    ModelShape{"Qwen3-32B", 64, 8, 128},      ModelShape{"Qwen3-30B-A3B", 48, 4, 128},
    ModelShape{"DeepSeek-V3", 61, 0, 0, 576},
};

constexpr double kGoodValueBytes = 4 << 20;
constexpr int kMinChunk = 16;  // the block size of vLLM
constexpr int kMaxChunk = 256;

std::string lower(std::string_view text) {
  std::string all(text);
  for (char& c : all) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return all;
}

}  // namespace

std::span<const ModelShape> known_models() {
  return kModels;
}

Result<ModelShape> find_model(std::string_view name) {
  std::string wanted = lower(name.substr(name.rfind('/') + 1));
  std::vector<std::string> names;
  for (const ModelShape& model : kModels) {
    if (lower(model.name) == wanted) return model;
    names.push_back(lower(model.name));
  }
  // Variants have the same shape: Llama-3.1-8B-Instruct.
  for (std::string_view ending :
       {"-instruct", "-base", "-fp8", "-thinking-2507", "-instruct-2507"}) {
    if (!wanted.ends_with(ending)) continue;
    ModelShape model = TRY(find_model(wanted.substr(0, wanted.size() - ending.size())));
    return model;
  }
  return fail(ErrorCode::unknown_name,
              fmt::format("unknown model '{}'{}", name, did_you_mean(wanted, names)),
              "give its shape: --layers, --kv-heads and --head-dim, or --bytes-per-token");
}

double bytes_per_token(const ModelShape& shape) {
  double per_layer = shape.latent > 0 ? shape.latent : 2.0 * shape.kv_heads * shape.head_dim;
  return per_layer * shape.layers * shape.element_bytes;
}

Result<int> element_bytes(std::string_view dtype) {
  if (dtype == "bf16" || dtype == "fp16") return 2;
  if (dtype == "fp8") return 1;
  if (dtype == "fp32") return 4;
  return fail(ErrorCode::bad_usage,
              fmt::format("--dtype: '{}' is none of bf16, fp16, fp8, fp32", dtype));
}

int chunk_tokens(double bytes_per_token, int ranks) {
  double best = kGoodValueBytes / (bytes_per_token / ranks);
  double power = std::round(std::log2(std::max(best, 1.0)));
  return std::clamp(1 << static_cast<int>(std::min(power, 20.0)), kMinChunk, kMaxChunk);
}

double fetched_tokens_per_s(double link_bytes_per_s, double bytes_per_token) {
  return link_bytes_per_s / bytes_per_token;
}

}  // namespace specgen
