#include "generate/openai/model_family.h"

#include <algorithm>
#include <array>
#include <string>

namespace specgen {
namespace {

constexpr std::array kFamilies{
    ModelFamily{"deepseek-r1", "<think>\n", "\n</think>\n\n", true},
    ModelFamily{"deepseek", "<think>", "</think>", true},
    ModelFamily{"glm-4.5", "\n<think>", "</think>\n", false},
    ModelFamily{"glm", "<think>", "</think>", true},
    ModelFamily{"qwen3-thinking", "<think>\n", "\n</think>\n\n", true},
    ModelFamily{"qwen3", "<think>\n", "\n</think>\n\n", false},
    ModelFamily{"kimi-k2", "<think>", "</think>", false},
    ModelFamily{"kimi-k3", "<|open|>think<|sep|>", "<|close|>think<|sep|><|open|>response<|sep|>",
                true},
    ModelFamily{"minimax-m2", "<think>\n", "\n</think>\n\n", true},
    ModelFamily{"minimax-m3", "<mm:think>", "</mm:think>", true},
    ModelFamily{"gpt-oss", "<|channel|>analysis<|message|>",
                "<|end|><|start|>assistant<|channel|>final<|message|>", false},
    ModelFamily{"unknown", "<think>\n", "\n</think>\n\n", false},
};

// The words in a name that identify a family; the first row whose words all occur decides.
struct Sign {
  std::string_view first, second;
  std::string_view family;
};
constexpr std::array kSigns{
    Sign{"deepseek-r1", "", "deepseek-r1"},
    Sign{"deepseek", "", "deepseek"},
    Sign{"glm-4.5", "", "glm-4.5"},
    Sign{"glm-4.6", "", "glm-4.5"},
    Sign{"glm", "", "glm"},
    Sign{"qwq", "", "qwen3-thinking"},
    Sign{"qwen3.5", "", "qwen3-thinking"},
    Sign{"qwen3", "thinking", "qwen3-thinking"},
    Sign{"qwen", "", "qwen3"},
    Sign{"kimi-k3", "", "kimi-k3"},
    Sign{"kimi", "", "kimi-k2"},
    Sign{"minimax-m3", "", "minimax-m3"},
    Sign{"minimax", "", "minimax-m2"},
    Sign{"gpt-oss", "", "gpt-oss"},
};

const ModelFamily& named(std::string_view name) {
  auto family = std::ranges::find(kFamilies, name, &ModelFamily::name);
  return family == kFamilies.end() ? kFamilies.back() : *family;
}

}  // namespace

std::span<const ModelFamily> model_families() {
  return kFamilies;
}

const ModelFamily& family_of(std::string_view model) {
  std::string lower;
  for (char c : model) {
    char small = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    lower += small == '_' ? '-' : small;
  }
  for (const Sign& sign : kSigns) {
    if (lower.contains(sign.first) && lower.contains(sign.second)) return named(sign.family);
  }
  return kFamilies.back();
}

}  // namespace specgen
