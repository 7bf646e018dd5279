#include "base/random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "base/hash.h"

namespace specgen {
namespace {

std::uint64_t splitmix(std::uint64_t& state) {
  std::uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (auto& word : state_) word = splitmix(seed);
}

Random Random::fork(std::string_view name) {
  TraceHash hash;
  hash.mix(next());
  hash.mix(name);
  return Random(hash.value());
}

std::uint64_t Random::next() {
  std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  SG_ASSERT(bound > 0, "there is no number below zero");
  const std::uint64_t biased =
      -bound % bound;  // the first 2^64 mod bound values would be drawn too often
  while (true) {
    std::uint64_t drawn = next();
    if (drawn >= biased) return drawn % bound;
  }
}

double Random::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

double Random::uniform(double low, double high) {
  return low + (high - low) * uniform();
}

double Random::exponential(double mean) {
  return -mean * std::log1p(-uniform());
}

double Random::normal(double mean, double deviation) {  // Box–Muller; the second value is not kept
  double radius = std::sqrt(-2 * std::log1p(-uniform()));
  return mean + deviation * radius * std::cos(2 * std::numbers::pi * uniform());
}

double Random::log_normal(double median, double sigma) {
  return median * std::exp(normal(0, sigma));
}

}  // namespace specgen
