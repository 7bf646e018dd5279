#include "simulate/virtual_kernel.h"

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <cmath>

namespace specgen {
namespace {

constexpr double kMillion = 1e6;
constexpr std::string_view kBefore = "truth[] = {";
constexpr std::string_view kTunable = "// specgen:tune W = 1, 2\n";
constexpr std::string_view kTuned = "// specgen:tune W = 2";
constexpr double kTuningGains = 1.2;
constexpr std::size_t kNumbers = 4;
constexpr std::uint64_t kVerdicts = static_cast<std::uint64_t>(Verdict::harness_error) + 1;

using Numbers = std::array<std::uint64_t, kNumbers>;

Numbers numbers_of(const KernelTruth& truth) {
  return {static_cast<std::uint64_t>(truth.verdict),
          static_cast<std::uint64_t>(std::llround(truth.speedup * kMillion)),
          truth.poison ? 1u : 0u, truth.number};
}

// Numbers separated by any other characters.
std::optional<KernelTruth> read_numbers(std::string_view text) {
  Numbers numbers{};
  for (std::uint64_t& number : numbers) {
    std::size_t digit = text.find_first_of("0123456789");
    if (digit == std::string_view::npos) return std::nullopt;
    text.remove_prefix(digit);
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  }
  if (numbers[0] >= kVerdicts) return std::nullopt;
  return KernelTruth{.verdict = static_cast<Verdict>(numbers[0]),
                     .speedup = static_cast<double>(numbers[1]) / kMillion,
                     .poison = numbers[2] != 0,
                     .number = numbers[3]};
}

}  // namespace

std::string virtual_kernel(const KernelTruth& truth) {
  auto [verdict, speedup, poison, number] = numbers_of(truth);
  return fmt::format(
      "{}extern \"C\" void kernel(const float* in, float* out, long n, void* scratch, int tid, int "
      "nthreads) {{\n"
      "  constexpr long truth[] = {{{}, {}, {}, {}}};\n"
      "  for (long i = tid; i < n; i += nthreads) out[i] = in[i] * truth[1];\n"
      "}}\n",
      truth.tunable ? kTunable : "", verdict, speedup, poison, number);
}

KernelTruth tuned(KernelTruth truth) {
  if (truth.number % 2 == 0) truth.speedup *= kTuningGains;
  return truth;
}

std::optional<KernelTruth> read_truth(std::string_view source) {
  std::size_t at = source.find(kBefore);
  if (at == std::string_view::npos) return std::nullopt;
  auto truth = read_numbers(source.substr(at + kBefore.size(), source.find('}', at) - at));
  if (truth) truth->tunable = source.contains("specgen:tune");
  return truth && source.contains(kTuned) ? tuned(*truth) : truth;
}

std::string truth_token(const KernelTruth& truth) {
  auto [verdict, speedup, poison, number] = numbers_of(truth);
  return fmt::format("v{}-{}-{}-{}", verdict, speedup, poison, number);
}

std::optional<KernelTruth> read_truth_token(std::string_view token) {
  return token.starts_with('v') ? read_numbers(token) : std::nullopt;
}

}  // namespace specgen
