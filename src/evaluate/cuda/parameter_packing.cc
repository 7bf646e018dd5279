#include "evaluate/cuda/parameter_packing.h"

#include <fmt/core.h>

#include <cmath>
#include <cstring>

namespace specgen {
namespace {

constexpr std::size_t kMaxBytes = 32764;  // of all parameters: the driver's limit

template <class T>
void put(std::span<std::byte> into, const T& value) {
  std::memcpy(into.data(), &value, sizeof value);
}

bool fits(std::int64_t value, std::size_t bytes) {
  if (bytes >= 8) return true;
  int bits = static_cast<int>(8 * bytes);
  return value >= -(std::int64_t{1} << (bits - 1)) && value < (std::int64_t{1} << bits);
}

// Empty if ok, else what is wrong.
std::string pack_one(std::span<std::byte> into, AddressValue value) {
  if (into.size() != 8) {
    return fmt::format("is a tensor, but the kernel declares {} bytes", into.size());
  }
  put(into, value.address);
  return {};
}

std::string pack_one(std::span<std::byte> into, std::int64_t value) {
  std::size_t bytes = into.size();
  if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) {
    return fmt::format("is an integer, but the kernel declares {} bytes", bytes);
  }
  if (!fits(value, bytes)) {
    return fmt::format("is {}, which does not fit into the {} bytes that the kernel declares",
                       value, bytes);
  }
  std::memcpy(into.data(), &value, bytes);  // little endian: the low bytes come first
  return {};
}

std::string pack_one(std::span<std::byte> into, double value) {
  if (into.size() == 8) {
    put(into, value);
    return {};
  }
  if (into.size() != 4) {
    return fmt::format(
        "is a real number, but the kernel declares {} bytes; declare float or double", into.size());
  }
  auto narrow = static_cast<float>(value);
  if (std::isfinite(value) && !std::isfinite(narrow)) {
    return fmt::format("is {}, which does not fit into a float", value);
  }
  put(into, narrow);
  return {};
}

std::string pack_one(std::span<std::byte> into, const TensormapValue& value) {
  if (into.size() != sizeof value.words) {
    return fmt::format(
        "is a tensormap, but the kernel declares {} bytes; declare `const __grid_constant__ "
        "CUtensorMap`",
        into.size());
  }
  put(into, value.words);
  return {};
}

std::string counted(std::size_t count) {
  return fmt::format("{} argument{}", count, count == 1 ? "" : "s");
}

}  // namespace

std::expected<std::vector<std::byte>, std::string> pack_parameters(
    std::string_view kernel, std::span<const KernelParameter> parameters,
    std::span<const ParameterValue> values) {
  if (parameters.size() != values.size()) {
    return std::unexpected(fmt::format("kernel {} takes {}, the launch line gives {}", kernel,
                                       counted(parameters.size()), values.size()));
  }
  std::vector<std::byte> packed;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [offset, bytes] = parameters[i];
    if (offset > kMaxBytes || bytes > kMaxBytes || offset + bytes > kMaxBytes) {
      return std::unexpected(
          fmt::format("kernel {} has a parameter of {} bytes at {}", kernel, bytes, offset));
    }
    if (packed.size() < offset + bytes) packed.resize(offset + bytes);
    auto into = std::span(packed).subspan(offset, bytes);
    std::string wrong =
        std::visit([&](const auto& value) { return pack_one(into, value); }, values[i]);
    if (!wrong.empty()) {
      return std::unexpected(fmt::format("argument {} of kernel {} {}", i + 1, kernel, wrong));
    }
  }
  return packed;
}

}  // namespace specgen
